"""Messages of the dump container: field numbers, and where its blocks lie.

Text is declared as bytes and enumerations as integers: nothing that is on the wire
is refused for what it says. Numbers are those of ``dump_data.proto`` (msaccucmp, adump).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from workbench.core.errors import FormatError
from workbench.proto.schema import Schema, fields
from workbench.proto.wire import STRAIGHT, decode, walk_declared

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

_MAX_DIMS = 32
_DIM_BYTES = 10
"""Longest that a number is in protobuf."""


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


def message_class(message: str) -> Any:
    """Return Google's class of a message, ``DumpData`` for one."""
    return HEADER.message_class(message)


def parse(data: bytes, start: int, where: str) -> Header:
    """Decode the ``DumpData`` that begins at ``start`` and ends with ``data``.

    Raises FormatError: ``{where}: byte N: …``. Fields that nobody declares are skipped.
    """
    spans = locate(data, start, where) if len(data) - start > STRAIGHT else None
    message = decode(HEADER, "DumpData", data, where, start)
    return Header(message, data, start, where, spans)


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
    for message, row, found in walk_declared(HEADER, "DumpData", data, where, start, len(data)):
        if message == "DumpData" and row.name in spans:
            latest = spans[row.name]
            latest.append(Span(found.start))
        elif row.name == "data":
            latest[-1] = Span(latest[-1].start, found.start, found.end)
        elif row.name == "dim" and found.end - found.start > _DIM_BYTES * _MAX_DIMS:
            size = found.end - found.start
            place = f"{where}: byte {found.start}"
            raise FormatError("dump/shape-bytes", place=place, got=size, limit=_MAX_DIMS)
    return spans
