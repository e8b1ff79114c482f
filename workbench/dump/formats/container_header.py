"""Messages of the dump container: field numbers, and the wire format by Google's library.

`locate` walks the bytes itself: before the library sees a long header, so that what a hostile one can
make the library allocate is bounded, and after it where not every byte was understood, so that every
refusal names its byte. Text is declared as bytes and enumerations as integers: nothing that is on the wire
is refused for what it says. Numbers are those of ``dump_data.proto`` (msaccucmp, adump); nothing
here loads the library before it is needed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.core.errors import FormatError
from workbench.graph_files.mindspore.messages import BYTES, VARINT, WireField, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

_TABLE = {
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
"""Message → ``number name kind`` of its fields; ``*`` repeats."""

BLOCKS = ("input", "output", "buffer", "space")
"""Fields of ``DumpData`` that have a payload, in the order in which the payload follows."""

_SCALARS = {"int32": 5, "uint64": 4, "uint32": 13, "bytes": 12}
"""Number of each kind in ``FieldDescriptorProto.Type``; 11 is a message."""

_MAX_FIELDS = 200_000
_MAX_DIMS = 32
_DIM_BYTES = 10
"""Longest that a number is in protobuf."""

_SMALL = 16 << 10


class Field(NamedTuple):
    """A declared field; ``kind`` is a scalar or a message."""

    number: int
    name: str
    kind: str
    repeated: bool

    @property
    def wires(self) -> tuple[int, ...]:
        """Wire types that its values may have; repeated numbers come packed or one by one."""
        if self.kind in ("bytes", *_TABLE):
            return (BYTES,)
        return (VARINT, BYTES) if self.repeated else (VARINT,)


class Span(NamedTuple):
    """Where a block's message begins, and where its ``data`` lies (two zeros: nowhere)."""

    start: int
    data_start: int = 0
    data_end: int = 0


@dataclass(slots=True)
class Header:
    """A decoded ``DumpData``, and the bytes it was decoded from, from ``start`` on."""

    message: Any
    data: bytes = field(repr=False)
    start: int
    where: str
    _spans: dict[str, list[Span]] | None = field(default=None, repr=False)

    def span(self, part: str, slot: int) -> Span:
        """Place of a block's message; found by walking through the bytes when first asked for."""
        if self._spans is None:
            self._spans = locate(self.data, self.start, self.where)
        return self._spans[part][slot]


def _fields(text: str) -> dict[int, Field]:
    rows = [row.split() for row in text.split(", ")]
    return {
        int(number): Field(int(number), name, kind.rstrip("*"), kind.endswith("*"))
        for number, name, kind in rows
    }


FIELDS: dict[str, dict[int, Field]] = {message: _fields(text) for message, text in _TABLE.items()}
"""Fields of every message by number."""


@cache
def message_class(message: str) -> Any:
    """Class of a message, ``DumpData`` for one."""
    from google.protobuf import message_factory

    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"dump.{message}"))


@cache
def _pool() -> Any:
    """Descriptors in a pool of their own: nothing is registered for others in the process."""
    from google.protobuf import descriptor_pb2, descriptor_pool

    file = descriptor_pb2.FileDescriptorProto(name="dump.proto", package="dump", syntax="proto3")
    for message, table in FIELDS.items():
        described = file.message_type.add(name=message)
        for number, name, kind, repeated in table.values():
            row = described.field.add(name=name, number=number, type=_SCALARS.get(kind, 11))
            row.label = row.LABEL_REPEATED if repeated else row.LABEL_OPTIONAL
            if kind not in _SCALARS:
                row.type_name = f".dump.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return pool


def parse(data: bytes, start: int, where: str) -> Header:
    """Decode the ``DumpData`` that begins at ``start`` and ends with ``data``.

    Raises FormatError: ``{where}: byte N: …``. Fields that nobody declares are skipped.
    """
    from google.protobuf.message import DecodeError

    size = len(data) - start
    header = Header(None, data, start, where)
    if size > _SMALL:
        header._spans = locate(data, start, where)
    try:
        header.message = message_class("DumpData").FromString(data[start:])
    except DecodeError as error:
        locate(data, start, where)
        place = f"{where}: byte {start}"
        raise FormatError("dump/protobuf", place=place, why=str(error)) from error
    header.message.DiscardUnknownFields()
    if header._spans is None and header.message.ByteSize() != size:
        header._spans = locate(data, start, where)  # a field is unknown, or of another type
    return header


def parse_short(data: bytes) -> Any | None:
    """Decode a ``DumpData`` that is short enough to be harmless; ``None`` if it is none."""
    from google.protobuf.message import DecodeError

    try:
        return message_class("DumpData").FromString(data)
    except DecodeError:
        return None


def locate(data: bytes, start: int, where: str) -> dict[str, list[Span]]:
    """Places of the blocks' messages; raises FormatError at the first field that cannot be one."""
    spans: dict[str, list[Span]] = {name: [] for name in BLOCKS}
    latest: list[Span] = []
    for message, found, place in _walk(data, where, start):
        if message == "DumpData" and found.name in spans:
            latest = spans[found.name]
            latest.append(Span(place.start))
        elif found.name == "data":
            latest[-1] = Span(latest[-1].start, place.start, place.end)
    return spans


def _walk(data: bytes, where: str, start: int) -> Iterator[tuple[str, Field, WireField]]:
    """Declared fields of all messages, each before those inside it, with the message's name."""
    budget = _MAX_FIELDS
    waiting = [("DumpData", walk(data, where, start, len(data)))]
    while waiting:
        message, fields = waiting[-1]
        found = next(fields, None)
        if found is None:
            waiting.pop()
            continue
        budget -= 1
        known = FIELDS[message].get(found.number)
        if budget < 0:
            place = f"{where}: byte {found.start}"
            raise FormatError("dump/header-fields", place=place, limit=_MAX_FIELDS)
        if known is None:
            continue
        _check(known, message, found, where)
        yield message, known, found
        if known.kind in FIELDS:
            waiting.append((known.kind, walk(data, where, found.start, found.end)))


def _check(known: Field, message: str, found: WireField, where: str) -> None:
    place = f"{where}: byte {found.start}"
    if found.wire not in known.wires:
        raise FormatError(
            "dump/field-type",
            place=place,
            number=known.number,
            name=known.name,
            message=message,
            kind=known.kind,
            got=found.wire,
        )
    size = found.end - found.start
    if known.name == "dim" and size > _DIM_BYTES * _MAX_DIMS:
        raise FormatError("dump/shape-bytes", place=place, got=size, limit=_MAX_DIMS)
