"""Align: which operators stand for the same computation, by which rule; pairs, groups and exceptions by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ipywidgets as W

from workbench.show.match_html import PAGE, matches_html
from workbench.show.match_view import match_lines
from workbench.ui.following import Following
from workbench.ui.parts.by_hand import ByHand
from workbench.ui.parts.context import Context
from workbench.ui.widgets.boxes import panel, styled

if TYPE_CHECKING:
    from workbench.show.match_view import MatchLine
    from workbench.ui.bench.app import Workbench
    from workbench.ui.part import Stage


class Align(Following):
    """Matches with their rules, what stands around the chosen one, what is left over, and the map file in the making.

    The line of the row that is looked at is marked; to choose another one looks at the worst of its tensors.
    """

    name, title = "align", "ui/align"
    traits = ("selected", "factor", "limit")

    def build(self) -> W.Widget:
        self.lines: list[MatchLine] = []
        self.page = 0
        self._make_table()
        self.hand = ByHand(self.bench, shown=self.shown)
        self.context = Context(self.bench, shown=self.shown)
        self._connect()
        hidden = self.row(*(styled(one, "short") for one in (self.search, self.rule, self.kind)))
        pages = self.row(self.back, self.forth)
        table = W.VBox([hidden, self.table, pages])
        note = self.note(self.table)
        return panel([self.alert.widget, self.hint, note, table, self.context.view, self.hand.view])

    def _make_table(self) -> None:
        say = self.say
        self.hint = W.HTML()
        self.table = self.new_pieces()
        self.search = W.Text(description=say("ui/filter"), continuous_update=False)
        self.search.placeholder = say("ui/part-of-name-or-type")
        self.rule = W.Dropdown(description=say("ui/rule"), options=[(say("ui/any-rule"), "")])
        kinds = [(say("ui/pairs-and-groups"), "all"), (say("ui/groups-only"), "groups")]
        kinds.append((say("ui/differing-only"), "bad"))
        self.kind = W.Dropdown(description=say("ui/show"), options=kinds)
        self.back = W.Button(description=say("ui/previous-page"))
        self.forth = W.Button(description=say("ui/next-page"))

    def _connect(self) -> None:
        for widget in (self.search, self.rule, self.kind):
            self.on(widget, self._first_page)
        self.on_click(self.back, lambda: self._turn(-1))
        self.on_click(self.forth, lambda: self._turn(1))
        self.follow_comparison()

    def changed(self, name: str) -> None:
        if name != "selected":
            self._read_lines()
        self._turn_to_selected()
        self._show_page()

    def refresh(self) -> None:
        """Show the matches of the present comparison."""
        comparison = self.graded
        self.hint.value = "" if comparison else self.waiting()
        self._read_lines()
        rules = sorted({line.rule for line in self.lines})
        self.rule.options = [(self.say("ui/any-rule"), ""), *((rule, rule) for rule in rules)]
        self.page = 0
        self._turn_to_selected()
        self._show_page()

    def _read_lines(self) -> None:
        comparison = self.graded
        self.lines = match_lines(comparison.result) if comparison else []

    def show(self, shown: bool) -> None:
        super().show(shown)
        self.hand.show(shown)
        self.context.show(shown)

    def close(self) -> None:
        self.hand.close()
        self.context.close()
        super().close()

    @staticmethod
    def stage(bench: Workbench) -> Stage:
        comparison = bench.comparison
        if comparison is None:
            return "pending", ""
        cover = comparison.coverage
        total = comparison.result.target.tensors or 1
        return "done", f"{100 * cover.matched / total:.1f}%"

    def _first_page(self) -> None:
        self.page = 0
        self._show_page()

    def _turn(self, by: int) -> None:
        self.page += by
        self._show_page()

    def _turn_to_selected(self) -> None:
        """Show the page of the match that is looked at, if the filters leave it."""
        for place, line in enumerate(self._chosen()):
            if self._selected in line.rows:
                self.page = place // PAGE

    @property
    def _selected(self) -> int:
        return self.bench.comparison.look.selected if self.bench.comparison is not None else -1

    def chosen(self, row: int) -> None:
        """Look at a match, at the tensor of it that is looked at already if there is one."""
        line = next((line for line in self.lines if line.index == row), None)
        if line is None or self._selected not in line.rows:
            super().chosen(row)

    def _chosen(self) -> list[MatchLine]:
        words, rule, kind = self.search.value.lower().split(), self.rule.value, self.kind.value
        return [
            line
            for line in self.lines
            if (not rule or line.rule == rule)
            and (kind != "groups" or line.many)
            and (kind != "bad" or line.status in ("fail", "warn", "uncomparable"))
            and _has(line, words)
        ]

    def _show_page(self) -> None:
        comparison = self.graded
        shown = self._chosen()
        last = max(0, (len(shown) - 1) // PAGE)
        self.page = min(self.page, last)
        self.back.disabled, self.forth.disabled = self.page == 0, self.page >= last
        self.table.html = "" if comparison is None else matches_html(
            comparison.result, shown, all_lines=len(self.lines), page=self.page, language=self.bench.language,
            selected=self._selected, clickable=self.table.clickable,
        )  # fmt: skip


def _has(line: MatchLine, words: list[str]) -> bool:
    text = " ".join((*line.target, *line.golden, line.op_type, line.rule)).lower()
    return all(word in text for word in words)
