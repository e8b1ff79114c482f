"""Pair tensors that are one value under different slots: an output of one dump, the input that reads it in the other.

A dump of outputs alone and one of inputs alone have no slot in common, but nearly all values: what an operator
gives is what its readers read, unless somebody writes over it in between. Which output an input is, the graph of
its own side says; which values of the two graphs correspond, the alignment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.comparison.align.rules import VALUE
from workbench.comparison.graphs.roles import coarsens, rewritten_slots
from workbench.comparison.graphs.traverse import ALIAS, path_back, producer
from workbench.comparison.graphs.view import Origin
from workbench.graph.graph import Param, Value
from workbench.ops import IDENTITY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Set

    from workbench.comparison.bind.binding import OperatorRun
    from workbench.comparison.pair.claims import Claims, ExecutionPair, Place
    from workbench.comparison.result import Side
    from workbench.core.tensors import TensorRecord
    from workbench.graph.graph import Graph, Op, Operand


class _Holder(NamedTuple):
    """A dumped tensor that holds a value: an operator, its direction and slot."""

    run: OperatorRun
    place: Place

    @property
    def record(self) -> TensorRecord:
        """What was dumped of it."""
        return self.run.tensors[self.place]


def pair_values(claims: Claims, at: ExecutionPair, score: float) -> None:
    """Pair an output with the input that reads it in the other dump, where no slot of that value has a partner.

    One pair a value is enough: further readers of it tell the same once more, and stay unmatched.
    """
    found = at.alignment
    ours = _holders(found.target.graph, at.target)
    theirs = _holders(found.golden.graph, at.golden)
    worth = {one.target[0]: one.score for one in found.matches if one.target}
    for value, some in ours.items():
        there = found.mapped(value)
        others = theirs.get(there, []) if there is not None else []
        if not others or _is_paired(claims, some, others):
            continue
        free = [one for one in some if _is_usable(claims, "target", one)]
        same = [one for one in others if _is_usable(claims, "golden", one)]
        if free and same and (free[0].place[0], same[0].place[0]) != ("output", "output"):
            one, other = free[0], same[0]
            sure = score * (worth.get(value.number, 1.0) if value.kind == "op" else 1.0)
            claims.pair(at, (one.run, other.run), (one.place, other.place), VALUE, sure)


def _is_paired(claims: Claims, ours: list[_Holder], theirs: list[_Holder]) -> bool:
    """Whether any tensor that holds a value has a partner already."""
    return any(claims.is_paired("target", one.record) for one in ours) or any(
        claims.is_paired("golden", one.record) for one in theirs
    )


def _is_usable(claims: Claims, side: Side, one: _Holder) -> bool:
    """Whether a tensor is free, and what it says it is."""
    odd = claims.sides.of(side).oddities
    return claims.is_free(side, one.record) and id(one.record) not in odd


def _holders(graph: Graph, runs: Mapping[int, OperatorRun]) -> dict[Origin, list[_Holder]]:
    """Every value of a graph → the tensors that hold it unaltered: its producer's first, then by reader."""
    altered, table = _altered(graph), dict[Origin, list[_Holder]]()
    for number in sorted(n for n in runs if n >= 0):
        run, op = runs[number], graph.ops[number]
        for place in sorted(run.tensors, key=lambda one: (one[0] != "output", one[1])):
            value = _value_of(graph, op, Value(number, place[1]), place, altered)
            if value is not None:
                table.setdefault(value, []).append(_Holder(run, place))
    return table


def _value_of(
    graph: Graph, op: Op, output: Value, place: Place, altered: Set[Operand]
) -> Origin | None:
    """Who computes what a slot holds; ``None`` where it may hold something else, or nobody computes it."""
    io, slot = place
    if io == "input" and slot in rewritten_slots(op):
        return None  # dumped when the operator had written over it
    operand: Operand | None = output if io == "output" else op.operand(slot)
    for passed in path_back(graph, operand, IDENTITY):
        by = graph.ops[passed.op] if isinstance(passed, Value) else None
        if by is not None and by.op_type in IDENTITY and not _hands_on_exactly(by):
            return None
        operand = passed
    if operand is None or producer(graph, operand, ALIAS) in altered:
        return None
    if isinstance(operand, Value):
        return Origin("op", operand.op, operand.slot)
    return Origin("param", operand.index) if isinstance(operand, Param) else None


def _hands_on_exactly(op: Op) -> bool:
    """Whether a cast or the like gives every element as it reads it, in the same shape."""
    read, given = op.input_specs[:1], op.outputs[:1]
    if coarsens(op) or not given:
        return False
    return not read or read[0] is None or read[0].shape == given[0].shape


def _altered(graph: Graph) -> Set[Operand]:
    """Values and parameters in whose memory an operator writes besides the one that gives them."""
    return set(_written_over(graph))


def _written_over(graph: Graph) -> Iterator[Operand]:
    for op in graph.ops:
        places = rewritten_slots(op)
        for slot in places:
            operand = producer(graph, op.operand(slot), ALIAS)
            if operand is not None:
                yield operand
