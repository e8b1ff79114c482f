"""Branches of an ONNX model in the place of the ``If`` that chooses between them.

What a run takes is known once it has run; a graph of what was computed has the nodes of that branch alone, and what
reads the ``If`` reads what they give.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.graph.graph import FreeRef, Graph, GraphRef, Op, Param, Value
from workbench.graph_files.onnx.dialect import OUTPUTS, is_onnx

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from workbench.graph.graph import Operand, Parameter

THEN, ELSE = "then_branch", "else_branch"
"""Attributes of an ``If``: the graph for a condition that holds, and the other."""


def with_branches(graph: Graph, choose: Callable[[Op], str]) -> Graph:
    """Return the graph of a model with branches in the places of their ``If`` nodes, those in branches included.

    ``choose`` says of an ``If`` which branch it takes, `THEN` or `ELSE`; one of which it says ``""`` stays.
    Weights of branches come behind the graph's own parameters, and the numbers of these stay. What was asked comes
    behind the outputs: a device computes it as well.
    """
    if not any(map(is_choice, graph.ops)):
        return graph
    splicing = _Splicing(graph, choose)
    own = [Param(number) for number in range(len(graph.parameters))]
    outputs = splicing.add(graph, own, {})
    return replace(
        graph,
        ops=tuple(splicing.ops),
        parameters=tuple(splicing.parameters),
        outputs=tuple(dict.fromkeys((*outputs, *splicing.conditions))),
    )


def is_choice(op: Op) -> bool:
    """Whether a node chooses between two graphs."""
    return op.op_type == "If" and is_onnx(op) and all(branch_of(op, one) for one in (THEN, ELSE))


def branch_graph(graph: Graph, op: Op, which: str) -> Graph | None:
    """The graph that is a branch of a node; ``None`` if several nodes of one name hold graphs, and nobody can tell."""
    found = [one for one in graph.subgraphs if one.name == branch_of(op, which)]
    return found[0] if len(found) == 1 else None


def branch_of(op: Op, which: str) -> str:
    """Name of the graph that is a branch of a node; empty if it has none."""
    found = op.attrs.get(which)
    return found.name if isinstance(found, GraphRef) else ""


def branch_that_has(graph: Graph, is_known: Callable[[str], bool]) -> Callable[[Op], str]:
    """Return what chooses, of the two branches of an ``If``, the only one with a node whose name is known."""
    inner = {one.name: one for one in graph.subgraphs}

    def choose(op: Op) -> str:
        found = [
            which
            for which in (THEN, ELSE)
            if any(map(is_known, _names_in(inner, branch_of(op, which))))
        ]
        return found[0] if len(found) == 1 else ""

    return choose


def _names_in(inner: Mapping[str, Graph], name: str) -> Iterator[str]:
    """Names of the nodes of a graph and of all graphs in it."""
    waiting = [name]
    while waiting:
        graph = inner.get(waiting.pop())
        for op in graph.ops if graph is not None else ():
            yield op.name
            waiting += [one.name for one in op.attrs.values() if isinstance(one, GraphRef)]


class _Splicing:
    """A graph while branches are put into it."""

    def __init__(self, graph: Graph, choose: Callable[[Op], str]) -> None:
        self.ops: list[Op] = []
        self.parameters: list[Parameter] = [*graph.parameters]
        self.conditions: list[Value] = []
        self._whole = graph
        self._names = {one.name for one in graph.parameters}
        self._choose = choose

    def add(
        self, graph: Graph, parameters: Sequence[Operand], around: Mapping[str, Operand]
    ) -> list[Operand]:
        """Add the nodes of a graph; return its outputs. ``around`` are values of the graphs around it, by name."""
        names = dict(around)
        names |= {one.name: at for one, at in zip(graph.parameters, parameters, strict=True)}
        values: dict[Operand, Operand] = {Param(number): at for number, at in enumerate(parameters)}

        def moved(operand: Operand) -> Operand:
            if isinstance(operand, FreeRef):
                return names.get(operand.node, operand)
            return values.get(operand, operand) if isinstance(operand, Value | Param) else operand

        for number, op in enumerate(graph.ops):
            branch = self._branch(op)
            if branch is None:
                place = len(self.ops)
                self.ops.append(replace(op, inputs=tuple(map(moved, op.inputs))))
                results: list[Operand] = [Value(place, n) for n in range(len(op.outputs))]
            else:
                self.conditions += [one for one in map(moved, op.inputs) if isinstance(one, Value)]
                results = self.add(branch, [*map(self._added, branch.parameters)], names)
            for slot, (name, result) in enumerate(zip(op.attrs[OUTPUTS], results, strict=False)):
                values[Value(number, slot)] = names[name] = result
        return list(map(moved, graph.outputs))

    def _branch(self, op: Op) -> Graph | None:
        which = self._choose(op) if is_choice(op) else ""
        return branch_graph(self._whole, op, which) if which else None

    def _added(self, parameter: Parameter) -> Param:
        name = parameter.name
        while name in self._names:
            name += "_"
        self._names.add(name)
        self.parameters.append(replace(parameter, name=name))
        return Param(len(self.parameters) - 1)
