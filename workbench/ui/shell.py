"""The face of a workbench: a strip that says how far one is, and every panel in a tab."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ipywidgets as W

from workbench.core.errors import WorkbenchError
from workbench.core.text import escape, shorten
from workbench.show.labels import LANGUAGES
from workbench.ui.alerts import alert_html
from workbench.ui.boxes import panel, styled
from workbench.ui.native import tell_what_is_missing
from workbench.ui.part import Part
from workbench.ui.parts.align import Align
from workbench.ui.parts.configure import Configure
from workbench.ui.parts.divergence import Divergence
from workbench.ui.parts.operator import Operator
from workbench.ui.parts.report import Report
from workbench.ui.parts.run import Run
from workbench.ui.parts.source import Source

if TYPE_CHECKING:
    from workbench.ui.app import Workbench

PARTS: dict[str, type[Part]] = {
    part.name: part for part in (Configure, Run, Align, Divergence, Operator, Source, Report)
}
"""Panels by name, in the order of the work."""

_MARKS = {"to do": "○", "ready": "○", "running": "◐", "done": "●", "cancelled": "◌", "failed": "✗"}


class Shell(Part):
    """All panels of a bench; ``parts`` holds them by name."""

    name, title = "workbench", "Accuracy workbench"

    def build(self) -> W.Widget:
        self.parts: dict[str, Part] = {}
        self.strip, self.unsaved = styled(W.HTML(), "strip"), W.HTML()
        self.tabs = styled(W.Tab(), "tabs")
        options = [(words, key) for key, words in LANGUAGES.items()]
        self.language = W.Dropdown(options=options, description=self.say("Language"))
        self.language.value = self.bench.language
        self.on(self.language, self._take_language)
        self.follow(self.bench, "language", self._fill)
        self.follow(self.bench, ["comparison", "config", "trees", "rehearsing"], self.refresh)
        self.follow(self.bench.runner, "state", self.refresh)
        self.follow(self.bench, "unsaved", self._say_unsaved)
        self._say_unsaved()
        self._fill()
        first = Configure if self.bench.comparison is None else Divergence
        self.tabs.selected_index = list(PARTS).index(self.bench.panel or first.name)
        self._turn()
        self.on(self.tabs, self._take_panel, "selected_index")
        self.language.layout.width, self.language.style.description_width = "160px", "auto"
        self.strip.layout.flex = "1 1 auto"
        head = W.HBox([self.strip, self.language])
        note = self.note(self.language, self.tabs)
        return panel([head, note, self.unsaved, self.alert.widget, self.tabs])

    def refresh(self) -> None:
        """Show the state of every step."""
        chips = [self._chip(part) for part in self.parts.values()]
        self.strip.value = f'<div role="status">{"".join(chips)}</div>'

    def _chip(self, part: Part) -> str:
        state, figure = part.state
        text = f"{_MARKS[state]} {self.say(part.title)}: {figure or self.say(state)}"
        return f'<span class="workbench-chip" title="{escape(text)}">{escape(shorten(text, 48))}</span>'

    def _take_panel(self) -> None:
        self._turn()
        self.bench.panel = list(PARTS)[self.tabs.selected_index]

    def _say_unsaved(self) -> None:
        why = self.bench.unsaved
        text = f"{self.say('The session could not be kept:')} {why}"
        self.unsaved.value = alert_html(text) if why else ""

    def _turn(self) -> None:
        """Tell the panels which of them is seen."""
        for number, part in enumerate(self.parts.values()):
            part.show(number == self.tabs.selected_index)

    def _take_language(self) -> None:
        self.bench.language = self.language.value

    def _fill(self) -> None:
        """Make every panel, in the language of the bench."""
        old = list(self.parts.values())
        self.parts = {name: part(self.bench, shown=False) for name, part in PARTS.items()}
        self.tabs.children = [part.view for part in self.parts.values()]
        self.tabs.titles = [self.say(part.title) for part in self.parts.values()]
        self.language.value, self.language.description = self.bench.language, self.say("Language")
        for part in old:
            part.close()
        self._turn()
        self.refresh()

    def close(self) -> None:
        for part in self.parts.values():
            part.close()
        super().close()


def make_panel(bench: Workbench, panel: str = "") -> Any:
    """Return the face of a bench: all panels, or the one of a name."""
    if panel and panel not in PARTS:
        raise WorkbenchError(f"panel must be one of {list(PARTS)}, got {panel!r}")
    part = PARTS[panel](bench) if panel else Shell(bench)
    tell_what_is_missing(part)
    return part
