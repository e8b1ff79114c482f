"""Where a stretch of operators that differ comes apart: values inside it that both sides have.

A chain of fused or decomposed layers would be one large group. What a value depends on tells where it
can be cut: of all values that come from the same aligned values and parameters and from nothing else, the last
ones are the same tensor, before the next parameter or branch comes in. A kernel's type often says what it
ends with (``Fused_MatMul_BiasAdd``), which goes before that.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from workbench.comparison.graphs.view import Origin, computing, shapes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from workbench.comparison.graphs.view import GraphView

    Known = Callable[[Origin], object]
    Sources = frozenset[object]
    Cut = tuple[Origin, Origin]

MOST_SOURCES = 32
"""Known values that a value may depend on to be looked at."""

ROUNDS = 64
"""How often values behind new cuts are looked at anew."""


class Stretch:
    """The leftovers of one side, and what each of their values comes from."""

    def __init__(self, view: GraphView, left: Collection[int], known: Known) -> None:
        self.view = view
        self.left = sorted(left)
        self._known = known
        self._inside = frozenset(left)
        self.cuts: dict[Origin, object] = {}

    def sources(self) -> dict[int, Sources]:
        """Known values that every leftover depends on, as far as all are known and not too many."""
        found: dict[int, Sources] = {}
        for number in self.left:
            parts = [
                self._source(origin, found)
                for origin in self.view.origins(number)
                if origin.kind in ("op", "param")
            ]
            if parts and None not in parts:
                every = frozenset[object]().union(*(one for one in parts if one is not None))
                if 0 < len(every) <= MOST_SOURCES:
                    found[number] = every
        return found

    def _source(self, origin: Origin, found: dict[int, Sources]) -> Sources | None:
        if origin in self.cuts:
            return frozenset((self.cuts[origin],))
        if origin.kind == "op" and origin.number in self._inside:
            return found.get(origin.number)
        known = self._known(origin)
        return None if known is None else frozenset((known,))

    def by_sources(self) -> dict[tuple[object, object], list[int]]:
        """Leftovers without a cut behind them, by what they depend on and how many elements they give."""
        table: dict[tuple[object, object], list[int]] = defaultdict(list)
        for number, sources in self.sources().items():
            outputs = self.view.graph.ops[number].outputs
            if Origin("op", number) not in self.cuts:
                table[sources, outputs[0].size if outputs else None].append(number)
        return table


def find_cuts(target: Stretch, golden: Stretch, edges: Iterable[Cut]) -> list[Cut]:
    """Values of both sides that are the same tensor, beginning with those known from their readers."""
    cuts: list[Cut] = []

    def cut(a: Origin, b: Origin) -> None:
        if a not in target.cuts and b not in golden.cuts:
            target.cuts[a] = golden.cuts[b] = ("cut", b)
            cuts.append((a, b))

    for a, b in edges:
        cut(a, b)
    for _ in range(ROUNDS):
        ours, theirs = target.by_sources(), golden.by_sources()
        before = len(cuts)
        for key in ours.keys() & theirs.keys():
            for t, g in _same(target.view, golden.view, ours[key], theirs[key]):
                cut(Origin("op", t), Origin("op", g))
        if len(cuts) == before:
            break
    return cuts


def _same(
    target: GraphView, golden: GraphView, ours: list[int], theirs: list[int]
) -> Iterator[tuple[int, int]]:
    """Pair values of one shape that depend on the same: by the types that kernels end with, else the last."""
    left = list(theirs)
    for t in reversed(ours):
        named = [g for g in left if ends_with(target, golden, t, g)]
        if named:
            yield t, named[-1]
            left = [g for g in left if g < named[-1]]
    one, other = target.graph.ops[ours[-1]], golden.graph.ops[theirs[-1]]
    if left == theirs and shapes(one)[:1] == shapes(other)[:1]:
        yield ours[-1], theirs[-1]


def ends_with(target: GraphView, golden: GraphView, t: int, g: int) -> bool:
    """Whether the type of one of two operators says that it ends with the other one's."""
    one = computing(target.graph.ops[t].op_type)
    other = computing(golden.graph.ops[g].op_type)
    return one[-1:] == other[-1:]
