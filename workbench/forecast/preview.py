"""Preview: what a configuration will write of a graph, and what it will not, before any run.

Names and bytes are those that the simulated device writes with the same seed; ``exact`` says so. Where
it is false, ``inexact_because`` say why they are only as near as a graph comes.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.config.context import Context
from workbench.config.explain import runtime_settings
from workbench.core.errors import GraphError, check_seed
from workbench.core.words import Message
from workbench.core.writers import WRITERS
from workbench.dump.selection import dumped_iterations
from workbench.dump.write.cost import Overhead, estimate_overhead
from workbench.dump.write.forecast import Forecast, foretell
from workbench.dump.write.targets import Clock, tree_version
from workbench.dump.write.targets import Target as TreeTarget
from workbench.dump.write.trees import check_net_name
from workbench.forecast.bounds import upper_bound
from workbench.forecast.forecast import (
    Bound,
    Disk,
    Preview,
    largest_iteration,
    merge_forecasts,
    totals,
)
from workbench.forecast.notes import WITHOUT_FORECAST, list_notes, reason_against, why_inexact
from workbench.forecast.sources import load_workload, version_of
from workbench.network.nn.parallel import check_ranks
from workbench.npu.compile.pipeline import compile_graph
from workbench.npu.target import Target
from workbench.simulation.lowering import text_of
from workbench.simulation.operator_list import Selection, select_operators
from workbench.simulation.ranks import only_compiles, ranks_of
from workbench.simulation.targets import ge_target, graph_that_runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.config.config import Config
    from workbench.config.judge import Judged
    from workbench.core.plan import DumpPlan
    from workbench.core.writers import Writer
    from workbench.forecast.sources import Source, Workload
    from workbench.graph.graph import Graph
    from workbench.npu.compile.program import Program
    from workbench.npu.compile.quantize import Quantization
    from workbench.npu.precision import Precision
    from workbench.simulation.ranks import Rank


def preview(
    config: Config,
    graph: Source | list[Source] | tuple[Source, ...],
    *,
    context: Context | None = None,
    iterations: int = 1,
    seed: int = 0,
    device: str = "a2",
    precision_mode: str | Precision | None = None,
    fusion: str | Path = "on",
    quantization: str | Quantization | None = None,
    ranks: int = 1,
    schedule: Sequence[int] | None = None,
) -> Preview:
    """Predict what a configuration writes of a graph.

    Parameters
    ----------
    config : Config
        A form that its vendor accepts.
    graph : Graph, Flow, text or path, or a list of them
        A traced graph; or a model's name, ``file.py:Name``, a graph file (``.ir``, ``.pb``,
        ``ge_proto_*.txt``) or a dump folder, whose graphs are taken. Several run in one process, where one does
        (`workbench.simulation.simulate`).
    context : Context, optional
        Version, device and rank: the form is judged by the version, and names and folders are those of that
        release. Where it tells none, a dump folder of MindSpore does. Disk space is looked at where ``context.here``.
    iterations : int
        How many iterations run, counted from the form's first.
    seed : int
        As `workbench.simulation.simulate`'s, for the same names.
    device, precision_mode, fusion, quantization : as of `workbench.simulation.simulate`
        What the graph is compiled for; for an Atlas A2, with all fusions, if left out.
    ranks : int
        How many ranks run; what all of them write is told, or the one that the context's variables name.
    schedule : sequence of int, optional
        Which network runs next where there are several, as `workbench.simulation.simulate`'s. It takes the
        place of ``iterations``, and of them in turn.

    Raises
    ------
    ConfigError
        The vendor refuses the form.
    GraphError, FormatError
        The graph cannot be had, or a number, name or file does not fit.
    """
    check_seed(seed)
    check_ranks(ranks)
    surface = config.surface.name
    target = Target.of(
        surface, device, precision_mode=precision_mode, fusion=fusion, quantization=quantization
    )
    context = context or Context()
    if WRITERS[surface].by_mindspore and not context.version:
        context = replace(context, version=version_of(graph))
    known = tree_version(surface, context.written_by)
    work = load_workload(graph, surface, ranks, schedule, iterations)
    found = [
        _of_rank(config, work, rank, target, known, seed)
        for rank in ranks_of(surface, config.context(context), ranks)
        if rank.dumps
    ]
    return found[0] if len(found) == 1 else _together(found)


def foreseen_plan(config: Config, context: Context) -> tuple[Judged, DumpPlan]:
    """Judge a form, and return what it asks for: all that a preview needs before it looks at a graph.

    Raises ConfigError for what the vendor refuses, as `workbench.simulation.lowering.lower`.
    """
    judged = config.judge(context)
    return judged, judged.plan()


def _of_rank(
    config: Config,
    work: Workload,
    rank: Rank,
    target: Target,
    known: str,
    seed: int,
) -> Preview:
    """Predict what one rank writes, as a release that is ``known``."""
    context = rank.context
    judged, plan = foreseen_plan(config, context)
    tree = TreeTarget(target.surface, known, context.rank, text_of(config), work.ran(plan))
    result = preview_plan(
        plan,
        work,
        target,
        tree,
        context=context,
        clock=Clock.of_process(seed, rank.number),
        judged=judged,
    )
    folder = judged.surface.path_key
    if folder in runtime_settings(judged.problems):
        note = Message("forecast/late-value", path=folder)
        result = replace(result, notes=(note, *result.notes))
    return result


def _together(previews: Sequence[Preview]) -> Preview:
    """Return what several ranks write into one folder."""
    first, bounds = previews[0], [one.bound for one in previews if one.bound is not None]
    sizes = [bound.nbytes for bound in bounds]
    forecast = merge_forecasts([one.forecast for one in previews])
    iterations = sorted({number for one in previews for number in one.iterations})
    known = sum(size for size in sizes if size is not None) if None not in sizes else None
    return replace(
        first,
        iterations=tuple(iterations),
        inexact_because=tuple(
            dict.fromkeys(doubt for one in previews for doubt in one.inexact_because)
        ),
        notes=tuple(dict.fromkeys(note for one in previews for note in one.notes)),
        disk=replace(first.disk, needed=totals(forecast)[1]) if first.disk else None,
        forecast=forecast,
        bound=Bound(sum(bound.files for bound in bounds), known) if bounds else None,
    )


def _compiled(
    work: Workload, target: Target
) -> tuple[tuple[Graph | Program, ...], tuple[Graph, ...]]:
    """Return what the graph engine has of every network, and the graphs as they run.

    It compiles the first graph of a network. What was read from a file of another dialect says already which types
    its kernels have.
    """
    roots = {network[0].graph_id for network in work.networks}
    if target.is_compiled:
        models = [
            compile_graph(graph, target)
            if graph.graph_id in roots and graph.dialect != "ge"
            else graph
            for graph in work.graphs
        ]
        runs = tuple(map(graph_that_runs, models))
        heads = (one for one, graph in zip(models, runs, strict=True) if graph.graph_id in roots)
        return tuple(heads), runs
    runs = tuple(
        compile_graph(graph, target).graph if target.is_simulated and not graph.dialect else graph
        for graph in work.graphs
    )
    return tuple(graph for graph in runs if graph.graph_id in roots), runs


def preview_plan(
    plan: DumpPlan,
    work: Workload,
    target: Target,
    tree: TreeTarget,
    *,
    context: Context,
    clock: Clock | None = None,
    judged: Judged | None = None,
) -> Preview:
    """Predict what a plan writes; see `preview`.

    ``target`` is what the graph is compiled for; ``tree`` counts where MindSpore writes the tree itself; ``judged`` is
    what the plan came from.
    """
    writer = _writer_of(target.surface, work.graphs)
    closed = reason_against(plan, writer)
    models: tuple[Graph | Program, ...] = ()
    graphs = work.graphs
    if writer.is_simulated:
        models, graphs = _compiled(work, replace(target, quant_dumpable=plan.before_quantisation))
    run = _Run(plan, work, graphs, writer, context, clock or Clock(), tree, judged, models)
    numbers = run.dumped
    unknown = closed and plan.kind != "exception"  # what is written if nothing fails is known
    forecast, bound = run.tell(plan, [] if unknown else numbers), None
    if plan.kind in WITHOUT_FORECAST and writer.is_simulated:
        bound = upper_bound(plan, numbers, writer, run.tell)
    elif closed:
        forecast = Forecast(without_dump=forecast.without_dump)
    each = largest_iteration(forecast.files)
    cost = estimate_overhead(plan, forecast.moved, each[1], each[0])
    version = tree.version if writer.by_mindspore else ""
    found = Selection(())
    if writer.is_simulated:
        found = select_operators(
            plan, graphs, forecast.without_dump, by_scope=writer.by_mindspore, version=version
        )
    notes = list_notes(plan, graphs, writer, context, run.iterations, numbers, judged)
    return Preview(
        surface=target.surface,
        version=version or context.version,
        kind=plan.kind,
        graph=", ".join(graph.name for graph in graphs),
        operators=sum(len(block.ops) for g in graphs for block in (g, *g.subgraphs)),
        selection=found,
        iterations=tuple(numbers),
        overhead=Overhead("unknown", closed) if closed else cost,
        inexact_because=tuple(
            why_inexact(plan, closed, forecast, graphs, assumed=work.is_assumed, judged=judged)
        ),
        notes=(*found.renamed, *notes),
        disk=_disk(plan.path, forecast) if context.here else None,
        forecast=forecast,
        bound=bound,
    )


@dataclass(frozen=True)
class _Run:
    """A run that is foretold: ``graphs`` are those that run, ``models`` what the graph engine has of each network."""

    plan: DumpPlan
    work: Workload
    graphs: Sequence[Graph]
    writer: Writer
    context: Context
    clock: Clock
    tree: TreeTarget
    judged: Judged | None
    models: tuple[Graph | Program, ...]

    @cached_property
    def iterations(self) -> list[int]:
        """Numbers of all runs in their order."""
        return [turn.iteration for turn in self.work.turns(self.plan)]

    @cached_property
    def dumped(self) -> list[int]:
        """The iterations that run and dump."""
        plan, context = self.plan, self.context
        dumped = dumped_iterations(plan, len(self.iterations), context.device)
        left_out = plan.ranks is not None and context.rank not in plan.ranks
        if left_out or only_compiles(self.writer.surface, context):
            return []
        return sorted({*self.iterations}.intersection(dumped))

    def tell(self, plan: DumpPlan, iterations: Sequence[int]) -> Forecast:
        """Return the forecast of a plan in some iterations."""
        clock = replace(self.clock)
        if not self.writer.is_simulated or only_compiles(self.writer.surface, self.context):
            return Forecast()
        wanted = {*iterations}
        told = [turn for turn in self.work.turns(plan) if turn.iteration in wanted]
        running = [self.work.ids[turn.network] for turn in told]
        numbers = [turn.iteration for turn in told]
        if self.writer.by_mindspore:
            check_net_name(plan.net_name)
            return foretell(self.graphs, plan, numbers, self.tree, clock, running)
        surface, steps = self.writer.surface, len(self.iterations)
        engine = ge_target(surface, self.judged, self.plan, self.models, steps, self.context)
        engine = engine._replace(version=self.tree.version)
        graphs = [graph_that_runs(one) for one in self.models]
        return foretell(graphs, plan, numbers, engine, clock, running)


def _writer_of(surface: str, graphs: Sequence[Graph]) -> Writer:
    """Return who writes the tree; raises GraphError if nobody does, or not of such graphs."""
    if not graphs:
        raise GraphError("forecast/preview-graph")
    writer = WRITERS.get(surface)
    if writer is None:
        raise GraphError("core/choice", subject="surface", known=list(WRITERS), got=surface)
    if writer.by_mindspore and graphs[0].dialect == "ge":
        raise GraphError("forecast/preview-ge", surface=surface)
    return writer


def _disk(path: str, forecast: Forecast) -> Disk | None:
    """Space at the nearest folder that exists; ``None`` if it cannot be told."""
    place = Path(path or ".").absolute()
    for folder in (place, *place.parents):
        try:
            return Disk(str(folder), shutil.disk_usage(folder).free, totals(forecast)[1])
        except (OSError, ValueError):
            continue
    return None
