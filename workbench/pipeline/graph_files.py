"""Which graph files a simulated run of the graph engine writes: by the form, and by the environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.writers import WRITERS
from workbench.dump.write.targets import GraphFiles
from workbench.graph_files.ge.stages import stage_files, stage_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.config.config import Config
    from workbench.config.context import Context
    from workbench.core.plan import DumpPlan
    from workbench.graph.graph import Graph

PID = 4242
"""Number of the simulated process, which names folders of graph files."""

_ENABLE = {"data": "ge.exec.enableDump", "overflow": "ge.exec.enableDumpDebug"}


def graph_files(
    surface: str,
    config: Config,
    plan: DumpPlan,
    context: Context,
    compiled: Mapping[str, Graph],
) -> GraphFiles | None:
    """Return the files of every graph, ``None`` if there are none.

    ``compiled`` are the network's graphs by stage. Variables that a form sets count before those of
    the context. AscendCL runs models that were compiled before, by a process of the same environment.
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
    folder = stage_folder(env, PID, context.device)
    return GraphFiles(stages, folder, _options(plan, asked=asked), compiled)


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
