"""What stands around a match in both graphs, or around an operator without a partner, and who corresponds there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from workbench.comparison.align.rules import rule_meaning
from workbench.core.words import Message
from workbench.show.plots.graph_picture import Neighbourhood
from workbench.views.attributes import graph_lines
from workbench.views.index import SIDES
from workbench.views.links import find_links, match_group_of, name_of
from workbench.views.partners import MatchGroups
from workbench.views.walk import at_levels, between, split, surroundings

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.result import Row, Side
    from workbench.graph.graph import Graph
    from workbench.show.plots.graph_picture import Node
    from workbench.views.attributes import GraphLines
    from workbench.views.index import Compared, RowIndex, RowRecords
    from workbench.views.links import Link
    from workbench.views.partners import MatchGroup

BREADTH = 2
"""Operators of one level that a picture has room for, beside that of the other side."""

QUOTED = 6
"""Operators of one side whose lines of the graph file are quoted."""


@dataclass(frozen=True, slots=True)
class SideView:
    """One side: the operators of the match by name, what surrounds them, and their lines in the graph file.

    ``note`` says why there is no picture.
    """

    side: Side
    operators: tuple[str, ...]
    found: Neighbourhood
    ir: tuple[GraphLines, ...] = ()
    note: Message | None = None


@dataclass(frozen=True, repr=False)
class MatchView:
    """The surroundings of the operator of row ``index`` and of what it is matched with, three levels far."""

    compared: Compared
    index: int

    @property
    def row(self) -> Row:
        """The tensor that is looked at."""
        return self.compared.rows[self.index]

    @property
    def _row_index(self) -> RowIndex:
        return self.compared.row_index

    @cached_property
    def _found(self) -> RowRecords:
        return self._row_index.find(self.row)

    @cached_property
    def _blocks(self) -> Mapping[Side, Execution]:
        return self._row_index.blocks(self._found)

    @cached_property
    def _partners(self) -> MatchGroups | None:
        block = self._blocks.get("target")
        return self._row_index.partners(block) if block is not None else None

    @cached_property
    def match(self) -> MatchGroup | None:
        """The match by numbers of operators; ``None`` if there is no partner, or no graph that tells."""
        keys = (self._row_index.node(side, self._found, self._blocks) for side in SIDES)
        found = (
            self._partners.of(side, split(key)[1])
            for side, key in zip(SIDES, keys, strict=True)
            if key.startswith("op") and self._partners is not None
        )
        return next((one for one in found if one is not None), None)

    @property
    def rule(self) -> str:
        """What matched it; empty without a partner."""
        return self.row.match_rule or (self.match.rule if self.match is not None else "")

    @property
    def score(self) -> float:
        """How sure that is, from 0 to 1."""
        alone = not self.row.match_rule and self.match is not None
        return self.match.score if alone and self.match is not None else self.row.match_score

    @property
    def why(self) -> str:
        """What the rule goes by, or why there is no partner."""
        if self.row.match_rule:
            return str(rule_meaning(self.rule))
        if self.match is not None:
            meaning = rule_meaning(self.rule)
            said = Message("views/tensor-unmatched", meaning=meaning, why=self.row.reason)
        elif all(self._centre(side) for side in SIDES):
            said = Message("views/tensor-only", why=self.row.reason)
        elif self.row.reason:
            return str(self.row.reason)
        else:
            said = Message("views/unmatched")
        return str(said)

    @cached_property
    def sides(self) -> dict[Side, SideView]:
        """Both sides."""
        centres = {side: self._centre(side) for side in SIDES}
        own: Side = "target" if centres["target"] or not centres["golden"] else "golden"
        other: Side = "golden" if own == "target" else "target"
        first = self._around(own, centres[own])
        alone = not centres[other] and centres[own]
        second = self._opposite(other, first) if alone else self._around(other, centres[other])
        return {side: first if side == own else second for side in SIDES}

    def _centre(self, side: Side) -> list[str]:
        """Keys of the nodes of the match on one side."""
        if self.match is not None:
            return [f"op {number}" for number in self.match.of(side)]
        keys: dict[Side, str] = {
            one: self._row_index.node(one, self._found, self._blocks) for one in SIDES
        }
        if self._partners is not None and not keys[side]:
            other: Side = "golden" if side == "target" else "target"
            pair = self._partners.constant_pair(other, keys[other]) if keys[other] else None
            return [pair[side == "golden"]] if pair is not None else []
        return [keys[side]] if keys[side] else []

    def _around(self, side: Side, centre: list[str]) -> SideView:
        graph, block = self._graph(side), self._blocks.get(side)
        if graph is None or block is None or not centre:
            name = self.row.op_name if side == "target" else self.row.golden_op_name
            code = "side-unknown" if name else "side-nothing"
            note = Message(f"views/{code}", side=side)
            return SideView(side, (name,) if name else (), Neighbourhood(), (), note)
        own = self._row_index.node(side, self._found, self._blocks)
        quoted = (
            graph_lines(graph, split(key)[1]) for key in centre[:QUOTED] if key.startswith("op")
        )
        return SideView(
            side,
            tuple(name_of(graph, key) for key in centre),
            surroundings(self._row_index, side, block, centre, {own: self.index}, BREADTH),
            tuple(text for text in quoted if text is not None),
        )

    def _opposite(self, side: Side, first: SideView) -> SideView:
        """What the neighbours of an operator without a partner are matched with, and what lies between that."""
        graph, block = self._graph(side), self._blocks.get(side)
        note = Message("views/side-nothing", side=side)
        if graph is None or block is None or self._partners is None:
            return SideView(side, (), Neighbourhood(), (), note)
        levels: dict[str, int] = {}
        for node in first.found.nodes:
            together = match_group_of(self._partners, first.side, node)
            pair = self._partners.constant_pair(first.side, node.key)
            keys = [f"op {number}" for number in together.of(side)] if together is not None else []
            for key in keys or ([pair[side == "golden"]] if pair is not None else []):
                levels.setdefault(key, node.level)
        levels.update(dict.fromkeys(between(graph, levels)[: 2 * BREADTH], 0))
        return SideView(
            side, (), at_levels(self._row_index, side, block, levels, BREADTH), (), note
        )

    def _graph(self, side: Side) -> Graph | None:
        block = self._blocks.get(side)
        return self._row_index.graph_of(side, block) if block is not None else None

    @cached_property
    def _links(self) -> dict[tuple[Side, str], Link]:
        """Link of every node of both pictures, by side and key."""
        graphs = {side: graph for side in SIDES if (graph := self._graph(side)) is not None}
        found = {side: self.sides[side].found for side in SIDES}
        return find_links(found, graphs, self._partners or MatchGroups())

    def link(self, side: Side, node: Node) -> Link:
        """Return what a node of one side's picture corresponds to."""
        return self._links[side, node.key]

    @cached_property
    def lines(self) -> tuple[Link, ...]:
        """Everything in the pictures in words, once, from what stands before the match to what stands behind it."""
        known: dict[object, Link] = {}
        for place, link in self._links.items():
            known.setdefault(link.number or place, link)
        return tuple(sorted(known.values(), key=lambda link: link.level))

    @property
    def words(self) -> str:
        """The match in one sentence."""
        ours, theirs = (", ".join(self.sides[side].operators) for side in SIDES)
        if not ours or not theirs:
            return str(Message("views/match-alone", name=ours or theirs, why=self.why))
        code = "match-pair" if self.rule else "match-pair-plain"
        values = {"target": ours, "golden": theirs, "rule": self.rule, "score": self.score}
        return str(Message(f"views/{code}", **values, why=self.why))

    def frame(self) -> pd.DataFrame:
        """Return `lines` as a DataFrame."""
        from workbench.show.tables import data_frame

        columns = ("Number", "Level", "Target", "Golden", "MatchRule", "MatchScore")
        lines = [
            (
                one.number,
                one.level,
                ", ".join(one.target),
                ", ".join(one.golden),
                one.rule,
                one.score,
            )
            for one in self.lines
        ]
        return data_frame(lines, columns)

    def _repr_html_(self) -> str:
        from workbench.views.render import context_html

        return context_html(self, standalone=True)

    def __repr__(self) -> str:
        return f"<MatchView {self.words}>"
