"""Slices of an operator's tensors (FFTS+): how its files say where they belong.

A scheduler that cuts operators to fit the cache leaves a file for every slice: threads of one operator
(automatic), or operators of their own whose name ends in ``_lxslice{n}`` (manual). An attribute of the
header tells the cut. Tensors are put together where it says all that is needed, and stay in parts with
a reason elsewhere. Sources: metadef ``sgt_slice_type``, GE ``data_dumper``, msaccucmp ``ffts_parser.py``,
which puts outputs together.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from workbench._values import NamedTuple
from workbench.core.errors import FormatError
from workbench.core.formats import format_text
from workbench.core.packing import packed_bytes
from workbench.core.tensors import TensorKey, TensorRecord, TensorSpec
from workbench.dump import formats, payload
from workbench.dump.payload.blocks import ExtentSource
from workbench.dump.payload.extent import Extent, HostLayout, Slice

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workbench.core.dtypes import DType
    from workbench.core.formats import FormatWord
    from workbench.core.tensors import Io
    from workbench.dump.formats.container import Container, TensorEntry
    from workbench.dump.formats.file import FileName

_MANUAL = re.compile(r"_lxslice(\d{1,9})", re.ASCII)
_MAX_TEXT = 4 << 20
_MAX_PARTS = 4096
_MAX_DIMS = 32
_SLACK = 64
"""More than the device adds to a tensor: it rounds up to 32 bytes and reserves 32 more."""

Range = tuple[int, int]


class SliceInfo(NamedTuple):
    """What the attribute of a slice says.

    ``automatic``: the slices are threads. ``total`` is how many there are (0: not stated). For input and
    output, ``lists`` has a number for every axis of every tensor, 1 where it is not cut; ``ranges`` the places of
    every thread's tensors along every axis.
    """

    automatic: bool
    total: int
    lists: dict[str, Any]
    ranges: dict[str, Any]


class SliceFile(NamedTuple):
    """A file of a slice: its name and header, the operator's own name, what it says of the cut, its number."""

    path: str
    name: FileName
    op_name: str
    container: Container
    cut: SliceInfo
    number: int


def read_part(path: str, name: FileName, container: Container) -> SliceFile | None:
    """Read what a file says of the operator that it is a slice of; ``None`` if it says nothing."""
    cut = _cut(container)
    if cut is None:
        return None
    found = manual_slice(name.op_name)
    if cut.automatic or found is None:
        return SliceFile(path, name, name.op_name, container, cut, name.ids.thread or 0)
    return SliceFile(path, name, found[0], container, cut, found[1])


def manual_slice(op_name: str) -> tuple[str, int] | None:
    """Return the operator that a slice of manual mode is one of, and its number; ``None`` for any other.

    >>> manual_slice("net_conv_lxslice1"), manual_slice("net_conv")
    (('net_conv', 1), None)
    """
    found = _MANUAL.search(op_name)
    if found is None:
        return None
    return op_name[: found.start()] + op_name[found.end() :], int(found[1])


def _cut(container: Container) -> SliceInfo | None:
    for _, text in container.attrs:
        if text[:1] == "{" and len(text) <= _MAX_TEXT:
            try:
                told = json.loads(text)
            except (ValueError, RecursionError):
                continue
            if "threadMode" in told:
                count = told.get("slice_instance_num")
                sides = ("input", "output")
                return SliceInfo(
                    bool(told["threadMode"]),
                    count if isinstance(count, int) else 0,
                    {io: told.get(f"{io}CutList") for io in sides},
                    {io: told.get(f"{io}_tensor_slice") for io in sides},
                )
    return None


def by_execution(parts: Sequence[SliceFile]) -> Iterator[list[SliceFile]]:
    """Part the slices of one operator by execution, in order of time; each has every number once."""
    left = sorted(parts, key=lambda part: part.name.timestamp_us)
    while left:
        turn: dict[int, SliceFile] = {}
        for part in left:
            turn.setdefault(part.number, part)
        left = [part for part in left if turn[part.number] is not part]
        yield [turn[number] for number in sorted(turn)]


