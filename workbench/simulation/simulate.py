"""Rehearse a dump: run a graph on the reference or the simulated NPU and write its tree."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.config.context import Context
from workbench.core.errors import GraphError, check_seed
from workbench.core.plan import DumpPlan
from workbench.core.words import Message
from workbench.core.writers import WRITERS
from workbench.dump.write.reported import overflows
from workbench.dump.write.targets import Clock
from workbench.dump.write.targets import Target as TreeTarget
from workbench.dump.write.trees import shared, write_tree
from workbench.graph.control_flow import ControlFlow, graphs_of, one_graph
from workbench.graph.graph import Graph
from workbench.graph.marks import mark_operators
from workbench.network.nn.parallel import check_ranks
from workbench.network.partition import parted
from workbench.npu.compile.provenance import original_names
from workbench.npu.compile.quantize import Quantization
from workbench.npu.faults import Fault
from workbench.npu.profiles import PROFILES
from workbench.npu.target import REFERENCE, Target
from workbench.run.control_flow import MAX_TURNS
from workbench.run.ranks import in_lockstep
from workbench.simulation.events import DeviceEvents, undumped
from workbench.simulation.jobs import as_parallel, link_faults, split_job, with_links
from workbench.simulation.lowering import load_given, lower, surface_of
from workbench.simulation.nothing import EmptyRun
from workbench.simulation.numbering import turns
from workbench.simulation.process import Job
from workbench.simulation.ranks import (
    Rank,
    only_compiles,
    ranks_of,
    shared_progress,
)
from workbench.simulation.targets import ge_target

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from workbench.config.config import Config
    from workbench.core.tensors import TensorRecord
    from workbench.dump.write.plan_files import Progress
    from workbench.graph.control_flow import Network
    from workbench.graph.graph import Graph
    from workbench.npu.orders import Orders
    from workbench.npu.precision import Precision
    from workbench.run.executor import Feeds
    from workbench.run.parallel import Parallel
    from workbench.simulation.lowering import Lowered
    from workbench.simulation.process import Process


def simulate(
    network: Network | Sequence[Network],
    feeds: Feeds | Sequence[Feeds],
    config: DumpPlan | Config | str | Path,
    out: str | Path,
    *,
    device: str = REFERENCE,
    surface: str | None = None,
    faults: Sequence[Fault | str] = (),
    seed: int = 0,
    iterations: int = 1,
    precision_mode: str | Precision | None = None,
    fusion: str | Path = "on",
    quantization: str | Quantization | None = None,
    version: str = "",
    env: Mapping[str, str] | None = None,
    schedule: Sequence[int] | None = None,
    set_dump: Sequence[str] = (),
    max_turns: int = MAX_TURNS,
    ranks: int = 1,
    parallel: Parallel | str | None = None,
    orders: Orders | str | Path | None = None,
    progress: Progress | None = None,
    say: Callable[[str], None] | None = None,
    report: Callable[[Message], None] | None = None,
) -> Path:
    """Run a graph and write one dump tree; return ``out``.

    A run that an ``aicore-exception`` fault ends is no error: the tree holds what was dumped until then.

    Parameters
    ----------
    network : Graph, Flow or a sequence of them
        Several run in one process as ``schedule`` says, with the same weights where names are the same: on
        MindSpore's own surfaces, and as models of one session on ``tensorflow``. Control flow is simulated on
        MindSpore's own surfaces.
    feeds : mapping of parameter name to array, a function of the iteration that returns one, or None
        Inputs and weights; what is missing comes from the traced graph. A list has those of every rank.
    config : DumpPlan, Config or path
        What to dump; a path names a form of the surface.
    out : path
        A folder that is new or empty; it replaces the form's own.
    device : str
        ``reference``, or a key of `workbench.npu.profiles.PROFILES` (``910a``, ``a2``, …).
    surface : str, optional
        One of `workbench.core.writers.WRITERS`; what the form is if left out. Where several share it, the reference is
        ``mindspore-cpu`` and an NPU ``mindspore-o0o1``.
    faults : sequence of Fault or text
        Defects planted in the NPU, as `workbench.npu.faults.parse_fault` spells them.
    seed : int
        Seed of faults, timestamps and random file numbers.
    iterations : int
        How many iterations run, counted from the form's ``initial_iteration``. A graph that updates weights
        goes on from where the last one left them, dumped or not.
    precision_mode : str or Precision, optional
        The NPU's precision mode, or all that is asked of its compiler.
    fusion : str or path
        Whether the graph engine fuses operators: ``on``, ``off``, or a ``fusion_switch_file``. Surfaces
        of MindSpore's own run operators one by one.
    quantization : str or Quantization, optional
        ``w8a8`` or ``w8a16`` for a network that was quantized before the graph engine compiles it
        (`workbench.npu.compile.quantize`); the feeds calibrate it if nothing else is given.
    version : str
        Version of the vendor's software: the form is judged by it, and MindSpore's names, tables, IR
        and folders are those of that release (2.3 or newer; from 2.7 on O2 has msprobe's). Left out,
        the form is judged by the version that its surface was made for, and trees are MindSpore 2.6's.
    env : mapping of str to str, optional
        Environment of the run, which decides what rank and device it is (``RANK_ID``, ``DEVICE_ID``;
        torchair: ``RANK`` and ``WORLD_SIZE``) and what graph files the graph engine writes
        (``DUMP_GE_GRAPH`` and others). These go to ``graphs`` in ``out``. Without it TensorFlow,
        torchair and MindSpore's GE dump write the graph that runs, as they do whenever they dump;
        what the form itself sets counts first.
    schedule : sequence of int, optional
        Which network runs next, by its place: (0, 0, 1) is two steps of the first and one of the second. It
        takes the place of ``iterations``, and of them in turn; numbers of iterations are MindSpore's, which
        counts for all networks, or each model's own (`workbench.simulation.numbering.turns`).
    set_dump : sequence of str
        Operators to mark for ``dump_mode`` 2, beside those of cells that `workbench.set_dump` marked: full names,
        patterns with ``*``, types, or scopes (`workbench.graph.marks.mark_operators`).
    max_turns : int
        Most turns of a loop.
    ranks : int
        How many ranks run in lockstep, each with batches of its own: those of the graph are dealt out in
        turn. Rank r is on device r. All of them dump as the form asks, but only one if ``env`` has its
        ``RANK_ID`` (torchair: ``RANK``).
    parallel : Parallel or str, optional
        How the ranks share one network (``tp=4,pp=2,dp=8``): each runs its stage, with its part of weights and of the
        batches, and they meet in ``AllReduce``, ``Send`` and ``Receive``. ``ranks`` may be left out then.
    orders : Orders or path, optional
        In which order the device sums, where that is confirmed: ``orders.json`` (`workbench.npu.orders`).
    progress : callable, optional
        Called after every tensor with their number so far and the operator's name.
    say : callable, optional
        Told in a sentence each what the device reported: the operator at which it failed, and those that
        overflowed if the form asks for them; and that nothing was dumped, or not all iterations, if so.
    report : callable, optional
        Told the same as messages, which have a code and values.

    Raises
    ------
    ConfigError
        The form breaks a rule of its surface, or asks for what the device does not dump.
    GraphError
        Device, fault, mode or feed are unknown or do not fit.
    FormatError
        The form or the folder cannot be read or written, or the version is none whose dumps can be.
    """
    check_seed(seed)
    check_ranks(ranks)
    shared_by = as_parallel(parallel, ranks)
    ranks = ranks if shared_by is None else shared_by.ranks
    broken, links = link_faults(faults)
    given = load_given(config, surface)
    surface = surface or surface_of(given, device)
    target = Target.of(
        surface,
        device,
        precision_mode=precision_mode,
        fusion=fusion,
        quantization=quantization,
        orders=orders,
        faults=broken,
        seed=seed,
    )
    networks = tuple(mark_operators(one, set_dump) for one in _networks(network, surface))
    _check_quantization(target, networks)
    apart = WRITERS[surface].ids_apart
    job = Job.of(networks, feeds, schedule, iterations, ranks, max_turns, apart)
    if shared_by is not None:
        job = split_job(job, shared_by, target)
    job = with_links(job, links)
    context = Context(version=version, env=env or {})
    dump = lower(given, target, Path(out), context, seed)
    told = _run(job, target.calibrated(job.first_feeds(dump.plan)), dump, context, progress)
    for message in told:
        if report is not None:
            report(message)
        if say is not None:
            say(str(message))
    return dump.out


def _run(
    job: Job, target: Target, dump: Lowered, context: Context, progress: Progress | None
) -> list[Message]:
    """Run all ranks of a job and write their tree; return what is to be said of it."""
    apart = not WRITERS[target.surface].by_mindspore
    every = turns(job.schedule, dump.plan.initial_iteration, apart=apart)
    run = {turn.iteration for turn in every}
    _check_iterations([*target.faults, *job.links], run)
    target = replace(target, quant_dumpable=dump.plan.before_quantisation)
    ranks = ranks_of(target.surface, context, job.ranks)
    contexts, told = [one.context for one in ranks], shared_progress(progress)
    works = [
        _Work(
            job.process(one, target),
            one,
            contexts,
            dump,
            _events(dump, one, told),
        )
        for one in ranks
    ]
    if job.ranks == 1:
        works[0].run()
    else:
        with shared(dump.out):
            in_lockstep([work.run for work in works], ranks[0].meeting)
    return [*_messages(works, run, target, job.networks)]


def _events(dump: Lowered, rank: Rank, progress: Progress | None) -> DeviceEvents:
    """What gathers the events of a rank: MindSpore itself looks for overflow, in results."""
    if not dump.writer.by_mindspore:
        return DeviceEvents(progress)
    sees = overflows if dump.plan.kind == "overflow" else None
    return DeviceEvents(progress, rank.context.rank, sees)


@dataclass(frozen=True)
class _Work:
    """What one rank does: run its process, and write its part of the tree.

    ``contexts`` are those of all ranks.
    """

    process: Process
    rank: Rank
    contexts: Sequence[Context]
    dump: Lowered
    events: DeviceEvents

    def run(self) -> None:
        """Run the process up to the last iteration that any rank dumps."""
        records = self.events.observe(
            self.process.iterate(self.dump.plan, self.rank.context, self.contexts)
        )
        if self.rank.dumps and not only_compiles(self.dump.writer.surface, self.rank.context):
            self._write(records)
        deque(records, maxlen=0)  # peers wait for this rank to the end

    def messages(self, looks: bool, run: Collection[int]) -> Iterator[Message]:
        """Say what the device reported, and why nothing was dumped that was asked for; ``looks`` for overflow."""
        events, dump, graphs = self.events, self.dump, self.process.graphs
        empty = EmptyRun(
            dump.plan, graphs, dump.writer, self.rank.context, run, dump.judged, dump.version
        )
        why = empty.cause() if events.is_empty and not events.failed else None
        if why is not None:
            yield Message("simulation/run-nothing-because", why=why)
            return
        yield from events.messages(about_overflow=looks)
        if events.is_empty and not events.failed and not looks:
            yield Message("simulation/run-nothing")

    def _write(self, records: Iterator[TensorRecord]) -> None:
        write_tree(
            records,
            self.dump.plan,
            self.dump.out,
            graph=self.process.graphs,
            target=self._target(),
            progress=self.events.dumped,
            clock=Clock.of_process(self.dump.seed, self.rank.number),
            part=self.rank.part,
        )

    def _target(self) -> TreeTarget:
        """Whose tree it is."""
        process, dump, context = self.process, self.dump, self.rank.context
        surface, numbers = dump.writer.surface, process.numbers(dump.plan.initial_iteration)
        if dump.writer.by_mindspore:
            return TreeTarget(surface, dump.version, context.rank, dump.text, numbers)
        runs, count = process.compiled, sum(map(len, numbers.values()))
        target = ge_target(surface, dump.judged, dump.plan, runs, count, context, dump.device)
        return target._replace(version=dump.version)


def _messages(
    works: Sequence[_Work],
    run: Collection[int],
    target: Target,
    networks: Sequence[Network],
) -> Iterator[Message]:
    """Say what the device of each rank reported, and which of the iterations that run were not dumped.

    Names in options of the compiler that no operator has come before that: the compiler passes over them.
    """
    plan, form = works[0].dump.plan, works[0].dump.form
    looks = plan.kind == "overflow"
    for work in works:
        for said in work.messages(looks, run):
            on_rank = Message("simulation/run-rank", rank=work.rank.number, said=said)
            yield on_rank if len(works) > 1 else said
    unknown = _unknown_names(target, networks)
    if unknown:
        yield Message("simulation/options-unknown", names=unknown)
    left = undumped(plan, run, form)
    if left is not None and not all(work.events.is_empty for work in works):
        yield left


def _unknown_names(target: Target, networks: Sequence[Network]) -> list[str]:
    """Names in options of the compiler that no operator has."""
    if target.device not in PROFILES:
        return []
    graphs = (graph for network in networks for graph in graphs_of(network))
    known = {
        name for graph in graphs for op in graph.ops for name in (op.name, *original_names(op))
    }
    return sorted(target.model.precision.names - known)


def _check_iterations(faults: Sequence[Fault], run: Collection[int]) -> None:
    """Raise GraphError for a fault in an iteration that does not run."""
    for fault in faults:
        late = fault.since is not None and fault.since > max(run)
        if late or (fault.iteration is not None and fault.iteration not in run):
            raise GraphError(
                "simulation/fault-iteration",
                fault=fault,
                got=fault.since if late else fault.iteration,
                first=min(run),
                last=max(run),
            )


def _networks(network: Network | Sequence[Network], surface: str) -> tuple[Network, ...]:
    """Return the networks of a process; raises GraphError for what a surface does not run."""
    networks = (network,) if isinstance(network, Graph | ControlFlow) else tuple(network)
    if not networks:
        raise GraphError("simulation/no-network")
    if WRITERS[surface].by_mindspore:
        return tuple(map(parted, networks))
    if len(networks) > 1 and not WRITERS[surface].runs_several:
        names = [one.name for one in networks]
        raise GraphError("simulation/several-networks", surface=surface, names=names)
    return tuple(one_graph(one, surface) for one in networks)


def _check_quantization(target: Target, networks: Sequence[Network]) -> None:
    """Raise GraphError for several networks that are to be quantized: only one can be calibrated."""
    if target.quantization is not None and len(networks) > 1:
        raise GraphError("simulation/several-quantized", names=[one.name for one in networks])
