"""One graph of several: with the graphs that it calls, or joined with those that control flow parts.

Graphs of the graph engine call others (If, Case, While, PartitionedCall). A dump names the operators of all of
them, so that one graph of all is what it is read by (`inline_calls`). What a subgraph reads (``Data`` with the
attribute ``_parent_node_index``) is what its caller reads there, and its results are read by its caller. Turns of
a loop are executions of that graph in which little else runs.
Source: graph engine, ``ge_attr_define.h`` and the passes that make subgraphs.

MindSpore cuts a network in pieces where values decide what runs; the graph engine makes one model of it
(`join_graphs`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.graph.graph import FreeRef, Graph, Param, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from workbench.dump.dump import Dump
    from workbench.graph.graph import Op, Operand, Parameter

MAX_DEPTH = 32
"""Graphs that call each other; what lies deeper is listed behind all others."""

Place = tuple[int, int]
"""Number of a graph, the outer one being 0, and of an operator in it."""


def inline_calls(graph: Graph) -> Graph:
    """Return a graph of GE with the operators of its subgraphs; itself if it has none."""
    if graph.dialect != "ge" or not graph.subgraphs:
        return graph
    return _Inliner(graph).graph()


class _Inliner:
    """A graph and its subgraphs while they become one."""

    def __init__(self, graph: Graph) -> None:
        self._blocks = (graph, *graph.subgraphs)
        self._known: dict[str, int] = {}
        for number, block in enumerate(graph.subgraphs, 1):
            self._known.setdefault(block.name, number)
        self._callers: dict[int, Place] = {}
        self._order = list(self._listed(0, 0))
        for uncalled in range(1, len(self._blocks)):
            if uncalled not in self._callers:
                self._callers[uncalled] = (0, -1)
                self._order += self._listed(uncalled, MAX_DEPTH)
        self._numbers = {place: number for number, place in enumerate(self._order)}

    def graph(self) -> Graph:
        """Return the one graph."""
        outer = self._blocks[0]
        ops = tuple(self._op(place) for place in self._order)
        outputs = tuple(self._renumbered(0, operand) for operand in outer.outputs)
        return replace(outer, ops=ops, outputs=outputs, subgraphs=())

    def _listed(self, block: int, depth: int) -> Iterator[Place]:
        """Places of a graph's operators, those of the graphs that it calls before their callers."""
        for number, op in enumerate(self._blocks[block].ops):
            for called in self._called(op) if depth < MAX_DEPTH else ():
                if called not in self._callers:
                    self._callers[called] = (block, number)
                    yield from self._listed(called, depth + 1)
            if block == 0 or not self._is_edge(block, op):
                yield block, number

    def _called(self, op: Op) -> list[int]:
        names = op.attrs.get("subgraph_name", ())
        names = names if isinstance(names, tuple | list) else ()
        return [self._known[name] for name in names if name in self._known]

    def _is_edge(self, block: int, op: Op) -> bool:
        """Whether an operator of a subgraph only hands over what its caller gives or gets."""
        return self._callers[block][1] >= 0 and (
            op.op_type == "NetOutput" or self._given(block, op) is not None
        )

    def _given(self, block: int, op: Op) -> Operand | None:
        """Return what a caller gives to a data operator."""
        outer, caller = self._callers[block]
        index = op.attrs.get("_parent_node_index") if op.op_type == "Data" else None
        if type(index) is not int or caller < 0:
            return None
        inputs = list(self._blocks[outer].ops[caller].flat_inputs())
        return inputs[index] if 0 <= index < len(inputs) else None

    def _op(self, place: Place) -> Op:
        block, number = place
        op = self._blocks[block].ops[number]
        inputs = [self._renumbered(block, operand) for operand in op.inputs]
        for called in self._called(op):
            if self._callers.get(called) == place:
                results = self._blocks[called].outputs
                inputs += [self._renumbered(called, operand) for operand in results]
        return replace(op, inputs=tuple(inputs))

    def _renumbered(self, block: int, operand: Operand) -> Operand:
        from workbench.graph.rewrite import map_operands

        return map_operands(operand, lambda one: self._source(block, one))

    def _source(self, block: int, operand: Param | Value) -> Operand:
        """Return a value of a graph as one of all."""
        if isinstance(operand, Param):
            return operand
        ops: Sequence[Op] = self._blocks[block].ops
        while block and operand.op < len(ops):
            given = self._given(block, ops[operand.op])
            if given is None:
                break
            if not isinstance(given, Value):
                return given
            operand, block = given, self._callers[block][0]
            ops = self._blocks[block].ops
        number = self._numbers.get((block, operand.op))
        return FreeRef("", str(operand)) if number is None else Value(number, operand.slot)


def join_graphs(dump: Dump, other: Dump) -> Dump:
    """Return a dump whose graphs are joined with those that they call, if the other's call none."""
    if not any(graph.inner for graph in dump.graphs.values()):
        return dump
    if not other.graphs or any(graph.inner for graph in other.graphs.values()):
        return dump
    roots: dict[tuple[int, int], int] = {}
    groups: dict[tuple[int, int], list[Graph]] = {}
    root: tuple[int, int] | None = None
    for rank, graph_id in sorted(dump.graphs):
        graph = dump.graphs[rank, graph_id]
        if root is None or root[0] != rank or not graph.inner:
            root = (rank, graph_id)
        roots[rank, graph_id] = root[1]
        groups.setdefault(root, []).append(graph)
    index = dump.index.with_places(
        one._replace(graph_id=roots.get((one.rank, one.graph_id), one.graph_id))
        for one in dump.index.places
    )
    return replace(dump, index=index, graphs={key: _joined(all_) for key, all_ in groups.items()})


def _joined(graphs: Sequence[Graph]) -> Graph:
    """Return one graph of several; weights are the same by name, values that are handed over stay apart."""
    if len(graphs) == 1:
        return graphs[0]
    parameters: list[Parameter] = []
    known: dict[str, int] = {}
    ops: list[Op] = []
    outputs: list[Operand] = []
    from workbench.graph.rewrite import map_operands

    for graph in graphs:
        places = list(_parameters(graph, parameters, known))
        first = len(ops)

        def new(operand: Param | Value, places: list[int] = places, first: int = first) -> Operand:
            if isinstance(operand, Param):
                return Param(places[operand.index])
            return replace(operand, op=operand.op + first)

        ops += (
            replace(op, inputs=tuple(map_operands(o, new) for o in op.inputs)) for op in graph.ops
        )
        outputs += (map_operands(operand, new) for operand in graph.outputs)
    return replace(
        graphs[0], parameters=tuple(parameters), ops=tuple(ops), outputs=tuple(outputs), inner=False
    )


def _parameters(graph: Graph, parameters: list[Parameter], known: dict[str, int]) -> Iterable[int]:
    """Where the parameters of a graph stand among those of all; new ones are added."""
    for parameter in graph.parameters:
        if not parameter.captured and parameter.name in known:
            yield known[parameter.name]
            continue
        if not parameter.captured:
            known[parameter.name] = len(parameters)
        parameters.append(parameter)
        yield len(parameters) - 1
