"""Align: which operators stand for the same computation, by which rule; pairs, groups and exceptions by hand."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import ipywidgets as W

from workbench.show.match_html import PAGE, matches_html
from workbench.show.match_view import match_lines
from workbench.ui.boxes import row
from workbench.ui.part import Part
from workbench.ui.parts.by_hand import ByHand

if TYPE_CHECKING:
    from workbench.show.match_view import MatchLine


class Align(Part):
    """Matches with their rules, what is left over, and the map file in the making."""

    name, title = "align", "Align"

    def build(self) -> W.Widget:
        self.lines: list[MatchLine] = []
        self.page = 0
        self._make_table()
        self.hand = ByHand(self.bench)
        self._connect()
        hidden = row([self.search, self.rule, self.kind])
        pages = row([self.back, self.forth])
        table = W.VBox([hidden, self.table, pages])
        return W.VBox([self.hint, table, self.alert.widget, self.hand.view])

    def _make_table(self) -> None:
        say = self.say
        self.hint, self.table = W.HTML(), W.HTML()
        self.search = W.Text(description=say("filter"), continuous_update=False)
        self.search.placeholder = say("part of a name or type")
        self.rule = W.Dropdown(description=say("Rule"), options=[(say("any rule"), "")])
        kinds = [(say("pairs and groups"), "all"), (say("groups only"), "groups")]
        kinds.append((say("differing only"), "bad"))
        self.kind = W.Dropdown(description=say("show"), options=kinds)
        self.back = W.Button(description=say("Previous page"))
        self.forth = W.Button(description=say("Next page"))

    def _connect(self) -> None:
        for widget in (self.search, self.rule, self.kind):
            self.on(widget, self._first_page)
        self.on_click(self.back, lambda: self._turn(-1))
        self.on_click(self.forth, lambda: self._turn(1))
        self.follow(self.bench, "comparison", self.refresh)

    def refresh(self) -> None:
        """Show the matches of the present comparison."""
        comparison = self.bench.comparison
        missing = self.say("Run a comparison first; then every match stands here, with its rule.")
        self.hint.value = "" if comparison else f"<p>{escape(missing)}</p>"
        self.lines = match_lines(comparison.result) if comparison else []
        rules = sorted({line.rule for line in self.lines})
        self.rule.options = [(self.say("any rule"), ""), *((rule, rule) for rule in rules)]
        self._first_page()

    def close(self) -> None:
        self.hand.close()
        super().close()

    @property
    def state(self) -> tuple[str, str]:
        comparison = self.bench.comparison
        if comparison is None:
            return "to do", ""
        cover = comparison.coverage
        total = comparison.result.target.tensors or 1
        return "done", f"{100 * cover.matched / total:.1f}%"

    def _first_page(self) -> None:
        self.page = 0
        self._show_page()

    def _turn(self, by: int) -> None:
        self.page += by
        self._show_page()

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
        comparison = self.bench.comparison
        shown = self._chosen()
        last = max(0, (len(shown) - 1) // PAGE)
        self.page = min(self.page, last)
        self.back.disabled, self.forth.disabled = self.page == 0, self.page >= last
        self.table.value = "" if comparison is None else matches_html(
            comparison.result, shown, all_lines=len(self.lines), page=self.page, language=self.bench.language
        )  # fmt: skip


def _has(line: MatchLine, words: list[str]) -> bool:
    text = " ".join((*line.target, *line.golden, line.op_type, line.rule)).lower()
    return all(word in text for word in words)
