"""The HTML report: one file that opens offline, anywhere, and asks the network for nothing."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.core.errors import WorkbenchError
from workbench.show import payload, view
from workbench.show.columns import worst_first
from workbench.show.html import TOP_ROWS, environment, read_asset
from workbench.show.plots import divergence_svg

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from workbench.compare.result import Result

SECTIONS = ("findings", "iterations", "rows", "anomalies", "unmatched", "definitions", "provenance")
"""Parts of the report that can be left out; sentence and ledger cannot."""

_START = """
const root = document.getElementById("explorer"), page = document.querySelector("main");
load(document.getElementById("data")).then((data) => {
  page.classList.add("wb-live");
  mount(root, data, { hash: true, print: document.getElementById("print") });
}).catch((error) => {
  page.classList.remove("wb-live");
  root.replaceChildren();
  const note = document.getElementById("failed");
  note.hidden = false;
  note.textContent = `The interactive table could not start (${error}); the worst rows follow.`;
});
"""


def report_html(
    result: Result, *, title: str | None = None, sections: Iterable[str] | None = None
) -> str:
    """Return the report as one HTML document.

    ``sections`` are some of SECTIONS (default: all). The same result always gives the same text: it
    holds no clock, no duration and nothing of the machine that wrote it. A Content-Security-Policy
    forbids every request and every script but the module of this package.
    """
    from markupsafe import Markup

    shown = _sections(sections)
    with_rows = "rows" in shown
    script = f"{read_asset('explorer.mjs')}{_START}" if with_rows else ""
    data, encoding = payload.embed(payload.explorer_data(result)) if with_rows else ("", "")
    css = "".join(read_asset(f"{name}.css") for name in ("parts", "explorer", "report"))
    text = (
        environment()
        .get_template("report.html.j2")
        .render(
            result=result,
            title=title or "Accuracy comparison",
            sections=shown,
            policy=_policy(script),
            css=Markup(css),
            script=Markup(script),
            data=Markup(data),
            encoding=encoding,
            svg=Markup(divergence_svg(result)) if with_rows else "",
            sides=view.ledger(result),
            statuses=view.status_counts(result.rows),
            all_statuses=view.status_meanings(result),
            origin=view.origin(result),
            worst=worst_first(result.rows)[:TOP_ROWS],
            anomalies=view.anomaly_groups(result.anomalies),
            lonely=view.lonely_groups(result.rows),
            uncomparable=view.uncomparable_groups(result.rows),
            iterations=view.iteration_lines(result)[: view.LISTED],
            iteration_parts=view.ITERATION_PARTS,
            definitions=view.definitions(result),
            digits=payload.digits(result),
            left_out=payload.left_out(result),
            version=_version(),
            listed=view.LISTED,
        )
    )
    return text.encode("utf-8", errors="replace").decode()  # lone surrogates of file names


def write_report(
    result: Result,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    sections: Iterable[str] | None = None,
) -> Path:
    """Write `report_html` to ``path`` and return the path."""
    target = Path(path)
    text = report_html(result, title=title, sections=sections)
    target.write_text(text, encoding="utf-8", newline="\n")
    return target


def _sections(wanted: Iterable[str] | None) -> frozenset[str]:
    chosen = frozenset(SECTIONS if wanted is None else wanted)
    unknown = sorted(chosen - set(SECTIONS))
    if unknown:
        known = ", ".join(SECTIONS)
        raise WorkbenchError(f"sections must be some of {known}, got {unknown}")
    return chosen


def _policy(script: str) -> str:
    """Allow one script by its hash; styles may stand in the page, images in its text."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    allowed = f"'sha256-{digest}'" if script else "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _version() -> str:
    from importlib.metadata import version

    return version("npu-accuracy-workbench")
