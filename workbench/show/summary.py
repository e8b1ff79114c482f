"""The end of a comparison in one line: what was compared, and what was not and why."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from workbench.compare.metrics import CANCELLED
from workbench.core.text import plural, shorten, visible
from workbench.show.view import ledger

if TYPE_CHECKING:
    from workbench.compare.result import Result
    from workbench.core.words import Message

SAID = 4
"""Reasons that are said, the most frequent ones; the others are counted."""


def summary(result: Result) -> str:
    """Count tensors and operators that were compared, and the others by reason.

    >>> from workbench.compare.result import Coverage, Result, SideInfo
    >>> side, cover = SideInfo("d", "tree", 3), Coverage(unmatched_target=3, skipped={"golden:twice": 2})
    >>> summary(Result("warn", "", side, side, cover))
    'no tensor compared; not compared: 3 only in the target, 2 of the golden (twice)'
    """
    pairs = [row for row in result.rows if row.match_rule]
    compared = [row for row in pairs if row.status != "uncomparable"]
    operators = {
        (row.rank, row.graph_id, row.op_name) for row in compared if row.op_type != "Parameter"
    }
    text = "no tensor compared"
    if compared:
        text = f"{plural(len(compared), 'tensor')} of {plural(len(operators), 'operator')} compared"
    rest: Counter[str] = Counter()
    for row in pairs:
        if row.status == "uncomparable":
            rest[_why(row.reason)] += 1
    for side in ledger(result):
        rest[f"only in the {side.name}"] += side.unmatched
        for reason, count in side.skipped:
            rest[f"of the {side.name} ({reason})"] += count
    return text + _reasons(+rest)


def _why(reason: str | Message) -> str:
    """Say why a pair was not compared; what files say of themselves may be long."""
    if reason == CANCELLED:
        return "not reached"
    return f"({shorten(visible(str(reason)), 80)})" if reason else "not comparable"


def _reasons(rest: Counter[str]) -> str:
    """Say the most frequent reasons, and how many tensors have others."""
    said = [f"{count:,} {words}" for words, count in rest.most_common(SAID)]
    others = rest.total() - sum(count for _, count in rest.most_common(SAID))
    if others:
        said.append(f"{others:,} for other reasons")
    return f"; not compared: {', '.join(said)}" if said else ""
