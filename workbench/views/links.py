"""Which nodes of the pictures of both graphs correspond, by the matches of the alignment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.views.index import SIDES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from workbench.comparison.result import Side
    from workbench.graph.graph import Graph
    from workbench.show.plots.graph_picture import Neighbourhood, Node
    from workbench.views.partners import MatchGroup, MatchGroups

    Place = tuple[Side, str]
    Names = dict[Side, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Link:
    """Operators or parameters of both graphs that correspond; ``number`` is theirs in both pictures, 0: no partner.

    ``level`` counts from the match, negative before it; ``drawn`` are the sides whose picture has some of them.
    """

    number: int
    level: int
    target: tuple[str, ...]
    golden: tuple[str, ...]
    rule: str = ""
    score: float = 0.0
    drawn: tuple[Side, ...] = ()

    def names(self, side: Side) -> tuple[str, ...]:
        """Names of one side."""
        return self.target if side == "target" else self.golden


def match_group_of(partners: MatchGroups, side: Side, node: Node) -> MatchGroup | None:
    """Return the match that a node is part of; ``None`` for parameters and what has no partner."""
    kind, _, number = node.key.partition(" ")
    return partners.of(side, int(number)) if kind == "op" else None


def find_links(
    found: Mapping[Side, Neighbourhood], graphs: Mapping[Side, Graph], partners: MatchGroups
) -> dict[Place, Link]:
    """Return the link of every node by its side and key; numbers go from top to bottom, the target's first."""
    same = {(side, node.key): _same(partners, side, node) for side, node in _nodes(found)}
    numbers: dict[object, int] = {}
    drawn: dict[object, dict[Side, None]] = {}
    for (side, _), one in same.items():
        if one is not None:
            numbers.setdefault(one, len(numbers) + 1)
            drawn.setdefault(one, {})[side] = None
    links: dict[Place, Link] = {}
    for side, node in _nodes(found):
        one = same[side, node.key]
        names: Names = {side: (node.name,)} if one is None else _names(one, graphs)
        rule, score = ("", 0.0) if one is None or isinstance(one, tuple) else (one.rule, one.score)
        links[side, node.key] = Link(
            numbers.get(one, 0), _level(found[side], node), names.get("target", ()), names.get("golden", ()),
            rule, score, tuple(drawn.get(one, {side: None})),
        )  # fmt: skip
    return links


def _nodes(found: Mapping[Side, Neighbourhood]) -> Iterable[tuple[Side, Node]]:
    """Nodes of the target's picture, then of the golden's, from top to bottom."""
    for side in SIDES:
        yield from ((side, one) for one in sorted(found[side].nodes, key=lambda node: node.level))


def _same(partners: MatchGroups, side: Side, node: Node) -> MatchGroup | tuple[str, str] | None:
    """What nodes of both sides that correspond have in common: a match, or the keys of a pair of constants."""
    return match_group_of(partners, side, node) or partners.constant_pair(side, node.key)


def _names(one: MatchGroup | tuple[str, str], graphs: Mapping[Side, Graph]) -> Names:
    if isinstance(one, tuple):
        return {side: (name_of(graph, one[side == "golden"]),) for side, graph in graphs.items()}
    return {side: tuple(graph.ops[n].name for n in one.of(side)) for side, graph in graphs.items()}


def name_of(graph: Graph, key: str) -> str:
    """Name of the operator or parameter of a node."""
    kind, _, number = key.partition(" ")
    return graph.ops[int(number)].name if kind == "op" else graph.parameters[int(number)].name


def _level(found: Neighbourhood, node: Node) -> int:
    """Level of a node as seen from the match, whose own operators all are at 0."""
    if node.key in found.centre:
        return 0
    if node.kind == "parameter":
        return -1
    return max(node.level - found.depth, 1) if node.level > found.depth else min(node.level, 0)
