"""Who wrote over a tensor: every operator that ran before the damage showed, by what each could have done.

Whoever writes beyond the end of its output goes on upwards, often with its output once more. So bytes that
are those of one operator's output convict it; addresses, where containers hold them, leave only those
whose output ends below the damaged tensor with nothing in between that is still as written; and a number
that is repeated has the size of the writer's elements.
"""

from __future__ import annotations

import math
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple, dataclass
from workbench.comparison.bind.memory import Overwrite, data
from workbench.comparison.explain.memory import memory_orders
from workbench.comparison.graphs.ge_origins import is_inserted
from workbench.comparison.graphs.roles import LEAVES
from workbench.comparison.graphs.traverse import storage_of
from workbench.comparison.limits import limits
from workbench.core.words import Message
from workbench.graph.graph import Value
from workbench.npu.compile.no_task import has_no_task
from workbench.ops import IDENTITY, MOVEMENT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from workbench.comparison.bind.binding import Binding, OperatorRun
    from workbench.graph.graph import Graph

    Array = NDArray[Any]

_PERIODS = (1, 2, 4, 8)  # bytes of a number that is repeated


class WriterCandidate(NamedTuple):
    """An operator that may have written over a tensor, how likely that is, and what speaks for it."""

    op: int
    chance: float
    why: Message | None


class Piece(NamedTuple):
    """What lies over a tensor in one order: bytes, which of them differ, and where they begin in it."""

    start: int
    raw: NDArray[np.uint8]
    off: NDArray[np.bool_]


@dataclass(frozen=True)
class Memory:
    """Where the outputs of one execution lie, as far as containers tell: first address and end."""

    binding: Binding
    damage: Overwrite
    graph: Graph
    _places: dict[int, list[tuple[int, int, int]]] = field(default_factory=dict)

    def places(self, number: int) -> list[tuple[int, int, int]]:
        """Slot, first address and end of every dumped output of an operator."""
        if number not in self._places:
            runs = self.binding.runs.get(self.damage.block, {})
            self._places[number] = list(_places(runs.get(number)))
        return self._places[number]

    def start(self, value: Value) -> int:
        """First address of an output, 0 if it is not known."""
        return next((first for slot, first, _ in self.places(value.op) if slot == value.slot), 0)

    @cached_property
    def kept(self) -> list[tuple[int, int, int, int]]:
        """Operator, last reader, first address and end of every output that is read later."""
        last: dict[Value, int] = {}
        for operand, readers in self.graph.consumers.items():
            if isinstance(operand, Value):
                owner = storage_of(self.graph, operand)
                last[owner] = max(last.get(owner, -1), *(number for number, _ in readers))
        return [
            (value.op, until, first, end)
            for value, until in last.items()
            for slot, first, end in self.places(value.op)
            if slot == value.slot and first
        ]

    def lies_between(self, number: int, low: int, high: int) -> bool:
        """Whether something that an operator would have had to write over lies between two addresses.

        What it reads itself counts if its inputs were dumped: they show it then.
        """
        run = self.binding.runs.get(self.damage.block, {}).get(number)
        seen = run is not None and any(io == "input" for io, _ in run.tensors)
        return any(
            owner < number < until + seen and low <= first and end <= high
            for owner, until, first, end in self.kept
        )


def find_writers(
    binding: Binding, damages: Sequence[Overwrite], prior: Mapping[int, float]
) -> list[WriterCandidate]:
    """Return who may have written over tensors of one graph, the likeliest first.

    One operator did it all: it ran before each of them showed it. ``prior`` is how likely operators are
    for other reasons, 1 if they are not in it.
    """
    graph = binding.graph(damages[0].block)
    numbers = [n for n in damages[0].suspects if graph is not None and _writes(graph, n)]
    common = [n for n in numbers if all(n in one.suspects for one in damages)]
    if graph is None:
        return []
    weights = {n: prior.get(n, 1.0) * _by_type(graph, n) for n in common or numbers}
    why: dict[int, Message | None] = dict.fromkeys(weights)
    for damage in damages:
        memory, pieces = Memory(binding, damage, graph), list(_pieces(damage))
        told = {n: _told(memory, n, pieces) for n in weights}
        period = next((size for size in map(_period, pieces) if size), 0)
        for number in weights:
            why[number] = why[number] or told[number]
            if damage.block == damages[0].block:  # places are the same in every execution
                weights[number] *= _by_place(memory, number)
            if any(told.values()):
                weights[number] *= limits().writer_bytes if told[number] else 1.0
            elif pieces:
                weights[number] *= _by_size(memory, number, period)
    total = sum(weights.values()) or 1.0
    ranked = [WriterCandidate(n, weight / total, why[n]) for n, weight in weights.items()]
    return sorted(ranked, key=lambda one: -one.chance)


def _writes(graph: Graph, number: int) -> bool:
    """Whether an operator runs a kernel that writes anything."""
    op = graph.ops[number]
    return bool(op.outputs) and op.op_type not in LEAVES and not has_no_task(op)


