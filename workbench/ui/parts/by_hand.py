"""Pairs, groups and exceptions by hand: the map file in the making."""

from __future__ import annotations

import math
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import ipywidgets as W

from workbench.comparison.map_file import MAX_NAME, Ignore, Match, Tolerance
from workbench.core.errors import WorkbenchError
from workbench.core.text import brief, one_line
from workbench.core.words import Message
from workbench.show.match_view import operator_names, orphans, row_of
from workbench.ui.bench.code import map_code
from workbench.ui.bench.job import compared
from workbench.ui.bench.typed import typed_path
from workbench.ui.part import Part
from workbench.ui.widgets.alerts import status_html
from workbench.ui.widgets.boxes import row, styled
from workbench.ui.widgets.native import make_copy

if TYPE_CHECKING:
    from workbench.comparison.result import Result, Side
    from workbench.ui.bench.job import Job

_SIDES: tuple[Side, Side] = ("target", "golden")
_EVERY = "all"
_WORDS: dict[Side, str] = {"target": "ui/target", "golden": "ui/golden"}
_SIDE_WORDS: dict[Side, str] = {"target": "show/side-target", "golden": "show/side-golden"}
_ENTRIES = {Match: "ui/entry-match", Ignore: "ui/entry-ignore", Tolerance: "ui/entry-tolerate"}

MOST = 500
"""Operators of a side that are listed at once."""


