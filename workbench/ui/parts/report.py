"""Report: choose what it holds, write HTML, CSV and JSON, and copy all that was done as code."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import ipywidgets as W

from workbench.core.errors import WorkbenchError
from workbench.show.columns import worst_first
from workbench.show.report import SECTIONS
from workbench.ui.boxes import row
from workbench.ui.code import report_code
from workbench.ui.copy import CopyButton
from workbench.ui.export import Export
from workbench.ui.part import Part
from workbench.ui.session import session_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.compare.result import Result
    from workbench.pipeline.compare import Comparison

_STYLE = {"description_width": "150px"}
_WIDE = {"width": "640px", "max_width": "98%"}
_FILES = {"html": "report.html", "csv": "report.csv", "json": "report.json"}

MOST = 200
"""Operators that can be pinned from the list, the worst; any other one from its own panel."""


class Report(Part):
    """What the report holds, where it is written, and the code that does all of it again."""

    name, title = "report", "Report"

    def build(self) -> W.Widget:
        say, self._filling = self.say, False
        late = {"continuous_update": False, "layout": _WIDE, "style": _STYLE}
        sections = [(say(heading), key) for key, heading in SECTIONS.items()]
        self.inputs: dict[str, W.Widget] = {
            "title": W.Text(description=say("title"), **late),
            "notes": W.Textarea(description=say("notes"), rows=4, **late),
            "sections": W.SelectMultiple(
                description=say("sections"),
                options=sections,
                rows=len(sections) + 1,
                layout=_WIDE,
                style=_STYLE,
            ),
            "pins": W.SelectMultiple(
                description=say("pinned operators"), rows=6, layout=_WIDE, style=_STYLE
            ),
        }
        self.paths = {
            kind: W.Text(description=kind.upper(), value=name, **late)
            for kind, name in _FILES.items()
        }
        self.writers = {
            kind: W.Button(description=f"{say('Write')} {kind.upper()}") for kind in _FILES
        }
        self.session = W.Text(description=say("session"), value=str(session_path()), **late)
        self.keep = W.Button(description=say("Save session"))
        self.said, self.listing = W.HTML(), W.HTML()
        self.code = CopyButton(say("Copy all as code"))
        self._connect()
        files = [row([self.paths[kind], self.writers[kind]]) for kind in _FILES]
        kept = row([self.session, self.keep])
        below = [self.said, self.alert.widget, self.code, self.listing]
        return W.VBox([*self.inputs.values(), *files, kept, *below])

    def _connect(self) -> None:
        for name, widget in self.inputs.items():
            self.on(widget, partial(self._take, name))
        for kind, button in self.writers.items():
            self.on_click(button, partial(self._write, kind))
        for text in self.paths.values():
            self.on(text, self._show_code)
        self.on_click(self.keep, self._save)
        self.follow(self.bench, ["comparison", "export", "profile"], self.refresh)
        self.follow(self.bench.map_file, "overrides", self._show_code)

    def refresh(self) -> None:
        """Bring inputs, buttons and code up to date with the bench."""
        comparison, export = self.bench.comparison, self.bench.export
        names = _worst_operators(comparison.result) if comparison else []
        options = [*dict.fromkeys((*names[:MOST], *export.pins))]
        self._filling = True  # a list whose options change drops what is selected
        try:
            if list(self.inputs["pins"].options) != options:
                self.inputs["pins"].options = options
            for field in fields(Export):
                value = getattr(export, field.name)
                if self.inputs[field.name].value != value:
                    self.inputs[field.name].value = value
        finally:
            self._filling = False
        for button in self.writers.values():
            button.disabled = comparison is None
        self._show_code()

    @property
    def state(self) -> tuple[str, str]:
        return ("to do", "") if self.bench.comparison is None else ("ready", "")

    def _take(self, name: str) -> None:
        if self._filling:
            return
        value = self.inputs[name].value
        value = tuple(value) if name in ("sections", "pins") else value
        if value != getattr(self.bench.export, name):
            self.bench.export = replace(self.bench.export, **{name: value})

    def _show_code(self) -> None:
        lines = [self.bench.to_code(), report_code(self.bench.export, self.paths["html"].value)]
        lines += [f"comparison.to_{k}({self.paths[k].value!r})\n" for k in ("csv", "json")]
        self.code.text = "".join(lines)
        summary = f"<summary>{escape(self.say('The code'))}</summary>"
        self.listing.value = f"<details>{summary}<pre>{escape(self.code.text)}</pre></details>"

    def _write(self, kind: str) -> None:
        path = Path(self._named(kind.upper(), self.paths[kind].value))
        comparison = self.bench.comparison
        if comparison is None:
            raise WorkbenchError("report must be of a comparison, got none; run one first")
        self._writer(comparison, kind)(path)
        size = f"{path.stat().st_size / 1024:,.0f} kB"
        self.said.value = (
            f'<div role="status">{escape(self.say("written"))}: {escape(str(path))} ({size})</div>'
        )

    def _writer(self, comparison: Comparison, kind: str) -> Callable[[Path], object]:
        writers: dict[str, Callable[[Path], object]] = {
            "html": partial(comparison.to_html, **self.bench.export.options),
            "csv": comparison.to_csv,
            "json": comparison.to_json,
        }
        return writers[kind]

    def _save(self) -> None:
        path = self.bench.save(self._named("session", self.session.value))
        self.said.value = (
            f'<div role="status">{escape(self.say("written"))}: {escape(str(path))}</div>'
        )

    def _named(self, what: str, text: str) -> str:
        if not text.strip():
            raise WorkbenchError(f"{what} must have a path, got none")
        return text.strip()


def _worst_operators(result: Result) -> list[str]:
    return [*dict.fromkeys(row.op_name for row in worst_first(result.rows) if row.op_name)]
