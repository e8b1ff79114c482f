"""The context of a match as HTML: the same for the panel and plain notebook output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.words.translate import ENGLISH, Say
from workbench.pipeline.operator_html import within
from workbench.show.graph_picture import HIGH, WIDE, drawn
from workbench.show.templates import OPERATOR_STYLES, render

if TYPE_CHECKING:
    from workbench.pipeline.context import MatchContext


def context_html(
    view: MatchContext,
    *,
    say: Say = ENGLISH,
    clickable: bool = False,
    standalone: bool = False,
) -> str:
    """Return what stands around a match as an HTML fragment; everything from the dumps is escaped.

    Parameters
    ----------
    say : Say
        Words of the screen in the reader's language.
    clickable : bool
        What carries a ``data-row`` can be reached by keyboard; whoever shows it takes the click.
    standalone : bool
        Carry the style sheets.
    """
    return render(
        "context.html.j2",
        view=view,
        pictures={side: drawn(around.found) for side, around in view.sides.items()},
        links={
            side: {node.key: view.link(side, node) for node in around.found.nodes}
            for side, around in view.sides.items()
        },
        wide=WIDE,
        high=HIGH,
        styles=OPERATOR_STYLES if standalone else (),
        within=within(view.compared.places),
        say=say,
        clickable=clickable,
    )
