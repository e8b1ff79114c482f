"""The face of a workbench: a strip that says how far one is, and every panel in a tab."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import ipywidgets as W

from workbench.core.errors import WorkbenchError
from workbench.show.labels import LANGUAGES
from workbench.show.words import shorten
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

_CHIP = (
    "display:inline-block;margin:0 6px 4px 0;padding:0 9px;border-radius:11px;font-size:12px;line-height:20px;"
    "border:1px solid var(--jp-border-color1,#c5cbd3);color:var(--jp-ui-font-color1,#1d2530);white-space:nowrap"
)
_TABS = "<style>.workbench-tabs .lm-TabBar-tab {flex:0 1 auto!important;min-width:fit-content!important}</style>"
"""Titles in full, at any width."""

_MARKS = {"to do": "○", "ready": "○", "running": "◐", "done": "●", "cancelled": "◌", "failed": "✗"}


class Shell(Part):
    """All panels of a bench; ``parts`` holds them by name."""

    name, title = "workbench", "Accuracy workbench"

    def build(self) -> W.Widget:
        self.parts: dict[str, Part] = {}
        self.strip = W.HTML()
        self.tabs = W.Tab(layout={"width": "100%"})
        self.tabs.add_class("workbench-tabs")
        options = [(words, key) for key, words in LANGUAGES.items()]
        self.language = W.Dropdown(options=options, description=self.say("Language"))
        self.language.value = self.bench.language
        self.on(self.language, self._take_language)
        self.on(self.tabs, self._turn, "selected_index")
        self.follow(self.bench, "language", self._fill)
        self.follow(self.bench, ["comparison", "config", "trees", "rehearsing"], self.refresh)
        self.follow(self.bench.runner, "state", self.refresh)
        self._fill()
        if self.bench.comparison is not None:  # whoever has a result wants to see it
            self.tabs.selected_index = list(PARTS).index(Divergence.name)
        self.language.layout.width, self.language.style.description_width = "190px", "auto"
        self.strip.layout.flex = "1 1 auto"
        return W.VBox([W.HBox([self.strip, self.language]), self.alert.widget, self.tabs])

    def refresh(self) -> None:
        """Show the state of every step."""
        chips = [self._chip(part) for part in self.parts.values()]
        self.strip.value = f'{_TABS}<div role="status">{"".join(chips)}</div>'

    def _chip(self, part: Part) -> str:
        state, figure = part.state
        text = f"{_MARKS[state]} {self.say(part.title)}: {figure or self.say(state)}"
        return f'<span style="{_CHIP}" title="{escape(text)}">{escape(shorten(text, 48))}</span>'

    def _turn(self) -> None:
        """Tell the panels which of them is seen."""
        for number, part in enumerate(self.parts.values()):
            part.show(number == self.tabs.selected_index)

    def _take_language(self) -> None:
        self.bench.language = self.language.value

    def _fill(self) -> None:
        """Make every panel, in the language of the bench."""
        old = list(self.parts.values())
        self.parts = {name: part(self.bench) for name, part in PARTS.items()}
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
    if not panel:
        return Shell(bench)
    if panel not in PARTS:
        raise WorkbenchError(f"panel must be one of {list(PARTS)}, got {panel!r}")
    return PARTS[panel](bench)
