"""Errors of handlers, shown where the user looks.

An exception in an ``on_click`` handler of ipywidgets vanishes into a log; every handler therefore
goes through `Alert.guard`.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import ipywidgets as W

from workbench.core.errors import ConfigError, WorkbenchError
from workbench.core.text import escape, plural, shorten, visible

if TYPE_CHECKING:
    from collections.abc import Callable

_STYLE = "color:var(--jp-error-color1,#b3261e);white-space:pre-wrap"

MOST = 600
"""Characters of a message; of a longer one the middle is left out."""


class Alert:
    """A place for the error of the last thing the user did, in one line; it takes no room while all is well.

    ``text`` is what it says.
    """

    def __init__(self) -> None:
        self.text = ""
        self.widget = W.HTML(layout={"display": "none"})

    def show(self, error: BaseException) -> None:
        """Say what is wrong, read out by screen readers."""
        self.text = error_text(error)
        self.widget.layout.display = ""
        self.widget.value = alert_html(self.text)

    def clear(self) -> None:
        """Take the message away."""
        self.text = ""
        self.widget.value = ""
        self.widget.layout.display = "none"

    def guard(self, handler: Callable[..., Any], *, clear: bool = True) -> Callable[..., None]:
        """Return the handler with its errors shown; whatever follows still works.

        ``clear`` takes away the message of what was done before.
        """

        @functools.wraps(handler)
        def guarded(*arguments: Any, **options: Any) -> None:
            try:
                if clear:
                    self.clear()
                handler(*arguments, **options)
            except Exception as error:
                self.show(error)

        return guarded


def error_text(error: BaseException) -> str:
    """Return an error as one line: what the workbench refuses in its own words, anything else with its type.

    >>> error_text(WorkbenchError("seed must be a number, got 'x'")), error_text(KeyError("a"))
    ("seed must be a number, got 'x'", "KeyError: 'a'")
    """
    text = str(error) if isinstance(error, WorkbenchError) else f"{type(error).__name__}: {error}"
    if isinstance(error, ConfigError) and len(error.problems) > 1:
        text = f"{error.problems[0]}; {plural(len(error.problems) - 1, 'more problem')}"
    line = next(
        (line for line in text.splitlines() if " must " in line), text
    )  # no source lines below
    return shorten(visible(line), MOST)


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
