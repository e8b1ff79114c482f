"""Boxes of widgets that fit into any width, and look alike in every panel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import ipywidgets as W

from workbench.show.assets import read_asset

if TYPE_CHECKING:
    from collections.abc import Iterable

Kind = TypeVar("Kind", bound=W.DOMWidget)


def panel(widgets: Iterable[W.Widget]) -> W.VBox:
    """Return widgets one below the other, with the style sheet that the functions here count on."""
    return styled(W.VBox([style_sheet(), *widgets], layout={"width": "100%"}), "panel")


def style_sheet() -> W.HTML:
    """Return what gives the looks of `styled` to whatever is in a box that is itself ``panel``."""
    return W.HTML(f"<style>{read_asset('panels.css')}</style>", layout={"display": "none"})


def row(widgets: Iterable[W.Widget]) -> W.HBox:
    """Return widgets side by side; what does not fit goes into the next line."""
    return W.HBox(list(widgets), layout={"flex_flow": "row wrap", "max_width": "100%"})


def fold(title: str, box: W.Box) -> W.VBox:
    """Return a box below a button that shows and hides it; an accordion of ipywidgets cannot be reached by keyboard."""
    button = styled(W.ToggleButton(description=title), "fold")
    box.layout.display = "none"

    def turn(change: Any) -> None:
        box.layout.display = "" if change["new"] else "none"

    button.observe(turn, "value")
    return W.VBox([button, styled(box, "folded")])


def styled(widget: Kind, look: str) -> Kind:
    """Return the widget with a look of the style sheet.

    ``input``: its label in the column of labels, itself as wide as others; ``beside``: what goes beside such an
    input, or under it; ``below``: under the inputs; ``stacked``: its label above it.
    """
    widget.add_class(f"workbench-{look}")
    return widget
