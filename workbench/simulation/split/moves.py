"""Moves between ranks: the operators that make a cut dimension whole, and that cut it again.

An ``AllGather`` lays what ranks have one behind the other, a ``ReduceScatter`` adds up and leaves each rank its part,
both along the first dimension. What cuts another one, or a stretch of it, stands there after a ``Reshape`` and a
``Transpose``; pieces in zigzag order go back to their places by a ``Gather``, as in TransformerEngine. An ``AlltoAll``
makes one dimension whole and cuts another.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Const
from workbench.simulation.split.lies import Lie, pieces_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.graph.graph import Operand, Value
    from workbench.run.parallel import Parallel
    from workbench.simulation.split.lies import Cutting
    from workbench.simulation.split.rules import Exchange

    Insert = Callable[[str, tuple[Operand, ...], TensorSpec, dict[str, Any], Lie], Value]
    """Put in an operator of a type, its operands, result and attributes; how the result lies."""

MOVE = "_VirtualMove"
"""Scope of what stands on the way between ranks; named as what MindSpore inserts for ranks, ``_VirtualDiv`` say."""

MEETINGS = ("AllGather", "ReduceScatter")

LOST = Lie(known=False)


def zigzag_places(cut: Cutting, ranks: int) -> tuple[int, ...]:
    """Return which piece stands at each place when the ranks' pieces lie one behind the other.

    >>> from workbench.simulation.split.lies import Cutting
    >>> zigzag_places(Cutting("cp", zigzag=True), 2)
    (0, 3, 1, 2)
    """
    return tuple(piece for place in range(ranks) for piece in pieces_of(cut, ranks, place))


def exchange(
    insert: Insert, parallel: Parallel, value: Value, spec: TensorSpec, exchange: Exchange, lie: Lie
) -> Value:
    """Send tokens to the ranks of their experts, or back; ``lie`` is how the result lies.

    An ``AlltoAll``, as between the redistributions of MindSpore and in Megatron-LM's dispatcher: a rank of ep has
    tokens of its own, so that gathering those of all would make it hold and compute what it does not need.
    """
    ranks, shape = parallel.ep, [*(spec.shape or ())]
    attrs = {"split_count": ranks, "split_dim": exchange.given, "concat_dim": exchange.taken}
    shape[exchange.given] //= ranks
    shape[exchange.taken] *= ranks
    made = spec._replace(shape=tuple(shape))
    return insert("AlltoAll", (value,), made, {**attrs, "group": "ep"}, lie)


class Move:
    """The moves of one value: how it lies on ranks, one of whose dimensions an axis cuts."""

    def __init__(self, insert: Insert, parallel: Parallel, number: int, cut: Cutting) -> None:
        self._insert, self._number, self._cut = insert, number, cut
        self._ranks = parallel.size(cut.axis)

    def gather(self, value: Operand, spec: TensorSpec, lie: Lie) -> Value:
        """Make the dimension of a rank's part whole; ``lie`` is how the result lies."""
        shape = spec.shape or ()
        whole = self._sized(shape, shape[self._number] * self._ranks)
        if self._is_of_rows:
            return self._meet("AllGather", value, spec, whole, lie)
        before, behind = self._around(shape)
        ranks, pieces = self._ranks, self._cut.pieces
        value = self._reshape(value, spec, (before, behind))
        value = self._meet("AllGather", value, spec, (ranks * before, behind))
        value = self._reshape(value, spec, (ranks, before, pieces, behind // pieces))
        value = self._turn(value, spec, (ranks, before, pieces, behind // pieces))
        if pieces > 1:
            value = self._reshape(value, spec, (before, ranks * pieces, behind // pieces))
            places = zigzag_places(self._cut, ranks)
            order = tuple(places.index(piece) for piece in range(len(places)))
            value = self._order(value, spec, (before, ranks * pieces, behind // pieces), order)
        return self._reshape(value, spec, whole, lie)

    def scatter(self, value: Value, spec: TensorSpec, lie: Lie) -> Value:
        """Add up what ranks hold parts of, and leave each its part of the dimension; ``lie`` is how the result lies."""
        shape = spec.shape or ()
        ranks, pieces = self._ranks, self._cut.pieces
        part = self._sized(shape, shape[self._number] // ranks)
        if self._is_of_rows:
            return self._meet("ReduceScatter", value, spec, part, lie)
        before, behind = self._around(part)
        if pieces > 1:
            value = self._reshape(value, spec, (before, ranks * pieces, behind // pieces))
            order = zigzag_places(self._cut, ranks)
            value = self._order(value, spec, (before, ranks * pieces, behind // pieces), order)
        value = self._reshape(value, spec, (before, ranks, pieces, behind // pieces))
        value = self._turn(value, spec, (before, ranks, pieces, behind // pieces))
        value = self._reshape(value, spec, (ranks * before, behind))
        value = self._meet("ReduceScatter", value, spec, (before, behind))
        return self._reshape(value, spec, part, lie)

    @property
    def _is_of_rows(self) -> bool:
        """Whether the ranks' parts lie one behind the other, so that nothing has to be moved beside."""
        return self._number == 0 and self._cut.each * self._cut.pieces == 1

    def _sized(self, shape: tuple[int, ...], size: int) -> tuple[int, ...]:
        """Return a shape with another size of the dimension."""
        return (*shape[: self._number], size, *shape[self._number + 1 :])

    def _around(self, part: tuple[int, ...]) -> tuple[int, int]:
        """Return how many stretches of a rank's part are cut, and the elements of each."""
        before = math.prod(part[: self._number]) * self._cut.each
        return before, math.prod(part) // before

    def _reshape(
        self, value: Operand, spec: TensorSpec, shape: tuple[int, ...], lie: Lie = LOST
    ) -> Value:
        made = spec._replace(shape=shape)
        return self._insert("Reshape", (value, Const(shape, "tuple", (len(shape),))), made, {}, lie)

    def _turn(self, value: Value, spec: TensorSpec, shape: tuple[int, ...]) -> Value:
        """Exchange the first two dimensions of four."""
        made = spec._replace(shape=(shape[1], shape[0], *shape[2:]))
        return self._insert(
            "Transpose", (value, Const((1, 0, 2, 3), "tuple", (4,))), made, {}, LOST
        )

    def _order(
        self, value: Value, spec: TensorSpec, shape: tuple[int, ...], order: tuple[int, ...]
    ) -> Value:
        """Put the pieces of the second dimension in another order."""
        places = Const([*order], "int32", (len(order),))
        operands = (value, places, Const(1, "int64", ()), Const(0, "int64", ()))
        return self._insert("Gather", operands, spec._replace(shape=shape), {}, LOST)

    def _meet(
        self, kind: str, value: Operand, spec: TensorSpec, shape: tuple[int, ...], lie: Lie = LOST
    ) -> Value:
        attrs: dict[str, Any] = {"op": "sum"} if kind == "ReduceScatter" else {}
        attrs |= {
            "rank_size": self._ranks,
            "group": self._cut.axis,
            "fusion": 0,
            "no_eliminate": True,
        }
        return self._insert(kind, (value,), spec._replace(shape=shape), attrs, lie)
