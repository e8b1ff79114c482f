"""Divergence: sentence and coverage on top, the explorer below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ipywidgets as W

from workbench.core.text import escape
from workbench.show.columns import worst_first
from workbench.show.html import head_html
from workbench.show.look.look import look_code
from workbench.ui.bench.code import code_html
from workbench.ui.part import Part
from workbench.ui.widgets.boxes import panel
from workbench.ui.widgets.native import make_copy

if TYPE_CHECKING:
    from workbench.comparison.result import Row
    from workbench.core.words import Message
    from workbench.session.comparison import Comparison
    from workbench.ui.bench.app import Workbench
    from workbench.ui.part import Stage


class Divergence(Part):
    """What the comparison found; what is selected and filtered here is the bench's ``comparison.look``."""

    name, title = "divergence", "ui/divergence"

    def build(self) -> W.Widget:
        self.told: Comparison | None = None
        self.explorer: Any = None
        self.answer, self.listing, self.place = W.HTML(), W.HTML(), W.VBox()
        self.first = W.Button(description=self.say("ui/first-divergence"))
        self.jump = W.Button(description=self.say("ui/largest-jump"))
        self.worst = W.Button(description=self.say("ui/worst-error"))
        self.code = make_copy("ui/copy-as-code", self.say)
        self._heard = self.alert.guard(lambda _change: self._show_code())
        self.on_click(self.first, self._select_first)
        self.on_click(self.jump, self._select_jump)
        self.on_click(self.worst, self._select_worst)
        self.follow(self.bench, "comparison", self.update)
        self.tools = self.row(self.first, self.jump, self.worst, self.code)
        parts = [self.alert.widget, self.answer, self.tools, self.place, self.listing]
        return panel(parts)

    def refresh(self) -> None:
        comparison = self.bench.comparison
        if comparison is self.told and comparison is not None:
            return
        self._drop()
        self.told = comparison
        self.tools.layout.display = "none" if comparison is None else ""
        if comparison is None:
            self.answer.value = self.waiting()
            return
        head = head_html(comparison.result, self.bench.language)
        self.answer.value = head + "".join(map(self._lost, self.bench.lost))
        self.explorer = comparison.explore(language=self.bench.language)
        self.place.children = [self.explorer]
        self.first.disabled = comparison.first_divergence is None
        self.jump.disabled = comparison.largest_jump is None
        self.worst.disabled = not comparison.rows
        comparison.look.observe(self._heard)
        self._show_code()

    def to_code(self) -> str:
        """Python that gives the rows that are shown, of ``comparison``."""
        return "" if self.told is None else look_code(self.told.look)

    def _show_code(self) -> None:
        self.code.text = self.to_code()
        self.listing.value = code_html(self.say("ui/the-code"), self.code.text)

    def _lost(self, lost: Message) -> str:
        """Say what was looked at last time and is no more."""
        told = escape(self.say.told(lost))
        return f'<p role="status" data-code="{lost.code}"><bdi>{told}</bdi></p>'

    def _select_first(self) -> None:
        if self.told is not None:
            self.told.selected = self.told.first_divergence

    def _select_jump(self) -> None:
        if self.told is not None:
            self.told.selected = self.told.largest_jump

    def _select_worst(self) -> None:
        worst: list[Row] = worst_first(self.told.rows) if self.told is not None else []
        if self.told is not None and worst:
            self.told.selected = worst[0]

    def _drop(self) -> None:
        """Let go of the comparison that was shown."""
        if self.told is not None:
            self.told.look.unobserve(self._heard)
            self.told = None
        if self.explorer is not None:
            self.place.children = []
            self.explorer.close()
            self.explorer = None
        self.listing.value = ""

    @staticmethod
    def stage(bench: Workbench) -> Stage:
        comparison = bench.comparison
        return ("pending", "") if comparison is None else ("done", comparison.verdict)

    def close(self) -> None:
        self._drop()
        super().close()
