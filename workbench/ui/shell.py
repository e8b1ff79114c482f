"""The face of a workbench: a strip that says how far one is, and every panel in a tab."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import ipywidgets as W

from workbench.core.errors import WorkbenchError
from workbench.core.text import escape, shorten
from workbench.core.words.translate import LANGUAGES, Say
from workbench.ui.part import STATES, Part
from workbench.ui.parts.align import Align
from workbench.ui.parts.configure import Configure
from workbench.ui.parts.divergence import Divergence
from workbench.ui.parts.job import JobPanel
from workbench.ui.parts.operator import Operator
from workbench.ui.parts.report import Report
from workbench.ui.parts.run import Run
from workbench.ui.parts.source import Source
from workbench.ui.widgets.alerts import alert_html, close_tree
from workbench.ui.widgets.boxes import panel, styled
from workbench.ui.widgets.native import tell_what_is_missing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.ui.bench.app import Workbench

PARTS: dict[str, type[Part]] = {
    part.name: part
    for part in (Configure, Run, JobPanel, Align, Divergence, Operator, Source, Report)
}
"""Panels by name, in the order of the work."""


class Panels(Mapping[str, Part]):
    """All panels of a bench by name, each made when it is first asked for; ``made`` holds those that are there.

    Together they are a thousand widgets, and each is a message: more than a kernel keeps for a server that is busy.
    What it does not keep is lost without a word, and a panel without some of its widgets cannot be shown. So each
    has a box of its own, which says that it comes until it is there: a kernel that runs a cell cannot make one.
    """

    def __init__(self, bench: Workbench) -> None:
        self._bench, self.made = bench, dict[str, Part]()
        wait = Say(bench.language)("ui/loading")
        self._hint = W.HTML(f'<p role="status">{wait}</p>')
        self.boxes = {name: W.VBox([self._hint]) for name in PARTS}

    def __getitem__(self, name: str) -> Part:
        if name not in self.made:
            part = PARTS[name](self._bench, shown=False)
            self.made[name], self.boxes[name].children = part, [part.view]
        return self.made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(PARTS)

    def __len__(self) -> int:
        return len(PARTS)

    def show(self, name: str) -> None:
        """Tell the panels which of them is seen."""
        seen = self[name]
        for part in self.made.values():
            part.show(part is seen)

    def close(self) -> None:
        """Remove every widget from the kernel."""
        for part in self.made.values():
            part.close()
        for widget in (self._hint, *self.boxes.values()):
            close_tree(widget)


class Shell(Part):
    """All panels of a bench; ``parts`` holds them by name."""

    name, title = "workbench", "ui/workbench"

    def build(self) -> W.Widget:
        self.parts = Panels(self.bench)
        self.strip, self.unsaved = styled(W.HTML(), "strip"), W.HTML()
        self.tabs = styled(W.Tab(), "tabs")
        options = [(words, key) for key, words in LANGUAGES.items()]
        self.language = W.Dropdown(options=options, description=self.say("ui/language"))
        self.language.value = self.bench.language
        self.on(self.language, self._take_language)
        self.follow(self.bench, "language", self._fill_again)
        self.follow(
            self.bench, ["comparison", "config", "trees", "rehearsing", "job"], self.refresh
        )
        self.follow(self.bench.runner, "state", self.refresh)
        self.follow(self.bench, "unsaved", self._say_unsaved)
        self._say_unsaved()
        first = Configure if self.bench.comparison is None else Divergence
        self._fill(self.bench.panel or first.name)
        self.on(self.tabs, self._take_panel, "selected_index")
        self.language.layout.width, self.language.style.description_width = "160px", "auto"
        self.strip.layout.flex = "1 1 auto"
        head = W.HBox([self.strip, self.language])
        note = self.note(self.language, self.tabs)
        return panel([head, note, self.unsaved, self.alert.widget, self.tabs])

    def refresh(self) -> None:
        """Show the state of every step."""
        chips = [self._chip(part) for part in PARTS.values()]
        self.strip.value = f'<div role="status">{"".join(chips)}</div>'

    def _chip(self, part: type[Part]) -> str:
        state, figure = part.stage(self.bench)
        sign, code = STATES[state]
        said = self.say.told(figure) or self.say(code)
        text = f"{sign} {self.say('ui/pill', panel=self.say(part.title), state=said)}"
        return f'<span class="workbench-chip" title="{escape(text)}">{escape(shorten(text, 48))}</span>'

    @property
    def seen(self) -> str:
        """Name of the panel that is seen."""
        number: int = self.tabs.selected_index
        return list(PARTS)[number]

    def _take_panel(self) -> None:
        self.parts.show(self.seen)
        self.bench.panel = self.seen

    def _say_unsaved(self) -> None:
        why = self.bench.unsaved
        text = self.say("ui/unsaved", why=why)
        self.unsaved.value = alert_html(text, "ui/unsaved") if why else ""

    def _take_language(self) -> None:
        self.bench.language = self.language.value

    def _fill_again(self) -> None:
        """Make the panels anew, in the language of the bench."""
        old, self.parts = self.parts, Panels(self.bench)
        self._fill(self.seen)
        old.close()

    def _fill(self, seen: str) -> None:
        self.tabs.children = list(self.parts.boxes.values())
        self.tabs.titles = [self.say(part.title) for part in PARTS.values()]
        self.tabs.selected_index = list(PARTS).index(seen)
        self.language.value, self.language.description = (
            self.bench.language,
            self.say("ui/language"),
        )
        self.parts.show(seen)
        self.refresh()

    def close(self) -> None:
        self.parts.close()
        super().close()


def make_panel(bench: Workbench, panel: str = "") -> Any:
    """Return the face of a bench: all panels, or the one of a name."""
    if panel and panel not in PARTS:
        raise WorkbenchError("core/choice", subject="panel", got=panel, known=list(PARTS))
    part = PARTS[panel](bench) if panel else Shell(bench)
    tell_what_is_missing(part)
    return part
