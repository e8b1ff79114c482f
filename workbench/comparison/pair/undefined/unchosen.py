"""Elements that the network computes and never takes: Select chooses the other branch there on both sides.

``Where(x > 0, Sqrt(x), 0)`` has NaN in what Sqrt gives wherever x is below zero, on every machine. Nothing comes of it.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple
from workbench.comparison.pair.undefined.find import LeftOut, both_arrays, freeze_care, readers_of
from workbench.comparison.pair.undefined.spread import ELEMENTWISE
from workbench.core.words import Message
from workbench.graph.graph import Value
from workbench.ops import IDENTITY
from workbench.ops.aliases import type_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.pair.pairing import Pair, Pairing
    from workbench.graph.graph import Graph, Op

    Care = NDArray[np.bool_]

UNCHOSEN = "unchosen"
"""How the ledger counts elements that nothing takes."""

_TAKEN: Mapping[str, tuple[int, Mapping[int, bool]]] = MappingProxyType(
    {"Select": (0, {1: True, 2: False}), "MaskedFill": (1, {0: False})}
)
"""Type that chooses → slot of its condition, and for every branch what the condition is where that is taken."""

_WAY = 16
"""Element-wise operators that are looked at between a value and what chooses."""


class UnchosenElements:
    """Which elements of a pair nothing takes; needs the graph, and the condition of both sides."""

    def __init__(self, pairing: Pairing) -> None:
        self._pairing = pairing
        found: dict[tuple[Execution, int], dict[tuple[str, int], Pair]] = {}
        for pair in pairing.pairs:
            if pair.run is not None and pair.run.op >= 0:
                found.setdefault((pair.run.block, pair.run.op), {})[pair.io, pair.slot] = pair
        self._pairs = MappingProxyType(found)

    def left_out(self, pair: Pair) -> LeftOut | None:
        """Return which elements of a pair nothing takes; ``None``: all are taken, or nobody can tell."""
        run = pair.run
        graph = self._pairing.target.graph(run.block) if run is not None else None
        arrays = both_arrays(pair) if graph is not None else None
        if run is None or graph is None or run.op < 0 or arrays is None:
            return None
        at = _At(graph, run.block, arrays[0].shape)
        if pair.io == "input":
            # what else reads the tensor has a pair of its own
            care = self._taken_by(at, run.op, pair.slot, _WAY)
        else:
            care = self._taken(at, Value(run.op, pair.slot), _WAY)
        if care is None or care.all():
            return None
        return LeftOut(freeze_care(care), Message(f"compare/left-out-{UNCHOSEN}"), UNCHOSEN)

    def _taken(self, at: _At, value: Value, way: int) -> Care | None:
        """Elements of a value that something may take; ``None``: any."""
        readers = at.graph.consumers.get(value, ())
        if readers_of(at.graph, value) is None or not readers or not way:
            return None
        care = np.zeros(at.shape, np.bool_)
        for number, slot in readers:
            taken = self._taken_by(at, number, slot, way)
            if taken is None:
                return None
            care |= taken
        return care

    def _taken_by(self, at: _At, number: int, slot: int, way: int) -> Care | None:
        """Elements of what an operator reads of which something may come; ``None``: any."""
        op = at.graph.ops[number]
        kind = type_of(op.op_type)
        if kind in _TAKEN:
            place, branches = _TAKEN[kind]
            return self._chosen(at, number, place, branches[slot]) if slot in branches else None
        if kind not in ELEMENTWISE | IDENTITY or len(op.outputs) > 1 or not at.has_shape(op):
            return None
        return self._taken(at, Value(number, 0), way - 1)

    def _chosen(self, at: _At, number: int, slot: int, where: bool) -> Care | None:
        """Where the condition takes a branch on either side; ``None`` if a side has not dumped it."""
        pair = self._pairs.get((at.block, number), {}).get(("input", slot))
        operand = at.graph.ops[number].operand(slot)
        if pair is None and isinstance(operand, Value):
            pair = self._pairs.get((at.block, operand.op), {}).get(("output", operand.slot))
        arrays = None if pair is None else both_arrays(pair)
        if arrays is None or np.broadcast_shapes(arrays[0].shape, at.shape) != at.shape:
            return None
        taken: NDArray[Any] = ((arrays[0] != 0) == where) | ((arrays[1] != 0) == where)
        return np.broadcast_to(taken, at.shape)


class _At(NamedTuple):
    """Where it is looked: a graph, its execution, and the shape of the elements that are followed."""

    graph: Graph
    block: Execution
    shape: tuple[int, ...]

    def has_shape(self, op: Op) -> bool:
        """Whether an operator gives as many elements, at the same places."""
        return bool(op.outputs) and op.outputs[0].shape == self.shape
