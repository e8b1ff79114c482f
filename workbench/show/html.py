"""Notebook output of a result, without scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.words.translate import Say
from workbench.show import view
from workbench.show.columns import worst_order
from workbench.show.templates import render

if TYPE_CHECKING:
    from workbench.comparison.result import Result
    from workbench.core.words.translate import Language

TOP_ROWS = 20
TOP_FINDINGS = 5


def repr_html(result: Result) -> str:
    """Return a static HTML fragment: sentence, coverage, findings with source lines, worst rows.

    It needs no script, folds by ``<details>`` and takes the colors of the notebook. Long lists are
    cut and say so; everything from a dump is escaped.
    """
    rows = result.columns
    return render(
        "repr.html.j2",
        result=result,
        styles=("parts",),
        sides=view.ledger(result),
        findings=result.findings[:TOP_FINDINGS],
        rows=rows.take(worst_order(rows)[:TOP_ROWS]),
        statuses=view.status_counts(rows),
        anomalies=view.anomaly_groups(result.anomalies),
        lonely=view.lonely_groups(rows),
        uncomparable=view.uncomparable_groups(rows),
    )


def head_html(result: Result, language: Language = "en") -> str:
    """Return what stands above the explorer: verdict, sentence, coverage, iterations and findings."""
    lines = view.iteration_lines(result)
    return render(
        "head.html.j2",
        result=result,
        styles=("parts",),
        say=Say(language),
        sides=view.ledger(result),
        findings=result.findings[:TOP_FINDINGS],
        rest=result.findings[TOP_FINDINGS : view.LISTED],
        iterations=lines[: view.LISTED],
        total=len(lines),
        iteration_parts=list(view.ITERATION_PARTS.values()),
    )
