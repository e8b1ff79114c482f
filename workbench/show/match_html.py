"""The table of matches as HTML: coverage, and one page of lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.show import match_view
from workbench.show.html import environment, read_asset
from workbench.show.labels import translate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.compare.result import Result
    from workbench.show.labels import Language
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
) -> str:
    """Return coverage and the given page of ``lines``, which somebody chose among ``all_lines``."""
    from markupsafe import Markup

    first = page * PAGE
    coverage = match_view.coverage_parts(result)
    return (
        environment()
        .get_template("matches.html.j2")
        .render(
            css=Markup(read_asset("parts.css")),
            coverage=coverage,
            total=sum(coverage.values()) or 1,
            equation=", ".join(f"{name} {count}" for name, count in coverage.items()),
            lines=lines[first : first + PAGE],
            first=first + 1 if lines else 0,
            found=len(lines),
            all=all_lines,
            say=lambda text: translate(text, language),
        )
    )
