"""The quick way through operators in the layout that GE writes: two blanks a level, fields in order.

One pattern, made from the rows of `workbench.graph_files.ge.fields`, checks a whole operator: every line, every
type, every escape. What fits it is well-formed, so its fields can wait: `Block` and `Entries` keep
places in the text and read a value when somebody asks, which cannot fail any more. What does not fit
(another layout, new fields, damage) is left to `workbench.graph_files.ge.scan`.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, cast

from workbench.graph_files.ge.fields import ENUMS, FIELDS, MESSAGES, ONE_OF, Field
from workbench.graph_files.ge.scalars import parse_string
from workbench.graph_files.ge.scan import Scanner

_STRING = r'"[^"\\\n]*+(?:\\(?:[0-3][0-7][0-7]|[nrt"\'\\])[^"\\\n]*+)*+"'
_INT = r"-?(?:0|[1-9][0-9]{0,17})"
_SCALARS = {
    "string": _STRING,
    "text": _STRING,
    "bytes": _STRING,
    "int64": _INT,
    "uint32": r"(?:0|[1-9][0-9]{0,8})",
    "bool": "(?:true|false)",
    "float": r"-?(?:(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:e[-+][0-9]++)?|inf|nan)",
    **dict.fromkeys(ENUMS, "[A-Z][A-Z0-9_]*+"),
}
_ATTRIBUTE_DEPTH = 2
"""How deep tensors and functions may stand inside each other's attributes; deeper ones are scanned."""


def _field(field: Field, indent: int, depth: int) -> str:
    """Pattern of one occurrence of a field, indentation and line ends included; ``""`` if it has none."""
    blanks = " " * indent
    if field.kind in _SCALARS:
        return f"{blanks}{field.name}: {_SCALARS[field.kind]}\n"
    if not MESSAGES[field.kind] or field.kind == "GraphDef":
        return ""
    if field.many == "map":
        inner = _fields(field.kind, indent + 4, depth)
        entry = f"{blanks}  key: {_STRING}\n{blanks}  value \\{{\n{inner}{blanks}  \\}}\n"
        return f"{blanks}{field.name} \\{{\n{entry}{blanks}\\}}\n"
    inner = _fields(field.kind, indent + 2, depth)
    return f"{blanks}{field.name} \\{{\n{inner}{blanks}\\}}\n"


def _fields(message: str, indent: int, depth: int) -> str:
    """Pattern of all fields of a message; attributes of attributes go ``depth`` levels down."""
    if message == "AttrDef":
        depth -= 1
    rows = [row for row in MESSAGES[message] if depth or row.kind not in ("AttrDef", *_WITH_ATTRS)]
    patterns = [(_field(row, indent, depth), "*+" if row.many else "?+") for row in rows]
    if message in ONE_OF:
        blanks = " " * indent
        choices = (pattern.removeprefix(blanks) for pattern, _ in patterns if pattern)
        return f"(?:{blanks}(?:{'|'.join(choices)}))?+"
    return "".join(f"(?:{pattern}){times}" for pattern, times in patterns if pattern)


_WITH_ATTRS = ("TensorDescriptor", "TensorDef", "NamedAttrs", "GraphDef")


@cache
def _groups(message: str, indent: int) -> re.Pattern[str]:
    """Pattern of a message with one group for each of its rows, which spans all occurrences."""
    depth = _ATTRIBUTE_DEPTH if message == "OpDef" else 1
    parts = []
    for row in MESSAGES[message]:
        pattern = _field(row, indent, 1 if row.kind == "TensorDescriptor" else depth)
        parts.append(f"((?:{pattern}){'*+' if row.many else '?+'})" if pattern else "()")
    return re.compile("".join(parts))


@cache
def _entry(indent: int) -> re.Pattern[str]:
    """Pattern of the head of a map's entry."""
    blanks = " " * indent
    return re.compile(f"^{blanks}[a-z_]+ \\{{\n{blanks}  key: ({_STRING})\n", re.MULTILINE)


