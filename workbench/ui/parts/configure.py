"""Configure: the form that says what is dumped; opened from a file, converted to another system, saved."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import ipywidgets as W

from workbench.config import SURFACES, get, load, new
from workbench.core.errors import WorkbenchError
from workbench.core.text import escape
from workbench.core.words import Message
from workbench.ui.bench.typed import typed_path
from workbench.ui.form import ConfigForm
from workbench.ui.part import Part
from workbench.ui.widgets.alerts import status_html
from workbench.ui.widgets.boxes import panel, styled
from workbench.ui.widgets.chooser import Chooser

if TYPE_CHECKING:
    from workbench.config import Config
    from workbench.ui.bench.app import Workbench
    from workbench.ui.part import Stage

ENDINGS = (".json", ".py", ".cfg", ".txt")
"""Endings of files that may be a form."""


class Configure(Part):
    """The form of the bench's surface with the preview of its graph, and where forms come from and go to."""

    name, title = "configure", "ui/configure"

    def build(self) -> W.Widget:
        surfaces = [(get(name).title, name) for name in SURFACES]
        say = self.say
        self.surface = styled(W.Dropdown(description=say("ui/format"), options=surfaces), "input")
        ways = [(say("ui/new"), "new"), (say("ui/convert"), "convert")]
        self.way = styled(W.ToggleButtons(options=ways), "beside")
        self.way.tooltips = [say("ui/new-tooltip"), say("ui/convert-tooltip")]  # fmt: skip
        self.file = Chooser(say("ui/open-configuration"), say, suffixes=ENDINGS)
        self.path = styled(W.Text(description=say("ui/save-as")), "input")
        self.save = W.Button(description=say("ui/save"))
        self.said, self.download = W.HTML(), W.HTML()
        self.holder = W.VBox()
        self.form: ConfigForm | None = None
        self._connect()
        self._show_config()
        head = [self.alert.widget, self.row(self.surface, self.way), self.file.view]
        foot = self.row(self.path, self.save, self.download)
        return panel([*head, self.said, self.holder, foot])

    def _connect(self) -> None:
        self.on(self.surface, self._turn_to)
        self.on(self.file, self._open)
        self.on(self.path)
        self.on_click(self.save, self._save)
        self.follow(self.bench, ["graph", "seed", "ranks"], self._show_graph)
        self.follow(self.bench, "iterations", self._show_iterations)
        self.follow(self.bench, "config", self._show_config)

    @staticmethod
    def stage(bench: Workbench) -> Stage:
        if bench.refused is not None:
            return "failed", Message("ui/invalid")
        return "done", bench.config.surface.name

    def close(self) -> None:
        for part in (self.form, self.file):
            if part is not None:
                part.close()
        super().close()

    def _turn_to(self) -> None:
        """Begin a form of the chosen system, or say there what this one says; losses are told."""
        name = self.surface.value
        if name == self.bench.config.surface.name:
            return
        try:
            self._take(new(name) if self.way.value == "new" else self._converted(name))
        except WorkbenchError:
            self.surface.value = self.bench.config.surface.name
            raise

    def _converted(self, name: str) -> Config:
        done = self.bench.config.convert(name)
        lost = "".join(f"<li>{escape(self.say.told(loss))}</li>" for loss in done.losses)
        code = "ui/converted-partly" if lost else "ui/converted"
        said = status_html(self.say(code), code)
        self.said.value = f"{said}<ul>{lost}</ul>"
        converted: Config = done.config
        return converted

    def _open(self) -> None:
        if self.file.value:
            self._take(load(self.file.value))
            self.path.value = self.file.value

    def _take(self, config: Config) -> None:
        self.bench.refused = None
        self.bench.config = config

    def _save(self) -> None:
        saved = self.bench.config.save(
            typed_path(self.path.value, Message("ui/file-configuration"), "dump.json")
        )
        self.said.value = status_html(self.say("ui/written", path=saved), "ui/written")

    def _changed(self, form: ConfigForm) -> None:
        """Bring the form to the bench: the last one that would be accepted, and why the draft would not."""
        self.bench.refused = form.refused
        if form.config != self.bench.config:
            self.bench.config = form.config
        self._offer()

    def _show_config(self) -> None:
        config = self.bench.config
        self.surface.value = config.surface.name
        if self.form is None or self.form.draft.surface is not config.surface:
            old, self.form = self.form, self._new_form(config)
            self.holder.children = (self.form.view,)
            if old is not None:
                old.close()
            self._show_graph()
        elif self.form.config != config:
            self.form.config = config
        self._offer()

    def _new_form(self, config: Config) -> ConfigForm:
        iterations = self.bench.iterations
        return ConfigForm(config, iterations=iterations, changed=self._changed, say=self.say)

    def _show_iterations(self) -> None:
        if self.form is not None:
            self.form.iterations = self.bench.iterations

    def _offer(self) -> None:
        """Let the browser save the form: a link with its text."""
        config = self.bench.config
        name = f"{config.surface.name}{'.json' if config.surface.language == 'json' else '.py'}"
        data = base64.b64encode(config.to_text().encode()).decode("ascii")
        link = f'download="{name}" href="data:text/plain;base64,{data}"'
        self.download.value = (
            f'<a class="jupyter-button" {link}>{escape(self.say("ui/download"))}</a>'
        )

    def _show_graph(self) -> None:
        if self.form is None:
            return
        try:
            self.form.graph = self.bench.network
        except WorkbenchError as error:
            self.form.graph = error
