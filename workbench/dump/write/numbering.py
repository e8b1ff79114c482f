"""Ids of operators as old releases of MindSpore gave them: one count through the whole process.

Up to 2.2 a file's name holds the last part of an operator's name alone, and the number in it is what tells
two operators of one type apart. Graphs that are traced count anew in every scope, as later releases do.
Source: MindSpore ``anf.cc`` (``id_generator``) and a real dump of 2.0.0.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from workbench.dump.formats.mindspore_name import short_name
from workbench.dump.releases import FULL_NAMES, check_version

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workbench.graph.nodes import Graph, Op


def numbered(graphs: Sequence[Graph], version: str) -> tuple[Graph, ...]:
    """Return the graphs with the names that a release gives their operators.

    Before 2.3 operators are counted through all graphs, unless the last parts of their names differ
    already; later releases leave the names as they are. Raises FormatError for a release whose dumps
    cannot be written.
    """
    if check_version(version) >= FULL_NAMES:
        return tuple(graphs)
    names = [op.name for graph in graphs for op in _ops(graph)]
    if len(Counter(map(short_name, names))) == len(names):
        return tuple(graphs)
    ids = count()
    return tuple(_counted(graph, ids) for graph in graphs)


def _ops(graph: Graph) -> Iterator[Op]:
    yield from graph.ops
    for block in graph.subgraphs:
        yield from _ops(block)


def _counted(graph: Graph, ids: Iterator[int]) -> Graph:
    names = [f"{_stem(op.name)}-op{next(ids)}" for op in graph.ops]
    flags = {op.name: name for op, name in zip(graph.ops, names, strict=True)}
    ops = tuple(
        replace(op, name=name, unless=flags.get(op.unless, ""))
        for op, name in zip(graph.ops, names, strict=True)
    )
    blocks = tuple(_counted(block, ids) for block in graph.subgraphs)
    return replace(graph, ops=ops, subgraphs=blocks)


def _stem(name: str) -> str:
    return name.rpartition("-op")[0] or name
