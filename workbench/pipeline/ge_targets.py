"""Whose tree the graph engine writes: device, rank, graph files and AscendCL's forms of a run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from workbench.core.plan import DumpPlan
from workbench.dump.write.exceptions import CHIPS
from workbench.dump.write.targets import Target
from workbench.npu.compile.program import Program
from workbench.npu.profiles import PROFILES
from workbench.pipeline.graph_files import graph_files

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workbench.config.config import Config
    from workbench.config.context import Context
    from workbench.graph.graph import Graph


def ge_target(
    surface: str,
    config: Config | DumpPlan,
    plan: DumpPlan,
    compiled: Graph | Program,
    iterations: int,
    context: Context | None = None,
    profile: str = "",
) -> Target:
    """Say whose tree the graph engine writes.

    ``config`` is what `plan` was made from, ``compiled`` what runs, ``profile`` the kind of device.
    MindSpore O2's files for AscendCL name the folder of the form and not the one that takes its
    place, so that trees are the same wherever they are written.
    """
    from workbench.config import Config, get  # pydantic
    from workbench.config.mindspore.reading import own_rank
    from workbench.config.torchair.code import world

    given = get(surface)
    if isinstance(config, DumpPlan):
        config = Config(given, given.from_plan(config).data)
    context = config.context(context)
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
        stages = compiled.stages if isinstance(compiled, Program) else {}
        graphs = graph_files(surface, config, plan, context, stages)
        target = target._replace(graphs=graphs, beside=True)
    if not target.writer.by_step:
        return target
    names = [op.name for op in (compiled.graph if isinstance(compiled, Program) else compiled).ops]
    return target._replace(form=partial(_acl_form, config, context, names), steps=iterations)


def _acl_form(
    config: Config, context: Context, operators: Sequence[str], step: int, stamp: str
) -> Mapping[str, str]:
    """Files that tell AscendCL what to dump of a step."""
    from workbench.config.mindspore.acl_steps import acl_dump_files

    files = acl_dump_files(config.settings, context, [step], operators, stamp=stamp)
    return {name: text for name, (text,) in files.items()}
