"""Messages of the dump container: field numbers, and the wire format by Google's library.

`locate` walks the bytes itself: before the library sees a long header, so that what a hostile one can
make the library allocate is bounded, and after it where not every byte was understood, so that every
refusal names its byte. Text is declared as bytes and enumerations as integers: nothing that is on the wire
is refused for what it says. Numbers are those of ``dump_data.proto`` (msaccucmp, adump); nothing
here loads the library before it is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO, Generic, SupportsIndex, TypeVar

import numpy as np

from workbench._values import NamedTuple
from workbench.core.errors import FormatError
from workbench.core.files import fill, size_of
from workbench.proto.schema import Schema, fields
from workbench.proto.wire import VARINT, check_type, decode, walk, walk_declared

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from workbench.proto.schema import Field
    from workbench.proto.wire import ByPlace, WireField

T = TypeVar("T")

_MESSAGES = {
    "DumpData": "1 version bytes, 2 dump_time uint64, 3 output OpOutput*, 4 input OpInput*, "
    "5 buffer OpBuffer*, 6 op_name bytes, 7 attr OpAttr*, 8 space Workspace*, 9 dfx_message bytes",
    "OpOutput": "1 data_type int32, 2 format int32, 3 shape Shape, 4 original_op OriginalOp, "
    "5 data bytes, 6 size uint64, 7 original_shape Shape, 8 sub_format int32, 9 address uint64, "
    "10 dim_range DimRange*, 11 offset uint64, 12 arg_index uint32",
    "OpInput": "1 data_type int32, 2 format int32, 3 shape Shape, 4 data bytes, 5 size uint64, "
    "6 original_shape Shape, 7 sub_format int32, 8 address uint64, 9 offset uint64, "
    "10 arg_index uint32, 11 input_type uint32",
    "Shape": "1 dim uint64*",
    "DimRange": "1 dim_start uint64, 2 dim_end uint64",
    "OriginalOp": "1 name bytes, 2 output_index uint32, 3 data_type int32, 4 format int32",
    "OpBuffer": "1 buffer_type int32, 2 data bytes, 3 size uint64",
    "OpAttr": "1 name bytes, 2 value bytes",
    "Workspace": "1 type int32, 2 data bytes, 3 size uint64, 4 arg_index uint32",
}

HEADER = Schema("dump_data", {message: fields(rows) for message, rows in _MESSAGES.items()})

BLOCKS = ("input", "output", "buffer", "space")
"""Fields of ``DumpData`` that have a payload, in the order in which the payload follows."""

MESSAGES = {"input": "OpInput", "output": "OpOutput"}
"""Field of ``DumpData`` that holds tensors → message of one of them."""

MAX_DIMS = 32
_DIM_BYTES = 10
"""Longest that a number is in protobuf."""

_SMALL = 16 << 10
"""Bytes of a header that the library decodes at once: what is made of them stays below a megabyte."""

MAX_TEXT = 1 << 20
"""Most bytes of a long header's entries and texts, apart from data; more is refused."""

_ENTRY = 64
"""Bytes that an entry counts for besides its own, of which those of numbers count twice: it takes more in memory."""

_START = 8
"""Where a header begins: behind its length."""

_FREE = ("dump_time", "op_name")
_TEXTS = ("version", "dump_time", "op_name", "dfx_message")


class Span(NamedTuple):
    """Where a block's message begins, and where its ``data`` lies (two zeros: nowhere)."""

    start: int
    data_start: int = 0
    data_end: int = 0


class Found(NamedTuple):
    """A field of ``DumpData``: its name, a number, bytes or a message, and where a block's message lies."""

    name: str
    value: Any
    span: Span | None = None


def message_class(message: str) -> Any:
    """Return Google's class of a message, ``DumpData`` for one."""
    return HEADER.message_class(message)


def read_fields(file: BinaryIO, size: int, where: str) -> Iterator[Found]:
    """Decode the ``DumpData`` of ``size`` bytes behind a file's length word, field by field.

    Blocks of a part come in order; those of a long header one at a time, so that memory does not grow with what a
    hostile one claims. Raises FormatError: ``{where}: byte N: …``. Fields that nobody declares are skipped.
    """
    if size > _SMALL:
        return _walk_entries(_Window(file, where), where, _START + size)
    data = fill(file, 0, np.empty(_START + size, np.uint8), where).tobytes()
    return _parse(data, where)


