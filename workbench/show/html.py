"""Notebook output of a result, and the template environment that it shares with the report."""

from __future__ import annotations

import math
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.show import view, words
from workbench.show.columns import shown_status, worst_first
from workbench.show.labels import translate

if TYPE_CHECKING:
    from jinja2 import Environment

    from workbench.compare.result import Result
    from workbench.show.labels import Language

FOLDER = Path(__file__).parent

EXPLORER = ("words", "data", "store", "drawing", "plot", "table", "details", "bar", "mount")
"""Files of the explorer, in the order in which they make one module."""

TOP_ROWS = 20
TOP_FINDINGS = 5


@cache
def environment() -> Environment:
    """Return the templates of this package; every value is escaped and no name may be missing."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        visible=words.visible,
        exact=words.exact,
        shorten=words.shorten,
        shape=words.shape,
        shown_status=shown_status,
        numbered=lambda lines: [(one.number, one.text, one.here) for one in lines],
        ir_lines=_ir_lines,
        tensor_files=_tensor_files,
        number=words.number,
        leaf=words.leaf,
        meaning=view.finding_meaning,
        finding_link=view.finding_link,
        lead=words.lead,
    )
    made.tests["odd_figure"] = lambda value: value is not None and not math.isfinite(value)
    made.globals.update(
        verdicts=words.VERDICTS, times=words.times, side_counts=view.side_counts, say=str
    )
    return made


def repr_html(result: Result) -> str:
    """Return a static HTML fragment: sentence, ledger, findings with source lines, worst rows.

    It needs no script, folds by ``<details>`` and takes the colors of the notebook. Long lists are
    cut and say so; everything from a dump is escaped.
    """
    from markupsafe import Markup

    return (
        environment()
        .get_template("repr.html.j2")
        .render(
            result=result,
            css=Markup(read_asset("parts.css")),
            sides=view.ledger(result),
            findings=result.findings[:TOP_FINDINGS],
            rows=worst_first(result.rows)[:TOP_ROWS],
            statuses=view.status_counts(result.rows),
            anomalies=view.anomaly_groups(result.anomalies),
            lonely=view.lonely_groups(result.rows),
            uncomparable=view.uncomparable_groups(result.rows),
        )
    )


def _ir_lines(text: Any) -> list[tuple[int, str, bool]]:
    """Lines of a graph file with their numbers; those that were written anew have none."""
    start = text.first
    return [(start + n if start else 0, line, n in text.here) for n, line in enumerate(text.lines)]


def head_html(result: Result, language: Language = "en") -> str:
    """Return what stands above the explorer: verdict, sentence, ledger, iterations and findings."""
    from markupsafe import Markup

    lines = view.iteration_lines(result)
    return (
        environment()
        .get_template("head.html.j2")
        .render(
            result=result,
            css=Markup(read_asset("parts.css")),
            say=partial(translate, language=language),
            sides=view.ledger(result),
            findings=result.findings[:TOP_FINDINGS],
            iterations=lines[: view.LISTED],
            total=len(lines),
            iteration_parts=view.ITERATION_PARTS,
        )
    )


@cache
def explorer_module() -> str:
    """Return the explorer as one ES module, which report and notebook share; without comments and indentation."""
    text = "\n".join(read_asset(f"explorer/{name}.mjs") for name in EXPLORER)
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def _tensor_files(view: Any) -> list[tuple[str, str, str]]:
    """Tensor, side and path of every file of an operator."""
    rows = [view.comparison.rows[index] for index in view.tensors]
    return [
        (f"{row.io}:{row.slot}", side, path)
        for row in rows
        for side, path in (("target", row.target_path), ("golden", row.golden_path))
        if path
    ]


@cache
def read_asset(name: str) -> str:
    """Read a style sheet or module of this package."""
    return (FOLDER / name).read_text(encoding="utf-8")
