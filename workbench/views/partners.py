"""Which operators of both graphs of an execution stand for each other: the matches, those with one in common joined."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from workbench.comparison.align.alignment import Alignment
    from workbench.comparison.result import Side

    Member = tuple[Side, int]
    ConstantPair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class MatchGroup:
    """Numbers of operators of both sides that stand for the same computation, by which rule and how surely."""

    target: tuple[int, ...]
    golden: tuple[int, ...]
    rule: str
    score: float

    def of(self, side: Side) -> tuple[int, ...]:
        """Operators of one side."""
        return self.target if side == "target" else self.golden


@dataclass(frozen=True, slots=True)
class MatchGroups:
    """All matches of two graphs.

    ``constant_pairs`` are keys of nodes of target and golden that hold the same value and compute nothing: parameters,
    and operators that stand for one.
    """

    by: Mapping[Member, MatchGroup] = field(default_factory=dict)
    constant_pairs: tuple[ConstantPair, ...] = ()

    def of(self, side: Side, number: int) -> MatchGroup | None:
        """Return the match that an operator is part of; ``None`` if it has no partner."""
        return self.by.get((side, number))

    def constant_pair(self, side: Side, key: str) -> ConstantPair | None:
        """Return both keys of a pair by that of one side; ``None`` if it has no partner."""
        return next((one for one in self.constant_pairs if one[side == "golden"] == key), None)


def find_partners(found: Alignment) -> MatchGroups:
    """Return what an alignment says."""
    matches = (MatchGroup(one.target, one.golden, one.rule, one.score) for one in found.matches)
    return merge_groups(matches, _constant_pairs(found))


def _constant_pairs(found: Alignment) -> tuple[ConstantPair, ...]:
    values = {(f"{t.kind} {t.number}", f"{g.kind} {g.number}") for t, g in found.values.items()}
    return (*((f"param {t}", f"param {g}") for t, g in found.params.items()), *sorted(values))


def merge_groups(
    matches: Iterable[MatchGroup], constant_pairs: tuple[ConstantPair, ...] = ()
) -> MatchGroups:
    """Join matches that have an operator in common; the first one's rule and score stand for all."""
    by: dict[Member, MatchGroup] = {}
    for one in matches:
        met = [by[member] for member in _members(one) if member in by]
        if one.target and one.golden:
            whole = _union([*dict.fromkeys(met), one])
            by.update(dict.fromkeys(_members(whole), whole))
    return MatchGroups(by, constant_pairs)


def _members(one: MatchGroup) -> list[Member]:
    return [*(("target", t) for t in one.target), *(("golden", g) for g in one.golden)]


def _union(parts: list[MatchGroup]) -> MatchGroup:
    if len(parts) == 1:
        return parts[0]
    target = sorted({number for one in parts for number in one.target})
    golden = sorted({number for one in parts for number in one.golden})
    first = parts[0]
    return MatchGroup(tuple(target), tuple(golden), first.rule, first.score)
