"""What an operator reads and what reads it, a few levels far, with the state of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.graph.nodes import Param, Value
from workbench.show import words
from workbench.show.columns import shown_status
from workbench.show.graph_picture import Edge, Neighbourhood, Node

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.compare.binding import OpRun
    from workbench.compare.result import Side
    from workbench.graph.nodes import Graph
    from workbench.pipeline.places import Places

LEVELS = 3
"""Levels before and after an operator."""

BREADTH = 4
"""Operators of one level that are shown; the worst of them."""


def neighbours(places: Places, side: Side, run: OpRun | None, index: int) -> Neighbourhood:
    """Return the surroundings of an operator in its graph; empty if no graph knows it.

    ``index`` is the row that is looked at, which stands for the operator itself.
    """
    graph = places.graph(side, run)
    if graph is None or run is None:
        return Neighbourhood()
    found = _Walk(places, side, run, graph)
    found.take(run.op, 0, index)
    for step in (-1, 1):
        found.spread(run.op, step)
    found.parameters(run.op)
    return Neighbourhood(tuple(found.nodes.values()), tuple(found.edges()), found.hidden)


@dataclass
class _Walk:
    """What was found so far."""

    places: Places
    side: Side
    run: OpRun
    graph: Graph
    nodes: dict[str, Node] = field(default_factory=dict)
    hidden: dict[int, int] = field(default_factory=dict)

    def take(self, number: int, level: int, index: int | None = None) -> None:
        """Add an operator, with its worst row unless one is given."""
        op = self.graph.ops[number]
        if index is None:
            index = self._worst(number)
        row = self.places.rows[index] if index >= 0 else None
        spec = op.outputs[0] if op.outputs else None
        value = f"{spec.dtype} {words.shape(spec)}".strip() if spec is not None else ""
        if len(op.outputs) > 1:
            value += f" + {len(op.outputs) - 1} more"
        self.nodes[f"op {number}"] = Node(
            f"op {number}", level, "operator", op.name, op.op_type, value,
            shown_status(row) if row is not None else "",
            row.error if row is not None else None, index,
        )  # fmt: skip

    def spread(self, start: int, step: int) -> None:
        """Follow producers (``step`` -1) or consumers (1) level by level."""
        edge = [start]
        for level in range(1, LEVELS + 1):
            near = self._producers if step < 0 else self._consumers
            new = dict.fromkeys(other for number in edge for other in near(number))
            ready = [n for n in new if f"op {n}" not in self.nodes]
            order = {n: place for place, n in enumerate(ready)}
            kept = sorted(ready, key=lambda n: (self._badness(n), order[n]))[:BREADTH]
            if len(ready) > len(kept):
                self.hidden[step * level] = len(ready) - len(kept)
            edge = sorted(kept, key=order.__getitem__)
            for number in edge:
                self.take(number, step * level)

    def parameters(self, number: int) -> None:
        """Add the parameters that the operator itself reads."""
        for operand in self.graph.ops[number].flat_inputs():
            if isinstance(operand, Param):
                one = self.graph.parameters[operand.index]
                key, kind = f"param {operand.index}", "weight" if one.is_weight else "feed"
                value = f"{one.spec.dtype} {words.shape(one.spec)}"
                self.nodes.setdefault(key, Node(key, -1, "parameter", one.name, kind, value))

    def edges(self) -> Iterable[Edge]:
        """Edges between what is shown."""
        for key in self.nodes:
            kind, _, number = key.partition(" ")
            if kind != "op":
                continue
            for slot, operand in enumerate(self.graph.ops[int(number)].flat_inputs()):
                start = _key(operand)
                near = kind == "op" and (
                    not start.startswith("param") or int(number) == self.run.op
                )
                if start in self.nodes and start != key and near:
                    yield Edge(start, key, slot)

    def _worst(self, number: int) -> int:
        rows = self.places.of_operator(self.side, self.run.block, number)
        return self.places.worst(rows)

    def _badness(self, number: int) -> tuple[object, ...]:
        index = self._worst(number)
        return (1,) if index < 0 else (0, *self.places.badness(index)[1:3])

    def _producers(self, number: int) -> Iterable[int]:
        for operand in self.graph.ops[number].flat_inputs():
            if isinstance(operand, Value):
                yield operand.op

    def _consumers(self, number: int) -> Iterable[int]:
        for slot in range(max(1, len(self.graph.ops[number].outputs))):
            for other, _ in self.graph.consumers.get(Value(number, slot), ()):
                yield other


def _key(operand: object) -> str:
    if isinstance(operand, Value):
        return f"op {operand.op}"
    return f"param {operand.index}" if isinstance(operand, Param) else ""
