"""Join graphs that control flow parts, where the other dump has one graph for all.

MindSpore cuts a network in pieces where values decide what runs; the graph engine makes one model of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.graph.finish import renumber
from workbench.graph.nodes import Graph, Param

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from workbench.dump.tree import Dump
    from workbench.graph.nodes import Op, Operand, Parameter, Value


def joined(dump: Dump, other: Dump) -> Dump:
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
    records = tuple(
        replace(record, key=key._replace(graph_id=roots.get(key.graph_key, key.graph_id)))
        for record in dump.records
        for key in (record.key,)
    )
    return replace(dump, records=records, graphs={key: _one(all_) for key, all_ in groups.items()})


def _one(graphs: Sequence[Graph]) -> Graph:
    """Return one graph of several; weights are the same by name, values that are handed over stay apart."""
    if len(graphs) == 1:
        return graphs[0]
    parameters: list[Parameter] = []
    known: dict[str, int] = {}
    ops: list[Op] = []
    outputs: list[Operand] = []
    for graph in graphs:
        places = list(_places(graph, parameters, known))
        first = len(ops)

        def new(operand: Param | Value, places: list[int] = places, first: int = first) -> Operand:
            if isinstance(operand, Param):
                return Param(places[operand.index])
            return replace(operand, op=operand.op + first)

        ops += (replace(op, inputs=tuple(renumber(o, new) for o in op.inputs)) for op in graph.ops)
        outputs += (renumber(operand, new) for operand in graph.outputs)
    return replace(
        graphs[0], parameters=tuple(parameters), ops=tuple(ops), outputs=tuple(outputs), inner=False
    )


def _places(graph: Graph, parameters: list[Parameter], known: dict[str, int]) -> Iterable[int]:
    """Where the parameters of a graph stand among those of all; new ones are added."""
    for parameter in graph.parameters:
        if not parameter.passed and parameter.name in known:
            yield known[parameter.name]
            continue
        if not parameter.passed:
            known[parameter.name] = len(parameters)
        parameters.append(parameter)
        yield len(parameters) - 1
