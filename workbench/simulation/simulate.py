"""Rehearse a dump: run a graph on the reference or the simulated NPU and write its tree."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.config.context import Context
from workbench.core.errors import ConfigError, GraphError, check_seed
from workbench.core.plan import DumpPlan
from workbench.core.problems import Problem
from workbench.core.words import Message
from workbench.core.writers import SIMULATED_SURFACES, WRITERS
from workbench.dump.write.exceptions import CHIPS
from workbench.dump.write.reported import overflows
from workbench.dump.write.targets import Clock, Target, tree_version
from workbench.dump.write.trees import shared, write_tree
from workbench.graph.control_flow import ControlFlow, graphs_of, one_graph
from workbench.graph.graph import Graph
from workbench.graph.marks import mark_operators
from workbench.network.nn.parallel import check_ranks
from workbench.network.partition import parted
from workbench.npu import target as npu
from workbench.npu.compile.provenance import original_names
from workbench.npu.compile.quantize import Quantization, quantization_of
from workbench.npu.faults import Fault, parse_fault
from workbench.npu.orders import NO_ORDERS, read_orders
from workbench.npu.profiles import PROFILES
from workbench.npu.target import fusions_off
from workbench.run.control_flow import MAX_TURNS
from workbench.run.executor import feeds_at
from workbench.run.ranks import in_lockstep
from workbench.simulation.events import DeviceEvents, undumped
from workbench.simulation.nothing import EmptyRun
from workbench.simulation.process import REFERENCE, Job, number_graphs, schedule_of, turns
from workbench.simulation.ranks import (
    Rank,
    feeds_of,
    only_compiles,
    ranks_of,
    shared_progress,
)
from workbench.simulation.targets import ge_target

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from workbench.config.config import Config
    from workbench.core.tensors import TensorRecord
    from workbench.core.writers import Writer
    from workbench.dump.write.plan_files import Progress
    from workbench.graph.control_flow import Network
    from workbench.graph.graph import Graph
    from workbench.npu.orders import Orders
    from workbench.npu.precision import Precision
    from workbench.run.executor import Feeds
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
        Several run in one process as ``schedule`` says, with the same weights where names are the same. Control
        flow and several networks are simulated on MindSpore's own surfaces.
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
        counts for all networks (`workbench.simulation.process.turns`).
    set_dump : sequence of str
        Operators to mark for ``dump_mode`` 2, beside those of cells that `workbench.set_dump` marked: full names,
        patterns with ``*``, types, or scopes (`workbench.graph.marks.mark_operators`).
    max_turns : int
        Most turns of a loop.
    ranks : int
        How many ranks run in lockstep, each with batches of its own: those of the graph are dealt out in
        turn. Rank r is on device r. All of them dump as the form asks, but only one if ``env`` has its
        ``RANK_ID`` (torchair: ``RANK``).
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
    planted = tuple(parse_fault(item) if isinstance(item, str) else item for item in faults)
    ordered = _orders(orders, device)
    _check(device, planted, precision_mode, iterations, seed, max_turns)
    off = fusions_off(fusion)
    check_ranks(ranks)
    surface = surface or _surface_of(config, device)
    _check_surface(surface)
    written_by = tree_version(surface, version)
    networks = tuple(mark_operators(one, set_dump) for one in _networks(network, surface))
    order = schedule_of(networks, schedule, iterations)
    plan, form = _lower(config, surface, out, version, device)
    run = {turn.iteration for turn in turns(order, plan.initial_iteration)}
    _check_iterations(planted, run)
    seeded = [replace(fault, seed=fault.seed + seed) for fault in planted]
    int8 = quantization_of(
        quantization, feeds_at(networks[0], feeds_of(feeds, 0), plan.initial_iteration)
    )
    job = Job(number_graphs(networks, order), order, feeds, tuple(seeded), ranks, max_turns)
    dump = _Dump(plan, form, Path(out), WRITERS[surface], written_by, device, seed)
    compiled_for = npu.Target(
        surface, device, precision_mode, off, int8, plan.before_quantisation, ordered
    )
    everyone = ranks_of(surface, Context(version=version, env=env or {}), ranks)
    contexts, told = [one.context for one in everyone], shared_progress(progress)
    works = [
        _Work(
            job.process(one, compiled_for),
            one,
            contexts,
            dump,
            dump.events(one, told),
        )
        for one in everyone
    ]
    if ranks == 1:
        works[0].run()
    else:
        with shared(dump.out):
            in_lockstep([work.run for work in works], everyone[0].meeting)
    for message in _messages(works, run, compiled_for, networks):
        if report is not None:
            report(message)
        if say is not None:
            say(str(message))
    return dump.out


@dataclass(frozen=True)
class _Dump:
    """What all ranks dump, where, and as whose tree; ``form`` is what the plan came from."""

    plan: DumpPlan
    form: Config | None
    out: Path
    writer: Writer
    version: str
    device: str
    seed: int

    def events(self, rank: Rank, progress: Progress | None) -> DeviceEvents:
        """What gathers the events of a rank: MindSpore itself looks for overflow, in results."""
        if not self.writer.by_mindspore:
            return DeviceEvents(progress)
        sees = overflows if self.plan.kind == "overflow" else None
        return DeviceEvents(progress, rank.context.rank, sees)


@dataclass(frozen=True)
class _Work:
    """What one rank does: run its process, and write its part of the tree.

    ``contexts`` are those of all ranks.
    """

    process: Process
    rank: Rank
    contexts: Sequence[Context]
    dump: _Dump
    reports: DeviceEvents

    def run(self) -> None:
        """Run the process up to the last iteration that any rank dumps."""
        records = self.reports.observe(
            self.process.runs(self.dump.plan, self.rank.context, self.contexts)
        )
        if self.rank.dumps and not only_compiles(self.dump.writer.surface, self.rank.context):
            self._write(records)
        deque(records, maxlen=0)  # peers wait for this rank to the end

    def messages(self, looks: bool, run: Collection[int]) -> Iterator[Message]:
        """Say what the device reported, and why nothing was dumped that was asked for; ``looks`` for overflow."""
        reports, dump = self.reports, self.dump
        graphs = self.process.graphs
        empty = EmptyRun(
            dump.plan, graphs, dump.writer, self.rank.context, run, dump.form, dump.version
        )
        why = empty.cause() if reports.is_empty and not reports.failed else None
        if why is not None:
            yield Message("pipeline/run-nothing-because", why=why)
            return
        yield from reports.messages(about_overflow=looks)
        if reports.is_empty and not reports.failed and not looks:
            yield Message("pipeline/run-nothing")

    def _write(self, records: Iterator[TensorRecord]) -> None:
        write_tree(
            records,
            self.dump.plan,
            self.dump.out,
            graph=self.process.graphs,
            target=self._target(),
            progress=self.reports.dumped,
            clock=Clock.of_process(self.dump.seed, self.rank.number),
            part=self.rank.part,
        )

    def _target(self) -> Target:
        """Whose tree it is."""
        process, dump, context = self.process, self.dump, self.rank.context
        surface, numbers = dump.writer.surface, process.numbers(dump.plan.initial_iteration)
        if dump.writer.by_mindspore:
            return Target(surface, dump.version, context.rank, _text(dump.form), numbers)
        (compiled,) = process.graphs
        runs, count = process.program or compiled, sum(map(len, numbers.values()))
        form = dump.form or dump.plan
        target = ge_target(surface, form, dump.plan, runs, count, context, dump.device)
        return target._replace(version=dump.version)


def _orders(given: Orders | str | Path | None, device: str) -> Orders:
    """Return the orders that are given, read if it is a file; the reference takes none."""
    found = read_orders(given) if isinstance(given, str | Path) else given or NO_ORDERS
    if found and device == REFERENCE:
        raise GraphError("pipeline/reference-orders", known=list(PROFILES), got=device)
    return found


def _messages(
    works: Sequence[_Work],
    run: Collection[int],
    target: npu.Target,
    networks: Sequence[Network],
) -> Iterator[Message]:
    """Say what the device of each rank reported, and which of the iterations that run were not dumped.

    Names in options of the compiler that no operator has come before that: the compiler passes over them.
    """
    plan, form = works[0].dump.plan, works[0].dump.form
    looks = plan.kind == "overflow"
    for work in works:
        for said in work.messages(looks, run):
            on_rank = Message("pipeline/run-rank", rank=work.rank.number, said=said)
            yield on_rank if len(works) > 1 else said
    unknown = _unknown_names(target, networks)
    if unknown:
        yield Message("pipeline/options-unknown", names=unknown)
    left = undumped(plan, run, form)
    if left is not None and not all(work.reports.is_empty for work in works):
        yield left


def _unknown_names(target: npu.Target, networks: Sequence[Network]) -> list[str]:
    """Names in options of the compiler that no operator has."""
    if target.device not in PROFILES:
        return []
    graphs = (graph for network in networks for graph in graphs_of(network))
    known = {
        name for graph in graphs for op in graph.ops for name in (op.name, *original_names(op))
    }
    return sorted(target.model.precision.names - known)


def _text(form: Config | None) -> str | None:
    """Return the text of a form as it was read, or would be written."""
    if form is None:
        return None
    return form.decoded.text if form.decoded else form.to_text()


def _check(
    device: str,
    faults: Sequence[Fault],
    precision: str | Precision | None,
    iterations: int,
    seed: int,
    max_turns: int,
) -> None:
    check_device(device, faults, precision)
    check_seed(seed)
    for name, number in (("iterations", iterations), ("max_turns", max_turns)):
        if number < 1:
            raise GraphError("pipeline/count", name=name, got=number)


def _check_surface(surface: str) -> None:
    """Raise ConfigError for a surface whose trees nobody writes."""
    if WRITERS.get(surface) is None:
        message = Message(
            "core/choice", subject="surface", known=[*SIMULATED_SURFACES], got=surface
        )
        raise ConfigError([Problem("surface", "error", "", message)])


def _check_iterations(faults: Sequence[Fault], run: Collection[int]) -> None:
    """Raise GraphError for a fault in an iteration that does not run."""
    for fault in faults:
        if fault.iteration is not None and fault.iteration not in run:
            raise GraphError(
                "pipeline/fault-iteration",
                fault=fault,
                got=fault.iteration,
                first=min(run),
                last=max(run),
            )


def _networks(network: Network | Sequence[Network], surface: str) -> tuple[Network, ...]:
    """Return the networks of a process; raises GraphError for what a surface does not run."""
    networks = (network,) if isinstance(network, Graph | ControlFlow) else tuple(network)
    if not networks:
        raise GraphError("pipeline/no-network")
    if WRITERS[surface].by_mindspore:
        return tuple(map(parted, networks))
    if len(networks) > 1:
        names = [one.name for one in networks]
        raise GraphError("pipeline/several-networks", surface=surface, names=names)
    return (one_graph(networks[0], surface),)


def check_device(
    device: str, faults: Sequence[Fault] = (), precision_mode: str | Precision | None = None
) -> None:
    """Raise GraphError for an unknown device, or for faults or a mode of the reference."""
    known = [REFERENCE, *PROFILES]
    if device not in known:
        raise GraphError("core/choice", subject="device", known=known, got=device)
    if device == REFERENCE and faults:
        raise GraphError("pipeline/reference-faults", known=list(PROFILES), got=device)
    if device == REFERENCE and precision_mode:
        mode = precision_mode if isinstance(precision_mode, str) else precision_mode.mode
        raise GraphError(
            "pipeline/reference-precision",
            mode=mode or "--ge-options",
            known=list(PROFILES),
            got=device,
        )


def _surface_of(config: DumpPlan | Config | str | Path, device: str) -> str:
    """Surface that a form is of; the device chooses among those of MindSpore that share one."""
    own = "mindspore-cpu" if device == REFERENCE else "mindspore-o0o1"
    if isinstance(config, DumpPlan):
        return own
    from workbench.config import load  # only where a form is given

    found = load(config) if isinstance(config, str | Path) else config
    return own if WRITERS[found.surface.name].by_mindspore else found.surface.name


def _lower(
    config: DumpPlan | Config | str | Path,
    surface: str,
    out: str | Path,
    version: str,
    device: str,
) -> tuple[DumpPlan, Config | None]:
    """Return the plan and the form, if there is one; raises ConfigError for what is not simulated."""
    if isinstance(config, DumpPlan):
        plan, form = config, None
    else:
        from workbench.config import get, load  # only where a form is given

        loaded = load(config, surface) if isinstance(config, str | Path) else config
        if loaded.surface.product != get(surface).product:
            message = Message("pipeline/other-surface", expected=loaded.surface.name, got=surface)
            fix = Message("pipeline/other-surface-fix")
            raise ConfigError([Problem("surface", "error", "", message, fix)])
        form = replace(loaded, surface=get(surface))
        plan = form.plan(Context(version=version), out=str(out))
    problem = unsupported(plan, surface, device)
    if problem is not None:
        raise ConfigError([problem])
    return plan, form


def unsupported(plan: DumpPlan, surface: str, device: str) -> Problem | None:
    """Say what of a plan a simulated device does not write; ``None`` if it writes it."""
    if not WRITERS[surface].is_simulated:
        return Problem("surface", "error", "", Message("pipeline/not-simulated", surface=surface))
    kinds = WRITERS[surface].kinds
    if plan.kind not in kinds:
        message = Message("pipeline/plan-kind", surface=surface, known=list(kinds), got=plan.kind)
        return Problem("kind", "error", "", message)
    if plan.kind == "overflow" and device == REFERENCE:
        message = Message("pipeline/overflow-device", known=list(PROFILES), got=device)
        fix = Message("pipeline/overflow-device-fix")
        return Problem("device", "error", "", message, fix)
    if plan.kind == "exception" and plan.detail == "detail" and device not in CHIPS:
        message = Message("pipeline/exception-device", known=list(CHIPS), got=device)
        fix = Message("pipeline/exception-device-fix")
        return Problem("device", "error", "", message, fix)
    if plan.files == "pt":
        message, fix = Message("pipeline/captured"), Message("pipeline/captured-fix")
        return Problem("files", "error", "mode", message, fix)
    return None
