"""Errors of handlers, shown where the user looks.

An exception in an ``on_click`` handler of ipywidgets vanishes into a log; every handler therefore
goes through `Alert.guard`.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import ipywidgets as W

from workbench.core.errors import ConfigError, WorkbenchError
from workbench.core.text import escape, shorten, visible
from workbench.core.words.translate import ENGLISH, Say

if TYPE_CHECKING:
    from collections.abc import Callable

_STYLE = "color:var(--jp-error-color1,#b3261e);white-space:pre-wrap"

MOST = 600
"""Characters of a message; of a longer one the middle is left out."""


class Alert:
    """A place for the error of the last thing the user did, in one line; it takes no room while all is well.

    ``text`` is what it says, in the language of ``say``, and ``code`` the code of the error.
    """

    def __init__(self, say: Say = ENGLISH) -> None:
        self._say = say
        self.text = self.code = ""
        self.widget = W.HTML(layout={"display": "none"})

    def show(self, error: BaseException) -> None:
        """Say what is wrong, read out by screen readers."""
        self.text, self.code = error_text(error, self._say), error_code(error)
        self.widget.layout.display = ""
        self.widget.value = alert_html(self.text, self.code)

    def clear(self) -> None:
        """Take the message away."""
        self.text = self.code = ""
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


def error_text(error: BaseException, say: Say = ENGLISH) -> str:
    """Return an error as one line: what the workbench refuses in its own words, anything else with its type.

    >>> error_text(WorkbenchError("core/missing", got="a.npy")), error_text(KeyError("a"))
    ("'a.npy' does not exist", "KeyError: 'a'")
    """
    if isinstance(error, ConfigError) and len(error.problems) > 1:
        first = str(error.problems[0])
        text = say("ui/more-problems", problem=first, n=len(error.problems) - 1)
    elif isinstance(error, WorkbenchError):
        text = say.told(error)
    else:
        text = f"{type(error).__name__}: {error}"
    line = next(iter(text.splitlines()), text)  # no source lines below
    return shorten(visible(line), MOST)


def error_code(error: BaseException) -> str:
    """Return the code of an error, of a refused configuration that of its first problem; else its type."""
    if isinstance(error, ConfigError) and error.problems:
        return str(error.problems[0].id)
    return error.code if isinstance(error, WorkbenchError) else type(error).__name__


def alert_html(text: str, code: str = "") -> str:
    """Return text as an alert, which carries the code of what it says."""
    return f'<div role="alert" data-code="{escape(code)}" style="{_STYLE}">{escape(text)}</div>'


def status_html(text: str, code: str = "") -> str:
    """Return text that screen readers read out when it changes, with the code of what it says; nothing for none."""
    said = f'<span role="status" data-code="{escape(code)}">{escape(text)}</span>'
    return said if text else '<span role="status"></span>'


def close_tree(widget: W.Widget) -> None:
    """Close a widget and all it consists of; a box alone would leave its children in the kernel."""
    for child in getattr(widget, "children", ()):
        close_tree(child)
    for part in ("layout", "style"):
        if isinstance(getattr(widget, part, None), W.Widget):
            getattr(widget, part).close()
    widget.close()
