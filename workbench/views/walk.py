"""What operators read and what reads them, a few levels far, with the state of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.graph.graph import Param, Value
from workbench.show import words
from workbench.show.columns import shown_status
from workbench.show.plots.graph_picture import Edge, Neighbourhood, Node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from workbench.comparison.bind.binding import Execution, OperatorRun
    from workbench.comparison.result import Side
    from workbench.core.tensors import TensorSpec
    from workbench.graph.graph import Graph, Operand
    from workbench.views.index import RowIndex

LEVELS = 3
"""Levels before and after an operator."""

BREADTH = 4
"""Operators of one level that are shown; the worst of them."""

TOGETHER = 12
"""Operators of one match that are shown."""


def neighbours(
    row_index: RowIndex, side: Side, run: OperatorRun | None, index: int
) -> Neighbourhood:
    """Return the surroundings of an operator in its graph; empty if no graph knows it.

    ``index`` is the row that is looked at, which stands for the operator itself.
    """
    if run is None or run.op < 0:
        return Neighbourhood()
    key = f"op {run.op}"
    return surroundings(row_index, side, run.block, [key], {key: index})


def surroundings(
    row_index: RowIndex,
    side: Side,
    block: Execution,
    centre: Sequence[str],
    rows: Mapping[str, int] | None = None,
    breadth: int = BREADTH,
) -> Neighbourhood:
    """Return the surroundings of operators and parameters of one execution of a graph; empty if there is no graph.

    ``centre`` are keys of their nodes, ``rows`` those that stand for them instead of their worst; ``breadth``
    operators of one level are shown.
    """
    found = walk_through(row_index, side, block, breadth)
    if found is None:
        return Neighbourhood()
    found.add_centre(centre, rows or {})
    for step in (-1, 1):
        found.expand(step)
    found.parameters()
    return found.neighbourhood()


def at_levels(
    row_index: RowIndex,
    side: Side,
    block: Execution,
    levels: Mapping[str, int],
    breadth: int = BREADTH,
) -> Neighbourhood:
    """Return operators and parameters of one execution of a graph on given levels; empty if there is no graph.

    ``levels`` are by keys of nodes.
    """
    found = walk_through(row_index, side, block, breadth)
    if found is None:
        return Neighbourhood()
    for key, level in sorted(levels.items(), key=lambda item: item[1]):
        found.add(key, level)
    return found.neighbourhood()


def walk_through(
    row_index: RowIndex, side: Side, block: Execution, breadth: int
) -> GraphWalk | None:
    """Return a walk through the graph of an execution; ``None`` if there is none."""
    graph = row_index.graph_of(side, block)
    return GraphWalk(row_index, side, block, graph, breadth) if graph is not None else None


@dataclass
class GraphWalk:
    """What was found so far; nodes have keys as ``op 3`` and ``param 0``, by numbers in the graph."""

    row_index: RowIndex
    side: Side
    block: Execution
    graph: Graph
    breadth: int = BREADTH
    nodes: dict[str, Node] = field(default_factory=dict)
    hidden: dict[int, int] = field(default_factory=dict)
    centre: list[str] = field(default_factory=list)
    depth: int = 0

    def neighbourhood(self) -> Neighbourhood:
        """All that was found."""
        nodes, edges = tuple(self.nodes.values()), tuple(self.edges())
        return Neighbourhood(nodes, edges, self.hidden, frozenset(self.centre), self.depth)

    def add_centre(self, centre: Sequence[str], rows: Mapping[str, int]) -> None:
        """Add the operators themselves, each below those of them that it reads."""
        self.centre = sorted(centre, key=split)[:TOGETHER]
        if len(centre) > TOGETHER:
            self.hidden[0] = len(centre) - TOGETHER
        level: dict[str, int] = {}
        for key in self.centre:
            before = [level[other] for other in producers(self.graph, key) if other in level]
            level[key] = max(before, default=-1) + 1
            self.add(key, level[key], rows.get(key))
        self.depth = max(level.values(), default=0)

    def add(self, key: str, level: int, index: int | None = None) -> None:
        """Add an operator or a parameter, an operator with its worst row unless one is given."""
        kind, number = split(key)
        if index is None:
            index = self._worst(key)
        row = self.row_index.rows[index] if index >= 0 else None
        status = shown_status(row) if row is not None else ""
        error = row.error if row is not None else None
        if kind == "param":
            one = self.graph.parameters[number]
            what, told = "weight" if one.is_weight else "feed", _value([one.spec])
            made = Node(key, level, "parameter", one.name, what, told, status, error, index)
        else:
            op = self.graph.ops[number]
            told = _value(op.outputs)
            made = Node(key, level, "operator", op.name, op.op_type, told, status, error, index)
        self.nodes.setdefault(key, made)

    def expand(self, step: int) -> None:
        """Follow producers (``step`` -1) or consumers (1) level by level."""
        edge, start = self.centre, self.depth if step > 0 else 0
        near = producers if step < 0 else consumers
        for level in range(1, LEVELS + 1):
            new = dict.fromkeys(other for key in edge for other in near(self.graph, key))
            ready = [key for key in new if key not in self.nodes]
            order = {key: place for place, key in enumerate(ready)}
            kept = sorted(ready, key=lambda key: (self._badness(key), order[key]))[: self.breadth]
            if len(ready) > len(kept):
                self.hidden[start + step * level] = len(ready) - len(kept)
            edge = sorted(kept, key=order.__getitem__)
            for key in edge:
                self.add(key, start + step * level)

    def parameters(self) -> None:
        """Add the parameters that the operators themselves read, above the first of these."""
        for key in self.centre:
            level = self.nodes[key].level - 1
            for operand in _read(self.graph, key):
                if isinstance(operand, Param):
                    self.add(_key(operand), level)

    def edges(self) -> Iterable[Edge]:
        """Edges between what is shown; those of parameters only to and from the operators themselves."""
        for key in self.nodes:
            for slot, operand in enumerate(_read(self.graph, key)):
                start = _key(operand)
                near = not start.startswith("param") or key in self.centre or start in self.centre
                if start in self.nodes and start != key and near:
                    yield Edge(start, key, slot)

    def _worst(self, key: str) -> int:
        kind, number = split(key)
        if kind == "param":
            return -1
        return self.row_index.worst(self.row_index.of_operator(self.side, self.block, number))

    def _badness(self, key: str) -> tuple[object, ...]:
        index = self._worst(key)
        return (1,) if index < 0 else (0, *self.row_index.badness(index)[1:3])


def split(key: str) -> tuple[str, int]:
    """Return what a node is (``op``, ``param``), and its number in the graph."""
    kind, _, number = key.partition(" ")
    return kind, int(number)


def producers(graph: Graph, key: str) -> Iterable[str]:
    """Operators that one reads."""
    return (_key(operand) for operand in _read(graph, key) if isinstance(operand, Value))


def consumers(graph: Graph, key: str) -> Iterable[str]:
    """Operators that read one, or a parameter."""
    kind, number = split(key)
    values: list[Value | Param] = [Param(number)]
    if kind == "op":
        values = [Value(number, slot) for slot in range(max(1, len(graph.ops[number].outputs)))]
    return (f"op {other}" for value in values for other, _ in graph.consumers.get(value, ()))


def between(graph: Graph, levels: Mapping[str, int]) -> list[str]:
    """Operators that lie between those on levels before 0 and those behind it, at most LEVELS steps from either."""
    below = _reached({key for key, level in levels.items() if level < 0}, graph, consumers)
    above = _reached({key for key, level in levels.items() if level > 0}, graph, producers)
    return sorted((below & above) - levels.keys(), key=split)


def _reached(
    start: set[str], graph: Graph, near: Callable[[Graph, str], Iterable[str]]
) -> set[str]:
    found, edge = set[str](), start
    for _ in range(LEVELS):
        edge = {other for key in edge for other in near(graph, key)} - found
        found |= edge
    return found


def _read(graph: Graph, key: str) -> Iterable[Operand]:
    """Inputs of a node; a parameter has none."""
    kind, number = split(key)
    return graph.ops[number].flat_inputs() if kind == "op" else ()


def _value(specs: Sequence[TensorSpec]) -> str:
    """What a node gives, in words."""
    text = f"{specs[0].dtype} {words.shape(specs[0])}".strip() if specs else ""
    return f"{text} + {len(specs) - 1} more" if len(specs) > 1 else text


def _key(operand: object) -> str:
    if isinstance(operand, Value):
        return f"op {operand.op}"
    return f"param {operand.index}" if isinstance(operand, Param) else ""
