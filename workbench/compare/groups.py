"""N↔M groups: leftover operators between the same aligned neighbours, and their common edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.compare.graph_view import Origin

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from workbench.compare.graph_view import GraphView


@dataclass(frozen=True, slots=True)
class Group:
    """Leftover operators of both sides that stand for the same stretch of computation.

    One side may be empty (inserted or removed operators). ``edges`` are pairs of values (target,
    golden) that must be equal because the same aligned operator reads both, in that slot.
    """

    target: tuple[int, ...]
    golden: tuple[int, ...]
    edges: tuple[tuple[Origin, Origin], ...]
    readers: tuple[int, ...]


def find_groups(
    target: GraphView,
    golden: GraphView,
    partner: Mapping[int, int],
    params: Mapping[int, int],
    settled: tuple[Collection[int], Collection[int]] = ((), ()),
) -> list[Group]:
    """Collect the leftovers of both graphs into groups, by connected components.

    ``settled`` are operators of each side that are no leftovers though they have no partner.
    """
    back = {g: t for t, g in partner.items()}
    left = Components()
    for n in target.kernels:
        if n not in partner and n not in settled[0]:
            left.add(("t", n))
    for n in golden.kernels:
        if n not in back and n not in settled[1]:
            left.add(("g", n))
    anchors = _weight_anchors(left, target, golden, params)
    inner = _reader_edges(target, golden, anchors, partner, params)
    _join_inside(left, "t", target, {(t, a) for a, _, t in inner})
    _join_inside(left, "g", golden, {(anchors[t], b) for _, b, t in inner})
    for t, g in anchors.items():
        left.join(("t", t), ("g", g))
    edges = [*_reader_edges(target, golden, partner, partner, params), *inner]
    for a, b, _ in edges:
        if ("t", a.number) in left and ("g", b.number) in left and a.kind == b.kind == "op":
            left.join(("t", a.number), ("g", b.number))
    _join_inputs(left, target, golden, partner, params)
    return [_group(members, edges, target, golden) for members in left.sets()]


def _weight_anchors(
    left: Components, target: GraphView, golden: GraphView, params: Mapping[int, int]
) -> dict[int, int]:
    """Leftovers of different types that read the same weight in the same slot.

    They are not the same operator, but what else they read corresponds: that is where a chain of
    fused layers comes apart into one group a layer.
    """
    anchors: dict[int, int] = {}
    for t, g in params.items():
        if not target.graph.parameters[t].is_weight:
            continue
        ours = [r for r in target.readers(Origin("param", t)) if ("t", r[0]) in left]
        theirs = [r for r in golden.readers(Origin("param", g)) if ("g", r[0]) in left]
        if len(ours) == len(theirs) == 1 and ours[0][1] == theirs[0][1]:
            anchors.setdefault(ours[0][0], theirs[0][0])
    return anchors


def _join_inside(
    left: Components, side: str, view: GraphView, cuts: set[tuple[int, Origin]]
) -> None:
    """Leftovers that feed each other belong together, but for the edges in ``cuts``."""
    for n in view.kernels:
        for origin in view.origins(n) if (side, n) in left else ():
            if origin.kind == "op" and (side, origin.number) in left and (n, origin) not in cuts:
                left.join((side, n), (side, origin.number))


def _join_inputs(
    left: Components,
    target: GraphView,
    golden: GraphView,
    partner: Mapping[int, int],
    params: Mapping[int, int],
) -> None:
    """Leftovers that read all the same aligned values belong together (the graph's last operators)."""
    theirs: dict[frozenset[Origin], int] = {}
    for n in golden.kernels:
        if ("g", n) in left:
            theirs.setdefault(frozenset(o for o in golden.origins(n) if o.kind == "op"), n)
    for n in target.kernels:
        if ("t", n) not in left:
            continue
        mapped = [_mapped(o, partner, params) for o in target.origins(n) if o.kind == "op"]
        other = theirs.get(frozenset(o for o in mapped if o is not None)) if mapped else None
        if other is not None and None not in mapped:
            left.join(("t", n), ("g", other))


def _mapped(origin: Origin, partner: Mapping[int, int], params: Mapping[int, int]) -> Origin | None:
    number = (partner if origin.kind == "op" else params).get(origin.number)
    return None if number is None else origin._replace(number=number)


def _reader_edges(
    target: GraphView,
    golden: GraphView,
    readers: Mapping[int, int],
    partner: Mapping[int, int],
    params: Mapping[int, int],
) -> list[tuple[Origin, Origin, int]]:
    """Values read by ``readers`` in the same slot that do not come from aligned origins."""
    edges = []
    for t, g in readers.items():
        for a, b in zip(target.origins(t), golden.origins(g), strict=False):
            known = a.kind in ("op", "param") and b.kind in ("op", "param")
            if known and _mapped(a, partner, params) != b:
                edges.append((a, b, t))
    return edges


def _group(
    members: Iterable[Item],
    edges: Iterable[tuple[Origin, Origin, int]],
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
    if ours and theirs and not common:
        # nothing aligned reads them: the last operators of both graphs; their results correspond
        a, b = Origin("op", ours[-1]), Origin("op", theirs[-1])
        same = target.graph.ops[ours[-1]].outputs[:1] and golden.graph.ops[theirs[-1]].outputs[:1]
        common = [(a, b)] if same else []
    return Group(ours, theirs, tuple(dict.fromkeys(common)), tuple(dict.fromkeys(readers)))


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
