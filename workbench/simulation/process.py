"""A process: the networks that run in it, each as the device runs it, in the order of a schedule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.core.errors import GraphError
from workbench.core.writers import WRITERS
from workbench.dump.selection import dumped_iterations
from workbench.dump.watched import watch_of
from workbench.graph.control_flow import ControlFlow, graphs_of, one_graph
from workbench.graph.graph import Graph
from workbench.npu.compile.pipeline import compile_flow, compile_graph
from workbench.npu.compile.program import Program
from workbench.npu.faults import Links, check_faults, ends_run, faults_in
from workbench.npu.runner import flow_runs, run_program
from workbench.run.control_flow import MAX_TURNS, run_flow
from workbench.run.executor import feeds_at, has_updates
from workbench.run.plan import plan_execution
from workbench.run.reference import reference_runs, run_reference
from workbench.simulation.numbering import number_graphs, schedule_of, turns
from workbench.simulation.ranks import feeds_of
from workbench.simulation.targets import graph_that_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from workbench.config.context import Context
    from workbench.core.plan import DumpPlan
    from workbench.core.tensors import TensorRecord
    from workbench.graph.control_flow import Network
    from workbench.npu.faults import Fault
    from workbench.npu.target import Target
    from workbench.run.executor import Feeds, State
    from workbench.run.ranks import Member
    from workbench.simulation.numbering import Turn
    from workbench.simulation.ranks import Rank
    from workbench.simulation.split import SplitNetwork

    RunOnce = Callable[..., Iterator[TensorRecord]]


@dataclass(frozen=True)
class Runnable:
    """A network as it runs: ``run`` takes feeds, ``iteration`` and ``state``; ``graphs`` are what runs.

    ``program`` is what an NPU has of a network that is one graph.
    """

    network: Network
    run: RunOnce
    graphs: tuple[Graph, ...]
    program: Program | None = None


class Process:
    """What runs on a device, and in which order.

    Parameters
    ----------
    networks : sequence of Network
        As `number_graphs` returns them.
    schedule : sequence of int
        The network of every run, by its place.
    feeds : as of `workbench.simulation.simulate`
    target : Target
        Each of its faults is in an operator of any network.
    member : Member, optional
        The rank of the process where there are several.
    ends : bool
        Whether a fault of another rank may end the run.

    Raises
    ------
    GraphError
        A fault, a feed or what a network needs is not there.
    """

    def __init__(
        self,
        networks: Sequence[Network],
        schedule: Sequence[int],
        feeds: Feeds,
        target: Target,
        max_turns: int = MAX_TURNS,
        member: Member | None = None,
        *,
        ends: bool = False,
    ) -> None:
        self._networks, self._schedule, self._feeds = networks, schedule, feeds
        self._ends = ends or ends_run(target.faults)
        self._apart = not WRITERS[target.surface].by_mindspore
        shared = _shared(networks, target.faults)
        self._prepared = [
            prepare(network, replace(target, faults=tuple(own)), max_turns, member)
            for network, own in zip(networks, shared, strict=True)
        ]

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """All graphs as they run, in the order of their ids."""
        graphs = (graph for one in self._prepared for graph in one.graphs)
        return tuple(sorted(graphs, key=lambda graph: graph.graph_id))

    @property
    def compiled(self) -> tuple[Graph | Program, ...]:
        """What the graph engine has of every network, in the order of their ids: its program, or a graph that runs."""
        found = [one.program or one.graphs[0] for one in self._prepared]
        return tuple(sorted(found, key=lambda one: graph_that_runs(one).graph_id))

    def numbers(self, first: int) -> dict[int, list[int]]:
        """Return the numbers of all iterations by the id of the graph that they begin with."""
        found: dict[int, list[int]] = {}
        for turn in self._turns(first):
            graph_id = self._prepared[turn.network].graphs[0].graph_id
            found.setdefault(graph_id, []).append(turn.iteration)
        return found

    def iterate(
        self, plan: DumpPlan, context: Context, peers: Sequence[Context] = ()
    ) -> Iterator[tuple[Iterator[TensorRecord], bool]]:
        """Yield the records of every run, and whether they count.

        All up to the last one wanted run where each goes on from the one before, and count where a fault
        ends the run in any of them. What other ranks dump runs here, too.
        """
        own = self._wanted(plan, context)
        wanted = own.union(*(self._wanted(plan, peer) for peer in peers))
        every = list(self._turns(plan.initial_iteration)) if wanted else []
        last = max((n for n, turn in enumerate(every) if turn.iteration in wanted), default=-1)
        goes_on = any(has_updates(graph) for one in self._prepared for graph in one.graphs)
        watch = {"watch": watch_of(plan, self.graphs[0])} if plan.kind == "watch" else {}
        state: State = {}
        for turn in every[: last + 1]:
            if turn.iteration in wanted or goes_on or self._ends:
                records = self._run(turn, state, watch)
                yield records, turn.iteration in own or (self._ends and bool(own))

    def _turns(self, first: int) -> Iterator[Turn]:
        return turns(self._schedule, first, apart=self._apart)

    def _wanted(self, plan: DumpPlan, context: Context) -> set[int]:
        """Return the numbers of the iterations that a process dumps."""
        if plan.ranks is not None and context.rank not in plan.ranks:
            return set()
        return set(dumped_iterations(plan, len(self._schedule), context.device))

    def _run(self, turn: Turn, state: State, options: Mapping[str, Any]) -> Iterator[TensorRecord]:
        network = self._networks[turn.network]
        feeds = _own(feeds_at(network, self._feeds, turn.run), network, self._networks)
        return self._prepared[turn.network].run(
            feeds, iteration=turn.iteration, state=state, **options
        )


@dataclass(frozen=True)
class Job:
    """What runs on all ranks.

    Attributes
    ----------
    networks, schedule, max_turns
        As of `Process`.
    feeds : as of `workbench.simulation.simulate`
        A list has those of every rank.
    ranks : int
        How many ranks run in lockstep.
    split : SplitNetwork, optional
        The network as the ranks share it; without it each runs all of it, with batches of its own.
    links : tuple of Fault
        Faults of the links between ranks.
    """

    networks: tuple[Network, ...]
    schedule: Sequence[int]
    feeds: Feeds | Sequence[Feeds]
    ranks: int = 1
    max_turns: int = MAX_TURNS
    split: SplitNetwork | None = None
    links: tuple[Fault, ...] = ()

    @classmethod
    def of(
        cls,
        networks: Sequence[Network],
        feeds: Feeds | Sequence[Feeds],
        schedule: Sequence[int] | None,
        iterations: int,
        ranks: int,
        max_turns: int,
        ids_apart: int = 1,
    ) -> Job:
        """Return a job whose graphs are numbered; raises GraphError for a number below 1 or a place that is none."""
        for name, number in (("iterations", iterations), ("max_turns", max_turns)):
            if number < 1:
                raise GraphError("simulation/count", name=name, got=number)
        order = schedule_of(networks, schedule, iterations)
        return cls(number_graphs(networks, order, ids_apart), order, feeds, ranks, max_turns)

    def first_feeds(self, plan: DumpPlan) -> Mapping[str, Any]:
        """Return what the first network is fed on the first rank in the first iteration."""
        return feeds_at(self.networks[0], feeds_of(self.feeds, 0), plan.initial_iteration)

    def process(self, rank: Rank, target: Target) -> Process:
        """Return the process of one rank; ``target`` has the faults of all of them."""
        networks = [rank.network(network) for network in self.networks]
        faults = rank.faults(target.faults)
        if self.split is not None:
            own = self.split.network(rank.number).with_id(self.split.graph.graph_id)
            networks, faults = [own], faults_in(own, faults)  # other faults are on other stages
        return Process(
            networks,
            self.schedule,
            feeds_of(self.feeds, rank.context.rank if self.ranks > 1 else 0),
            replace(target, faults=tuple(faults)),
            self.max_turns,
            self._member(rank),
            ends=ends_run(target.faults),
        )

    def _member(self, rank: Rank) -> Member | None:
        """Return a rank with the faulty links that it has."""
        faults = tuple(rank.faults(self.links))
        if rank.member is None or not faults:
            return rank.member
        return replace(rank.member, received=Links(faults).receive)


def _shared(networks: Sequence[Network], faults: Sequence[Fault]) -> list[Sequence[Fault]]:
    """Part the faults among the networks in whose operators they are."""
    if len(networks) == 1:
        return [faults]
    ops = [op for network in networks for graph in graphs_of(network) for op in graph.ops]
    check_faults(faults, ops, ", ".join(network.name for network in networks))
    return [
        [
            fault
            for fault in faults
            if any(faults_in(graph, [fault]) for graph in graphs_of(network))
        ]
        for network in networks
    ]


def _own(feeds: Mapping[str, Any], network: Network, networks: Sequence[Network]) -> dict[str, Any]:
    """Return the feeds of one network; raises GraphError for one that none has."""
    known = {parameter.name for one in networks for parameter in one.parameters}
    for name in feeds:
        if name not in known:
            raise GraphError("simulation/feed", known=sorted(known), got=name)
    own = {parameter.name for parameter in network.parameters}
    return {name: value for name, value in feeds.items() if name in own}


def prepare(
    network: Network,
    target: Target,
    max_turns: int = MAX_TURNS,
    member: Member | None = None,
) -> Runnable:
    """Return a network as a device runs it; raises GraphError for control flow that is not simulated."""
    if isinstance(network, ControlFlow):
        return _prepare_flow(network, target, max_turns, member)
    if not target.is_simulated:
        run = partial(run_reference, network, member=member, plan=plan_execution(network))
        return Runnable(network, run, (network,))
    program = compile_graph(network, target)
    plan = plan_execution(program.graph)
    run = partial(run_program, program, faults=target.faults, member=member, plan=plan)
    return Runnable(network, run, (program.graph,), program)


def _prepare_flow(
    flow: ControlFlow, target: Target, max_turns: int, member: Member | None
) -> Runnable:
    if target.quantization:
        one_graph(flow, "quantization", "scales are calibrated for operators that always run")
    if not target.is_simulated:
        runs = reference_runs(flow, member=member)
        return Runnable(flow, partial(run_flow, flow, runs, max_turns=max_turns), flow.graphs)
    programs = compile_flow(flow, target)
    graphs = tuple(programs[graph.graph_id].network for graph in flow.graphs)
    flow = replace(flow, graphs=graphs)
    run = partial(
        run_flow, flow, flow_runs(flow, programs, target.faults, member), max_turns=max_turns
    )
    return Runnable(flow, run, tuple(programs[graph.graph_id].graph for graph in graphs))
