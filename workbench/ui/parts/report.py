"""Report: choose what it holds, write HTML, CSV and JSON, and copy all that was done as code."""

from __future__ import annotations

import os
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import ipywidgets as W

from workbench.core.errors import WorkbenchError
from workbench.core.text import brief
from workbench.core.words import Message
from workbench.session.provenance import report_line
from workbench.show.columns import worst_first
from workbench.show.look.look import EXPLORED
from workbench.show.report import SECTIONS
from workbench.ui.bench.code import code_html
from workbench.ui.bench.export import Export
from workbench.ui.bench.session import session_path
from workbench.ui.bench.typed import typed_path
from workbench.ui.following import Following
from workbench.ui.widgets.alerts import status_html
from workbench.ui.widgets.boxes import panel, styled
from workbench.ui.widgets.native import make_copy

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.comparison.result import Result
    from workbench.session.comparison import Comparison
    from workbench.ui.bench.app import Workbench
    from workbench.ui.part import Stage

_FILES = {"html": "report.html", "csv": "report.csv", "json": "report.json"}
_FILE_KINDS = {"html": "ui/html", "csv": "ui/csv", "json": "ui/json"}
_WRITE = {"html": "ui/write-html", "csv": "ui/write-csv", "json": "ui/write-json"}

MOST = 200
"""Operators that are listed at once to be pinned, the worst of those that the filter leaves."""


