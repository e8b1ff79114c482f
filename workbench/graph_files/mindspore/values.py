"""The small languages inside an IR line: constants, attribute values, types, source locations.

Facts: MindSpore's ``anf_dump`` printers, 1.0 to 2.10. Types and locations repeat thousands of times
in one file, so their parsers are cached by text. No text makes them fail, or take memory out of
proportion to its length, but one: a tuple type that says more than it spells out is a FormatError.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from workbench._values import NamedTuple
from workbench.core.dtypes import dtype_name, names_by
from workbench.core.errors import FormatError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Const, SourceFrame

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DEPTH = 64
"""Most brackets, and most tuples, inside each other."""

_OPEN = "([{<"
_CLOSE = ")]}>"
UNKNOWN = "..."
"""Value of a constant that the file does not hold."""

_MARKS = re.compile(r'[()\[\]{}<>",]')
_SCALAR = re.compile(r"(Bool|U?I(?:8|16|32|64)|U(?:8|16|32|64)|B?F(?:16|32|64))\((.*)\)", re.DOTALL)
_SCALAR_DTYPE = names_by("scalar")
_TENSOR = re.compile(r"Tensor\(shape=\[([\d, ]*)\], dtype=(\w+), value=(.*)\)", re.DOTALL)
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|inf|nan)")
_MONADS = frozenset(("U", "IO", "UMonad[U]", "IOMonad[IO]"))
_ELEMENTS = {"True": True, "False": False}
_WORDS = {"true": True, "false": False, "None": None}
_LOCATION = re.compile(
    r"(?:inlined:)?In file (.+?)"
    r"(?:\((\d{1,9})\)|:(\d{1,9})(?:~(\d{1,9}))?(?:, (\d{1,9})~(\d{1,9}))?)(?:/(.*))?$"
)
_SHARED = "<~~This line of code can be shared"
_JOINED = re.compile(r"(.*[\])])x(?:\[const vector\])?([\[(][-\d, ]*[\])])", re.DOTALL)
_FLAG = re.compile(r"[a-z_]+=")
_TENSOR_WORD = re.compile(r"Tensor[\[(](.*)[\])]")
_DEVICE_TYPE = re.compile(r"<(\w{1,40}?)(?:x(\w{1,40}))?(?:\[const vector\][\[{](.*?)[\]}])?>$")
_LONGEST_INT = 20
"""Digits and sign of the longest integer of 64 bits."""

_LONGEST_SHAPE = 1024
_MOST_ELEMENTS = 1 << 63
_TUPLES = ("Tuple[", "List[")
_SPELLED_OUT = 16
"""How many times longer than its text a tuple type may be once its runs (``Tensor[…]*3``) are written out."""

_SPARE = 1024
"""Characters that it may have beyond that: shapes that nobody knows are not listed."""

_LISTED_DIM = re.compile(r"\[\d+\]:[\[{](-?\d+)[\]}]")


class HostType(NamedTuple):
    """A host type: the tensors it holds (a tuple has several) and its flags (``ref_key``, …)."""

    specs: tuple[TensorSpec, ...]
    is_tuple: bool = False
    ref_key: str = ""
    is_ref: bool = False
    is_monad: bool = False
    text: str = ""
    """The type as it was spelled, brackets included; empty if it was not read from text."""


def split_top(text: str) -> Iterator[str]:
    """Split at commas outside brackets and quotes; an empty text gives nothing."""
    if not text:
        return
    if not any(mark in text for mark in '([{<"'):
        yield from (piece.strip() for piece in text.split(","))
        return
    depth, start, quoted = 0, 0, False
    for match in _MARKS.finditer(text):
        mark = match[0]
        if mark == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif mark in _OPEN:
            depth += 1
        elif mark in _CLOSE:
            depth -= 1
        elif depth <= 0:
            yield text[start : match.start()].strip()
            start = match.end()
    yield text[start:].strip()


_SHORT = 500
"""Characters up to which the pieces of a text are kept."""


def type_pieces(text: str) -> tuple[str, ...]:
    """Return the pieces of `split_top` of a list of types, which is the same of many operators."""
    return _short_pieces(text) if len(text) <= _SHORT else tuple(split_top(text))


@lru_cache(maxsize=4096)
def _short_pieces(text: str) -> tuple[str, ...]:
    return tuple(split_top(text))


def closing(text: str, start: int) -> int:
    """Index of the bracket that closes the one at ``start``; -1 if the text ends or is too deep before."""
    depth, quoted = 0, False
    for match in _MARKS.finditer(text, start):
        mark = match[0]
        if mark == '"':
            quoted = not quoted
        elif quoted or mark in "<>,":
            continue
        elif mark in _OPEN:
            depth += 1
            if depth > MAX_DEPTH:
                return -1
        else:
            depth -= 1
            if depth == 0:
                return match.start()
    return -1


def parse_number(text: str) -> int | float | str:
    """Return a number if the text is one, else the text; integers beyond 64 bits become floats."""
    if not _NUMBER.fullmatch(text):
        return text
    try:
        return int(text) if len(text) <= _LONGEST_INT else float(text)
    except ValueError:
        return float(text)


@lru_cache(maxsize=4096)
def parse_value(text: str) -> Any:
    """Value of an attribute: scalar, string, tuple; lists come back as tuples, other text as it is.

    >>> parse_value("I64(3)"), parse_value("(5, 5)"), parse_value('"valid"'), parse_value("F32(1e-05)")
    (3, (5, 5), 'valid', 1e-05)
    """
    text = text.strip()
    if len(text) >= 2 and text[0] == '"' and text[-1] == '"':
        return text[1:-1]
    if text in _WORDS:
        return _WORDS[text]
    scalar = _SCALAR.fullmatch(text)
    if scalar:
        number = parse_number(scalar[2])
        if scalar[1] == "Bool":
            return bool(number)
        return float(number) if "F" in scalar[1] and isinstance(number, int) else number
    if text[:1] in ("(", "[") and closing(text, 0) == len(text) - 1:
        return tuple(parse_value(piece) for piece in split_top(text[1:-1]))
    return parse_number(text)


@lru_cache(maxsize=4096)
def parse_const(text: str) -> Const:
    """Read a constant operand of a node line."""
    if text in _MONADS:
        return Const(text, "monad")
    scalar = _SCALAR.fullmatch(text)
    if scalar:
        return Const(parse_value(text), _SCALAR_DTYPE.get(scalar[1], ""), ())
    tensor = _TENSOR.fullmatch(text)
    if tensor:
        shape = _dims(f"[{tensor[1]}]")
        return Const(_tensor_value(tensor[3], shape), dtype_name(tensor[2]) or tensor[2], shape)
    value = parse_value(text)
    if isinstance(value, tuple):
        return Const(value, "tuple", (len(value),))
    return Const(value, "None" if value is None else "")


def _tensor_value(text: str, shape: tuple[int, ...] | None) -> Any:
    """Elements of a printed tensor as a flat tuple, a scalar, or the text if they are not all there."""
    words = text.replace("[", " ").replace("]", " ").replace(",", " ").split()
    values = tuple(_ELEMENTS[w] if w in _ELEMENTS else parse_number(w) for w in words)
    count = None if shape is None else math.prod(shape)
    if len(values) != count or any(isinstance(value, str) for value in values):
        return text
    return values if shape else values[0]


def parse_attrs(text: str) -> dict[str, Any]:
    """Read ``key: value`` pairs joined by commas outside brackets."""
    attrs: dict[str, Any] = {}
    for piece in split_top(text):
        key, colon, value = piece.partition(":")
        if colon:
            attrs[key.strip().strip('"')] = parse_value(value.strip())
    return attrs


def _dims(text: str) -> tuple[int, ...] | None:
    """Dimensions between brackets; ``None`` for a dynamic rank or text that is no tensor's shape."""
    inner = text.strip()[1:-1]
    if len(inner) > _LONGEST_SHAPE:
        return None
    try:
        dims = tuple(int(dim) for dim in inner.split(",") if dim.strip())
    except ValueError:
        return None
    if dims == (-2,) or math.prod(max(1, abs(dim)) for dim in dims) >= _MOST_ELEMENTS:
        return None
    return dims


