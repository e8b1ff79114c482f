"""Who could have written over an output: what lies right below it in memory, by addresses in containers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.compare.cause import Difference
from workbench.compare.hypotheses.memory import holds, orders
from workbench.core.errors import FormatError
from workbench.dump.files.block_index import BlockSource, held_container

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from workbench.compare.binding import Binding, Block, OpRun
    from workbench.compare.flow import Flow
    from workbench.graph.nodes import Graph, Value

_MOST = 1 << 20  # elements of a tensor that are searched
_LEAST = 32  # bytes that are enough to tell whose they are


def overwritten(
    flow: Flow, graph: Graph, block: Block, value: Value, reader: int, slot: int, limit: float
) -> Difference:
    """Say that operator ``reader`` found something else in an input than its producer wrote.

    Other readers show when it happened: an input whose error is within ``limit`` was still as
    written. Inputs are dumped when an operator is done, so it may itself be the one.
    """
    reads = [
        (n, flow.index.get((block, n), {}).get(("input", s))) for n, s in graph.consumers[value]
    ]
    looks = {n: item.error <= limit for n, item in reads if item is not None and item.usable}
    first = min((n for n, intact in looks.items() if not intact), default=reader)
    last = max((n for n, intact in looks.items() if intact and n < first), default=value.op)
    between = range(last + 1, min(first + 1, reader))
    text = f"input.{slot} is not what its producer wrote: overwritten between the two operators"
    target = flow.pairing.target
    writer, below = (
        writer_of(target, block, value, (reader, slot), between),
        writer_below(target, block, value, between),
    )
    if writer:
        text += f", where {writer} wrote beyond its end: the bytes are those of its output"
    elif below:
        text += f", where {below} wrote right below it"
    else:
        text += _ran(target.runs.get(block, {}), between)
    return Difference("overwritten", f"input.{slot}", text)


def _ran(runs: Mapping[int, OpRun], numbers: Iterable[int]) -> str:
    """Who may have written, where nothing tells who did."""
    names = [runs[number].op_name for number in numbers if number in runs]
    rest = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"; what ran between is {', '.join(names[:3])}{rest}" if names else ""


def writer_of(
    binding: Binding, block: Block, value: Value, reader: tuple[int, int], numbers: Iterable[int]
) -> str:
    """Return the only one of some operators whose output has the bytes that lie over another one's.

    ``reader`` is the operator and slot that found them. Empty if nobody's are, or several operators'; bytes
    that are all alike are anybody's.
    """
    runs = binding.runs.get(block, {})
    written = _data(runs.get(value.op), ("output", value.slot))
    found = _data(runs.get(reader[0]), ("input", reader[1]))
    if written is None or found is None or _unlike(written, found):
        return ""
    damage = [*_damage(written, found)]
    names = [
        run.op_name
        for run in (runs[number] for number in numbers if number in runs)
        if any(_wrote(run, piece, found.itemsize) for piece in damage)
    ]
    return names[0] if len(names) == 1 else ""


def _unlike(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return (a.dtype, a.shape) != (b.dtype, b.shape)


def _damage(written: NDArray[Any], found: NDArray[Any]) -> Iterator[bytes]:
    """What lies over an array, from the first to the last element that changed, in every order it may have."""
    for (_, before), (_, after) in zip(orders(written), orders(found), strict=True):
        bits = f"V{before.itemsize}"
        places = np.flatnonzero(before.view(bits) != after.view(bits))
        piece = after[places[0] : places[-1] + 1].tobytes() if places.size else b""
        if len(piece) >= _LEAST and len(set(piece)) > before.itemsize:
            yield piece


def _wrote(run: OpRun, piece: bytes, step: int) -> bool:
    """Whether bytes are somewhere in an output, or in its repetition."""
    arrays = (_data(run, place) for place in run.tensors if place[0] == "output")
    return any(
        holds((flat.tobytes() for _, flat in orders(array)), piece, step)
        for array in arrays
        if array is not None
    )


def _data(run: OpRun | None, place: tuple[str, int]) -> NDArray[Any] | None:
    """Elements of a tensor; ``None`` if it was not dumped, cannot be read or is too large to search."""
    record = run.tensors.get(place) if run is not None else None
    if record is None or record.source is None:
        return None
    try:
        shape = record.source.spec().shape
        if shape is None or math.prod(shape) > _MOST:
            return None
        return np.asarray(record.source.array())
    except FormatError:
        return None


def writer_below(binding: Binding, block: Block, value: Value, numbers: Iterable[int]) -> str:
    """Return which of some operators wrote nearest below an output.

    Empty if none did, or if the dump holds no addresses.
    """
    runs = binding.runs.get(block, {})
    own = runs.get(value.op)
    start = next((first for slot, first, _ in _places(own) if slot == value.slot), 0)
    below = [
        (end, runs[number].op_name)
        for number in numbers
        for _, first, end in _places(runs.get(number))
        if 0 < first < end <= start
    ]
    return max(below, default=(0, ""))[1]


def _places(run: OpRun | None) -> Iterator[tuple[int, int, int]]:
    """Slot, first address and end of every dumped output."""
    for (io, slot), record in run.tensors.items() if run is not None else ():
        if io == "output" and isinstance(record.source, BlockSource):
            try:
                held = held_container(record.path).part("output")[slot]
            except (FormatError, IndexError):
                continue
            yield slot, held.address, held.address + held.size
