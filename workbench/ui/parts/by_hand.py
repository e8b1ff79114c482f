"""Pairs, groups and exceptions by hand: the map file in the making."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import ipywidgets as W

from workbench.compare.overrides import Ignore, Match, Tolerance
from workbench.core.errors import WorkbenchError
from workbench.show.match_view import operator_names, orphans
from workbench.ui.boxes import row
from workbench.ui.code import map_code
from workbench.ui.copy import CopyButton
from workbench.ui.part import Part

if TYPE_CHECKING:
    from workbench.compare.result import Result, Side
    from workbench.ui.job import Job

_STYLE = {"description_width": "150px"}
_WIDE = {"width": "48%", "min_width": "320px"}
_SIDES: tuple[Side, Side] = ("target", "golden")
_EVERY = "every operator"

MOST = 500
"""Operators of a side that are listed at once."""


class ByHand(Part):
    """Operators of both sides to choose from, what to do with them, and every step of it to take back."""

    name, title = "by_hand", "By hand"

    def build(self) -> W.Widget:
        self._make()
        self._connect()
        return W.VBox([*self._rows(), self.alert.widget])

    def _make(self) -> None:
        say = self.say
        self.which = W.Dropdown(
            description=say("list"), options=[(say("left over"), "orphans"), (say(_EVERY), _EVERY)]
        )
        self.search = W.Text(description=say("filter"), continuous_update=False)
        self.search.placeholder = say("part of a name or type")
        self.counted = W.HTML()
        self.names = {
            side: W.SelectMultiple(description=say(side.title()), rows=8, layout=_WIDE)
            for side in _SIDES
        }
        self.reason = W.Text(description=say("reason"), style=_STYLE)
        self.error = W.Text(description=say("relative error"), style=_STYLE)
        self.path = W.Text(description=say("map file"), value="map.json", style=_STYLE)
        words = {
            "pair": "Match these", "ignore": "Ignore these", "tolerate": "Tolerate these", "take": "Take back",
            "undo": "Undo", "redo": "Redo", "again": "Compare again", "save": "Save map file", "open": "Open map file",
        }  # fmt: skip
        self.buttons = {key: W.Button(description=say(text)) for key, text in words.items()}
        self.entries = W.Select(description=say("by hand"), rows=4, layout={"width": "98%"})
        self.status = W.HTML()
        self.code = CopyButton(say("Copy as code"))

    def _rows(self) -> list[W.Widget]:
        button = self.buttons
        return [
            row([self.which, self.search, self.counted]),
            row(list(self.names.values())),
            row([button["pair"], button["ignore"], button["tolerate"]]),
            row([self.reason, self.error]),
            self.entries,
            row([button["take"], button["undo"], button["redo"], button["again"], self.status]),
            row([self.path, button["save"], button["open"], self.code]),
        ]

    def _connect(self) -> None:
        for widget in (self.which, self.search):
            self.on(widget, self._list_names)
        mapped = self.bench.map_file
        actions = {
            "pair": self._pair, "ignore": self._ignore, "tolerate": self._tolerate, "take": self._take_back,
            "undo": mapped.undo, "redo": mapped.redo, "again": self._again, "save": self._save, "open": self._open,
        }  # fmt: skip
        for key, action in actions.items():
            self.on_click(self.buttons[key], action)
        self.follow(self.bench, "comparison", self.refresh)
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
                told.append(f"{MOST:,} {self.say('of')} {len(found):,} {self.say(side.title())}")
        self.counted.value = f'<span role="status">{escape(", ".join(told))}</span>'

    def _options(self, result: Result, side: Side) -> list[tuple[str, str]]:
        if self.which.value == _EVERY:
            return [(name, name) for name in operator_names(result, side)]
        return [(f"{one.op_name} · {one.op_type}", one.op_name) for one in orphans(result, side)]

    def _show_map(self) -> None:
        mapped, busy = self.bench.map_file, self.bench.runner.busy
        found = mapped.overrides
        entries = (*found.matches, *found.ignore, *found.tolerances)
        self.entries.options = [(_said(entry), n) for n, entry in enumerate(entries)]
        self.entries.value = None
        self.buttons["undo"].disabled = not mapped.can_undo
        self.buttons["redo"].disabled = not mapped.can_redo
        self.buttons["again"].disabled = busy or self.bench.comparison is None
        self.buttons["take"].disabled = not entries
        self.code.text = "\n".join(map_code(mapped)) + "\n"

    def _picked(self, side: Side) -> list[str]:
        return list(self.names[side].value)

    def _pair(self) -> None:
        picked = {side: self._picked(side) for side in _SIDES}
        lacking = [side for side in _SIDES if not picked[side]]
        if lacking:
            message = f"match must have operators of both sides, got none of the {lacking[0]}"
            raise WorkbenchError(f"{message}; select some in the list")
        self.bench.map_file.match(picked["target"], picked["golden"])

    def _ignore(self) -> None:
        picked = [(side, name) for side in _SIDES for name in self._picked(side)]
        if not picked:
            raise WorkbenchError("ignore must have an operator, got none; select some in the lists")
        self.bench.map_file.ignore_all(picked, self.reason.value.strip())

    def _tolerate(self) -> None:
        picked = self._picked("target")
        if not picked:
            raise WorkbenchError(
                "tolerance must have an operator of the target, got none; select one"
            )
        try:
            limit = float(self.error.value)
        except ValueError:
            got = self.error.value[:40]
            raise WorkbenchError(f"relative error must be a number above 0, got {got!r}") from None
        for name in picked:
            self.bench.map_file.tolerate(limit, self.reason.value.strip(), name=name)

    def _take_back(self) -> None:
        if self.entries.value is None:
            raise WorkbenchError("entry must be selected to be taken back, got none")
        self.bench.map_file.remove(self.entries.value)

    def _again(self) -> None:
        self.bench.runner.start(self._work)

    def _work(self, job: Job) -> Any:
        return self.bench.compare(report=job.report)

    def _path(self) -> str:
        if not self.path.value.strip():
            raise WorkbenchError("map file must have a path, got none; for example map.json")
        return str(self.path.value).strip()

    def _save(self) -> None:
        path = self.bench.map_file.save(self._path())
        self.status.value = f'<span role="status">{escape(str(path))}</span>'

    def _open(self) -> None:
        self.bench.map_file.open(self._path())


def _said(entry: Match | Ignore | Tolerance) -> str:
    kinds = {Match: "match", Ignore: "ignore", Tolerance: "tolerate"}
    reason = getattr(entry, "reason", "")
    return f"{kinds[type(entry)]}: {entry}" + (f" ({reason})" if reason else "")
