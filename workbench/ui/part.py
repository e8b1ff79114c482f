"""What the panels of a workbench have in common: a bench to follow, a place for errors, code to copy."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, ClassVar

import ipywidgets as W

from workbench.show.labels import translate
from workbench.ui.alerts import Alert, close_tree
from workbench.ui.bundle import with_html
from workbench.ui.still import display_with_still

if TYPE_CHECKING:
    from collections.abc import Callable

    import traitlets

    from workbench.ui.app import Workbench

SETTLE = 0.15
"""Seconds from a click to what it does.

Whoever types and clicks sends two messages, of the input and of the button. ipykernel 7.4 takes each on the thread
that last published for its widget, so that the click may come first.
"""


class Part:
    """One panel over a `Workbench`, which holds all state; ``view`` is its widget.

    A panel reads the bench and writes to it, and knows no other panel. `build` makes the widgets, `refresh` brings
    them up to date; both run under one lock, since handlers may come on any thread.
    """

    name: ClassVar[str]
    title: ClassVar[str]

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench
        self.alert = Alert()
        self.lock = threading.RLock()
        self.shown = True
        self.stills: list[Callable[[], None]] = []
        self._unfollow: list[Callable[[], None]] = []
        self.view: W.Widget = self.build()
        self.refresh()

    def build(self) -> W.Widget:
        """Return the widget of the panel."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Show what the bench says now."""

    def show(self, shown: bool) -> None:
        """Hear whether the panel can be seen."""
        self.shown = shown

    @property
    def state(self) -> tuple[str, str]:
        """State of this step (``to do``, ``ready``, ``running``, ``done``, ``failed``) and one figure or reason."""
        return "ready", ""

    def say(self, text: str) -> str:
        """Return words of the screen in the language of the bench."""
        return translate(text, self.bench.language)

    def follow(
        self, item: traitlets.HasTraits, names: str | list[str], call: Callable[[], None]
    ) -> None:
        """Call back after changes of traits, as long as the panel is open; errors are shown in it."""

        def changed(_change: Any) -> None:
            with self.lock:
                call()

        handler = self.alert.guard(changed)
        item.observe(handler, names)
        self._unfollow.append(lambda: item.unobserve(handler, names))

    def on(self, widget: W.Widget, call: Callable[[], None], trait: str = "value") -> None:
        """Call back after the user changed an input; errors are shown in the panel."""
        self.follow(widget, trait, call)

    def on_click(self, button: W.Button, call: Callable[[], None]) -> None:
        """Call back after a click, with what was typed just before it; errors are shown in the panel."""

        def clicked(_button: Any) -> None:
            time.sleep(SETTLE)
            call()

        button.on_click(self.alert.guard(clicked))

    def close(self) -> None:
        """Follow nothing any more, and remove every widget of the panel from the kernel."""
        for unfollow in self._unfollow:
            unfollow()
        self._unfollow.clear()
        close_tree(self.view)
        close_tree(self.alert.widget)

    def still(self) -> str:
        """Return what stays of the panel where there are no widgets, as HTML."""
        return str(self.bench._repr_html_())

    def _ipython_display_(self) -> None:
        update = display_with_still(self.view, self.still, repr(self))
        self.stills.append(update)
        self.follow(self.bench, "comparison", update)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Widget, and what stays of it where there are none."""
        return with_html(self.view._repr_mimebundle_(**options), self.bench)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.bench!r}>"
