"""Whose tree the graph engine writes: device, rank, graph files and AscendCL's forms of a run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from workbench.core.writers import WRITERS
from workbench.dump.write.exceptions import CHIPS
from workbench.dump.write.targets import GraphFiles, Target
from workbench.graph_files.ge.stages import stage_files, stage_folder
from workbench.npu.compile.program import Program
from workbench.npu.profiles import PROFILES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workbench.config.config import Config
    from workbench.config.context import Context
    from workbench.config.judge import Judged
    from workbench.core.plan import DumpPlan
    from workbench.graph.graph import Graph

PID = 4242
"""Number of the simulated process, which names folders of graph files."""

_ENABLE = {"data": "ge.exec.enableDump", "overflow": "ge.exec.enableDumpDebug"}


def ge_target(
    surface: str,
    judged: Judged | None,
    plan: DumpPlan,
    compiled: Sequence[Graph | Program],
    iterations: int,
    context: Context,
    profile: str = "",
) -> Target:
    """Say whose tree the graph engine writes.

    ``judged`` is what `plan` was made from, if it was, ``compiled`` what runs of every network, ``profile`` the kind of
    device.
    MindSpore O2's files for AscendCL name the folder of the form and not the one that takes its
    place, so that trees are the same wherever they are written.
    """
    from workbench.config import Config, get  # only where a form is given
    from workbench.config.mindspore.reading import own_rank
    from workbench.config.torchair.code import world

    if judged is None:
        given = get(surface)
        judged = Config(given, given.from_plan(plan).data).judge(context)
    context = judged.config.context(context)
    device = context.device
    target = Target(
        surface,
        device=device,
        world=world(context),
        overflow_layout=PROFILES[profile].record if profile in PROFILES else "classic",
        chip=CHIPS.get(profile, 0),
        rank=own_rank(context),
    )
    if plan.devices is not None and device not in plan.devices:
        return target
    if plan.ranks is None or context.rank in plan.ranks:
        programs = [one for one in compiled if isinstance(one, Program)]
        stages = {program.graph.graph_id: program.stages for program in programs}
        graphs = graph_files(surface, judged.config, plan, context, stages)
        target = target._replace(graphs=graphs, beside=True)
    if not target.writer.by_step:
        return target
    names = [op.name for op in graph_that_runs(compiled[0]).ops]
    return target._replace(form=partial(_ascendcl_entry, judged, context, names), steps=iterations)


def graph_that_runs(compiled: Graph | Program) -> Graph:
    """Return the graph that runs of what the graph engine has of a network."""
    return compiled.graph if isinstance(compiled, Program) else compiled


def _ascendcl_entry(
    judged: Judged, context: Context, operators: Sequence[str], step: int, stamp: str
) -> Mapping[str, str]:
    """Files that tell AscendCL what to dump of a step."""
    from workbench.config.mindspore.acl_files import acl_dump_files

    files = acl_dump_files(judged.settings, context, [step], operators, stamp=stamp)
    return {name: text for name, (text,) in files.items()}


def graph_files(
    surface: str,
    config: Config,
    plan: DumpPlan,
    context: Context,
    compiled: Mapping[int, Mapping[str, Graph]],
) -> GraphFiles | None:
    """Return the files of every graph, ``None`` if there are none.

    ``compiled`` are each network's graphs by stage, by the id of the one that runs. Variables that a form sets count
    before those of the context. AscendCL runs models that were compiled before, by a process of the same environment.
    """
    own = config.data.get("environment", {})
    env = {**context.env, **{name: value for name, value in own.items() if value}}
    way = WRITERS[surface].graph_files
    asked = way == "options" and plan.kind in _ENABLE
    stages = stage_files(env, dumps=asked or way == "beside")
    if not stages:
        return None
    if (
        context.number("RANK_SIZE", 1) > 1
    ):  # ranks that share a folder would write over each other's
        env.setdefault("DUMP_GRAPH_PATH", "")
    folder = stage_folder(env, PID, context.device, old=context.guide)
    digits = 5 if context.guide else 8
    return GraphFiles(stages, folder, _options(plan, asked=asked), compiled, digits)


def _options(plan: DumpPlan, *, asked: bool) -> Mapping[str, str]:
    """Options of the session, but for the folder, which is not that of the form."""
    if not asked:
        return {}
    options = {_ENABLE[plan.kind]: "1"}
    if plan.kind == "data":
        (mode,) = plan.io if len(plan.io) == 1 else ("all",)
        options["ge.exec.dumpMode"] = mode
        if str(plan.iterations) != "all":
            options["ge.exec.dumpStep"] = str(plan.iterations)
    return options
