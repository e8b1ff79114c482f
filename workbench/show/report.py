"""The HTML report: one file that opens offline, anywhere, and asks the network for nothing."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.comparison.align.rules import rule_meaning
from workbench.core.errors import WorkbenchError
from workbench.core.words.translate import ENGLISH, Say
from workbench.show import payload, view
from workbench.show.assets import explorer_module, read_asset
from workbench.show.columns import worst_order
from workbench.show.html import TOP_ROWS
from workbench.show.match_view import coverage_parts, match_lines
from workbench.show.plots.divergence import divergence_svg
from workbench.show.templates import render

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from workbench.comparison.result import Result
    from workbench.core.words.translate import Language

SECTIONS: dict[str, str] = {
    "findings": "show/findings",
    "iterations": "show/iterations",
    "rows": "show/divergence",
    "operators": "show/operators",
    "source": "show/source",
    "alignment": "show/alignment",
    "anomalies": "show/anomalies",
    "unmatched": "show/not-compared",
    "definitions": "show/definitions",
    "provenance": "show/provenance",
}
"""Part of the report that can be left out → code of its heading; sentence, coverage and notes cannot."""


@dataclass(frozen=True, slots=True)
class Extras:
    """What a report tells beside the result.

    ``notes`` are the user's, in plain text; ``provenance`` texts by title that make the comparison again;
    ``operators`` by name and ``source`` are HTML of this package.
    """

    notes: str = ""
    provenance: Mapping[str, str] = field(default_factory=dict)
    operators: Mapping[str, str] = field(default_factory=dict)
    source: str = ""


NO_EXTRAS = Extras()

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
  note.textContent = note.dataset.said.replace("{error}", error);
});
"""


def report_html(
    result: Result,
    *,
    title: str | None = None,
    sections: Iterable[str] | None = None,
    extras: Extras = NO_EXTRAS,
) -> str:
    """Return the report as one HTML document.

    ``sections`` are some of SECTIONS (default: all). The same result always gives the same text: it
    holds no clock, no duration and nothing of the machine that wrote it. A Content-Security-Policy
    forbids every request and every script but the module of this package.
    """
    from markupsafe import Markup

    shown, rows = _sections(sections), result.columns
    views = rows.views()  # for all who read them row by row until the report is written
    with_rows = "rows" in shown
    script = _script(shown, extras)
    data, encoding = _embedded(result) if with_rows else ("", "")
    matches = match_lines(result) if "alignment" in shown else []
    looks = bool(extras.operators or extras.source)
    styles = ("parts", "explorer", *(["operator"] if looks else []), "report")
    text = render(
        "report.html.j2",
        result=result,
        title=title or ENGLISH("show/accuracy-comparison"),
        sections=shown,
        policy=page_policy(script),
        styles=styles,
        script=Markup(script),
        data=Markup(data),
        encoding=encoding,
        svg=Markup(divergence_svg(result)) if with_rows else "",
        sides=view.ledger(result),
        statuses=view.status_counts(rows),
        all_statuses=view.status_meanings(result),
        origin=view.origin(result),
        worst=rows.take(worst_order(rows)[:TOP_ROWS]),
        anomalies=view.anomaly_groups(result.anomalies),
        lonely=view.lonely_groups(rows),
        uncomparable=view.uncomparable_groups(rows),
        iterations=view.iteration_lines(result)[: view.LISTED],
        iteration_parts=list(view.ITERATION_PARTS.values()),
        definitions=view.definitions(result),
        not_deterministic=sorted(result.not_deterministic, key=lambda one: -one.error),
        digits=payload.digits(result),
        left_out=payload.left_out(result),
        version=_version(),
        listed=view.LISTED,
        notes=extras.notes,
        provenance=extras.provenance,
        operators={name: Markup(text) for name, text in extras.operators.items()},
        source=Markup(extras.source),
        match_lines=[line for line in matches if not line.plain],
        matches_total=len(matches),
        meanings={rule: rule_meaning(rule) for rule in sorted({m.rule for m in matches})},
        coverage=coverage_parts(result),
        headings=SECTIONS,
    )
    del views
    return text


def explorer_page(result: Result, language: Language = "en") -> str:
    """Return a page with the explorer alone, for a frame in a notebook."""
    from markupsafe import Markup

    script = f"{explorer_module()}{_START}"
    data, encoding = _embedded(result, language, exact=True)
    return render(
        "explorer.html.j2",
        title=Say(language)("show/divergence"),
        language=language,
        say=Say(language),
        policy=page_policy(script),
        styles=("parts", "explorer", "report"),
        script=Markup(script),
        data=Markup(data),
        encoding=encoding,
    )


def _embedded(result: Result, language: Language = "en", *, exact: bool = False) -> tuple[str, str]:
    """Return what the explorer reads as text of a page, and its encoding."""
    write = payload.as_json
    return payload.embed(payload.explorer_data(result, language=language, exact=exact, write=write))


def _sections(wanted: Iterable[str] | None) -> frozenset[str]:
    chosen = frozenset(SECTIONS if wanted is None else wanted)
    unknown = sorted(chosen - set(SECTIONS))
    if unknown:
        raise WorkbenchError("show/some", subject="sections", got=unknown, known=list(SECTIONS))
    return chosen


def _script(shown: frozenset[str], extras: Extras) -> str:
    """What the page runs: the explorer, and buttons that copy how it is made again."""
    pieces = [explorer_module(), _START] if "rows" in shown else []
    if "provenance" in shown and extras.provenance:
        pieces.append(read_asset("copy_code.mjs"))
    return "\n".join(pieces)


def page_policy(script: str) -> str:
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
