"""Align the operators of two graphs.

Names mislead: ids shift when one operator is inserted, shared functions keep the scope of their
first use, an autocast wrapper renames every scope. So structure comes first, anchored at the
parameters; names and source lines only support it. Operators that differ only by what they are
(fused, replaced, inserted) end up in N↔M groups between aligned neighbours.

Rules, each claiming what it can:

``map``        the user's map file says so (score 1)
``fusion``     the graph engine says which operators of the network its kernels stand for (score 1)
``structure``  the whole ancestry down to the parameters is the same (score 1)
``name``       the same, and the full names are equal too (score 1)
``topology``   matched neighbours, source line, scope and shape agree (score by weight of evidence)
``again``      one side computes more than once what the other computes once (score 0.9)
``group``      connected leftovers between the same aligned neighbours (score 0.6)
``stretch``    the same, where several operators of either side may stand for each other (score 0.3)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from workbench.comparison.align.fusions import Fusion, inserted
from workbench.comparison.align.groups import Group, edges_of, find_groups, rule_of
from workbench.comparison.align.identities import IdentityMatcher
from workbench.comparison.align.matching import Matching, OpMatch
from workbench.comparison.align.neighbors import NeighborMatcher
from workbench.comparison.graphs.quantization import NOTHING, Quantised, find_quantised, with_layers
from workbench.comparison.graphs.roles import ends_of
from workbench.comparison.graphs.view import GraphView, Origin
from workbench.comparison.map_file import NO_OVERRIDES
from workbench.graph.traits import COMMUTATIVE

if TYPE_CHECKING:
    from workbench.comparison.map_file import Overrides
    from workbench.graph.nodes import Graph


@dataclass(frozen=True)
class Alignment:
    """Matches of two graphs, and the operators that have no partner.

    ``partner`` maps a target operator to its golden one (one-to-one matches only); ``params`` maps
    parameter numbers; ``groups`` are the N↔M matches with the values that correspond at their edges.
    ``fusions`` are those that the graph engine itself tells of; ``values`` maps the target's values
    inside them, and those of data operators, to the golden's. ``quantised`` is what of the target has
    integers where the golden has floats.
    """

    target: GraphView
    golden: GraphView
    matches: tuple[OpMatch, ...]
    partner: dict[int, int]
    params: dict[int, int]
    groups: tuple[Group, ...]
    fusions: tuple[Fusion, ...] = ()
    values: dict[Origin, Origin] = field(default_factory=dict)
    quantised: Quantised = NOTHING

    @cached_property
    def taken(self) -> frozenset[int]:
        """Golden operators that have a partner or are part of a fusion."""
        return frozenset((*self.partner.values(), *(g for f in self.fusions for g in f.golden)))

    @cached_property
    def fused(self) -> dict[int, Fusion]:
        """The fusion that a target operator is part of, by its number."""
        return {t: fusion for fusion in self.fusions for t in fusion.target}

    def counterpart(self, number: int) -> int | None:
        """The golden operator that does the work of a target's, fused or not.

        That is its partner, or of a fusion's members the only one of its type, or else the last.
        """
        if number in self.partner:
            return self.partner[number]
        if number not in self.fused:
            return None
        ops, members = self.golden.graph.ops, self.fused[number].golden
        alike = [g for g in members if ops[g].op_type == self.target.graph.ops[number].op_type]
        return alike[0] if len(alike) == 1 else members[-1]

    def mapped(self, origin: Origin) -> Origin | None:
        """The golden value that a target value stands for; ``None`` if it has no partner."""
        if origin in self.values:
            return self.values[origin]
        table = self.partner if origin.kind == "op" else self.params
        number = table.get(origin.number) if origin.kind in ("op", "param") else None
        return None if number is None else self.golden.first(origin._replace(number=number))

    def input_order(self, number: int) -> dict[int, int]:
        """Golden slot of every input slot of an aligned operator whose inputs stand in another order."""
        op = self.target.graph.ops[number]
        if op.op_type not in COMMUTATIVE:
            return {}
        theirs = self.golden.origins(self.partner[number])
        ours = [self.mapped(origin) for origin in self.target.origins(number)]
        if ours == theirs or None in ours or sorted(map(str, ours)) != sorted(map(str, theirs)):
            return {}
        left = list(range(len(theirs)))
        order: dict[int, int] = {}
        for slot, origin in enumerate(ours):
            order[slot] = next(n for n in left if theirs[n] == origin)
            left.remove(order[slot])
        return order


def align(target: Graph, golden: Graph, forced: Overrides = NO_OVERRIDES) -> Alignment:
    """Match the operators of two graphs; never raises, unmatched ones are left over.

    ``forced`` holds what the user has paired; it comes first.
    """
    quantised = find_quantised(target)
    if quantised and find_quantised(golden):
        quantised = NOTHING
    if quantised:
        target = with_layers(target, quantised)
    work = Matching(GraphView(target), GraphView(golden))
    work.by_hand(forced)
    work.by_fusion()
    work.by_ancestry()
    evidence, handing = NeighborMatcher(work), IdentityMatcher(work)
    evidence.grow()
    handing.identities()
    handing.repeated()
    groups = _leftovers(work)
    while evidence.inside(groups):
        evidence.grow()
        groups = _leftovers(work)
    handing.repeated()
    handing.again()
    work.values.update(edges_of(groups, work.values))
    handing.identities()
    handing.between()
    matches = [*work.matches, *(OpMatch(g.target, g.golden, *rule_of(g)) for g in groups)]
    matches.sort(key=lambda match: match.target[:1] or (len(target.ops),))
    return Alignment(
        work.target, work.golden, tuple(matches), work.partner, work.params, tuple(groups),
        tuple(work.fusions), work.values, quantised,
    )  # fmt: skip


def _leftovers(work: Matching) -> list[Group]:
    """Groups of the operators that have no partner, but for those that nothing corresponds to."""
    settled = [
        {number for numbers in fused for number in numbers} | ends_of(graph) | inserted(graph)
        for fused, graph in (
            ((fusion.target for fusion in work.fusions), work.target.graph),
            ((fusion.golden for fusion in work.fusions), work.golden.graph),
        )
    ]
    return find_groups(
        work.target, work.golden, work.partner, work.params, (settled[0], settled[1])
    )
