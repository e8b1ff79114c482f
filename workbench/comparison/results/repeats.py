"""Put what other runs of the target show into a result: the runs, operators that are not deterministic, a sentence."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.comparison.follow.judge import BETWEEN_RUNS
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.comparison.measure.measure import Measured
    from workbench.comparison.repeats.runs import Repeats
    from workbench.comparison.result import Result

FACT = "repeats"
"""Name of the sentence among the facts of a result."""


def with_repeats(result: Result, items: Sequence[Measured], repeats: Repeats) -> Result:
    """Return a result that says what other runs of the target show; its first rows are those of the measured pairs."""
    within = sum(row.reason == BETWEEN_RUNS for row in result.columns.views())
    known = [repeats.spreads.get(item.pair.target.key) for item in items]
    between: list[float | None] = [None if one is None else one.error for one in known]
    between += [None] * (len(result.columns) - len(between))
    failed = (
        row.op_name
        for item, row in zip(items, result.columns.views(), strict=False)
        if (row.status, row.io) == ("fail", "output") and item.pair.target.key in repeats.alone
    )
    said = _said(repeats, within, list(dict.fromkeys(failed)))
    return replace(
        result,
        rows=result.columns.with_column("between_runs", between),
        repeats=repeats.runs,
        not_deterministic=repeats.operators,
        facts={**result.facts, FACT: said},
    )


def _said(repeats: Repeats, within: int, alone: Sequence[str]) -> Message:
    """What repeats come to, in a sentence; ``within`` tensors are explained by them alone.

    ``alone`` are operators of which the target alone is wrong.
    """
    parts = []
    used = [run for run in repeats.runs if run.used]
    if repeats.operators:
        worst = max(repeats.operators, key=lambda one: one.error)
        parts.append(
            Message(
                "compare/repeat-operators", count=len(repeats.operators), runs=len(used),
                op_name=worst.op_name, error=worst.error,
            )
        )  # fmt: skip
    elif used:
        parts.append(Message("compare/repeat-steady", runs=len(used)))
    if within:
        parts.append(Message("compare/repeat-within", count=within, factor=repeats.factor))
    if alone:
        parts.append(Message("compare/repeat-alone", count=len(alone), op_name=alone[0]))
    parts += [
        Message("compare/repeat-run", path=run.path, why=run.reason)
        for run in repeats.runs
        if run.reason is not None
    ]
    return Message("compare/repeats", parts=tuple(parts))
