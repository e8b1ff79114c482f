"""Source: the network's lines with the operators that they made, and how wrong these are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ipywidgets as W
import numpy as np

from workbench.show.assets import style_sheets
from workbench.show.templates import OPERATOR_STYLES
from workbench.ui.following import Following
from workbench.ui.widgets.boxes import panel
from workbench.views.render import source_html

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.session.comparison import Comparison
    from workbench.ui.bench.app import Workbench
    from workbench.ui.part import Stage
    from workbench.views.source_map import SourceMap


class Source(Following):
    """What `Comparison.source_map` tells; a click on a line shows its operators, one on these selects."""

    name, title = "source", "ui/source"
    traits = ("selected", "factor", "limit")

    def build(self) -> W.Widget:
        self.map_of: SourceMap | None = None
        self.comparison_of: Comparison | None = None
        self.style = W.HTML(f"<style>{style_sheets(*OPERATOR_STYLES)}</style>")
        self.hint, self.lines = W.HTML(), self.new_pieces()
        self.follow_comparison()
        self.doing = self.drawing_line()
        top = [self.style, self.alert.widget, self.hint, self.doing, self.note(self.lines)]
        return panel([*top, self.lines])

    def changed(self, name: str) -> None:
        if name == "selected":
            self._draw()
        else:
            self.refresh()

    def refresh(self) -> None:
        """Show the lines of the present comparison."""
        comparison = self.graded
        if comparison is None:
            self.map_of = None
        elif self.map_of is None or self.map_of.compared is not comparison.compared:
            self.map_of = comparison.source_map()
        self.comparison_of = comparison
        self.hint.value = "" if comparison is not None else self.waiting()
        self._draw()

    def _draw(self) -> None:
        if self.map_of is None:
            self.lines.html = ""
        else:
            self.background.ask(self._drawn)

    def _drawn(self) -> Callable[[], None] | None:
        """Draw what is wanted now; return what shows it."""
        found, comparison = self.map_of, self.comparison_of
        if found is None or comparison is None:
            return None
        row = comparison.selected
        chosen = comparison.row_index.same_execution(row) if row is not None else ()
        html = source_html(found, selected=chosen, say=self.say, clickable=self.lines.clickable)

        def show() -> None:
            if self.map_of is found:
                self.lines.html = html
                self.update_stills()

        return show

    def still(self) -> str:
        return (
            str(self.style.value) + self.lines.html if self.map_of is not None else super().still()
        )

    @staticmethod
    def stage(bench: Workbench) -> Stage:
        comparison = bench.comparison
        if comparison is None:
            return "pending", ""
        rows = comparison.result.columns
        failing = rows.take(np.flatnonzero(rows.table.where("status", "fail".__eq__)).tolist())
        frames = {frame for frame in failing.column("source") if frame is not None}
        lines = {(frame.file, frame.line) for frame in frames}
        return "done", f"{len(lines)} ✗" if lines else ""
