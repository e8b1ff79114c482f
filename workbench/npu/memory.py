"""Memory of the simulated device: where every tensor of a graph lies, and for how long.

Outputs share one piece of memory as GE's do (``compiler/graph/build/memory``): one lives from its operator
to its last reader, both included, so that an operator never writes to where it reads; blocks begin at
multiples of 512 bytes; and a tensor is kept 32 bytes more than its own, rounded up to 32. An
operator that only renames data hands its input on. Weights, feeds and constants lie apart and are
never given away. Ours is which free place is taken, the lowest (GE gives out blocks by classes of
sizes), and that an input which an operator reads in another format is a copy of its own while it runs.
Addresses are made up.

Promises (`tests/npu/test_memory.py`): tensors that live at the same time do not overlap, no plan needs more
than one without reuse, and the same graph gives the same addresses.
"""

from __future__ import annotations

from bisect import bisect, insort
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import islice
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.graph.constants import constant_spec
from workbench.graph.graph import Const, Param, Value
from workbench.npu.compile.no_task import has_no_task, pieces_of
from workbench.npu.layout import bytes_of, device_layout, host_layout
from workbench.ops import IN_PLACE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from workbench.core.tensors import Io, TensorSpec
    from workbench.graph.graph import Graph, Op, Operand
    from workbench.npu.layout import TensorLayout

BASE, WEIGHTS = 0x12C0_4000_0000, 0x12D0_0000_0000
"""Addresses at which outputs and weights begin."""

ALIGNED = 512
"""Blocks begin at multiples of it (``MEM_ALIGN_SIZE``)."""

HOLDERS = frozenset(("Const", "Constant", "Data", "RefData", "Variable"))
"""Operators of GE's graphs that stand for weights and feeds."""

_ROUNDED = 32
"""Sizes are multiples of it, and at least as much is kept besides (``kDataMemAlignSize``)."""


class Place(NamedTuple):
    """Where a tensor lies, and how.

    ``size`` are the bytes of its elements, ``room`` those that are kept for it. It is kept from operator
    number ``first`` to number ``last`` of its graph, both included.
    """

    address: int
    size: int
    room: int
    first: int
    last: int
    layout: TensorLayout

    @property
    def end(self) -> int:
        """Address behind its elements."""
        return self.address + self.size

    @property
    def behind(self) -> int:
        """Address behind what is kept for it."""
        return self.address + self.room


class Read(NamedTuple):
    """An input of operator number ``op`` that is a copy, or a constant of its own."""

    op: int
    slot: int


@dataclass(frozen=True)
class Memory:
    """A plan of memory.

    ``outputs`` has the place of every output of the graph; tensors that share memory have the same
    address. ``inputs`` has that of every input by operator number and flat slot. ``size`` is how many
    bytes all outputs and copies need.
    """

    outputs: Mapping[Value, Place]
    inputs: Mapping[Read, Place]
    size: int

    def place(self, number: int, io: Io, slot: int) -> Place | None:
        """Place of a tensor of operator ``number``; ``None`` for what the graph does not know."""
        if io == "output":
            return self.outputs.get(Value(number, slot))
        return self.inputs.get(Read(number, slot))


Key = Value | Param | Read


@dataclass(slots=True)
class _Tensor:
    """What gets a place: how it lies, from when to when it is kept, and where once that is known."""

    layout: TensorLayout
    size: int
    first: int
    last: int
    address: int = -1

    @property
    def room(self) -> int:
        return room_of(self.size)

    def place(self, layout: TensorLayout, piece: tuple[int, int] | None = None) -> Place:
        """Place of the tensor, or of a piece of it: how far behind its beginning, and how large."""
        if piece is None:
            return Place(self.address, self.size, self.room, self.first, self.last, layout)
        start, size = piece
        return Place(self.address + start, size, size, self.first, self.last, layout)


