"""Two dump trees that exist already: where they lie, and what of them is compared."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from html import escape
from typing import TYPE_CHECKING

import ipywidgets as W

from workbench.core.errors import WorkbenchError
from workbench.pipeline.tree_summary import summarize_tree
from workbench.ui.alerts import alert_html
from workbench.ui.boxes import row
from workbench.ui.chooser import Chooser
from workbench.ui.part import Part

if TYPE_CHECKING:
    from workbench.ui.trees import Number

GRAPH_FILES = (".ir", ".pb", ".pbtxt", ".txt", ".json", ".proto")
"""Endings of files that may be a graph."""

_PATHS = {
    "target": "target tree",
    "golden": "golden tree",
    "target_graph": "target graph file",
    "golden_graph": "golden graph file",
}
_TEXTS = {"target_model": "target model", "golden_model": "golden model"}
_NUMBERS = {"rank": "ranks to compare", "iteration": "iterations to compare"}
_PAIR = re.compile(r"\s*(\d{1,9})\s*(?::\s*(\d{1,9})\s*)?")


class TreeInputs(Part):
    """Choosers for both trees, with what was found in them, and what else may be said about reading them."""

    name, title = "trees", "Trees"

    def build(self) -> W.Widget:
        self.choosers = {
            key: Chooser(self.say(label), self.say, suffixes=GRAPH_FILES if "graph" in key else ())
            for key, label in _PATHS.items()
        }
        self.found = {side: W.HTML() for side in ("target", "golden")}
        self.notes = {key: W.HTML() for key in _NUMBERS}
        style = {"description_width": "190px"}
        self.texts = {
            key: W.Text(description=self.say(label), continuous_update=False, style=style)
            for key, label in (_TEXTS | _NUMBERS).items()
        }
        for key in _NUMBERS:
            self.texts[key].placeholder = self.say("all, or 0, or 0:1")
        for key, chooser in self.choosers.items():
            self.follow(chooser, "value", partial(self._take, key))
        for key, text in self.texts.items():
            self.on(text, partial(self._take_number if key in _NUMBERS else self._take, key))
        self.follow(self.bench, "trees", self.refresh)
        return self._laid_out()

    def _laid_out(self) -> W.Widget:
        sides = []
        for side in ("target", "golden"):
            sides += [self.choosers[side].view, self.found[side]]
        numbers = [row([self.texts[key], self.notes[key]]) for key in _NUMBERS]
        models = [self.texts[key] for key in _TEXTS]
        graphs = [self.choosers[f"{side}_graph"].view for side in ("target", "golden")]
        more = W.Accordion(
            [W.VBox([*graphs, *models])], titles=[self.say("Graph files and models")]
        )
        return W.VBox([*sides, *numbers, more, self.alert.widget])

    def refresh(self) -> None:
        """Bring the inputs up to date with the bench."""
        trees = self.bench.trees
        for key, chooser in self.choosers.items():
            if chooser.value != getattr(trees, key):
                chooser.value = getattr(trees, key)
        for key, text in self.texts.items():
            value = getattr(trees, key)
            shown = value if isinstance(value, str) else _spelled(value)
            if text.value != shown:
                text.value = shown
        for side, found in self.found.items():
            found.value = self._described(getattr(trees, side))

    def _described(self, path: str) -> str:
        if not path:
            return ""
        try:
            return f'<span role="status">{escape(str(summarize_tree(path)))}</span>'
        except (WorkbenchError, OSError, ValueError) as error:
            return alert_html(str(error))

    def _take(self, key: str) -> None:
        holder = self.choosers.get(key) or self.texts[key]
        if holder.value != getattr(self.bench.trees, key):
            self.bench.trees = replace(self.bench.trees, **{key: holder.value})

    def _take_number(self, key: str) -> None:
        """Read a number or two; what is none is said beside the input and changes nothing."""
        text = self.texts[key].value
        self.notes[key].value = ""
        try:
            value = _number(key, text)
        except WorkbenchError as error:
            self.notes[key].value = alert_html(str(error))
            return
        if value != getattr(self.bench.trees, key):
            self.bench.trees = replace(self.bench.trees, **{key: value})

    def close(self) -> None:
        for chooser in self.choosers.values():
            chooser.close()
        super().close()


def _number(key: str, text: str) -> Number:
    if not text.strip():
        return None
    found = _PAIR.fullmatch(text)
    if found is None:
        message = f"{key} must be a number, or two as target:golden, got {text[:40]!r}"
        raise WorkbenchError(f"{message}; for example 0 or 0:1, or nothing for all")
    first, second = found.groups()
    return int(first) if second is None else (int(first), int(second))


def _spelled(value: Number) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else f"{value[0]}:{value[1]}"
