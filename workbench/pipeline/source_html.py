"""The source of a network as HTML: the same for the panel, the report and plain notebook output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.words.translate import ENGLISH, Say
from workbench.show.templates import OPERATOR_STYLES, render

if TYPE_CHECKING:
    from collections.abc import Collection

    from workbench.pipeline.source_view import SourceMap

MOST_LINES = 800
"""Lines of one file that a page holds, the worst of them; all are in the DataFrame."""

MOST_OPERATORS = 100
"""Operators of one line that a page holds."""

DECADES = 6.0
"""Own errors this many powers of ten above what is explained, and larger ones, have the longest bar."""


def source_html(
    found: SourceMap,
    *,
    selected: Collection[int] = (),
    say: Say = ENGLISH,
    clickable: bool = False,
    standalone: bool = False,
) -> str:
    """Return the heat map as an HTML fragment; everything from the dumps is escaped.

    Parameters
    ----------
    selected : collection of int
        Rows of the operator that is looked at.
    say : Say
        Words of the screen in the reader's language.
    clickable : bool
        What carries a ``data-row`` can be reached by keyboard; whoever shows it takes the click.
    standalone : bool
        Carry the style sheets.
    """
    return render(
        "source.html.j2",
        files=found.files,
        without_line=found.without_line,
        selected=frozenset(selected),
        decades=DECADES,
        most=MOST_LINES,
        listed=MOST_OPERATORS,
        styles=OPERATOR_STYLES if standalone else (),
        say=say,
        clickable=clickable,
    )