def _parse(data: bytes, where: str) -> Iterator[Found]:
    """Fields of a header that is short enough to be decoded at once."""
    message = decode(HEADER, "DumpData", data, where, _START)
    blocks = [(name, one) for name in BLOCKS for one in getattr(message, name)]
    spans: dict[str, list[Span]] | None = None
    if message.ByteSize() != len(data) - _START or any(_needs_place(one) for _, one in blocks):
        spans = locate(data, _START, where)  # a field may be unknown, or of another type
    for name in _TEXTS:
        yield Found(name, getattr(message, name))
    for attr in message.attr:
        yield Found("attr", attr)
    seen = dict.fromkeys(BLOCKS, 0)
    for name, one in blocks:
        yield Found(name, one, spans[name][seen[name]] if spans else None)
        seen[name] += 1


def _needs_place(block: Any) -> bool:
    """Whether somebody asks where the message of a block lies: for its data, or to refuse it."""
    shapes = [block.shape, block.original_shape] if hasattr(block, "shape") else []
    return bool(block.data) or any(len(shape.dim) > MAX_DIMS for shape in shapes)


class _Window:
    """Bytes of a file by their places, of which a few are held at a time."""

    def __init__(self, file: BinaryIO, where: str) -> None:
        self._file, self._where = file, where
        self._data, self._first = b"", 0
        self._size = size_of(file)

    def __getitem__(self, place: SupportsIndex, /) -> int:
        at = int(place) - self._first
        if not 0 <= at < len(self._data):
            self._first, at = int(place), 0
            self._data = self.part(self._first, min(self._first + _SMALL, self._size))
        return self._data[at]

    def part(self, start: int, end: int) -> bytes:
        return fill(self._file, start, np.empty(end - start, np.uint8), self._where).tobytes()


def _walk_entries(window: _Window, where: str, end: int) -> Iterator[Found]:
    """Fields of a long header: every byte is walked before the library sees the few of one entry."""
    latest: tuple[Field, WireField] | None = None
    budget = _Budget(where)
    for message, found, place in _walk(window, where, _START, end):
        if message == "DumpData":
            if latest is not None:
                yield _entry(window, where, *latest, budget)
            latest = found, place
    if latest is not None:
        yield _entry(window, where, *latest, budget)


class _Budget:
    """Bytes of entries and texts that a header may still have."""

    def __init__(self, where: str) -> None:
        self._where, self._used = where, 0

    def take(self, size: int, field: Field, place: WireField) -> None:
        self._used += size
        if self._used > MAX_TEXT:
            values = {"subject": f"header with its {field.name}", "got": self._used}
            at = f"{self._where}: byte {place.start}"
            raise FormatError("core/too-large", place=at, limit=MAX_TEXT, **values)


def _entry(window: _Window, where: str, field: Field, place: WireField, budget: _Budget) -> Found:
    """Decode one field of ``DumpData``; of a block all but its ``data``."""
    if place.wire == VARINT:
        tagged = bytes([field.number << 3]) + window.part(place.start, place.end)
        return Found(field.name, getattr(message_class("DumpData").FromString(tagged), field.name))
    if field.kind not in HEADER.messages:
        budget.take(place.end - place.start, field, place)
        return Found(field.name, window.part(place.start, place.end))
    kept: list[tuple[int, int]] = []
    at, span = place.start, Span(place.start)
    for inner in walk(window, where, place.start, place.end):
        known = HEADER.by_number[field.kind].get(inner.number)
        if known is not None and known.name == "data":
            span = Span(place.start, inner.start, inner.end)
        elif known is not None:
            kept.append((at, inner.end))
        at = inner.end
    size = sum(end - start for start, end in kept)
    budget.take(_ENTRY + (2 * size if field.name in BLOCKS else size), field, place)
    data = b"".join(window.part(start, end) for start, end in kept)
    return Found(field.name, message_class(field.kind).FromString(data), span)


def parse_short(data: bytes) -> Any | None:
    """Decode a header that is short enough to be harmless; ``None`` if not every byte of it is understood."""
    from google.protobuf.message import DecodeError

    try:
        message = message_class("DumpData").FromString(data)
    except DecodeError:
        return None
    message.DiscardUnknownFields()
    return message if message.ByteSize() == len(data) else None


def locate(data: bytes, start: int, where: str) -> dict[str, list[Span]]:
    """Places of the blocks' messages; raises FormatError at the first field that cannot be one."""
    spans: dict[str, list[Span]] = {name: [] for name in BLOCKS}
    latest: list[Span] = []
    for message, found, place in _walk(data, where, start, len(data)):
        if message == "DumpData" and found.name in spans:
            latest = spans[found.name]
            latest.append(Span(place.start))
        elif found.name == "data":
            latest[-1] = Span(latest[-1].start, place.start, place.end)
    return spans


def _walk(
    data: ByPlace, where: str, start: int, end: int
) -> Iterator[tuple[str, Field, WireField]]:
    """Declared fields of all messages, each before those inside it, with the message's name."""
    for message, known, found in walk_declared(HEADER, "DumpData", data, where, start, end):
        size = found.end - found.start
        if known.name == "dim" and size > _DIM_BYTES * MAX_DIMS:
            place = f"{where}: byte {found.start}"
            raise FormatError("dump/shape-bytes", place=place, got=size, limit=MAX_DIMS)
        yield message, known, found


