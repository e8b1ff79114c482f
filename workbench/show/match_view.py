"""Which operators were matched, by which rule, and which were left over: plain values for table, panel and report."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.comparison.align.rules import MATCH_RULES, rule_meaning
from workbench.core.words import Message
from workbench.show.columns import alone, worst_first, worst_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from workbench.comparison.result import Result, Row, Rows, Side, Status

UNMATCHED, SKIPPED = Message("show/unmatched"), Message("show/skipped")
"""Parts of the coverage beside the rules."""


@dataclass(frozen=True, slots=True)
class MatchLine:
    """Operators of both sides that stand for the same computation, and the worst of their tensors.

    ``rows`` are the indices of these tensors in the result, ``index`` that of the worst.
    """

    target: tuple[str, ...]
    golden: tuple[str, ...]
    op_type: str
    rule: str
    score: float
    tensors: int
    status: Status
    rows: tuple[int, ...] = ()
    index: int = -1

    @property
    def why(self) -> str:
        """What the rule goes by."""
        return str(rule_meaning(self.rule))

    @property
    def plain(self) -> bool:
        """Whether it is a pair of operators of one name."""
        return self.target == self.golden and not self.many

    @property
    def many(self) -> bool:
        """Whether it is a group, not a pair."""
        return len(self.target) + len(self.golden) > 2


@dataclass(frozen=True, slots=True)
class Orphan:
    """An operator with no partner for any of its tensors that are left over."""

    op_name: str
    op_type: str
    tensors: int
    reason: str


def match_lines(result: Result) -> list[MatchLine]:
    """Return every match in execution order.

    Operators that share tensors are one line: N↔M groups are connected components of the pairs of one rule.
    """
    cells, pairs = result.columns.table.rows, _Pairs.of(result.columns)
    matched = np.flatnonzero(result.columns.table.where("match_rule", bool))
    times = [cells[name][matched] for name in ("order", "iteration", "rank")]
    numbers = matched[np.lexsort(times)].tolist()
    parents: dict[_Node, _Node] = {}
    for n in numbers:
        _join(parents, ("target", pairs.target[n]), ("golden", pairs.golden[n]))
    lines: dict[_Node, list[int]] = {}
    for n in numbers:
        lines.setdefault(_root(parents, ("target", pairs.target[n])), []).append(n)
    return [*map(pairs.line, lines.values())]


_RULES = {rule: place for place, rule in enumerate(MATCH_RULES)}
"""Rule → place of it among all, the surest first."""

_Node = tuple[str, str]
"""Side and name of an operator."""


def _root(parents: dict[_Node, _Node], node: _Node) -> _Node:
    while parents.setdefault(node, node) != node:
        parents[node] = node = parents[parents[node]]
    return node


def _join(parents: dict[_Node, _Node], a: _Node, b: _Node) -> None:
    parents[_root(parents, a)] = _root(parents, b)


@dataclass(frozen=True, slots=True)
class _Pairs:
    """What lines are made of, column by column; ``place`` is that in the order of the worst."""

    target: Sequence[str]
    golden: Sequence[str]
    op_type: Sequence[str]
    rule: Sequence[str]
    score: Sequence[float]
    status: Sequence[Status]
    place: Sequence[int]

    @staticmethod
    def of(rows: Rows) -> _Pairs:
        """Return the columns of rows; a pair without the golden's name is of operators of one name."""
        target, golden, op_type, rule, score, status = map(rows.column, _COLUMNS)
        named = [theirs or ours for ours, theirs in zip(target, golden, strict=True)]
        place = np.argsort(worst_order(rows)).tolist()
        return _Pairs(target, named, op_type, rule, score, status, place)

    def line(self, numbers: Sequence[int]) -> MatchLine:
        """Return the line of the rows of these numbers, which are in execution order."""
        first = worst = numbers[0]
        if len(numbers) > 1:  # nearly all are of one row
            first = min(numbers, key=self._doubt)
            worst = min(numbers, key=self.place.__getitem__)
        return MatchLine(
            target=(*dict.fromkeys([self.target[n] for n in numbers]),),
            golden=(*dict.fromkeys([self.golden[n] for n in numbers]),),
            op_type=self.op_type[first],
            rule=self.rule[first],
            score=min([self.score[n] for n in numbers]),
            tensors=len(numbers),
            status=self.status[worst],
            rows=tuple(numbers),
            index=worst,
        )

    def _doubt(self, number: int) -> tuple[int, float]:
        return _RULES.get(self.rule[number], len(_RULES)), -self.score[number]


_COLUMNS = ("op_name", "golden_op_name", "op_type", "match_rule", "match_score", "status")


def row_of(result: Result, side: Side, name: str) -> int:
    """Index of the row that tells most of an operator of a side: the worst pair, else a tensor alone; -1: none."""
    found = [row for row in result.rows if alone(row) in ("", side) and _name(row, side) == name]
    return next(map(result.columns.number_of, worst_first(found)), -1)


def _name(row: Row, side: Side) -> str:
    return (row.golden_op_name if side == "golden" else row.op_name) or row.op_name


def orphans(result: Result, side: Side) -> list[Orphan]:
    """Return operators of a side that have tensors without a partner, in execution order."""
    lonely = [row for row in result.rows if alone(row) == side]
    found: dict[str, list[Row]] = {}
    for row in sorted(lonely, key=lambda row: (row.rank, row.iteration, row.order)):
        found.setdefault(row.op_name or row.golden_op_name, []).append(row)
    return [
        Orphan(name, rows[0].op_type, len(rows), str(rows[0].reason))
        for name, rows in found.items()
    ]


def operator_names(result: Result, side: Side) -> list[str]:
    """Return every operator of a side, matched or not, in execution order."""
    rows = sorted(result.rows, key=lambda row: (row.rank, row.iteration, row.order))
    if side == "golden":
        names: Iterable[str] = (row.golden_op_name for row in rows if alone(row) != "target")
    else:
        names = (row.op_name for row in rows if alone(row) != "golden")
    return [*dict.fromkeys(filter(None, names))]


def coverage_parts(result: Result) -> Mapping[str | Message, int]:
    """Count the target's tensors: by rule, unmatched, skipped; they add up to all it has."""
    rules = Counter(row.match_rule for row in result.rows if row.match_rule)
    known = [rule for rule in MATCH_RULES if rule in rules]
    named = [*known, *(rule for rule in rules if rule not in MATCH_RULES)]
    parts: dict[str | Message, int] = {rule: rules[rule] for rule in named}
    skipped = sum(n for key, n in result.coverage.skipped.items() if not key.startswith("golden:"))
    parts |= {UNMATCHED: result.coverage.unmatched_target, SKIPPED: skipped}
    return {name: count for name, count in parts.items() if count}