def slice_records(parts: Sequence[SliceFile], at: tuple[int, int, int, str]) -> list[TensorRecord]:
    """Records of one execution of an operator: its tensors, put together from their slices.

    Parameters
    ----------
    at : tuple
        Graph, iteration, rank and net of their keys.

    Raises
    ------
    FormatError
        Slices are missing or do not fit each other; the text is the reason.
    """
    numbers = [part.number for part in parts]
    count = parts[0].cut.total if parts[0].cut.total > 0 else len(parts)
    if len(parts) > _MAX_PARTS or numbers != list(range(count)):
        raise FormatError("dump/slices-missing", got=numbers, last=count - 1)
    if len({(part.cut.automatic, part.cut.total) for part in parts}) > 1:
        raise FormatError("dump/slices-mixed")
    records: list[TensorRecord] = []
    sides: tuple[Io, ...] = ("input", "output")
    for io in sides:
        blocks = [part.container.part(io) for part in parts]
        if len({len(one) for one in blocks}) > 1:
            raise FormatError("dump/slices-uneven", io=io, got=[len(one) for one in blocks])
        for slot, tensors in enumerate(zip(*blocks, strict=True)):
            records += _records(parts, tensors, io, slot, at)
    return records


def _records(
    parts: Sequence[SliceFile],
    blocks: Sequence[TensorEntry],
    io: Io,
    slot: int,
    at: tuple[int, int, int, str],
) -> Iterator[TensorRecord]:
    """The record of one tensor; of an input whose slices may overlap, one for every slice."""
    if io == "input" and _may_overlap(parts[0].cut, slot):
        if parts[0].cut.automatic:
            raise FormatError("dump/slices-threads", place=f"input {slot}")
        for part, block in zip(parts, blocks, strict=True):
            extent = formats.locate(part.path, block)
            key = TensorKey(part.name.op_type, part.name.op_name, io, slot, *at)
            label = TensorSpec(extent.dtype.name, None, extent.format.name)
            yield _record(part, key, extent, label)
        return
    try:
        whole = _tensor(parts, blocks, io, slot)
    except FormatError as error:
        raise error.at(f"{io} {slot}") from error
    key = TensorKey(parts[0].name.op_type, parts[0].op_name, io, slot, *at)
    label = TensorSpec(whole.dtype.name, None, format_text(whole.format))
    yield _record(parts[0], key, whole, label)


def _record(part: SliceFile, key: TensorKey, extent: Extent, label: TensorSpec) -> TensorRecord:
    ids = part.name.task_id or 0, part.name.stream_id or 0
    source = ExtentSource(extent)
    return TensorRecord(key, label, source, None, part.name.timestamp_us, *ids, part.path)


def _may_overlap(cut: SliceInfo, slot: int) -> bool:
    """Whether an input is cut, and nothing says what its slices have in common."""
    told = cut.lists["input"]
    told = told[slot] if isinstance(told, list) and slot < len(told) else None
    is_whole = isinstance(told, list) and all(number == 1 for number in told)
    return not is_whole and not (cut.automatic and cut.ranges["input"])


def _tensor(parts: Sequence[SliceFile], blocks: Sequence[TensorEntry], io: Io, slot: int) -> Extent:
    """Put one tensor together; raises FormatError if its slices do not fit each other."""
    first = blocks[0]
    if len({(one.data_type, one.format, one.sub_format) for one in blocks}) > 1:
        raise FormatError("dump/slices-types")
    if first.row is None or not first.row.packing:
        raise FormatError("dump/slices-data-type", got=first.data_type)
    windows = _windows(parts, blocks, io, slot)
    axes = [axis for axis in range(len(windows[0])) if len({one[axis] for one in windows}) > 1]
    listed = _listed(parts[0].cut, io, slot, len(windows[0]))
    if len(axes) > 1 or (listed is not None and axes != listed):
        raise FormatError("dump/slices-axes", got=axes, listed=listed)
    used = list(zip(parts, blocks, windows, strict=True))[: None if axes else 1]
    axis = axes[0] if axes else 0
    slices = _placed(used, axis)
    originals = _originals([block.original_shape or () for _, block, _ in used])
    return payload.with_host(_joined(slices, axis, first.row, first.layout, originals))


def _joined(
    slices: tuple[Slice, ...],
    axis: int,
    dtype: DType,
    format: FormatWord,
    originals: tuple[HostLayout, ...],
) -> Extent:
    """The extent of a whole tensor as it lies on the device."""
    path, start, shape, _ = slices[0]
    if len(slices) > 1:
        dim = sum(one.shape[axis] - one.overlap for one in slices)
        shape = (*shape[:axis], dim, *shape[axis + 1 :])
    else:
        slices = ()
    count = math.prod(shape)
    size = packed_bytes(dtype, count)
    return Extent(
        path, start, size, dtype, count, shape, format, originals, slices=slices, axis=axis
    )


