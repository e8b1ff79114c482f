"""Overflow records, ``Opdebug.Node_OpDebug.*``: which operator overflowed first, and how.

Two layouts lie in the one output of such a container: the classic one of 2,048 bytes with three
blocks, and the newer one that begins with a magic number. Both are those that msaccucmp's
``dump_data_parser.py`` takes apart; the words for a status are of the vendor's documents.
`workbench.dump.reports.opdebug_json` turns records into the JSON of three programs and back.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np

from workbench._values import NamedTuple, dataclass
from workbench.core.errors import FormatError
from workbench.dump.formats.container import Container, Origin, block_bytes, read_container
from workbench.dump.formats.container_write import tensor_block

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from workbench.dump.formats.container import TensorEntry

SIZE = 2048
"""Bytes of a record in either layout."""

MAGIC = 0x5A5A5A5A
_OP_NAME = "Node_OpDebug"

WHO = ("model_id", "stream_id", "task_id", "task_type", "pc_start", "para_base")


class Classic(NamedTuple):
    """Where a block of the classic layout lies: the operator's fields, then those of its status."""

    info: int
    status: int
    last: tuple[str, ...]


CLASSIC: dict[str, Classic] = {
    "DHA Atomic Add": Classic(0, 512, ("status",)),
    "L2 Atomic Add": Classic(128, 768, ("status",)),
    "AI Core": Classic(256, 1024, ("kernel_code", "block_idx", "status")),
}
"""Title → place, in the order of msaccucmp's JSON."""

CORE = (
    "model_id", "stream_id", "task_id", "task_type", "context_id", "thread_id",
    "pc_start", "para_base", "core_id", "block_id", "status",
)  # fmt: skip
ACCELERATORS: dict[int, tuple[str, tuple[str, ...]]] = {
    0: ("AIC", CORE),
    1: ("AIV", CORE),
    2: (
        "AICPU",
        ("model_id", "stream_id", "task_id", "task_type", "context_id", "cpu_id", "thread_id",
         "status"),
    ),
    3: (
        "SDMA",
        ("model_id", "stream_id", "task_id", "task_type", "context_id", "thread_id",
         "src_addr", "dst_addr", "channel_id", "status"),
    ),
}  # fmt: skip
"""``acc_type`` → its title and its fields, of the layout with a magic number."""

_CORE_STATUS = {
    0x8: "negating the smallest signed integer",
    0x10: "integer addition, subtraction or multiplication overflowed",
    0x20: "floating-point overflow",
    0x80: "negative number converted to unsigned",
    0x100: "conversion to float16 overflowed",
    0x400: "accumulator of the cube unit overflowed",
}
_NEWER_STATUS = {
    1 << 5: "floating-point or integer overflow",
    1 << 6: "floating-point underflow",
    1 << 7: "negative number converted to unsigned",
    1 << 8: "result of the cube unit overflowed on its way out",
    1 << 9: "result of the cube unit underflowed on its way out",
    1 << 10: "accumulator of the cube unit overflowed",
    1 << 11: "accumulator of the cube unit underflowed",
    1 << 13: "the scalar unit read NaN or Inf",
    1 << 14: "the vector unit read NaN or Inf",
    1 << 15: "the cube unit read NaN or Inf",
    1 << 61: "NaN or Inf was moved",
}
"""Bits that ``asc_get_status`` documents; version 1 has three words more, which nothing documents."""

