"""How a process numbers what runs in it: iterations, graphs, and operators of one scope and type."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.core.errors import GraphError
from workbench.dump.selection import MAX_ITERATIONS, renamed
from workbench.graph.control_flow import If, Run, While, graphs_of
from workbench.graph.graph import Graph

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from workbench.graph.control_flow import FlowStep, Network


class Turn(NamedTuple):
    """One run of a network: its place among them, the number of the iteration, that of its own run."""

    network: int
    iteration: int
    run: int


def turns(schedule: Sequence[int], first: int = 0, *, apart: bool = False) -> Iterator[Turn]:
    """Number the runs of networks as MindSpore does, from ``first`` on, or ``apart``: every network its own.

    A process of MindSpore counts iterations for all its networks: after a run the number of the next one, whatever
    runs then, is how often the network has run that ran now. So numbers repeat. Source: MindSpore 2.10 on a
    CPU (``tests/data/conformance/flows_2.10.0_cpu.json``). The graph engine has a step word for every model
    (``davinci_model.cc``), so that each counts its own runs.

    >>> [turn.iteration for turn in turns([0, 0, 1, 0, 1])]
    [0, 1, 2, 1, 3]
    >>> [turn.iteration for turn in turns([0, 0, 1, 0, 1], apart=True)]
    [0, 1, 0, 2, 1]
    """
    counts: dict[int, int] = {}
    iteration = first
    for network in schedule:
        count = counts.get(network, 0)
        yield Turn(network, count + first if apart else iteration, count + first)
        counts[network] = count + 1
        iteration = first + count + 1


def schedule_of(
    networks: Sequence[object], schedule: Sequence[int] | None, iterations: int
) -> Sequence[int]:
    """Return which network runs next, by its place; in turn if there is no schedule."""
    if schedule is None:
        iterations = min(iterations, MAX_ITERATIONS + 1)  # one too many is enough to be refused
        return [*range(len(networks))] * iterations
    wrong = [place for place in schedule if place not in range(len(networks))]
    if wrong:
        raise GraphError("simulation/schedule", got=wrong[0], last=len(networks) - 1)
    if not schedule:
        raise GraphError("simulation/schedule-empty")
    return list(schedule)


def number_graphs(
    networks: Sequence[Network], schedule: Sequence[int], apart: int = 1
) -> tuple[Network, ...]:
    """Return the networks with the ids and names that they get in one process.

    Graphs are numbered, ``apart`` from each other, and operators of one scope and type counted, through all networks
    in the order in which they first run.
    """
    order = dict.fromkeys((*schedule, *range(len(networks))))
    found: dict[int, Network] = {}
    counts: Counter[str] = Counter()
    first = 0
    for place in order:
        network = _renumbered(networks[place], first, counts)
        found[place] = network
        counts.update(_stem(op.name) for graph in graphs_of(network) for op in graph.ops)
        first += len(graphs_of(network)) * apart
    return tuple(found[place] for place in range(len(networks)))


def _renumbered(network: Network, first: int, counts: Mapping[str, int]) -> Network:
    """Return a network whose first graph has another id, behind operators that have been counted."""
    if isinstance(network, Graph):
        return _renamed(network.with_id(first), counts)
    graphs = (graph.with_id(graph.graph_id + first) for graph in network.graphs)
    named = tuple(_renamed(graph, counts) for graph in graphs)
    return replace(network, graphs=named, steps=_steps(network.steps, first))


def _renamed(graph: Graph, counts: Mapping[str, int]) -> Graph:
    if graph.dialect == "ge":  # names of a device
        return graph
    return renamed(graph, {op.name: _renumbered_name(op.name, counts) for op in graph.ops})


def _renumbered_name(name: str, counts: Mapping[str, int]) -> str:
    stem, _, number = name.rpartition("-op")
    return f"{stem}-op{int(number) + counts[stem]}" if counts.get(stem) else name


def _stem(name: str) -> str:
    stem, _, number = name.rpartition("-op")
    return stem if number.isdecimal() else name


def _steps(steps: Sequence[FlowStep], by: int) -> tuple[FlowStep, ...]:
    found: list[FlowStep] = []
    for step in steps:
        if isinstance(step, Run):
            found.append(replace(step, graph_id=step.graph_id + by))
        elif isinstance(step, If):
            found.append(replace(step, then=_steps(step.then, by), orelse=_steps(step.orelse, by)))
        elif isinstance(step, While):
            condition = _steps(step.condition, by)
            found.append(replace(step, condition=condition, body=_steps(step.body, by)))
        else:
            found.append(step)
    return tuple(found)