class Block(Mapping[str, Any]):
    """The fields of one message of well-formed text, each read when asked for.

    ``ends`` are the places where the block begins and where each row of its message ends.
    """

    __slots__ = ("_ends", "_indent", "_message", "_text")

    def __init__(self, text: str, message: str, indent: int, ends: array[int]) -> None:
        self._text = text
        self._message = message
        self._indent = indent
        self._ends = ends

    @property
    def end(self) -> int:
        """The place behind the last field."""
        return self._ends[-1]

    def _span(self, name: str) -> tuple[int, int]:
        """Where the occurrences of a field begin and end; an empty span if there is none."""
        row = _PLACES[self._message].get(name)
        return (0, 0) if row is None else (self._ends[row], self._ends[row + 1])

    def __getitem__(self, name: str) -> Any:
        start, end = self._span(name)
        if start == end:
            raise KeyError(name)
        field = FIELDS[self._message][name]
        if field.many == "map":
            return Entries(self._text, self._message, self._indent, start, end)
        if field.kind == "TensorDescriptor":
            return tuple(
                block_of(piece, field.kind, self._indent + 2) for piece in self.pieces(name)
            )
        raw = self._text[start:end]
        if field.kind == "string":
            return self._strings(field, raw)
        return Scanner(raw, "").message(self._message, 0)[0][name]

    def _strings(self, field: Field, raw: str) -> Any:
        head = " " * self._indent + field.name + ': "'
        values: Any = raw[len(head) : -2].split('"\n' + head)
        if "\\" in raw or not raw.isascii():
            values = [_string(f'"{value}"') for value in values]
        return tuple(values) if field.many else values[0]

    def pieces(self, name: str) -> list[str]:
        """Texts of the blocks of a repeated field, without the lines that open and close them."""
        start, end = self._span(name)
        blanks = " " * self._indent
        head, tail = f"{blanks}{name} {{\n", f"{blanks}}}\n"
        inner = self._text[start + len(head) : end - len(tail)]
        return inner.split(tail + head) if start < end else []

    def __iter__(self) -> Iterator[str]:
        for row, start, end in zip(
            MESSAGES[self._message], self._ends, self._ends[1:], strict=False
        ):
            if start < end:
                yield row.name

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return repr(dict(self))


def block_of(text: str, message: str, indent: int, start: int = 0) -> Block:
    """Block of a message whose fields begin at ``start``; it ends where no further field fits."""
    found = cast("re.Match[str]", _groups(message, indent).match(text, start))
    ends = array("q", [start, *(end for _, end in found.regs[1:])])
    return Block(text, message, indent, ends)


def excerpt(piece: str, indent: int, keys: tuple[str, ...]) -> str:
    """The part of a block's text before its attributes, and the attributes called ``keys``."""
    blanks = " " * indent
    head = f"{blanks}attr {{\n"
    parts = [piece.partition(head)[0]]
    for key in keys:
        start = piece.find(f'{head}{blanks}  key: "{key}"\n')
        if start >= 0:
            parts.append(piece[start : piece.index(f"\n{blanks}}}\n", start) + indent + 3])
    return "".join(parts)


class Entries(Mapping[str, Any]):
    """A map of attributes of well-formed text; a value is read when asked for."""

    __slots__ = ("_end", "_indent", "_index", "_message", "_start", "_text", "_values")

    def __init__(self, text: str, message: str, indent: int, start: int, end: int) -> None:
        self._text = text
        self._message = message
        self._indent = indent
        self._start = start
        self._end = end
        self._index: dict[str, int] | None = None
        self._values: dict[str, Any] = {}

    def _places(self) -> dict[str, int]:
        """Where the entry of each key begins; the last one counts."""
        if self._index is None:
            found = _entry(self._indent).finditer(self._text, self._start, self._end)
            self._index = {_string(match[1]): match.start() for match in found}
        return self._index

    def __getitem__(self, key: str) -> Any:
        if key not in self._values:
            start = self._places()[key]
            tail = f"\n{' ' * self._indent}}}\n"
            raw = self._text[start : self._text.index(tail, start) + len(tail)]
            self._values[key] = Scanner(raw, "").message(self._message, 0)[0]["attr"][key]
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places())

    def __len__(self) -> int:
        return len(self._places())

    def __repr__(self) -> str:
        return repr(dict(self))


def _string(quoted: str) -> str:
    if quoted.isascii() and "\\" not in quoted:
        return quoted[1:-1]
    return cast("str", parse_string("string", quoted))


_PLACES = {
    message: {row.name: place for place, row in enumerate(rows)}
    for message, rows in MESSAGES.items()
}
_OP_INDENT = 4
_HEAD, _TAIL = "\n  op {\n", "  }\n"


def read_op(text: str, position: int) -> tuple[Block, int] | None:
    """Read the operator whose word ``op`` stands at ``position``; ``None`` if it is not laid out as usual."""
    if not text.startswith(_HEAD, position - 3):
        return None
    block = block_of(text, "OpDef", _OP_INDENT, position - 3 + len(_HEAD))
    if not text.startswith(_TAIL, block.end):
        return None
    return block, block.end + len(_TAIL)
