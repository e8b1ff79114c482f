"""Configure: the form that says what is dumped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.errors import WorkbenchError
from workbench.ui.form import ConfigForm
from workbench.ui.part import Part

if TYPE_CHECKING:
    import ipywidgets as W


class Configure(Part):
    """The form of the bench's surface, with the preview of its graph."""

    name, title = "configure", "Configure"

    def build(self) -> W.Widget:
        self.form = ConfigForm(self.bench.config, changed=self._take)
        self.follow(self.bench, ["graph", "seed", "ranks"], self._show_graph)
        self.follow(self.bench, "config", self._show_config)
        return self.form.view

    def refresh(self) -> None:
        self._show_graph()

    @property
    def state(self) -> tuple[str, str]:
        refused = self.form.refused
        return ("failed", refused) if refused else ("done", self.bench.config.surface.name)

    def close(self) -> None:
        self.form.close()
        super().close()

    def _take(self, form: ConfigForm) -> None:
        self.bench.refused = form.refused
        if form.config != self.bench.config:
            self.bench.config = form.config

    def _show_config(self) -> None:
        if self.form.config != self.bench.config:
            self.form.config = self.bench.config

    def _show_graph(self) -> None:
        self.form.graph = None
        try:
            self.form.graph = self.bench.network
        except WorkbenchError as error:
            self.form.alert.show(error)
