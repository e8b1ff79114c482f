"""Source: the network's lines with the operators that they made, and how wrong these are."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import ipywidgets as W

from workbench.pipeline.source_html import source_html
from workbench.show.html import read_asset
from workbench.ui.following import Following
from workbench.ui.pieces import Pieces

if TYPE_CHECKING:
    from workbench.pipeline.source_view import SourceMap


class Source(Following):
    """What `Comparison.source_map` tells; a click on a line shows its operators, one on these selects."""

    name, title = "source", "Source"
    traits = ("selected",)

    def build(self) -> W.Widget:
        self.map_of: SourceMap | None = None
        self.style = W.HTML(f"<style>{read_asset('parts.css')}{read_asset('operator.css')}</style>")
        self.hint, self.lines = W.HTML(), Pieces(self.alert.guard(self._choose))
        self.follow_comparison()
        return W.VBox([self.style, self.alert.widget, self.hint, self.lines])

    def changed(self, name: str) -> None:
        self._draw()

    def refresh(self) -> None:
        """Show the lines of the present comparison."""
        if not self.shown:
            return
        comparison = self.bench.comparison
        if comparison is None:
            self.map_of = None
        elif self.map_of is None or self.map_of.comparison is not comparison:
            self.map_of = comparison.source_map()
        missing = self.say("Run a comparison first; then the lines of the network stand here.")
        self.hint.value = "" if comparison is not None else f"<p>{escape(missing)}</p>"
        self._draw()

    def _draw(self) -> None:
        if self.map_of is None:
            self.lines.html = ""
            return
        comparison = self.map_of.comparison
        row = comparison.selected
        chosen = comparison.places.of_execution(row) if row is not None else ()
        self.lines.html = source_html(self.map_of, selected=chosen, say=self.say, clickable=True)

    def _choose(self, row: str) -> None:
        self.bench.comparison.selected = int(row)

    def still(self) -> str:
        return (
            str(self.style.value) + self.lines.html if self.map_of is not None else super().still()
        )

    @property
    def state(self) -> tuple[str, str]:
        comparison = self.bench.comparison
        if comparison is None:
            return "to do", ""
        lines = {
            (row.source.file, row.source.line)
            for row in comparison.rows
            if row.source is not None and row.status == "fail"
        }
        return "done", f"{len(lines)} ✗" if lines else ""
