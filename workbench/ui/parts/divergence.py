"""Divergence: the sentence, the ledger, the plot and the table."""

from __future__ import annotations

import ipywidgets as W

from workbench.ui.part import Part


class Divergence(Part):
    """What the comparison found."""

    name, title = "divergence", "Divergence"

    def build(self) -> W.Widget:
        self.answer, self.plot = W.HTML(), W.HTML()
        self.follow(self.bench, "comparison", self.refresh)
        return W.VBox([self.alert.widget, self.plot, self.answer])

    def refresh(self) -> None:
        comparison = self.bench.comparison
        if comparison is None:
            return
        from workbench.show.plots import divergence_svg

        self.answer.value = comparison._repr_html_()
        self.plot.value = divergence_svg(comparison.result)

    @property
    def state(self) -> tuple[str, str]:
        comparison = self.bench.comparison
        return ("to do", "") if comparison is None else ("done", comparison.verdict)