@lru_cache(maxsize=8192)
def parse_host_type(text: str) -> HostType:
    """Read ``<Tensor[Float32], (2, 3)>`` and its relatives, ``<Tensor[Float32]x[const vector][2, 3]>`` too.

    A tuple that holds far more tensors than its text has room for is a FormatError.

    >>> parse_host_type("<Tensor[Float32], (2, 3)>").specs[0].shape
    (2, 3)
    """
    pieces = list(split_top(text.strip()[1:-1]))
    word = pieces[0] if pieces else ""
    shape = pieces[1] if len(pieces) > 1 and not _FLAG.match(pieces[1]) else ""
    joined = None if shape else _JOINED.fullmatch(word)
    if joined:
        word, shape = joined[1], joined[2]
    if word.startswith(_TUPLES):
        leaves = tuple(_spec(*leaf) for leaf in _leaves(word, shape))
        return HostType(leaves, is_tuple=True, text=text)
    ref_key = next((p[8:].lstrip(":=") for p in pieces if p.startswith("ref_key=")), "")
    spec = _spec(word, shape)
    return HostType(
        (spec,),
        ref_key=ref_key,
        is_ref=word.startswith("Ref["),
        is_monad=spec.dtype in ("UMonad", "IOMonad"),
        text=text,
    )


