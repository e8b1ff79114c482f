"""N↔M groups: leftover operators between the same aligned neighbours, and their common edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.comparison.align.alignment import Group
from workbench.comparison.align.cuts import Stretch, find_cuts
from workbench.comparison.graphs.view import Origin
from workbench.comparison.limits import limits

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from workbench.comparison.align.matching import Matching
    from workbench.comparison.graphs.view import GraphView


def find_groups(work: Matching, settled: tuple[Collection[int], Collection[int]]) -> list[Group]:
    """Collect the leftovers of both graphs into groups, by connected components.

    ``settled`` are operators of each side that are no leftovers though they have no partner.
    """
    target, golden = work.target, work.golden
    back = set(work.match_of.values())
    left = Components()
    ours = [n for n in target.kernels if n not in work.match_of and n not in settled[0]]
    theirs = [n for n in golden.kernels if n not in back and n not in settled[1]]
    for side, members in (("t", ours), ("g", theirs)):
        for n in members:
            left.add((side, n))
    edges = _reader_edges(work)
    inside = [
        (a, b)
        for a, b, _ in edges
        if ("t", a.number) in left and ("g", b.number) in left and a.kind == b.kind == "op"
    ]
    stretches = Stretch(target, ours, work.mapped), Stretch(golden, theirs, lambda one: one)
    cuts = find_cuts(*stretches, inside)
    _join_inside(left, "t", target, {a for a, _ in cuts})
    _join_inside(left, "g", golden, {b for _, b in cuts})
    for a, b in cuts:
        left.join(("t", a.number), ("g", b.number))
    return [_group(members, edges, cuts, target, golden) for members in left.sets()]


def _join_inside(left: Components, side: str, view: GraphView, cuts: Collection[Origin]) -> None:
    """Leftovers that feed each other belong together, unless the other side has the value, too."""
    for n in view.kernels:
        for origin in view.origins(n) if (side, n) in left else ():
            if origin.kind == "op" and (side, origin.number) in left and origin not in cuts:
                left.join((side, n), (side, origin.number))


def _reader_edges(work: Matching) -> list[tuple[Origin, Origin, int]]:
    """Values that aligned operators read in the same slot, and that do not come from aligned origins."""
    edges = []
    for t, g in work.match_of.items():
        for a, b in zip(work.target.origins(t), work.golden.origins(g), strict=False):
            known = a.kind in ("op", "param") and b.kind in ("op", "param")
            if known and work.mapped(a) != b:
                edges.append((a, b, t))
    return edges


def _group(
    members: Iterable[Item],
    edges: Iterable[tuple[Origin, Origin, int]],
    cuts: Iterable[tuple[Origin, Origin]],
    target: GraphView,
    golden: GraphView,
) -> Group:
    ours, theirs = side_of(members, "t"), side_of(members, "g")
    mine, other = set(ours), set(theirs)
    common, readers = [], []
    for a, b, reader in edges:
        if (a.kind == "op" and a.number in mine) or (b.kind == "op" and b.number in other):
            common.append((a, b))
            readers.append(reader)
    common += [(a, b) for a, b in cuts if a.number in mine and b.number in other]
    if ours and theirs and not common:
        # nothing aligned reads them: the last operators of both graphs; their results correspond
        a, b = Origin("op", ours[-1]), Origin("op", theirs[-1])
        same = target.graph.ops[ours[-1]].outputs[:1] and golden.graph.ops[theirs[-1]].outputs[:1]
        common = [(a, b)] if same else []
    return Group(ours, theirs, tuple(dict.fromkeys(common)), tuple(dict.fromkeys(readers)))


def rule_of(group: Group) -> str:
    """Rule of a group: in a stretch it is not known who of either side is whose counterpart."""
    ours, theirs = len(group.target), len(group.golden)
    large = ours * theirs > limits().group_largest
    return "stretch" if min(ours, theirs) > 2 and large else "group"


def edges_of(groups: Iterable[Group], known: Collection[Origin]) -> dict[Origin, Origin]:
    """Values that leave groups on both sides, of those that are not known otherwise."""
    pairs = (
        (a, b)
        for group in groups
        if group.target and group.golden
        for a, b in group.edges
        if a.number in group.target and b.number in group.golden and a.kind == b.kind == "op"
    )
    return {a: b for a, b in pairs if a not in known}


def side_of(members: Iterable[Item], side: str) -> tuple[int, ...]:
    """Operators of one side in a component, in listing order."""
    return tuple(sorted(n for where, n in members if where == side and isinstance(n, int)))


Item = tuple[str, int | str]
"""An operator, by side and number, or something else that operators have in common, by kind and name."""


class Components:
    """Union-find over items."""

    def __init__(self) -> None:
        self._parent: dict[Item, Item] = {}

    def __contains__(self, item: Item) -> bool:
        return item in self._parent

    def add(self, item: Item) -> None:
        self._parent.setdefault(item, item)

    def _root(self, item: Item) -> Item:
        while self._parent[item] != item:
            self._parent[item] = self._parent[self._parent[item]]
            item = self._parent[item]
        return item

    def join(self, a: Item, b: Item) -> None:
        self._parent[self._root(a)] = self._root(b)

    def sets(self) -> list[list[Item]]:
        found: dict[Item, list[Item]] = {}
        for item in self._parent:
            found.setdefault(self._root(item), []).append(item)
        return list(found.values())
