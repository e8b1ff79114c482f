"""The report of a comparison, with what its dumps alone can tell: operators in full, the source; and its own code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.core.long_work import collection_paused
from workbench.session.provenance import PYTHON, report_line
from workbench.show.report import SECTIONS, Extras, report_html
from workbench.views.operator import OperatorView
from workbench.views.render import operator_html, source_html
from workbench.views.source_map import SourceMap

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from workbench.session.comparison import Comparison

TOLD = 3
"""Blamed operators that a report tells in full, unless more are pinned."""


def report_text(
    comparison: Comparison,
    *,
    title: str | None,
    notes: str,
    sections: Iterable[str] | None,
    pins: Iterable[str],
) -> str:
    """Return the report as `Comparison.to_html` writes it."""
    with collection_paused():
        return _report_text(comparison, title, notes, sections, pins)


def _report_text(
    comparison: Comparison,
    title: str | None,
    notes: str,
    sections: Iterable[str] | None,
    pins: Iterable[str],
) -> str:
    held = comparison.result.columns.views()  # for all who read rows until the report is written
    chosen, pinned = tuple(SECTIONS if sections is None else sections), tuple(pins)
    told = _told_in_full(comparison, pinned) if "operators" in chosen else {}
    source = source_html(SourceMap(comparison.compared)) if "source" in chosen else ""
    options: dict[str, Any] = {"title": title, "notes": notes or None, "pins": pinned or None}
    options["sections"] = None if set(chosen) == set(SECTIONS) else chosen
    made = _made_again(comparison, options)
    extras = Extras(notes=notes, provenance=made, operators=told, source=source)
    text = report_html(comparison.result, title=title, sections=chosen, extras=extras)
    del held
    return text


def _made_again(comparison: Comparison, options: Mapping[str, object]) -> dict[str, str]:
    """How the comparison and its report are made again, wherever that is written."""
    code = comparison.to_code()
    written = code and code + report_line("report.html", options)
    return {k: written if k == PYTHON else text for k, text in comparison.provenance.items()}


def _told_in_full(comparison: Comparison, pins: Iterable[str]) -> dict[str, str]:
    """Return the first operators to blame, and those that were pinned, as HTML by their names."""
    blamed = [f.op_name for f in comparison.findings if f.defect and f.op_name][:TOLD]
    names = dict.fromkeys((*blamed, *pins))
    known = {name for row in comparison.rows for name in (row.op_name, row.golden_op_name)}
    views = (OperatorView(comparison.compared, comparison.index_of(n)) for n in names if n in known)
    return {view.name: operator_html(view) for view in views}
