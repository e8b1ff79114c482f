"""Two dump trees that exist already: where they lie, and what of them is compared."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import ipywidgets as W

from workbench.core.errors import WorkbenchError
from workbench.core.files import open_file
from workbench.graph_files.formats import read_graph
from workbench.ui.part import Part
from workbench.ui.parts.golden import GoldenInputs
from workbench.ui.widgets.alerts import status_html
from workbench.ui.widgets.boxes import fold, styled
from workbench.ui.widgets.chooser import Chooser
from workbench.views.dump import summarize_tree

if TYPE_CHECKING:
    from workbench.ui.bench.trees import Number
    from workbench.ui.widgets.alerts import Alert

GRAPH_FILES = (".ir", ".pb", ".pbtxt", ".txt", ".json", ".proto")
"""Endings of files that may be a graph."""

LOOKED_INTO = 1 << 22
"""Bytes of a graph file that is read when it is chosen, and not only by the run."""

_PATHS = {
    "target": "ui/target-dump",
    "golden": "ui/golden-dump",
    "repeat": "ui/repeat-dump",
    "target_graph": "ui/target-graph",
    "golden_graph": "ui/golden-graph",
}
_TREES = ("target", "golden", "repeat")
"""Choosers of trees, of which it is told what was found; the last is another run of the target."""

_TEXTS = {"target_model": "ui/target-model", "golden_model": "ui/golden-model"}
_NUMBERS = {"rank": "ui/rank", "iteration": "ui/iteration"}
_PAIR = re.compile(r"\s*(\d{1,9})\s*(?::\s*(\d{1,9})\s*)?")


class TreeInputs(Part):
    """Choosers for both trees, with what was found in them, and what else may be said about reading them."""

    name, title = "trees", "ui/compare-dumps"

    def build(self) -> W.Widget:
        self.golden = GoldenInputs(self.bench)
        self.choosers = {
            key: Chooser(self.say(label), self.say, suffixes=GRAPH_FILES if "graph" in key else ())
            for key, label in _PATHS.items()
        }
        self.found = {side: styled(W.HTML(), "below") for side in _TREES}
        self.texts = {
            key: styled(W.Text(description=self.say(label), continuous_update=False), "input")
            for key, label in (_TEXTS | _NUMBERS).items()
        }
        for key in _NUMBERS:
            self.texts[key].placeholder = self.say("ui/all-or-pair")
        for key, chooser in self.choosers.items():
            self.on(chooser, partial(self._take, key))
        for key, text in self.texts.items():
            self.on(text, partial(self._take_number if key in _NUMBERS else self._take, key))
        self.follow(self.bench, "trees", self.refresh)
        return self._laid_out()

    def _laid_out(self) -> W.Widget:
        sides = []
        for side in _TREES:
            sides += [self.choosers[side].view, self.found[side]]
        numbers = [self.row(self.texts[key]) for key in _NUMBERS]
        models = [self.row(self.texts[key]) for key in _TEXTS]
        graphs = [self.choosers[f"{side}_graph"].view for side in ("target", "golden")]
        more = fold(self.say("ui/graphs-and-models"), W.VBox([*graphs, *models]))
        making = fold(self.say("ui/make-golden"), self.golden.view)
        return W.VBox([self.alert.widget, *sides, *numbers, making, more])

    def refresh(self) -> None:
        """Bring the inputs up to date with the bench."""
        trees = self.bench.trees
        for key, control in (self.choosers | self.texts).items():
            value = getattr(trees, key)
            self.fill(control, value if isinstance(value, str) else _spelled(value))
        for side in self.found:
            self.guard(self.choosers[side], partial(self._describe, side))()

    def _describe(self, side: str) -> None:
        """Tell what lies at the path of a tree; its chooser says why nothing does."""
        self.found[side].value = ""
        path = getattr(self.bench.trees, side)
        if path:
            told = self.say.told(summarize_tree(path))
            more = len(self.bench.trees.repeats) - 1 if side == "repeat" else 0
            also = f" {self.say('ui/more-repeats', n=more)}" if more > 0 else ""
            self.found[side].value = status_html(f"{told}{also}")

    def _take(self, key: str) -> None:
        """Bring a path or text to the bench; a path must lead to what it is to be."""
        value = (self.choosers | self.texts)[key].value
        if value == getattr(self.bench.trees, key):
            return
        if key in self.found and value:
            summarize_tree(value)
        elif key in self.choosers and value:
            _look_into(value)
        trees = self.bench.trees
        changed = trees.with_repeat(value) if key == "repeat" else replace(trees, **{key: value})
        self.bench.trees = changed

    def _take_number(self, key: str) -> None:
        """Read a number or two."""
        value = _number(key, self.texts[key].value)
        if value != getattr(self.bench.trees, key):
            self.bench.trees = replace(self.bench.trees, **{key: value})

    @property
    def alerts(self) -> list[Alert]:
        """Where it is said what the inputs refuse."""
        return [self.alert_of(one) for one in (*self.choosers.values(), *self.texts.values())]

    def close(self) -> None:
        self.golden.close()
        for chooser in self.choosers.values():
            chooser.close()
        super().close()


def _look_into(path: str) -> None:
    """Raise FormatError for what is no graph; one that takes long to read is read by the run."""
    with open_file(path, "graph") as file:
        large = os.fstat(file.fileno()).st_size > LOOKED_INTO
    if not large:
        read_graph(path)


def _number(key: str, text: str) -> Number:
    if not text.strip():
        return None
    found = _PAIR.fullmatch(text)
    if found is None:
        raise WorkbenchError("ui/not-a-pair", name=key, got=text[:40])
    first, second = found.groups()
    return int(first) if second is None else (int(first), int(second))


def _spelled(value: Number) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else f"{value[0]}:{value[1]}"
