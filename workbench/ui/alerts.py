"""Errors of handlers, shown where the user looks.

An exception in an ``on_click`` handler of ipywidgets vanishes into a log; every handler therefore
goes through `Alert.guard`.
"""

from __future__ import annotations

import functools
from html import escape
from typing import TYPE_CHECKING, Any

import ipywidgets as W

if TYPE_CHECKING:
    from collections.abc import Callable

_STYLE = "color:var(--jp-error-color1,#b3261e);white-space:pre-wrap"


class Alert:
    """A place for the error of the last thing the user did; empty while all is well."""

    def __init__(self) -> None:
        self.widget = W.HTML()

    def show(self, error: BaseException) -> None:
        """Show type and message, read out by screen readers."""
        self.widget.value = alert_html(f"{type(error).__name__}: {error}")

    def clear(self) -> None:
        """Take the message away."""
        self.widget.value = ""

    def guard(self, handler: Callable[..., Any]) -> Callable[..., None]:
        """Return the handler with its errors shown; whatever follows still works."""

        @functools.wraps(handler)
        def guarded(*arguments: Any, **options: Any) -> None:
            try:
                self.clear()
                handler(*arguments, **options)
            except Exception as error:
                self.show(error)

        return guarded


def alert_html(text: str) -> str:
    """Return text as an alert."""
    return f'<div role="alert" style="{_STYLE}">{escape(text)}</div>'


def close_tree(widget: W.Widget) -> None:
    """Close a widget and all it consists of; a box alone would leave its children in the kernel."""
    for child in getattr(widget, "children", ()):
        close_tree(child)
    for part in ("layout", "style"):
        if isinstance(getattr(widget, part, None), W.Widget):
            getattr(widget, part).close()
    widget.close()
