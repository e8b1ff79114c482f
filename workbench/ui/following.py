"""Panels that follow what is looked at in the present comparison, whichever that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import ipywidgets as W

from workbench.core.errors import WorkbenchError
from workbench.ui.part import Part
from workbench.ui.widgets.alerts import status_html
from workbench.ui.widgets.native import make_pieces

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.session.comparison import Comparison
    from workbench.ui.widgets.live import Pieces
    from workbench.ui.widgets.plain import PlainPieces


class Following(Part):
    """A panel over ``bench.comparison.look``; ``traits`` are those of the look that it follows.

    What takes a while it draws in its ``background``.
    """

    traits: ClassVar[tuple[str, ...]] = ("selected",)
    _unlook: Callable[[], None] | None = None

    def follow_comparison(self) -> None:
        """Follow the comparison of the bench and its look, now and when there is another one."""
        self.follow(self.bench, "comparison", self._follow_look)
        self._follow_look()

    @property
    def graded(self) -> Comparison | None:
        """The comparison as its look grades it."""
        comparison = self.bench.comparison
        return comparison.graded() if comparison is not None else None

    def changed(self, name: str) -> None:
        """Show what a trait of the look says now."""

    def new_pieces(self) -> Pieces | PlainPieces:
        """Return HTML whose rows can be chosen."""

        def choose(row: str) -> None:
            self.guard(made, lambda: self._choose(row))()

        made = make_pieces(choose, self.say)
        return made

    def _choose(self, row: str) -> None:
        """Select what was clicked, which the browser tells as text."""
        comparison = self.bench.comparison
        rows = comparison.rows if comparison is not None else ()
        if not (row.isascii() and row.isdecimal() and len(row) < 10 and int(row) < len(rows)):
            raise WorkbenchError("ui/no-row", got=row, rows=len(rows))
        self.chosen(int(row))

    def chosen(self, row: int) -> None:
        """Look at a row that was clicked."""
        self.bench.comparison.selected = row

    def _follow_look(self) -> None:
        self._leave()
        comparison = self.bench.comparison
        if comparison is not None:
            look, names = comparison.look, list(self.traits)

            def changed(change: Any) -> None:
                with self.lock:
                    if not self.shown:
                        self.update()
                        return
                    self.changed(change["name"])
                    if not self.background.busy:
                        self.update_stills()

            guarded = self.alert.guard(changed)
            look.observe(guarded, names)
            self._unlook = lambda: look.unobserve(guarded, names)
        if hasattr(self, "view"):
            self.update()

    def update_stills(self) -> None:
        """Bring what stays of the panel up to date with what it shows."""
        for update in self.stills:
            update()

    def drawing_line(self) -> W.Widget:
        """Return the place that says when something is being drawn."""
        line = W.HTML()

        def show() -> None:
            text = self.say("ui/drawing") if self.background.busy else ""
            line.value = status_html(text, "ui/drawing")

        self.watch(self.background, show)
        return line

    def _ipython_display_(self) -> None:
        self.background.wait()  # what stays of the panel is taken from what it shows
        super()._ipython_display_()

    def _leave(self) -> None:
        if self._unlook is not None:
            self._unlook()
            self._unlook = None

    def close(self) -> None:
        self._leave()
        super().close()
