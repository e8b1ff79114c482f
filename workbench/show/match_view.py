"""Which operators were matched, by which rule, and which were left over: plain values for table, panel and report."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.comparison.align.rules import MATCH_RULES, rule_meaning
from workbench.core.words import Message
from workbench.show.columns import alone, worst_first

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
    columns = result.columns
    pairs = sorted(
        (r for r in columns if r.match_rule), key=lambda r: (r.rank, r.iteration, r.order)
    )
    parents: dict[tuple[str, str], tuple[str, str]] = {}
    for row in pairs:
        _join(parents, ("target", row.op_name), ("golden", row.golden_op_name or row.op_name))
    lines: dict[tuple[str, str], list[Row]] = {}
    for row in pairs:
        lines.setdefault(_root(parents, ("target", row.op_name)), []).append(row)
    return [_line(found, columns) for found in lines.values()]


_RULES = {rule: place for place, rule in enumerate(MATCH_RULES)}
"""Rule → place of it among all, the surest first."""


def _root(
    parents: dict[tuple[str, str], tuple[str, str]], node: tuple[str, str]
) -> tuple[str, str]:
    while parents.setdefault(node, node) != node:
        parents[node] = node = parents[parents[node]]
    return node


def _join(
    parents: dict[tuple[str, str], tuple[str, str]], a: tuple[str, str], b: tuple[str, str]
) -> None:
    parents[_root(parents, a)] = _root(parents, b)


def _line(rows: list[Row], columns: Rows) -> MatchLine:
    first = min(rows, key=lambda r: (_RULES.get(r.match_rule, len(_RULES)), -r.match_score))
    worst = worst_first(rows)[0] if len(rows) > 1 else first
    return MatchLine(
        target=tuple(dict.fromkeys(row.op_name for row in rows)),
        golden=tuple(dict.fromkeys(row.golden_op_name or row.op_name for row in rows)),
        op_type=first.op_type,
        rule=first.match_rule,
        score=min(row.match_score for row in rows),
        tensors=len(rows),
        status=worst.status,
        rows=tuple(map(columns.number_of, rows)),
        index=columns.number_of(worst),
    )


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
