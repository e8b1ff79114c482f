"""The table of matches as HTML: coverage, and one page of lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.words.translate import Say
from workbench.show import match_view
from workbench.show.templates import OPERATOR_STYLES, render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.comparison.result import Result
    from workbench.core.words.translate import Language
    from workbench.show.match_view import MatchLine

PAGE = 100
"""Lines of a page."""


def matches_html(
    result: Result,
    lines: Sequence[MatchLine],
    *,
    all_lines: int,
    page: int = 0,
    language: Language = "en",
    selected: int = -1,
    clickable: bool = False,
) -> str:
    """Return coverage and the given page of ``lines``, which somebody chose among ``all_lines``.

    The line of row ``selected`` is marked. With ``clickable`` lines can be reached by keyboard, one of them by the Tab
    key; whoever shows them takes the click.
    """
    first = page * PAGE
    coverage = match_view.coverage_parts(result)
    return render(
        "matches.html.j2",
        styles=OPERATOR_STYLES,
        coverage=coverage,
        total=sum(coverage.values()) or 1,
        lines=lines[first : first + PAGE],
        selected=selected,
        marked=any(selected in line.rows for line in lines[first : first + PAGE]),
        clickable=clickable,
        first=first + 1 if lines else 0,
        found=len(lines),
        all=all_lines,
        say=Say(language),
    )
