"""Align the operators of two graphs.

Names mislead: ids shift when one operator is inserted, shared functions keep the scope of their
first use, an autocast wrapper renames every scope. So structure comes first, anchored at the
parameters; names and source lines only support it. Operators that differ only by what they are
(fused, replaced, inserted) end up in N↔M groups between aligned neighbors.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.comparison.align.alignment import Alignment, Group, OperatorMatch
from workbench.comparison.align.fusions import inserted
from workbench.comparison.align.groups import edges_of, find_groups, rule_of
from workbench.comparison.align.identities import (
    match_between,
    match_identities,
    match_recomputed,
    match_repeated,
)
from workbench.comparison.align.matching import Matching
from workbench.comparison.align.neighbors import NeighborMatcher, trust_in_names
from workbench.comparison.align.rules import MATCH_RULES
from workbench.comparison.graphs.quantization import NOTHING, find_quantised, with_layers
from workbench.comparison.graphs.roles import ends_of
from workbench.comparison.graphs.view import GraphView
from workbench.comparison.map_file import NO_OVERRIDES

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.comparison.map_file import Overrides
    from workbench.graph.graph import Graph


class Matcher(NamedTuple):
    """A step of the alignment: it claims what it can of what is left, by a rule of `MATCH_RULES`.

    The rule tells score and tier; a pair with the same names is called ``name`` instead.
    """

    name: str
    claims: Callable[[Matching], None]
    rule: str
    why: str


def align(target: Graph, golden: Graph, forced: Overrides = NO_OVERRIDES) -> Alignment:
    """Match the operators of two graphs; never raises, unmatched ones are left over.

    ``forced`` holds what the user has paired; it comes first.
    """
    quantised = find_quantised(target)
    if quantised and find_quantised(golden):
        quantised = NOTHING
    if quantised:
        target = with_layers(target, quantised)
    work = Matching(GraphView(target), GraphView(golden), forced)
    for matcher in MATCHERS:
        matcher.claims(work)
    matches = [*work.matches, *map(_match, work.groups)]
    matches.sort(key=lambda match: match.target[:1] or (len(target.ops),))
    return Alignment(
        work.target,
        work.golden,
        tuple(matches),
        MappingProxyType(work.match_of),
        MappingProxyType(work.params),
        tuple(work.groups),
        tuple(work.fusions),
        MappingProxyType(work.values),
        quantised,
    )


def _match(group: Group) -> OperatorMatch:
    rule = rule_of(group)
    return OperatorMatch(group.target, group.golden, rule, MATCH_RULES[rule].score)


def _grow(work: Matching) -> None:
    """Grow the matches; names count as much as they have proved right so far."""
    work.trust = trust_in_names(work)
    NeighborMatcher(work).grow()


def _regions(work: Matching) -> None:
    """Group what is left, and grow from operators that end the same region, until there are none."""
    neighbors = NeighborMatcher(work)
    work.groups = _leftovers(work)
    while neighbors.inside(work.groups):
        neighbors.grow()
        work.groups = _leftovers(work)


def _edges(work: Matching) -> None:
    """Take the values that leave groups on both sides for the same."""
    work.values.update(edges_of(work.groups, work.values))


def _leftovers(work: Matching) -> list[Group]:
    """Groups of the operators that have no partner, but for those that nothing corresponds to."""
    ours = {number for fusion in work.fusions for number in fusion.target}
    theirs = {number for fusion in work.fusions for number in fusion.golden}
    target, golden = work.target.graph, work.golden.graph
    settled = (
        ours | ends_of(target) | inserted(target),
        theirs | ends_of(golden) | inserted(golden),
    )
    return find_groups(work, settled)


MATCHERS = (
    Matcher("map file", Matching.by_hand, "map", "the user knows better than any rule"),
    Matcher(
        "fusions",
        Matching.by_fusion,
        "fusion",
        "before ancestry: what the graph engine says of its kernels needs no guess",
    ),
    Matcher(
        "ancestry",
        Matching.by_ancestry,
        "structure",
        "exact, and independent of names: the next one measures by it how far these can be trusted",
    ),
    Matcher("neighbors", _grow, "topology", "around what is matched, the surest pair first"),
    Matcher(
        "identities",
        match_identities,
        "topology",
        "after whoever computes: a cast is known by the value that it carries",
    ),
    Matcher(
        "repeated",
        match_repeated,
        "structure",
        "before regions: what both sides compute again is no leftover",
    ),
    Matcher(
        "regions",
        _regions,
        "topology",
        "what is left between matches; ends that agree are new neighbors",
    ),
    Matcher("repeated again", match_repeated, "structure", "regions have matched more of it"),
    Matcher(
        "recomputed",
        match_recomputed,
        "again",
        "after what both sides repeat: only what has no repetition opposite",
    ),
    Matcher(
        "edges",
        _edges,
        "group",
        "after the last group: what it gives is known to whoever carries it",
    ),
    Matcher(
        "identities again", match_identities, "topology", "edges of groups have told more values"
    ),
    Matcher("between", match_between, "topology", "last: by readers alone, the weakest evidence"),
)
"""In order: each claims of what those before it have left."""
