"""The end of a comparison in one line, read off the ledger: what was compared, and what was not and why."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from workbench.comparison.measure.metrics import CANCELLED
from workbench.core.text import shorten, visible
from workbench.core.words import Message
from workbench.show.view import ledger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.comparison.result import Result, Row, Side

_SIDES: dict[Side, str] = {"target": "show/side-target", "golden": "show/side-golden"}

SAID = 4
"""Reasons that are said, the most frequent ones; the others are counted."""


def summary(result: Result) -> Message:
    """Count tensors and operators that were compared, and the others by reason.

    Matched tensors are those of the ledger (`Coverage.matched`): compared ones and pairs that were not are their sum.

    >>> from workbench.comparison.result import Coverage, Result, SideInfo
    >>> side, cover = SideInfo("d", "tree", 3), Coverage(unmatched_target=3, skipped={"golden:twice": 2})
    >>> str(summary(Result("warn", "", side, side, cover)))
    'no tensor compared. Excluded: 3 target-only, 2 golden tensors (twice)'
    """
    pairs = [row for row in result.rows if row.match_rule]
    compared = [row for row in pairs if row.status != "uncomparable"]
    operators = {
        (row.rank, row.graph_id, row.op_name) for row in compared if row.op_type != "Parameter"
    }
    done = Message("show/summary-nothing")
    if compared:
        matched = result.coverage.matched
        tensors = matched - (len(pairs) - len(compared))
        done = Message("show/summary", tensors=tensors, matched=matched, operators=len(operators))
    excluded = _excluded(result, pairs)
    return Message("show/summary-excluded", compared=done, excluded=excluded) if excluded else done


def _excluded(result: Result, pairs: Sequence[Row]) -> list[Message]:
    """Return the most frequent reasons, each with its count, and how many tensors have others."""
    rest: Counter[tuple[str, Any]] = Counter()
    for row in pairs:
        if row.status == "uncomparable":
            rest[_why(row.reason)] += 1
    for side in ledger(result):
        name = ("side", Message(_SIDES[side.name]))
        rest["show/only-in", (name,)] += side.unmatched
        for reason, count in side.skipped:
            rest["show/skipped-side", (name, ("reason", reason))] += count
    most = (+rest).most_common(SAID)
    said = [Message(code, n=count, **dict(values)) for (code, values), count in most]
    others = (+rest).total() - sum(count for _, count in most)
    return [*said, Message("show/excluded-others", n=others)] if others else said


def _why(reason: Any) -> tuple[str, Any]:
    """Code and values of why a pair was not compared; what files say of themselves may be long."""
    if reason == CANCELLED:
        return "show/not-reached", ()
    if not reason:
        return "show/not-comparable", ()
    return "show/excluded-reason", (("reason", shorten(visible(str(reason)), 80)),)