def _originals(stated: list[tuple[int, ...]]) -> tuple[HostLayout, ...]:
    """Shapes that the host's may be: as all slices state it, or the sum of theirs along an axis."""
    if not all(stated) or len({len(one) for one in stated}) > 1:
        return ()
    first = stated[0]
    found = [first] if len(set(stated)) == 1 else []
    found += [
        (*first[:axis], sum(one[axis] for one in stated), *first[axis + 1 :])
        for axis in range(len(first))
        if len({(*one[:axis], *one[axis + 1 :]) for one in stated}) == 1
    ]
    return tuple(map(HostLayout, found))


def _windows(
    parts: Sequence[SliceFile], blocks: Sequence[TensorEntry], io: Io, slot: int
) -> list[tuple[Range, ...]]:
    """Places that every slice holds along every axis: as its thread's ranges say, else side by side."""
    cut = parts[0].cut
    if cut.automatic and cut.ranges[io]:
        return [_ranges(cut.ranges[io], number, slot) for number in range(len(parts))]
    shapes = [block.stored_shape for block in blocks]
    if len({len(shape) for shape in shapes}) > 1:
        raise FormatError("dump/slices-rank", got=shapes)
    listed = _listed(cut, io, slot, len(shapes[0]))
    if listed is None:
        raise FormatError("dump/slices-axis")
    windows, ends = [], dict.fromkeys(listed, 0)
    for shape in shapes:
        here = [(ends.get(axis, 0), ends.get(axis, 0) + dim) for axis, dim in enumerate(shape)]
        windows.append(tuple(here))
        ends = {axis: here[axis][1] for axis in ends}
    return windows


def _ranges(told: Any, thread: int, slot: int) -> tuple[Range, ...]:
    """Ranges of one tensor of a thread."""
    try:
        found = tuple((one["lower"], one["higher"]) for one in told[thread][slot])
    except (TypeError, KeyError, IndexError, AttributeError):
        found = ()
    right = all(type(end) is int for one in found for end in one)
    if not found or not right or any(not 0 <= low < high for low, high in found):
        raise FormatError("dump/slices-ranges", thread=thread, got=str(told)[:200])
    return found


def _listed(cut: SliceInfo, io: Io, slot: int, rank: int) -> list[int] | None:
    """Axes that the list of a tensor calls cut; ``None`` if there is no list for it."""
    told = cut.lists[io]
    told = told[slot] if isinstance(told, list) and slot < len(told) else None
    if not isinstance(told, list) or len(told) != rank:
        return None
    return [axis for axis, number in enumerate(told) if number != 1]


def _placed(
    used: Sequence[tuple[SliceFile, TensorEntry, tuple[Range, ...]]], axis: int
) -> tuple[Slice, ...]:
    """Slices one behind the other along an axis; raises FormatError if they leave gaps."""
    slices: list[Slice] = []
    end = 0
    for part, block, window in used:
        shape = tuple(high - low for low, high in window)
        low, high = window[axis] if window else (0, 1)
        others = [one for at, one in enumerate(window) if at != axis]
        if any(first for first, _ in others) or low > end or high <= end:
            raise FormatError("dump/slices-gap", got=window, end=end)
        if block.row is None or block.start < 0 or not _holds(block, shape):
            if block.problem is not None:
                raise block.refusal(f"slice {part.number}")
            raise FormatError(
                "dump/slices-size",
                place=f"slice {part.number}",
                expected=shape,
                shape=block.shape,
                size=block.size,
            )
        slices.append(Slice(part.path, block.start, shape, end - low))
        end = high
    return tuple(slices)


def _holds(block: TensorEntry, shape: tuple[int, ...]) -> bool:
    """Whether a block can be a slice of a shape: it states that many elements, or those of the whole."""
    assert block.row is not None
    count = math.prod(shape)
    size = packed_bytes(block.row, count)
    if size > block.size or len(shape) > _MAX_DIMS:
        return False
    states_whole = (block.stated_bytes or 0) > block.size and block.size < size + _SLACK
    return states_whole or formats.element_count(block.stored_shape) == count
