"""Groups of operators that the user's map file pairs, where both sides have graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.comparison.align.fusions import Fusion
from workbench.comparison.graphs.view import Origin

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workbench.comparison.graphs.view import GraphView
    from workbench.comparison.map_file import Overrides

MAP = "map"
"""Rule of pairs that the map file makes."""


def hand_groups(overrides: Overrides, target: GraphView, golden: GraphView) -> Iterator[Fusion]:
    """Yield the groups of several operators that both graphs have, with the values that leave them."""
    ours, theirs = target.graph.by_name, golden.graph.by_name
    for match in overrides.groups:
        mine = sorted(ours[name] for name in match.target if name in ours)
        other = sorted(theirs[name] for name in match.golden if name in theirs)
        if len(mine) == len(match.target) and len(other) == len(match.golden):
            yield Fusion(tuple(mine), tuple(other), _values(target, golden, mine, other), MAP)


def _values(
    target: GraphView, golden: GraphView, ours: Sequence[int], theirs: Sequence[int]
) -> tuple[tuple[Origin, Origin], ...]:
    """Values that leave a group: in order if both sides have as many, else the last of either."""
    mine, other = list(_leaving(target, ours)), list(_leaving(golden, theirs))
    if len(mine) == len(other):
        return tuple(zip(mine, other, strict=True))
    return ((mine[-1], other[-1]),) if mine and other else ()


def _leaving(view: GraphView, members: Sequence[int]) -> Iterator[Origin]:
    """Outputs of operators that others read, or that the graph returns."""
    for number in members:
        for slot in range(max(1, len(view.graph.ops[number].outputs))):
            value = Origin("op", number, slot)
            outside = any(reader not in members for reader, _ in view.readers(value))
            if outside or (slot == 0 and view.results(number)):
                yield value