class ByHand(Part):
    """Operators of both sides to choose from, what to do with them, and every step of it to take back."""

    name, title = "by_hand", "ui/manual"

    def build(self) -> W.Widget:
        self._make()
        self._connect()
        return W.VBox([self.alert.widget, *self._rows()])

    def _make(self) -> None:
        say = self.say
        self.which = W.Dropdown(
            description=say("ui/list"),
            options=[(say("ui/unmatched"), "orphans"), (say("ui/all-operators"), _EVERY)],
        )
        self.search = W.Text(description=say("ui/filter"), continuous_update=False)
        self.search.placeholder = say("ui/part-of-name-or-type")
        self.counted = W.HTML()
        self.names = {
            side: styled(W.SelectMultiple(description=say(_WORDS[side]), rows=8), "stacked")
            for side in _SIDES
        }
        self._before: dict[Side, list[str]] = {side: [] for side in _SIDES}
        self.reason = W.Text(description=say("ui/reason"))
        self.error = W.Text(description=say("ui/relative-error"))
        self.path = W.Text(description=say("ui/map-file"), value="map.json")
        for widget in (self.which, self.search, self.reason, self.error, self.path):
            styled(widget, "short")
        words = {
            "pair": "ui/match", "ignore": "ui/ignore", "tolerate": "ui/tolerate", "take": "ui/remove",
            "undo": "ui/undo", "redo": "ui/redo", "again": "ui/compare-again", "save": "ui/save-map",
            "open": "ui/open-map",
        }  # fmt: skip
        self.buttons = {key: W.Button(description=say(text)) for key, text in words.items()}
        self.entries = styled(W.Select(description=say("ui/manual"), rows=4), "stacked")
        self.status = W.HTML()
        self.code = make_copy("ui/copy-as-code", self.say)

    def _rows(self) -> list[W.Widget]:
        button = self.buttons
        actions = [button[key] for key in ("pair", "ignore", "tolerate")]
        steps = [button[key] for key in ("take", "undo", "redo", "again")]
        return [
            self.row(self.which, self.search, self.counted),
            row(self.names.values()),
            self.row(self.reason, self.error, *actions, others=self.names.values()),
            self.entries,
            self.row(*steps, self.status, others=[self.entries]),
            self.row(self.path, button["save"], button["open"], self.code),
        ]

    def _connect(self) -> None:
        for widget in (self.which, self.search):
            self.on(widget, self._list_names)
        for side, box in self.names.items():
            self.on(box, partial(self._look_at, side))
        for widget in (self.reason, self.error, self.entries, self.path):
            self.on(widget)
        mapped = self.bench.map_file
        actions = {
            "pair": self._pair, "ignore": self._ignore, "tolerate": self._tolerate, "take": self._take_back,
            "undo": mapped.undo, "redo": mapped.redo, "again": self._again, "save": self._save, "open": self._open,
        }  # fmt: skip
        for key, action in actions.items():
            self.on_click(self.buttons[key], action)
        self.follow(self.bench, "comparison", self.update)
        self.follow(mapped, "overrides", self._show_map)
        self.follow(self.bench.runner, "state", self._show_map)

    def refresh(self) -> None:
        """Show the operators of the present comparison."""
        self._list_names()
        self._show_map()

    def _list_names(self) -> None:
        """List operators to choose from, as many as a browser bears; how many there are is said."""
        comparison, words = self.bench.comparison, self.search.value.lower().split()
        told = []
        for side, box in self.names.items():
            options = self._options(comparison.result, side) if comparison else []
            found = [one for one in options if all(word in one[0].lower() for word in words)]
            box.options = found[:MOST]
            if len(found) > MOST:
                name = self.say(_WORDS[side])
                told.append(self.say("ui/first-of-side", side=name, n=MOST, total=len(found)))
        self.counted.value = status_html(", ".join(told), "ui/first-of-side")

    def _options(self, result: Result, side: Side) -> list[tuple[str, str]]:
        if self.which.value == _EVERY:
            return [(brief(name), name) for name in operator_names(result, side)]
        return [
            (f"{brief(one.op_name)} · {brief(one.op_type)}", one.op_name)
            for one in orphans(result, side)
        ]

    def _show_map(self) -> None:
        mapped, busy = self.bench.map_file, self.bench.runner.busy
        found = mapped.overrides
        entries = (*found.matches, *found.ignore, *found.tolerances)
        self.entries.options = [(self._said(entry), n) for n, entry in enumerate(entries)]
        self.entries.value = None
        self.buttons["undo"].disabled = not mapped.can_undo
        self.buttons["redo"].disabled = not mapped.can_redo
        self.buttons["again"].disabled = busy or self.bench.comparison is None
        self.buttons["take"].disabled = not entries
        self.code.text = "\n".join(map_code(mapped)) + "\n"

    def _look_at(self, side: Side) -> None:
        """Look at an operator that was just chosen in a list; of several at the last of the list."""
        comparison, names = self.bench.comparison, self._picked(side)
        new = [name for name in names if name not in self._before[side]]
        self._before[side] = names
        index = row_of(comparison.result, side, new[-1]) if new and comparison is not None else -1
        if index >= 0:
            comparison.look.selected = index

    def _picked(self, side: Side) -> list[str]:
        return list(self.names[side].value)

    def _pair(self) -> None:
        picked = {side: self._picked(side) for side in _SIDES}
        lacking = [side for side in _SIDES if not picked[side]]
        if lacking:
            side = Message(_SIDE_WORDS[lacking[0]])
            raise WorkbenchError("ui/nothing-to-match", side=side)
        self.bench.map_file.match(picked["target"], picked["golden"])

    def _ignore(self) -> None:
        picked = [(side, name) for side in _SIDES for name in self._picked(side)]
        if not picked:
            raise WorkbenchError("ui/nothing-to-ignore")
        self.bench.map_file.ignore_all(picked, self._reason())

    def _tolerate(self) -> None:
        picked = self._picked("target")
        if not picked:
            raise WorkbenchError("ui/nothing-to-tolerate")
        limit, reason = _limit(self.error.value), self._reason()
        if not reason:
            raise WorkbenchError("ui/no-reason")
        for name in picked:
            self.bench.map_file.tolerate(limit, reason, name=name)

    def _reason(self) -> str:
        reason = str(self.reason.value).strip()
        if len(reason) > MAX_NAME:
            raise WorkbenchError("ui/long-reason", got=len(reason), limit=MAX_NAME)
        return reason

    def _take_back(self) -> None:
        if self.entries.value is None:
            raise WorkbenchError("ui/nothing-to-remove")
        self.bench.map_file.remove(self.entries.value)

    def _again(self) -> None:
        self.bench.runner.start(self._work)

    def _work(self, job: Job) -> Any:
        return compared(job, self.bench.compare)

    def _path(self) -> str:
        return typed_path(self.path.value, Message("ui/file-map"), "map.json")

    def _save(self) -> None:
        path = self.bench.map_file.save(self._path())
        self.status.value = status_html(self.say("ui/written", path=path), "ui/written")

    def _said(self, entry: Match | Ignore | Tolerance) -> str:
        told = self.say(_ENTRIES[type(entry)], entry=str(entry))
        reason = getattr(entry, "reason", "")
        return one_line(self.say("ui/entry-reason", entry=told, reason=reason) if reason else told)

    def _open(self) -> None:
        self.bench.map_file.open(self._path())


def _limit(text: str) -> float:
    """Read a relative error."""
    with suppress(ValueError):
        if 0 < float(text) < math.inf:
            return float(text)
    raise WorkbenchError("ui/not-an-error", got=text[:40])
