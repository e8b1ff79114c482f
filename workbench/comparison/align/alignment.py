"""What an alignment of two graphs is: frozen values, complete when `align` returns."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from workbench._values import NamedTuple, dataclass
from workbench.comparison.graphs.quantization import NOTHING, Quantised
from workbench.ops import COMMUTATIVE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.comparison.graphs.view import GraphView, Origin


class Correspondence:
    """Which values of two graphs correspond, by operators and parameters that do, or as ``values`` tell."""

    golden: GraphView
    match_of: Mapping[int, int]
    params: Mapping[int, int]
    values: Mapping[Origin, Origin]

    def mapped(self, origin: Origin) -> Origin | None:
        """The golden value that a target value stands for; ``None`` if it has no partner."""
        if origin in self.values:
            return self.values[origin]
        table = self.match_of if origin.kind == "op" else self.params
        number = table.get(origin.number) if origin.kind in ("op", "param") else None
        return None if number is None else self.golden.first(origin._replace(number=number))


class OperatorMatch(NamedTuple):
    """Target operators and golden operators that stand for the same computation."""

    target: tuple[int, ...]
    golden: tuple[int, ...]
    rule: str
    score: float


class Group(NamedTuple):
    """Leftover operators of both sides that stand for the same stretch of computation.

    One side may be empty (inserted or removed operators). ``edges`` are pairs of values (target,
    golden) that must be equal because the same aligned operator reads both, in that slot.
    """

    target: tuple[int, ...]
    golden: tuple[int, ...]
    edges: tuple[tuple[Origin, Origin], ...]
    readers: tuple[int, ...]


class Fusion(NamedTuple):
    """Kernels of both sides that stand for the same operators of the network.

    ``values`` are outputs (target, golden) that are the same tensor, ``rule`` who says so.
    """

    target: tuple[int, ...]
    golden: tuple[int, ...]
    values: tuple[tuple[Origin, Origin], ...]
    rule: str = "fusion"


@dataclass(frozen=True)
class Alignment(Correspondence):
    """Matches of two graphs, and the operators that have no partner.

    ``match_of`` maps a target operator to its golden one (one-to-one matches only); ``params`` maps
    parameter numbers; ``groups`` are the N↔M matches with the values that correspond at their edges.
    ``fusions`` are those that the graph engine itself tells of; ``values`` maps the target's values
    inside them, and those of data operators, to the golden's. ``quantised`` is what of the target has
    integers where the golden has floats.
    """

    target: GraphView
    golden: GraphView
    matches: tuple[OperatorMatch, ...]
    match_of: Mapping[int, int]
    params: Mapping[int, int]
    groups: tuple[Group, ...]
    fusions: tuple[Fusion, ...] = ()
    values: Mapping[Origin, Origin] = field(default_factory=dict)
    quantised: Quantised = NOTHING

    @cached_property
    def matched_golden(self) -> frozenset[int]:
        """Golden operators that have a partner or are part of a fusion."""
        return frozenset((*self.match_of.values(), *(g for f in self.fusions for g in f.golden)))

    @cached_property
    def fused(self) -> Mapping[int, Fusion]:
        """The fusion that a target operator is part of, by its number."""
        return MappingProxyType({t: fusion for fusion in self.fusions for t in fusion.target})

    def counterpart(self, number: int) -> int | None:
        """The golden operator that does the work of a target's, fused or not.

        That is its partner, or of a fusion's members the only one of its type, or else the last.
        """
        if number in self.match_of:
            return self.match_of[number]
        if number not in self.fused:
            return None
        ops, members = self.golden.graph.ops, self.fused[number].golden
        alike = [g for g in members if ops[g].op_type == self.target.graph.ops[number].op_type]
        return alike[0] if len(alike) == 1 else members[-1]

    def input_order(self, number: int) -> dict[int, int]:
        """Golden slot of every input slot of an aligned operator whose inputs stand in another order."""
        op = self.target.graph.ops[number]
        if op.op_type not in COMMUTATIVE:
            return {}
        theirs = self.golden.origins(self.match_of[number])
        ours = [self.mapped(origin) for origin in self.target.origins(number)]
        if ours == theirs or None in ours or sorted(map(str, ours)) != sorted(map(str, theirs)):
            return {}
        left = list(range(len(theirs)))
        order: dict[int, int] = {}
        for slot, origin in enumerate(ours):
            order[slot] = next(n for n in left if theirs[n] == origin)
            left.remove(order[slot])
        return order