@lru_cache(maxsize=8192)
def _spec(word: str, shape: str) -> TensorSpec:
    """Tensor or scalar that a type other than a tuple stands for."""
    inner = word[4:-1] if word.startswith("Ref[") else word
    tensor = _TENSOR_WORD.fullmatch(inner)
    if tensor:
        kind = tensor[1]
        return TensorSpec(dtype_name(kind) or _SCALAR_DTYPE.get(kind, kind), _dims(shape))
    return TensorSpec(dtype_name(inner) or inner, ())


def _leaves(word: str, shape: str) -> Iterator[tuple[str, str]]:
    """Write ``Tuple[Tensor[Float32]*2,Int64]`` with ``TupleShape((2, 3), (2, 3), NoShape)`` out.

    Yields type and shape of every tensor, those in tuples of tuples too.
    """
    room = _SPELLED_OUT * (len(word) + len(shape)) + _SPARE
    waiting = [(word, shape, 0)]
    while waiting:
        word, shape, depth = waiting.pop()
        if not word.startswith(_TUPLES):
            yield word, shape
            continue
        inside: list[str] = []
        for piece in split_top(word[word.index("[") + 1 : -1]):
            kind, count = run_of(piece)
            room -= count * (len(kind) + 1)
            if room < 0 or depth >= MAX_DEPTH:
                raise FormatError("graph_files/tuple-type", got=word[:60], limit=MAX_DEPTH)
            inside += [kind] * count
        open_shape = shape.find("(")
        shapes = list(split_top(shape[open_shape + 1 : -1])) if open_shape >= 0 else []
        shapes += ["NoShape"] * (len(inside) - len(shapes))
        items = zip(inside, shapes, strict=False)
        waiting += reversed([(kind, here, depth + 1) for kind, here in items])


def run_of(piece: str) -> tuple[str, int]:
    """Type and count of a run: ``Tensor[Float32]*2``."""
    kind, star, count = piece.rpartition("*")
    if not star or not count.isdecimal():
        return piece, 1
    return kind, int(count) if len(count) <= _LONGEST_INT else _MOST_ELEMENTS


@lru_cache(maxsize=8192)
def parse_device_type(text: str) -> TensorSpec:
    """Read ``<Float16xNC1HWC0[const vector]{32, 16}>``; unknown text gives an empty spec."""
    match = _DEVICE_TYPE.match(text.strip())
    if not match:
        return TensorSpec("", None, "")
    listed = _LISTED_DIM.findall(text)
    dims = ",".join(listed) if listed else match[3]
    shape = _dims(f"({dims})") if dims is not None else None
    return TensorSpec(dtype_name(match[1]) or match[1], shape, match[2] or "")


@lru_cache(maxsize=8192)
def parse_location(text: str, group: str) -> SourceFrame | None:
    """Read ``In file f.py:13, 32~42/code/``; ``None`` if the text is no location."""
    match = _LOCATION.match(text.split(_SHARED)[0])
    if not match:
        return None
    file, old, line, line_end, column, column_end, code = match.groups()
    return SourceFrame(
        file=file,
        line=int(old or line),
        code=(code or "").removesuffix("/"),
        line_end=int(line_end or 0),
        column=int(column or 0),
        column_end=int(column_end or 0),
        group=group,
    )
