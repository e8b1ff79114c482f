"""Boxes of widgets that fit into any width."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ipywidgets as W

if TYPE_CHECKING:
    from collections.abc import Iterable


def row(widgets: Iterable[W.Widget]) -> W.HBox:
    """Return widgets side by side; what does not fit goes into the next line."""
    return W.HBox(list(widgets), layout={"flex_flow": "row wrap", "max_width": "100%"})