# ---------------------------------------------------------------- headers like thousands of others


class TensorPlaces(NamedTuple):
    """Where a header states what differs from one tensor of a kind to the next; two zeros: nowhere.

    Its address is a number, its name that of the operator of the network that an output is of.
    """

    address: int = 0
    address_end: int = 0
    name: int = 0
    name_end: int = 0


_MORE = 0x80
"""Bit of a number's byte that says whether another follows."""

_MAX_CACHED = 4 << 20
_MAX_MASKS = 16


def find_places(data: bytes) -> tuple[list[TensorPlaces], bytes]:
    """Places of the tensors of a header, inputs first, and a mask of what else it says.

    ``data`` is a file up to the end of its header. Whatever is the same under the mask has the same fields at the
    same bytes: free are the bytes of names, and seven bits of each of a number's. Raises FormatError if a field is
    none, or a tensor states its address or name twice.
    """
    tensors: dict[str, list[TensorPlaces]] = {part: [] for part in MESSAGES}
    mask = bytearray(b"\xff" * len(data))
    for field, name in _named_fields("DumpData", data, _START, len(data)):
        found = [(name, field)] if name in _FREE else []
        if name in MESSAGES:
            found = _tensor_fields(name, data, field)
            starts = {one: place.start for one, place in found}
            ends = {f"{one}_end": place.end for one, place in found}
            tensors[name].append(TensorPlaces(**starts, **ends))
        for _, (_, wire, start, end) in found:
            mask[start:end] = (bytes((_MORE,)) if wire == VARINT else b"\0") * (end - start)
    return [one for part in MESSAGES for one in tensors[part]], bytes(mask)


def _tensor_fields(part: str, data: bytes, message: WireField) -> list[tuple[str, WireField]]:
    """Address and name in the message of a tensor; raises FormatError if it has one of them twice."""
    found: list[tuple[str, WireField]] = []
    for field, name in _named_fields(MESSAGES[part], data, message.start, message.end):
        if name == "address":
            found.append(("address", field))
        elif name == "original_op":
            inside = _named_fields("OriginalOp", data, field.start, field.end)
            found += (("name", one) for one, its in inside if its == "name" and one.end > one.start)
    if len({name for name, _ in found}) < len(found):
        raise FormatError(
            "proto/message", place=f"byte {message.start}", message=MESSAGES[part], why=""
        )
    return found


def _named_fields(
    message: str, data: bytes, start: int, end: int
) -> Iterator[tuple[WireField, str]]:
    """Declared fields of a message, each with its name; raises FormatError for one of another type."""
    known = HEADER.by_number[message]
    for field in walk(data, "", start, end):
        if (row := known.get(field.number)) is not None:
            check_type(HEADER, message, row, field, "")
            yield field, row.name


class FormCache(Generic[T]):
    """What was read of headers, for those that say the same but for times, addresses and names.

    A header is looked up by its bytes under the mask of each form of its length.
    """

    def __init__(self) -> None:
        self._by_length: dict[int, dict[int, dict[bytes, T]]] = {}
        self._held = 0

    def get(self, data: bytes) -> T | None:
        """Return what was read of a header like this one; ``None`` if there was none."""
        size = len(data)
        number = int.from_bytes(data, "little")
        for mask, forms in self._by_length.get(size, {}).items():
            if (found := forms.get((number & mask).to_bytes(size, "little"))) is not None:
                return found
        return None

    def put(self, data: bytes, mask: bytes, form: T) -> None:
        """Keep what was read of a header; what is free in it, the mask says."""
        if self._held > _MAX_CACHED:
            self._by_length.clear()
            self._held = 0
        self._held += len(data)
        masks = self._by_length.setdefault(len(data), {})
        if len(masks) >= _MAX_MASKS:
            masks.clear()
        number = int.from_bytes(mask, "little")
        fixed = (int.from_bytes(data, "little") & number).to_bytes(len(data), "little")
        masks.setdefault(number, {})[fixed] = form


def decode_numbers(data: bytes, starts: NDArray[Any], ends: NDArray[Any]) -> NDArray[np.uint64]:
    """Values of numbers that lie between places of ``data``, of ten bytes at most; 0 where there are none.

    Of ten bytes the lowest 64 bits count.
    """
    values = np.zeros(len(starts), np.uint64)
    content = np.frombuffer(data, np.uint8)
    for place in range(int((ends - starts).max(initial=0))):
        found = np.flatnonzero(starts + place < ends)
        digits = content[starts[found] + place].astype(np.uint64) & (_MORE - 1)
        values[found] |= digits << (7 * place)
    return values
