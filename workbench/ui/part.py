"""What the panels of a workbench have in common: a bench to follow, a place for errors, code to copy."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, Any, ClassVar

import ipywidgets as W

from workbench.core.words.translate import Say
from workbench.ui.background import Background
from workbench.ui.widgets.alerts import Alert, close_tree, status_html
from workbench.ui.widgets.boxes import row, styled
from workbench.ui.widgets.bundle import with_html
from workbench.ui.widgets.still import display_with_still

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import traitlets

    from workbench.core.words import Message
    from workbench.ui.bench.app import Workbench

STATES: dict[str, tuple[str, str]] = {
    "pending": ("○", "ui/pending"),
    "ready": ("○", "ui/ready"),
    "running": ("◐", "ui/running"),
    "done": ("●", "ui/done"),
    "cancelled": ("◌", "ui/cancelled"),
    "failed": ("✗", "ui/failed"),
}
"""State of a step → its sign and the code of its words."""

Stage = tuple[str, "str | Message"]

SETTLE = 0.15
"""Seconds from a click to what it does, where the click may overtake what was typed (see `reorders`)."""


def reorders() -> bool:
    """Whether this kernel may hand over a click before what was typed: two messages, of the input and of the button.

    ipykernel takes each on the thread that last published for its widget, since version 7.4; before, all came on one.
    """
    version: tuple[Any, ...] = getattr(sys.modules.get("ipykernel"), "version_info", ())
    return version >= (7, 4)


class Part:
    """One panel over a `Workbench`, which holds all state; ``view`` is its widget.

    A panel reads the bench and writes to it, and knows no other panel. `build` makes the widgets, `refresh` brings
    them up to date; both run under one lock, since handlers may come on any thread.

    What is wrong with a control is said beside it: `row` and `note` make the place, `on` and `on_click` fill it.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    """Code of its title."""

    def __init__(self, bench: Workbench, *, shown: bool = True) -> None:
        self.bench = bench
        self.alert = Alert(self.say)
        self.lock = threading.RLock()
        self.background = Background(self.lock, self.alert)
        self.shown, self._stale = shown, False
        self.stills: list[Callable[[], None]] = []
        self._notes: dict[Any, Alert] = {}
        self._filled: dict[Any, Any] = {}
        self._unfollow: list[Callable[[], None]] = []
        self.view: W.Widget = self.build()
        self.update()

    def build(self) -> W.Widget:
        """Return the widget of the panel."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Show what the bench says now."""

    def update(self) -> None:
        """Refresh the panel: now if it can be seen, else as soon as it is."""
        self._stale = not self.shown
        if self.shown:
            self.refresh()

    def show(self, shown: bool) -> None:
        """Hear whether the panel can be seen."""
        with self.lock:
            self.shown = shown
            if shown and self._stale:
                self.update()

    @staticmethod
    def stage(bench: Workbench) -> Stage:
        """State of this step (a key of `STATES`) and one figure, or what is missing."""
        return "ready", ""

    @property
    def state(self) -> Stage:
        """How far this step is (see `stage`)."""
        return self.stage(self.bench)

    @property
    def say(self) -> Say:
        """Words of the screen in the language of the bench, by their codes."""
        return Say(self.bench.language)

    def waiting(self) -> str:
        """Say that there is no comparison yet, and what comes back with the next one."""
        codes = ["ui/no-comparison"]
        if self.bench.kept_look is not None:
            codes.append("ui/restored-later")
        return status_html(" ".join(map(self.say, codes)), codes[0])

    def row(self, *controls: W.Widget, others: Iterable[W.Widget] = ()) -> W.HBox:
        """Return controls side by side, and beside them the place for what is wrong with them (and with ``others``)."""
        note = self.note(*controls, *others)
        return row([*controls, styled(note, "beside")])

    def note(self, *controls: W.Widget) -> W.Widget:
        """Return the place for what is wrong with some controls."""
        note = Alert(self.say)
        self._notes |= dict.fromkeys(controls, note)
        return note.widget

    def alert_of(self, item: Any) -> Alert:
        """Where it is said what is wrong with a control; the panel's own place for anything else."""
        own = getattr(item, "alert", None)
        return own if isinstance(own, Alert) else self._notes.get(item, self.alert)

    def fill(self, control: Any, value: Any) -> None:
        """Show what the bench says; what it refused stays in a control until it says something else."""
        alert, known = self.alert_of(control), control in self._filled
        if known and self._filled[control] == value and alert.text:
            return
        self._filled[control] = value
        if control.value != value:
            control.value = value
        alert.clear()

    def guard(self, item: Any, call: Callable[[], None]) -> Callable[..., None]:
        """Return a handler whose errors are shown beside a control."""

        def guarded(*_event: Any) -> None:
            self.alert_of(item).guard(call)()

        return guarded

    def follow(
        self, item: traitlets.HasTraits, names: str | list[str], call: Callable[[], None]
    ) -> None:
        """Call back after changes of traits, as long as the panel is open; errors are shown in it."""

        def changed() -> None:
            with self.lock:
                call()

        handler = self.guard(item, changed)
        item.observe(handler, names)
        self._unfollow.append(lambda: item.unobserve(handler, names))

    def watch(self, background: Background, call: Callable[[], None]) -> None:
        """Call back when background work begins and when it ends; an error that it showed stays."""
        handler = self.alert.guard(lambda _change: call(), clear=False)
        background.observe(handler, "busy")
        self._unfollow.append(lambda: background.unobserve(handler, "busy"))

    def on(
        self, control: Any, call: Callable[[], None] = lambda: None, trait: str = "value"
    ) -> None:
        """Call back after the user changed an input; errors are shown beside it, earlier ones go."""
        self.follow(control, trait, call)

    def on_click(self, button: W.Button, call: Callable[[], None]) -> None:
        """Call back after a click, with what was typed just before it; errors are shown beside the button."""

        def clicked() -> None:
            if reorders():
                time.sleep(SETTLE)
            call()

        button.on_click(self.guard(button, clicked))

    def close(self) -> None:
        """Follow nothing any more, and remove every widget of the panel from the kernel."""
        self.background.close()
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
