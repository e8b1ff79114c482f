"""The graphs that a preview looks at: those that are given, or what a text names."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.core.errors import FormatError, GraphError
from workbench.core.writers import WRITERS
from workbench.dump.readers import read_lines
from workbench.dump.releases import check_version
from workbench.dump.selection import check_count
from workbench.graph.control_flow import ControlFlow, graphs_of, one_graph
from workbench.network.partition import parted
from workbench.simulation.numbering import Turn, number_graphs, schedule_of, turns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.core.plan import DumpPlan
    from workbench.core.writers import Writer
    from workbench.graph.control_flow import Network
    from workbench.graph.graph import Graph

    Source = Network | str | Path


_ORDER = "ms_global_execution_order_graph_"
_METADATA = ".dump_metadata/config.json"


@dataclass(frozen=True)
class Workload:
    """What runs in a process: networks of one graph or several, the first of which a run begins with.

    ``order`` says which network runs next, by its place; ``is_assumed`` whether nobody has said so; ``apart`` whether
    each counts its own iterations.
    """

    networks: tuple[tuple[Graph, ...], ...]
    order: tuple[int, ...]
    is_assumed: bool = False
    apart: bool = False

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """All graphs, by their ids."""
        graphs = (graph for network in self.networks for graph in network)
        return tuple(sorted(graphs, key=lambda graph: graph.graph_id))

    @property
    def ids(self) -> list[frozenset[int]]:
        """Ids of the graphs of every network."""
        return [frozenset(graph.graph_id for graph in network) for network in self.networks]

    def turns(self, plan: DumpPlan) -> list[Turn]:
        """Return the runs with their numbers."""
        return list(turns(self.order, plan.initial_iteration, apart=self.apart))

    def ran(self, plan: DumpPlan) -> dict[int, list[int]]:
        """Return the numbers of all iterations by the id of the graph that they begin with."""
        found: dict[int, list[int]] = {}
        for turn in self.turns(plan):
            root = self.networks[turn.network][0].graph_id
            found.setdefault(root, []).append(turn.iteration)
        return found


def load_workload(
    given: Source | list[Source] | tuple[Source, ...],
    surface: str,
    ranks: int = 1,
    schedule: Sequence[int] | None = None,
    iterations: int = 1,
) -> Workload:
    """Return the networks that are given or named, and which of them runs next; in turn without a schedule.

    MindSpore parts networks. Their graphs and operators are numbered through a process.

    Raises GraphError for a graph that cannot be had, and for several networks where a process runs one.
    """
    if schedule is None:
        check_count(iterations)
    sources = [*given] if isinstance(given, list | tuple) else [given]
    found = [load_graphs(source, ranks) for source in sources]
    writer = WRITERS[surface]
    if len(sources) > 1 and not writer.runs_several:
        names = [graph.name for graphs in found for graph in graphs]
        raise GraphError("simulation/several-networks", surface=surface, names=names)
    if writer.by_mindspore:
        networks = [network for graphs in found for network in _networks(graphs)]
    else:
        networks = [network for graphs in found for network in _models(graphs, writer)]
    order = schedule_of(networks, schedule, iterations)
    ids = [graph.graph_id for network in networks for graph in network]
    if len(ids) > len(set(ids)):
        if not writer.by_mindspore:
            networks = [(one_graph(_joined(network), surface),) for network in networks]
        numbered = number_graphs([*map(_joined, networks)], order, writer.ids_apart)
        networks = [graphs_of(one) for one in numbered]
    is_assumed = schedule is None and len(networks) > 1
    return Workload(tuple(networks), tuple(order), is_assumed, not writer.by_mindspore)


def _models(graphs: tuple[Graph, ...], writer: Writer) -> list[tuple[Graph, ...]]:
    """Part the graphs of a dump by model, of which a process of several networks has one each; copies count once."""
    if not writer.runs_several or graphs[0].dialect != "ge":
        return [graphs]
    models = {graph.name: graph for graph in reversed(graphs)}
    found: list[tuple[Graph, ...]] = [(graph,) for graph in models.values()]
    return found[::-1]


def _networks(graphs: Sequence[Graph]) -> list[tuple[Graph, ...]]:
    """Part graphs by network: one begins with each graph that no other calls."""
    found: list[list[Graph]] = []
    pieces = [piece for one in graphs for piece in graphs_of(parted(one))]
    called = any(graph.inner for graph in pieces)
    for piece in pieces:
        graph = replace(piece, inner=True) if called and _is_called(piece) else piece
        if not found or not graph.inner:
            found.append([])
        found[-1].append(graph)
    return [*map(tuple, found)]


def _is_called(graph: Graph) -> bool:
    """Whether a graph of a dump with control flow has no list of the iterations that began with it, but others have.

    A graph that reads nothing but inputs of the network does not tell itself that others call it.
    """
    folder = Path(graph.path).parent.parent / "execution_order"
    known = {path.name for path in folder.glob(f"{_ORDER}*.csv")} if graph.path else set()
    return bool(known) and f"{_ORDER}{graph.graph_id}.csv" not in known


def _joined(graphs: tuple[Graph, ...]) -> Network:
    """Return the graphs of a network as one, whose steps nobody runs."""
    return graphs[0] if len(graphs) == 1 else ControlFlow(graphs[0].name, graphs, ())


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
    raise GraphError("forecast/graph", got=text, known=sorted(known))


def _graphs_of_dump(folder: Path) -> tuple[Graph, ...]:
    from workbench.dump.reader import load

    found = load(folder).graphs
    if not found:
        raise GraphError("forecast/dump-without-graph", got=str(folder))
    rank = min(rank for rank, _ in found)
    return tuple(found[key] for key in sorted(found) if key[0] == rank)


def version_of(given: object) -> str:
    """Return the release of MindSpore that a dump folder or a graph of one tells, if such dumps are written."""
    sources = given if isinstance(given, list | tuple) else (given,)
    places = [Path(one) for one in sources if isinstance(one, str | Path)]
    told = (_told(file) for place in places for file in _metadata_of(place))
    return next(filter(None, told), "")


def _metadata_of(place: Path) -> list[Path]:
    """Files beside a dump that tell who wrote it; none where nothing can lie."""
    with suppress(OSError, ValueError):
        if place.is_file():
            place = place.parent.parent
        return [*place.glob(_METADATA), *sorted(place.glob(f"rank_*/{_METADATA}"))]
    return []


def _told(file: Path) -> str:
    lines, _ = read_lines(file)
    with suppress(ValueError, RecursionError, FormatError):
        told = json.loads("\n".join(lines))
        version = told.get("ms_version") if isinstance(told, dict) else None
        if isinstance(version, str):
            check_version(version)
            return version
    return ""