def room_of(size: int) -> int:
    """Bytes that GE keeps for a tensor of ``size`` (``GetTensorMemorySizeInBytes``).

    >>> room_of(1), room_of(32), room_of(33)
    (64, 64, 96)
    """
    return -(-size // _ROUNDED) * _ROUNDED + _ROUNDED


def plan_memory(graph: Graph) -> Memory:
    """Give every tensor of a graph its place; one whose shape is not known counts as empty."""
    return _Plan(graph).memory()


@dataclass(slots=True)
class _Plan:
    """A plan while it is made. ``owner`` tells whose memory an output is."""

    graph: Graph
    tensors: dict[Key, _Tensor] = field(default_factory=dict)
    fixed: dict[Key, _Tensor] = field(default_factory=dict)
    owner: dict[Value, Key] = field(default_factory=dict)
    layouts: dict[Value, TensorLayout] = field(default_factory=dict)
    reads: dict[Read, tuple[Key, TensorLayout]] = field(default_factory=dict)
    laid: set[Param] = field(default_factory=set)
    pieces: dict[Value, tuple[Operand, int, int]] = field(default_factory=dict)

    def memory(self) -> Memory:
        for value, whole, start in pieces_of(self.graph):
            spec = self.graph.ops[value.op].outputs[value.slot]
            self.pieces[value] = whole, start, bytes_of(spec, host_layout(spec.shape))
        for index, parameter in enumerate(self.graph.parameters):
            self.fixed[Param(index)] = self._apart(parameter.spec, None)
        for number, op in enumerate(self.graph.ops):
            for slot, operand in enumerate(op.flat_inputs()):
                self._read(number, op, slot, operand)
            for slot in range(len(op.outputs)):
                self._write(number, op, slot)
        for operand in self.graph.outputs:
            if isinstance(operand, Value) and operand in self.owner:
                self._until(self.owner[operand], len(self.graph.ops))
        _in_a_row(self.fixed.values())
        size = _give(self.tensors.values())
        found = {**self.tensors, **self.fixed}
        return Memory(
            {
                value: found[key].place(self.layouts[value], self._piece(value, key))
                for value, key in self.owner.items()
            },
            {
                read: found[key].place(layout, self._piece(self._operand(read), key))
                for read, (key, layout) in self.reads.items()
            },
            size,
        )

    def _operand(self, read: Read) -> Operand:
        return next(islice(self.graph.ops[read.op].flat_inputs(), read.slot, None))

    def _piece(self, operand: Operand, key: Key) -> tuple[int, int] | None:
        """Where a tensor lies in another one; ``None`` if it is a whole, or a copy."""
        found = self.pieces.get(operand) if isinstance(operand, Value) else None
        return None if found is None or isinstance(key, Read) else found[1:]

    def _apart(self, spec: TensorSpec, layout: TensorLayout | None) -> _Tensor:
        """A tensor that is kept through the whole run."""
        layout = layout or host_layout(spec.shape)
        return _Tensor(layout, bytes_of(spec, layout), -1, len(self.graph.ops))

    def _until(self, key: Key, number: int) -> None:
        tensor = self.tensors.get(key)
        if tensor is not None:
            tensor.last = max(tensor.last, number)

    def _read(self, number: int, op: Op, slot: int, operand: Operand) -> None:
        """Keep what an operator reads until then, or a copy of it in the format that it reads."""
        here = Read(number, slot)
        if isinstance(operand, Const):
            spec = constant_spec(operand)
            if spec is not None:
                layout = device_layout(op, "input", slot, spec)
                self.fixed[here] = self._apart(spec, layout)
                self.reads[here] = here, layout
            return
        source = self._source(operand)
        if source is None:
            return
        key, spec, there = source
        layout = device_layout(op, "input", slot, spec)
        self._until(key, number)
        if isinstance(operand, Param) and operand not in self.laid:
            self.laid.add(operand)  # whoever reads a weight first decides how it is loaded
            self.fixed[key] = self._apart(spec, layout)
        elif not _is_same(there, layout):
            key = here
            self.tensors[here] = _Tensor(layout, bytes_of(spec, layout), number, number)
        self.reads[here] = key, layout

    def _source(self, operand: Operand) -> tuple[Key, TensorSpec, TensorLayout] | None:
        """Whose memory an operand is, its spec in the graph, and how it lies."""
        if isinstance(operand, Param) and operand in self.fixed:
            return operand, self.graph.parameters[operand.index].spec, self.fixed[operand].layout
        if isinstance(operand, Value) and operand in self.owner:
            spec = self.graph.ops[operand.op].outputs[operand.slot]
            return self.owner[operand], spec, self.layouts[operand]
        return None

    def _write(self, number: int, op: Op, slot: int) -> None:
        spec, value = op.outputs[slot], Value(number, slot)
        layout = device_layout(op, "output", slot, spec)
        key = self._shared(number, op, slot, layout) or self._around(value, layout, number)
        if key is None and op.op_type in HOLDERS:
            key = value
            self.fixed[key] = self._apart(spec, layout)
        elif key is None:
            key = value
            self.tensors[key] = _Tensor(layout, bytes_of(spec, layout), number, number)
        self._until(key, number)
        self.owner[value], self.layouts[value] = key, layout

    def _around(self, value: Value, layout: TensorLayout, number: int) -> Key | None:
        """Whose memory a tensor lies in that is a piece of another one, or is made of pieces."""
        whole = self.pieces[value][0] if value in self.pieces else value
        if not isinstance(whole, Value) or (whole == value and whole not in self.tensors):
            return None
        if whole not in self.tensors and whole not in self.owner:
            spec = self.graph.ops[whole.op].outputs[whole.slot]
            size = bytes_of(spec, host_layout(spec.shape))
            self.tensors[whole] = _Tensor(host_layout(spec.shape), size, number, number)
        return self.owner.get(whole, whole)

    def _shared(self, number: int, op: Op, slot: int, layout: TensorLayout) -> Key | None:
        """Whose memory an operator hands on: that of an input which it renames, or overwrites."""
        places = IN_PLACE.get(op.op_type, ())
        renames = has_no_task(op) and slot == 0 and Value(number, 0) not in self.pieces
        if not renames and (places[:1] != (0,) or slot >= len(places)):
            return None
        read = self.reads.get(Read(number, 0 if renames else places[slot]))
        if read is None:
            return None
        key, there = read
        size = bytes_of(op.outputs[slot], layout)
        kept = self.tensors.get(key) or self.fixed[key]
        return key if _is_same(there, layout) and kept.size == size else None


def _is_same(one: TensorLayout, other: TensorLayout) -> bool:
    """Whether the same bytes lie so and so: neither is cut, or both are alike."""
    if not one.is_device_format and not other.is_device_format:
        return True
    return (one.format, one.shape, one.groups) == (other.format, other.shape, other.groups)


def _in_a_row(tensors: Iterable[_Tensor]) -> None:
    """Give each a place behind the last one."""
    address = WEIGHTS
    for tensor in tensors:
        tensor.address = address
        address += _aligned(tensor.room)


def _give(tensors: Iterable[_Tensor]) -> int:
    """Give each the lowest place that is free while it is kept; return how many bytes are needed."""
    free, kept = _Free(), list[tuple[int, int, int]]()
    for tensor in sorted(tensors, key=lambda one: (one.first, -one.room)):
        while kept and kept[0][0] < tensor.first:
            _, start, end = heappop(kept)
            free.give_back(start, end)
        room = _aligned(tensor.room)
        start = free.take(room)
        tensor.address = BASE + start
        heappush(kept, (tensor.last, start, start + room))
    return free.top


class _Free:
    """Free pieces of memory below ``top``, the end of what was ever taken, in order of their starts."""

    def __init__(self) -> None:
        self.top = 0
        self._pieces: list[tuple[int, int]] = []

    def take(self, room: int) -> int:
        """Return where the lowest piece starts that is large enough; the last one may grow."""
        for at, (start, end) in enumerate(self._pieces):
            if end - start >= room or end == self.top:
                self.top = max(self.top, start + room)
                self._pieces[at : at + 1] = [(start + room, end)] if end > start + room else []
                return start
        self.top += room
        return self.top - room

    def give_back(self, start: int, end: int) -> None:
        """Free a piece and join it with those beside it."""
        at = bisect(self._pieces, (start, end))
        if at < len(self._pieces) and self._pieces[at][0] == end:
            end = self._pieces.pop(at)[1]
        if at and self._pieces[at - 1][1] == start:
            start = self._pieces.pop(at - 1)[0]
        insort(self._pieces, (start, end))


def _aligned(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED
