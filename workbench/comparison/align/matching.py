"""Matches of two graphs while they are found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.comparison.align.alignment import Correspondence, Fusion, Group, OperatorMatch
from workbench.comparison.align.fusions import find_fusions, find_leaves
from workbench.comparison.align.parameters import match_parameters
from workbench.comparison.align.rules import MAP, MATCH_RULES
from workbench.comparison.graphs.view import Origin, shapes
from workbench.comparison.limits import limits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workbench.comparison.graphs.view import GraphView
    from workbench.comparison.map_file import Overrides


class Matching(Correspondence):
    """Matches found so far: partners of operators, kernels that are fused, values that correspond.

    Matchers write into it one after the other; ``trust`` is how much names are worth, 0 to 1.
    """

    def __init__(self, target: GraphView, golden: GraphView, forced: Overrides) -> None:
        self.target = target
        self.golden = golden
        self.forced = forced
        self.trust = 0.0
        self.params: dict[int, int] = match_parameters(target, golden)
        self.match_of: dict[int, int] = {}
        self.matched_golden: set[int] = set()
        self.matches: list[OperatorMatch] = []
        self.fusions: list[Fusion] = []
        self.fused: set[int] = set()
        self.groups: list[Group] = []
        self.values: dict[Origin, Origin] = find_leaves(target.graph, golden.graph)

    def claim(self, t: int, g: int, rule: str, score: float | None = None) -> None:
        """Pair two operators; the rule's own score unless another one is given."""
        score = MATCH_RULES[rule].score if score is None else score
        self.match_of[t] = g
        self.matched_golden.add(g)
        same = self.target.graph.ops[t].name == self.golden.graph.ops[g].name
        self.matches.append(OperatorMatch((t,), (g,), "name" if same else rule, round(score, 3)))

    def release(self, t: int, g: int) -> None:
        """Take back a pair."""
        del self.match_of[t]
        self.matched_golden.discard(g)
        self.matches = [one for one in self.matches if one.target != (t,)]

    def by_hand(self) -> None:
        """Take the user's own pairs and groups."""
        ours, theirs = self.target.graph.by_name, self.golden.graph.by_name
        for name, other in self.forced.pairs.items():
            if name in ours and other in theirs and theirs[other] not in self.matched_golden:
                self.match_of[ours[name]] = theirs[other]
                self.matched_golden.add(theirs[other])
                self.matches.append(
                    OperatorMatch((ours[name],), (theirs[other],), MAP, MATCH_RULES[MAP].score)
                )
        for group in _hand_groups(self.forced, self.target, self.golden):
            self._take(group)

    def by_fusion(self) -> None:
        """Take what the graph engine says of the kernels it made."""
        for fusion in find_fusions(self.target, self.golden):
            ours = self.match_of.keys() | self.fused
            if ours & set(fusion.target) or self.matched_golden & set(fusion.golden):
                continue  # the user knows better
            (t, *more), (g, *others) = fusion.target, fusion.golden
            if not more and not others:
                self.claim(t, g, "fusion")
                continue
            self._take(fusion)

    def _take(self, fusion: Fusion) -> None:
        self.fusions.append(fusion)
        self.fused.update(fusion.target)
        self.matched_golden.update(fusion.golden)
        self.values.update(fusion.values)
        for a, b in fusion.values:  # readers know a value by who computes it
            self.values.setdefault(self.target.computed(a), self.golden.computed(b))
        score = MATCH_RULES[fusion.rule].score
        self.matches.append(OperatorMatch(fusion.target, fusion.golden, fusion.rule, score))

    def by_ancestry(self) -> None:
        """Match operators whose whole ancestry is the same."""
        names = {t: f"p{t}" for t in self.params}
        ours = _group(self.target.ancestry(names))
        theirs = _group(self.golden.ancestry({g: f"p{t}" for t, g in self.params.items()}))
        for digest, mine in ours.items():
            other = theirs.get(digest, [])
            mine = [t for t in mine if t not in self.match_of and t not in self.fused]
            other = [g for g in other if g not in self.matched_golden]
            if len(mine) == len(other) > 0:
                for t, g in list(self.interchangeable(mine, other)):
                    self.claim(t, g, "structure")

    def interchangeable(
        self, mine: Sequence[int], others: Sequence[int]
    ) -> Iterator[tuple[int, int]]:
        """Pair operators that compute the same: by who reads them, then equal names, then order."""
        ours, theirs = self.target.graph.ops, self.golden.graph.ops
        if len(mine) == len(others) == 1 or len(mine) > limits().alike_most:
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
        return {self.match_of[n] for n in self.target.direct(t) if n in self.match_of}


def _group(digests: dict[int, int]) -> dict[int, list[int]]:
    groups: dict[int, list[int]] = {}
    for number, digest in digests.items():
        groups.setdefault(digest, []).append(number)
    return groups


def _hand_groups(overrides: Overrides, target: GraphView, golden: GraphView) -> Iterator[Fusion]:
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
