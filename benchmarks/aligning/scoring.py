"""What an alignment claims against what is true: pairs of operators, members of groups among them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

from workbench.comparison.align.align import align
from workbench.comparison.align.groups import Components
from workbench.comparison.graphs.roles import ends_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aligning.cases import Case

    Pair = tuple[str, str]


@dataclass
class Score:
    """Pairs that were claimed, those of them that are true, and all that are true; groups likewise.

    ``rules`` counts claims and true ones by rule; ``groups`` are true ones of more than one operator on a side,
    ``whole`` those found with all members and no other.
    """

    claimed: int = 0
    right: int = 0
    true: int = 0
    groups: int = 0
    whole: int = 0
    rules: dict[str, list[int]] = field(default_factory=dict)

    def add(self, other: Score) -> None:
        """Count another one's, too."""
        for name in ("claimed", "right", "true", "groups", "whole"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for rule, (claimed, right) in other.rules.items():
            mine = self.rules.setdefault(rule, [0, 0])
            mine[0] += claimed
            mine[1] += right

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return dict(vars(self))


def components(truth: Mapping[str, frozenset[str]]) -> list[tuple[frozenset[str], frozenset[str]]]:
    """What belongs together: (target's, golden's) operators, connected by standing for each other."""
    joined = Components()
    for name, stands in truth.items():
        for one in stands:
            joined.add(("t", name))
            joined.add(("g", one))
            joined.join(("t", name), ("g", one))
    return [
        (
            frozenset(str(name) for side, name in members if side == "t"),
            frozenset(str(name) for side, name in members if side == "g"),
        )
        for members in joined.sets()
    ]


def claims(case: Case) -> list[tuple[str, frozenset[str], frozenset[str]]]:
    """Matches of the alignment: rule, and names of both sides."""
    found = align(case.target, case.golden)
    ours, theirs = found.target.graph, found.golden.graph
    ends = ends_of(ours), ends_of(theirs)
    return [
        (
            match.rule,
            frozenset(ours.ops[n].name for n in match.target if n not in ends[0]),
            frozenset(theirs.ops[n].name for n in match.golden if n not in ends[1]),
        )
        for match in found.matches
        if match.target and match.golden and match.rule != "stretch"
    ]


def score(case: Case) -> tuple[Score, list[str]]:
    """The score of one pair of graphs, and its mistakes in words."""
    parts = components(case.truth)
    true = {pair for ours, theirs in parts for pair in product(ours, theirs)}
    found: dict[Pair, str] = {}
    sets = set()
    for rule, ours, theirs in claims(case):
        sets.add((ours, theirs))
        found |= dict.fromkeys(product(ours, theirs), rule)
    right = true & found.keys()
    groups = [part for part in parts if len(part[0]) > 1 or len(part[1]) > 1]
    every, good = Counter(found.values()), Counter(found[pair] for pair in right)
    result = Score(
        len(found), len(right), len(true), len(groups), sum(part in sets for part in groups),
        {rule: [count, good[rule]] for rule, count in every.items()},
    )  # fmt: skip
    wrong = [f"{found[pair]}: {pair[0]} is not {pair[1]}" for pair in found if pair not in true]
    missed = [f"missed: {pair[0]} is {pair[1]}" for pair in sorted(true - right)]
    return result, [*wrong, *missed]
