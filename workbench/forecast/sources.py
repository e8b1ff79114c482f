"""The graphs that a preview looks at: one that is given, or what a text names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from workbench.core.errors import GraphError
from workbench.graph.control_flow import graphs_of

if TYPE_CHECKING:
    from workbench.graph.control_flow import Network
    from workbench.graph.graph import Graph


def load_graphs(graph: Network | str | Path, ranks: int = 1) -> tuple[Graph, ...]:
    """Return the graph that is given or named, or all those of one rank of a dump folder."""
    if not isinstance(graph, str | Path):
        return graphs_of(graph)
    from workbench.network.models import MODELS, TRAININGS, load_graph, split_graph
    from workbench.network.models.load import read_network

    known = {*MODELS, *TRAININGS}
    text = str(graph)
    path, details = split_graph(text)
    if text in known or (path and details):  # a script or a model with its sizes
        return graphs_of(load_graph(text, ranks=ranks))
    if Path(text).is_dir():
        return _graphs_of_dump(Path(text))
    if path:
        return (read_network(path),)
    raise GraphError("pipeline/graph", got=text, known=sorted(known))


def _graphs_of_dump(folder: Path) -> tuple[Graph, ...]:
    from workbench.dump.reader import load

    found = load(folder).graphs
    if not found:
        raise GraphError("pipeline/dump-without-graph", got=str(folder))
    rank = min(rank for rank, _ in found)
    return tuple(found[key] for key in sorted(found) if key[0] == rank)
