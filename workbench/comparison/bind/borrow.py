"""Both dumps bound; a side without a graph that fits borrows the other's."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.comparison import graphs as rebuilt
from workbench.comparison.bind.bind import NameTables, bind
from workbench.comparison.bind.binding import Binding
from workbench.comparison.graphs.roles import OF_MODELS
from workbench.comparison.graphs.subgraphs import join_graphs
from workbench.dump.formats.mindspore_name import sanitize

if TYPE_CHECKING:
    from collections.abc import Collection

    from workbench.dump.dump import Dump
    from workbench.graph.graph import Graph


def bind_both(target: Dump, golden: Dump) -> tuple[Binding, Binding]:
    """Bind both dumps; where a side has no graph that fits, it borrows the other's, and the binding says so."""
    tables = NameTables()
    ours = bind(join_graphs(target, golden), tables=tables)
    theirs = bind(join_graphs(golden, target), tables=tables)
    return _complete(ours, theirs, tables), _complete(theirs, ours, tables)


def _complete(binding: Binding, other: Binding, tables: NameTables) -> Binding:
    """Bind again with graphs of the other side where there are none.

    Data of another framework has the names of the network that the other side's graph came from.
    """
    dumped = {(record.key.rank, record.key.graph_id) for record in binding.dump.records}
    ranks = {rank for rank, _ in dumped}
    others = {record.key.rank for record in other.dump.records}
    swap = dict(zip(ranks, others, strict=True)) if len(ranks) == len(others) == 1 else {}
    names = {(record.key.op_type, record.key.op_name) for record in binding.dump.records}
    borrowed = {
        (rank, graph_id): _lent(other.graphs[swap.get(rank, rank), graph_id], names)
        for rank, graph_id in dumped - binding.graphs.keys()
        if (swap.get(rank, rank), graph_id) in other.graphs
    }
    if not borrowed:
        return binding
    again = bind(binding.dump, {**binding.graphs, **borrowed}, tables)
    mismatches = [note for note in binding.notes if note.kind == "graph-mismatch"]
    return replace(
        again,
        notes=(*(n for n in mismatches if n not in again.notes), *again.notes),
        borrowed=frozenset(borrowed) & again.graphs.keys(),
    )


def _lent(graph: Graph, dumped: Collection[tuple[str, str]]) -> Graph:
    """Return a graph to lend: of GE's the network if it names more of what the borrower dumped.

    Of another framework's model it is the one with the borrower's kernels, where files tell which these are.
    """
    if graph.dialect in OF_MODELS and all(kind for kind, _ in dumped):
        from workbench.comparison.graphs.named_kernels import compiled_as

        return compiled_as(graph, dumped)
    if graph.dialect != "ge":
        return graph
    network = rebuilt.network_of(graph)
    named = [{(op.op_type, sanitize(op.name)) for op in one.ops} for one in (graph, network)]
    own, plain = (sum(name in known for name in dumped) for known in named)
    foreign = not any(kind for kind, _ in dumped)
    return network if foreign or plain > own else graph