def _by_type(graph: Graph, number: int) -> float:
    return limits().writer_inserted if is_inserted(graph.ops[number]) else 1.0


def _by_place(memory: Memory, number: int) -> float:
    """How likely the addresses make an operator, 1 where they are not known."""
    start = memory.start(memory.damage.value)
    places = [(first, end) for _, first, end in memory.places(number) if first]
    if not start or not places:
        return 1.0
    below = [end for _, end in places if end <= start]
    if not below:
        return 0.001
    end = max(below)
    near = math.sqrt(limits().writer_near / (limits().writer_near + start - end))
    return near * (limits().writer_between if memory.lies_between(number, end, start) else 1.0)


def _by_size(memory: Memory, number: int, period: int) -> float:
    """How likely the size of what is repeated makes an operator, or bytes that are not those of its output."""
    run = memory.binding.runs.get(memory.damage.block, {}).get(number)
    record = run.tensors.get(("output", 0)) if run is not None else None
    array = data(record) if record is not None else None
    if array is None:
        return 1.0
    if not period:
        return limits().writer_other_bytes
    return 1.0 if array.itemsize == period else limits().writer_size


def _pieces(damage: Overwrite) -> Iterator[Piece]:
    """What lies over a tensor, in the orders in which it is shortest."""
    before, after = data(damage.written.record), data(damage.reader.record)
    if before is None or after is None or not before.size:
        return
    before = before.reshape(after.shape)
    found = []
    for (_, one), (_, other) in zip(memory_orders(before), memory_orders(after), strict=True):
        bits = f"V{one.itemsize}"
        places = np.flatnonzero(one.view(bits) != other.view(bits))
        first, last = int(places[0]), int(places[-1])
        off = np.zeros(last + 1 - first, np.bool_)
        off[places - first] = True
        raw = np.frombuffer(other[first : last + 1].tobytes(), np.uint8)
        found.append(Piece(first * one.itemsize, raw, np.repeat(off, one.itemsize)))
    least = min(piece.raw.size for piece in found)
    yield from (piece for piece in found if piece.raw.size == least)


def _period(piece: Piece) -> int:
    """Size of the number that is repeated, 0 if none is."""
    for period in _PERIODS:
        if piece.raw.size < 2 * period:
            continue
        size = piece.raw.size // period * period
        rows, off = (x[:size].reshape(-1, period) for x in (piece.raw, piece.off))
        column = [set(rows[off[:, n], n].tolist()) for n in range(period)]
        if all(len(values) <= 1 for values in column):
            return period
    return 0


def _told(memory: Memory, number: int, pieces: Sequence[Piece]) -> Message | None:
    """Say that bytes are those of an operator's output; ``None`` if they are not, or tell nothing."""
    op = memory.graph.ops[number]
    if number == memory.damage.reader.op and op.op_type in MOVEMENT | IDENTITY:
        return None  # it has only copied what it found
    run = memory.binding.runs.get(memory.damage.block, {}).get(number)
    arrays = [data(r) for (io, _), r in run.tensors.items() if io == "output"] if run else []
    for array in arrays:
        if array is not None and array.size:
            for _, flat in memory_orders(array):
                if any(_holds(flat.tobytes(), piece, flat.itemsize) for piece in pieces):
                    return Message("compare/bytes-of-output")
    return None


def _holds(output: bytes, piece: Piece, step: int) -> bool:
    """Whether what differs are bytes of an output, or of its endless repetition."""
    if np.count_nonzero(piece.off) < limits().written_bytes or not piece.raw[piece.off].any():
        return False
    start, size = _longest(piece.off)
    key = piece.raw[start : start + min(size, 64)].tobytes()
    times = -(-(piece.raw.size + len(key)) // len(output)) + 1
    endless = np.frombuffer(output * times, np.uint8) if times < 1 << 16 else None
    if endless is None:
        return False
    whole, at, tried = endless.tobytes(), -1, 0
    while tried < 4096:
        at = whole.find(key, at + 1)
        if at < 0 or at >= len(output) + start:
            return False
        tried += 1
        first = at - start
        if first % min(step, 4) == 0:
            there = endless[first % len(output) :][: piece.raw.size]
            if there.size == piece.raw.size and bool(np.all((there == piece.raw) | ~piece.off)):
                return True
    return False


def _longest(off: NDArray[np.bool_]) -> tuple[int, int]:
    """Start and length of the longest run."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], off, [False]]).astype(np.int8)))
    starts, ends = edges[::2], edges[1::2]
    best = int(np.argmax(ends - starts))
    return int(starts[best]), int(ends[best] - starts[best])


def _places(run: OperatorRun | None) -> Iterator[tuple[int, int, int]]:
    """Slot, first address and end of every dumped output."""
    for (io, slot), record in run.tensors.items() if run is not None else ():
        place = record.place
        if io == "output" and place is not None and place.address:
            yield slot, place.address, place.address + place.nbytes
