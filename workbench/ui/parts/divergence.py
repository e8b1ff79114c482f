"""Divergence: sentence and ledger on top, the explorer below."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import ipywidgets as W

from workbench.show.columns import worst_first
from workbench.show.html import head_html
from workbench.show.look import look_code
from workbench.ui.copy import CopyButton
from workbench.ui.part import Part

if TYPE_CHECKING:
    from workbench.compare.result import Row
    from workbench.pipeline.compare import Comparison


class Divergence(Part):
    """What the comparison found; what is selected and filtered here is the bench's ``comparison.look``."""

    name, title = "divergence", "Divergence"

    def build(self) -> W.Widget:
        self.told: Comparison | None = None
        self.explorer: Any = None
        self.answer, self.listing, self.place = W.HTML(), W.HTML(), W.VBox()
        self.first = W.Button(description=self.say("First divergence"))
        self.worst = W.Button(description=self.say("Worst error"))
        self.code = CopyButton(self.say("Copy as code"))
        self._heard = self.alert.guard(lambda _change: self._show_code())
        self.on_click(self.first, self._select_first)
        self.on_click(self.worst, self._select_worst)
        self.follow(self.bench, "comparison", self.refresh)
        buttons = [self.first, self.worst, self.code]
        self.tools = W.HBox(buttons, layout={"align_items": "center", "margin": "0 0 6px"})
        parts = [self.alert.widget, self.answer, self.tools, self.place, self.listing]
        return W.VBox(parts, layout={"width": "100%"})

    def refresh(self) -> None:
        comparison = self.bench.comparison
        if comparison is self.told and comparison is not None:
            return
        self._drop()
        self.told = comparison
        self.tools.layout.display = "none" if comparison is None else ""
        if comparison is None:
            text = self.say("Nothing has been compared yet.")
            self.answer.value = f'<p role="status">{escape(text)}</p>'
            return
        self.answer.value = head_html(comparison.result, self.bench.language)
        self.explorer = comparison.explore(language=self.bench.language)
        self.place.children = [self.explorer]
        self.first.disabled = comparison.first_divergence is None
        self.worst.disabled = not comparison.rows
        comparison.look.observe(self._heard)
        self._show_code()

    def to_code(self) -> str:
        """Python that gives the rows that are shown, of ``comparison``."""
        return "" if self.told is None else look_code(self.told.look)

    def _show_code(self) -> None:
        self.code.text = self.to_code()
        summary = f"<summary>{escape(self.say('The code'))}</summary>"
        self.listing.value = f"<details>{summary}<pre>{escape(self.code.text)}</pre></details>"

    def _select_first(self) -> None:
        if self.told is not None:
            self.told.selected = self.told.first_divergence

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

    @property
    def state(self) -> tuple[str, str]:
        comparison = self.bench.comparison
        return ("to do", "") if comparison is None else ("done", comparison.verdict)

    def close(self) -> None:
        self._drop()
        super().close()
