"""Matches of two graphs while they are found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.comparison.align.fusions import Fusion, find_fusions, find_leaves
from workbench.comparison.align.hand_groups import hand_groups
from workbench.comparison.align.parameters import match_parameters
from workbench.comparison.graphs.view import Origin, shapes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workbench.comparison.graphs.view import GraphView
    from workbench.comparison.map_file import Overrides

MOST_ALIKE = 64
"""Operators that compute the same from which on their order alone tells them apart."""


@dataclass(frozen=True, slots=True)
class OpMatch:
    """Target operators and golden operators that stand for the same computation."""

    target: tuple[int, ...]
    golden: tuple[int, ...]
    rule: str
    score: float


class Matching:
    """Matches found so far: partners of operators, kernels that are fused, values that correspond."""

    def __init__(self, target: GraphView, golden: GraphView) -> None:
        self.target = target
        self.golden = golden
        self.params = match_parameters(target, golden)
        self.partner: dict[int, int] = {}
        self.taken: set[int] = set()
        self.matches: list[OpMatch] = []
        self.fusions: list[Fusion] = []
        self.fused: set[int] = set()
        self.values: dict[Origin, Origin] = find_leaves(target.graph, golden.graph)

    def claim(self, t: int, g: int, rule: str, score: float) -> None:
        self.partner[t] = g
        self.taken.add(g)
        same = self.target.graph.ops[t].name == self.golden.graph.ops[g].name
        self.matches.append(OpMatch((t,), (g,), "name" if same else rule, round(score, 3)))

    def release(self, t: int, g: int) -> None:
        """Take back a pair."""
        del self.partner[t]
        self.taken.discard(g)
        self.matches = [one for one in self.matches if one.target != (t,)]

    def by_hand(self, forced: Overrides) -> None:
        """Take the user's own pairs and groups."""
        ours, theirs = self.target.graph.by_name, self.golden.graph.by_name
        for name, other in forced.pairs.items():
            if name in ours and other in theirs and theirs[other] not in self.taken:
                self.partner[ours[name]] = theirs[other]
                self.taken.add(theirs[other])
                self.matches.append(OpMatch((ours[name],), (theirs[other],), "map", 1.0))
        for group in hand_groups(forced, self.target, self.golden):
            self._take(group)

    def by_fusion(self) -> None:
        """Take what the graph engine says of the kernels it made."""
        for fusion in find_fusions(self.target, self.golden):
            ours = self.partner.keys() | self.fused
            if ours & set(fusion.target) or self.taken & set(fusion.golden):
                continue  # the user knows better
            (t, *more), (g, *others) = fusion.target, fusion.golden
            if not more and not others:
                self.claim(t, g, "fusion", 1.0)
                continue
            self._take(fusion)

    def _take(self, fusion: Fusion) -> None:
        self.fusions.append(fusion)
        self.fused.update(fusion.target)
        self.taken.update(fusion.golden)
        self.values.update(fusion.values)
        self.matches.append(OpMatch(fusion.target, fusion.golden, fusion.rule, 1.0))

    def by_ancestry(self) -> None:
        """Match operators whose whole ancestry is the same."""
        names = {t: f"p{t}" for t in self.params}
        ours = _group(self.target.ancestry(names))
        theirs = _group(self.golden.ancestry({g: f"p{t}" for t, g in self.params.items()}))
        for digest, mine in ours.items():
            other = theirs.get(digest, [])
            mine = [t for t in mine if t not in self.partner and t not in self.fused]
            other = [g for g in other if g not in self.taken]
            if len(mine) == len(other) > 0:
                for t, g in list(self.interchangeable(mine, other)):
                    self.claim(t, g, "structure", 1.0)

    def mapped(self, origin: Origin) -> Origin | None:
        """The golden value that a target value stands for; ``None`` if it has no partner."""
        if origin in self.values:
            return self.values[origin]
        table = self.partner if origin.kind == "op" else self.params
        number = table.get(origin.number) if origin.kind in ("op", "param") else None
        return None if number is None else self.golden.first(origin._replace(number=number))

    def interchangeable(
        self, mine: Sequence[int], others: Sequence[int]
    ) -> Iterator[tuple[int, int]]:
        """Pair operators that compute the same: by who reads them, then equal names, then order."""
        ours, theirs = self.target.graph.ops, self.golden.graph.ops
        if len(mine) == len(others) == 1 or len(mine) > MOST_ALIKE:
            yield from zip(mine, others, strict=False)
            return
        readers = {g: self.golden.direct(g) for g in others}
        ranked = sorted(
            (
                -len(self.read_by(t) & readers[g]),
                shapes(ours[t]) != shapes(theirs[g]),
                ours[t].name != theirs[g].name,
                abs(i - j),
                t,
                g,
            )
            for i, t in enumerate(mine)
            for j, g in enumerate(others)
        )
        seen: set[tuple[str, int]] = set()
        for *_, t, g in ranked:
            if ("t", t) not in seen and ("g", g) not in seen:
                seen |= {("t", t), ("g", g)}
                yield t, g

    def read_by(self, t: int) -> set[int]:
        """Golden operators whose partners read an operator directly."""
        return {self.partner[n] for n in self.target.direct(t) if n in self.partner}


def _group(digests: dict[int, int]) -> dict[int, list[int]]:
    groups: dict[int, list[int]] = {}
    for number, digest in digests.items():
        groups.setdefault(digest, []).append(number)
    return groups