class Report(Following):
    """What the report holds, where it is written, and the code that does all of it again."""

    name, title = "report", "ui/report"
    traits = tuple(name for name in EXPLORED if name != "selected")

    def build(self) -> W.Widget:
        say, self._filling = self.say, False
        late = {"continuous_update": False}
        sections = [(say(code), key) for key, code in SECTIONS.items()]
        self.inputs: dict[str, W.Widget] = {
            "title": W.Text(description=say("ui/title"), **late),
            "notes": W.Textarea(description=say("ui/notes"), rows=4, **late),
            "sections": W.SelectMultiple(
                description=say("ui/sections"), options=sections, rows=len(sections)
            ),
            "pins": W.SelectMultiple(description=say("ui/pins"), rows=6),
        }
        self.search = W.Text(description=say("ui/filter"), **late)
        self.search.placeholder = say("ui/part-of-name")
        self.counted = W.HTML()
        self.worst: list[str] = []
        self.paths = {
            kind: W.Text(description=say(_FILE_KINDS[kind]), value=name, **late)
            for kind, name in _FILES.items()
        }
        self.writers = {kind: W.Button(description=say(code)) for kind, code in _WRITE.items()}
        self.session = W.Text(description=say("ui/session"), value=str(session_path()), **late)
        self.keep = W.Button(description=say("ui/save-session"))
        self.said, self.listing = W.HTML(), W.HTML()
        self.code = make_copy("ui/copy-all", self.say)
        self._connect()
        for widget in (*self.inputs.values(), self.search, *self.paths.values(), self.session):
            styled(widget, "input")
        *others, pins = (self.row(widget) for widget in self.inputs.values())
        chosen = [*others, self.row(self.search, self.counted), pins]
        files = [self.row(self.paths[kind], self.writers[kind]) for kind in _FILES]
        kept = self.row(self.session, self.keep)
        below = [self.said, self.code, self.listing]
        return panel([self.alert.widget, *chosen, *files, kept, *below])

    def _connect(self) -> None:
        for name, widget in self.inputs.items():
            self.on(widget, partial(self._take, name))
        self.on(self.search, self._list_pins)
        for kind, button in self.writers.items():
            self.on_click(button, partial(self._write, kind))
        for text in self.paths.values():
            self.on(text, self._show_code)
        self.on(self.session)
        self.on_click(self.keep, self._save)
        self.follow(self.bench, ["export", "profile"], self.update)
        self.follow(self.bench.map_file, "overrides", self._show_code)
        self.follow(self.bench, "comparison", self._forget)
        self.follow_comparison()
        self.watch(self.background, self._allow)

    def _forget(self) -> None:
        self.worst = []

    def _list_pins(self) -> None:
        """List operators to pin: those that are pinned, and the worst that the filter leaves."""
        comparison, words = self.bench.comparison, self.search.value.lower().split()
        if comparison is not None and not self.worst:
            self.worst = _worst_operators(comparison.result)
        found = [name for name in self.worst if all(word in name.lower() for word in words)]
        pins = self.bench.export.pins
        options = [(brief(name), name) for name in dict.fromkeys((*found[:MOST], *pins))]
        told = self.say("ui/worst-of", n=min(len(found), MOST), total=len(self.worst))
        shown = told if len(found) > MOST or words else ""
        self.counted.value = status_html(shown, "ui/worst-of")
        self._filling = True  # a list whose options change drops what is selected
        try:
            if list(self.inputs["pins"].options) != options:
                self.inputs["pins"].options = options
            self.inputs["pins"].value = pins
        finally:
            self._filling = False

    def refresh(self) -> None:
        """Bring inputs, buttons and code up to date with the bench."""
        export = self.bench.export
        self._list_pins()
        self._filling = True
        try:
            for field in fields(Export):
                value = getattr(export, field.name)
                if self.inputs[field.name].value != value:
                    self.inputs[field.name].value = value
        finally:
            self._filling = False
        self._allow()
        self._show_code()

    def _allow(self) -> None:
        """Allow one file after the other to be written."""
        for button in self.writers.values():
            button.disabled = self.bench.comparison is None or self.background.busy

    @staticmethod
    def stage(bench: Workbench) -> Stage:
        return ("pending", "") if bench.comparison is None else ("ready", "")

    def _take(self, name: str) -> None:
        if self._filling:
            return
        value = self.inputs[name].value
        value = tuple(value) if name in ("sections", "pins") else value
        if value != getattr(self.bench.export, name):
            self.bench.export = replace(self.bench.export, **{name: value})

    def changed(self, name: str) -> None:
        self._show_code()

    def _show_code(self) -> None:
        """Offer the code of the comparison that is here, or of the one that would come."""
        paths = {
            kind: os.path.expanduser(text.value.strip()) or _FILES[kind]
            for kind, text in self.paths.items()
        }
        made = self.bench.comparison.to_code() if self.bench.comparison is not None else ""
        lines = [made or self.bench.to_code()]
        lines.append(report_line(paths["html"], self.bench.export.options))
        lines += [f"comparison.to_{kind}({paths[kind]!r})\n" for kind in ("csv", "json")]
        self.code.text = "".join(lines)
        self.listing.value = code_html(self.say("ui/the-code"), self.code.text)

    def _write(self, kind: str) -> None:
        subject = Message("ui/file-report", kind=Message(_FILE_KINDS[kind]))
        path = Path(typed_path(self.paths[kind].value, subject, _FILES[kind]))
        comparison = self.bench.comparison
        if comparison is None:
            raise WorkbenchError("ui/run-first")
        self._tell("ui/writing-path", path=path)
        work = partial(self._written, self._writer(comparison, kind), path)
        self.background.ask(work, self.alert_of(self.writers[kind]))

    def _written(self, write: Callable[[Path], object], path: Path) -> Callable[[], None]:
        """Write a file; return what tells of it."""
        try:
            write(path)
        except BaseException:
            self.said.value = ""  # that it is being written
            raise
        return partial(self._tell, "ui/written-size", path=path, size=path.stat().st_size)

    def _tell(self, code: str, **values: object) -> None:
        self.said.value = status_html(self.say(code, **values), code)

    def _writer(self, comparison: Comparison, kind: str) -> Callable[[Path], object]:
        writers: dict[str, Callable[[Path], object]] = {
            "html": partial(comparison.to_html, **self.bench.export.options),
            "csv": comparison.to_csv,
            "json": comparison.write_json,
        }
        return writers[kind]

    def _save(self) -> None:
        path = typed_path(self.session.value, Message("ui/file-session"), str(session_path()))
        self._tell("ui/written", path=self.bench.save(path))


def _worst_operators(result: Result) -> list[str]:
    return [*dict.fromkeys(row.op_name for row in worst_first(result.rows) if row.op_name)]
