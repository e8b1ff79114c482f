"""Context: what stands around the match of the row that is looked at, in both graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ipywidgets as W

from workbench.core.text import one_line
from workbench.ui.following import Following
from workbench.ui.widgets.native import make_copy
from workbench.views.render import context_html

if TYPE_CHECKING:
    from workbench.views.match import MatchView


class Context(Following):
    """What `Comparison.context` tells; a click on an operator selects it."""

    name, title = "context", "ui/neighbors"
    traits = ("selected",)

    def build(self) -> W.Widget:
        self.context: MatchView | None = None
        self.pieces = self.new_pieces()
        self.code = make_copy("ui/copy-view", self.say)
        self.follow_comparison()
        return W.VBox([self.alert.widget, self.note(self.pieces), self.pieces, self.code])

    def changed(self, name: str) -> None:
        self.refresh()

    def refresh(self) -> None:
        """Show the surroundings of the row that is looked at now."""
        comparison = self.bench.comparison
        chosen = comparison is not None and comparison.selected is not None
        self.context = comparison.context() if chosen else None
        self.pieces.html, self.code.text = "", self.to_code()
        self.code.layout.display = "none" if self.context is None else ""
        if self.context is not None:
            self.pieces.html = context_html(
                self.context, say=self.say, clickable=self.pieces.clickable
            )

    def to_code(self) -> str:
        """Python that shows the same in a cell, of ``bench``."""
        if self.context is None:
            return ""
        row = self.context.row
        name = one_line(row.op_name or row.golden_op_name)
        return f"bench.comparison.context({self.context.index})  # {name!a}\n"