_BITS = {"AI Core": _CORE_STATUS, "AIC": _NEWER_STATUS, "AIV": _NEWER_STATUS}
_ATOMIC_STATUS = {
    "DHA Atomic Add": {
        9: "overflow", 10: "underflow", 11: "source is NaN", 12: "destination is NaN",
        13: "source and destination are NaN",
    },
    "L2 Atomic Add": {
        1: "overflow", 2: "underflow", 3: "source is NaN", 4: "destination is NaN",
        5: "source and destination are NaN",
    },
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Accelerator:
    """What one accelerator reports: its title and its fields, in the order of the layout.

    A field is a number; ``status`` of version 1 is four. ``valid``, ``rsv`` and ``data_len`` are of
    the layout with a magic number; without ``data_len`` it follows from the fields.
    """

    title: str
    fields: Mapping[str, int | tuple[int, ...]]
    valid: int = 1
    rsv: int = 0
    data_len: int | None = None

    @property
    def statuses(self) -> tuple[int, ...]:
        status = self.fields["status"]
        return status if isinstance(status, tuple) else (status,)

    @property
    def stated_length(self) -> int:
        """Bytes of the fields as the record states them, or as they are."""
        if self.data_len is not None:
            return self.data_len
        return 8 * (len(self.fields) - 1 + len(self.statuses))

    @property
    def meaning(self) -> tuple[str, ...]:
        """What the status says in words, as far as its bits are documented."""
        (status, *rest) = self.statuses
        if self.title in _ATOMIC_STATUS and not rest:
            words = _ATOMIC_STATUS[self.title]
            return (words.get(status, f"status {status:#x}"),) if status else ()
        bits = _BITS.get(self.title)
        if bits is None or any(rest):
            return ()
        found = [text for bit, text in bits.items() if status & bit]
        unknown = status & ~sum(bits)
        return (*found, *([f"status {unknown:#x}"] if unknown else []))


@dataclass(frozen=True, slots=True)
class OverflowRecord:
    """A record of either layout; ``version`` is ``None`` for the classic one."""

    accelerators: tuple[Accelerator, ...]
    version: int | None = None

    @property
    def first(self) -> Accelerator | None:
        """The accelerator that reports an overflow; ``None`` if none does."""
        return next((one for one in self.accelerators if any(one.statuses)), None)


# ---------------------------------------------------------------- bytes


def read_overflow(path: str | os.PathLike[str]) -> tuple[OverflowRecord, ...]:
    """Read the record of every output of an ``Opdebug`` container; raises FormatError if it has none."""
    outputs = read_container(path).part("output")
    if not outputs:
        raise FormatError("dump/overflow-none", place=f"{path}: byte 0")
    return tuple(
        parse_record(block_bytes(str(path), block), f"{path}: byte {block.start}")
        for block in outputs
        if _is_bounded(block, str(path))
    )


def _is_bounded(block: TensorEntry, path: str) -> bool:
    if block.size > SIZE:
        place = f"{path}: byte {max(block.start, 0)}"
        raise FormatError("dump/overflow-size", place=place, got=block.size, expected=SIZE)
    return True


def parse_record(data: bytes, where: str = "<bytes>") -> OverflowRecord:
    """Take a record apart; ``where`` is the place of a FormatError."""
    if len(data) >= 8 and struct.unpack_from("<I", data)[0] == MAGIC:
        return _parse_magic(data, where)
    if len(data) != SIZE:
        raise FormatError("dump/overflow-size", place=where, got=len(data), expected=SIZE)
    found = []
    for title, place in CLASSIC.items():
        numbers = struct.unpack_from(f"<{len(WHO)}Q", data, place.info)
        last = struct.unpack_from(f"<{len(place.last)}Q", data, place.status)
        names = (*WHO, *place.last)
        found.append(Accelerator(title, dict(zip(names, (*numbers, *last), strict=True))))
    return OverflowRecord(tuple(found))


def _parse_magic(data: bytes, where: str) -> OverflowRecord:
    """Read the first accelerator, and as many as follow it whole and valid."""
    (version,) = struct.unpack_from("<I", data, 4)
    found: list[Accelerator] = []
    at = 8
    while len(data) >= at + 16:
        valid, kind, rsv, length = struct.unpack_from("<4I", data, at)
        title, names = ACCELERATORS.get(kind, ("", ()))
        count = len(names) + (3 if version == 1 and names is CORE else 0)
        fits = valid == 1 and length == 8 * count and len(data) >= at + 16 + length
        if found and not (title and fits):
            break
        if not title:
            last = max(ACCELERATORS)
            raise FormatError("dump/overflow-accelerator", place=where, got=kind, last=last)
        if len(data) < at + 16 + 8 * count:
            break
        numbers = struct.unpack_from(f"<{count}Q", data, at + 16)
        last = len(names) - 1
        status = numbers[last] if count == len(names) else numbers[last:]
        fields = dict(zip(names, (*numbers[:last], status), strict=True))
        found.append(Accelerator(title, fields, valid, rsv, length))
        at += 16 + 8 * count
    if not found:
        raise FormatError("dump/overflow-short", place=where, got=len(data))
    return OverflowRecord(tuple(found), version)


def record_bytes(record: OverflowRecord) -> bytes:
    """Return the 2,048 bytes of a record."""
    data = bytearray(SIZE)
    if record.version is None:
        for one in record.accelerators:
            place = CLASSIC[one.title]
            numbers = list(one.fields.values())
            struct.pack_into(f"<{len(WHO)}Q", data, place.info, *numbers[: len(WHO)])
            struct.pack_into(f"<{len(place.last)}Q", data, place.status, *numbers[len(WHO) :])
        return bytes(data)
    struct.pack_into("<2I", data, 0, MAGIC, record.version)
    at = 8
    kinds = {title: kind for kind, (title, _) in ACCELERATORS.items()}
    for one in record.accelerators:
        numbers = [*list(one.fields.values())[:-1], *one.statuses]
        length = one.stated_length
        struct.pack_into("<4I", data, at, one.valid, kinds[one.title], one.rsv, length)
        struct.pack_into(f"<{len(numbers)}Q", data, at + 16, *numbers)
        at += 16 + 8 * len(numbers)
    return bytes(data)


def overflow_container(
    record: OverflowRecord, dump_time: int
) -> tuple[Container, list[NDArray[np.uint8]]]:
    """Return the container of a record and its payload; ``dump_time`` is microseconds."""
    data = np.frombuffer(record_bytes(record), np.uint8)
    origin = Origin(_OP_NAME)
    block, payload = tensor_block("output", 0, data, origin=origin)
    return Container((block,), dump_time=dump_time, op_name=_OP_NAME), [payload]
