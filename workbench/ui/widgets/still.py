"""What stays of a widget where there are none: in exports, in saved notebooks, without a kernel.

Where one output holds a widget and HTML, the reader's program chooses, and some choose a widget that they cannot show:
nbconvert, if the states of widgets were saved, and JupyterLab, for a notebook that is trusted and has another kernel.
So the HTML has an output of its own, which the living widget hides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import ipywidgets as W

_STILL = """<style>
body:has(.{live}) .{live}-still {{ display: none }}
.jp-OutputArea-child:has(+ * .{live}-still) > .jp-OutputArea-output:not(:has(*)) {{ display: none }}
</style>
<div class="mathjax_ignore {live}-still">{html}</div>"""
"""Hidden where the widget lives. Where it does not, the second rule hides bare words that stand in its place."""


def display_with_still(view: W.DOMWidget, html: Callable[[], str], text: str) -> Callable[[], None]:
    """Display a widget, then what ``html`` returns; return what brings the latter up to date.

    ``text`` is for programs that show neither.
    """
    from IPython.display import HTML, display

    live = f"wb-{view.model_id}"
    view.add_class(live)
    kind = "application/vnd.jupyter.widget-view+json"
    model = {"version_major": 2, "version_minor": 0, "model_id": view.model_id}
    display({kind: model, "text/plain": text}, raw=True)
    handle = display(HTML(_STILL.format(live=live, html=html())), display_id=True)

    def update() -> None:
        if handle is not None:  # there is none outside a notebook
            handle.update(HTML(_STILL.format(live=live, html=html())))

    return update
