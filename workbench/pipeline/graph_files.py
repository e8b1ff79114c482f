"""Which graph files a simulated run of the graph engine writes: by the form, and by the environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.dump.ge_graphs import GraphFiles
from workbench.ir.ge_stages import stage_files, stage_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.config.config import Config
    from workbench.config.context import Context
    from workbench.core.plan import DumpPlan

BY_OPTIONS = frozenset(("tensorflow", "torchair", "mindspore-ge"))
"""Surfaces that ask for a dump by options of GE's session; it then always writes the graph that runs."""

PID = 4242
"""Number of the simulated process, which names folders of graph files."""

_ENABLE = {"data": "ge.exec.enableDump", "overflow": "ge.exec.enableDumpDebug"}


def graph_files(
    surface: str, config: Config, plan: DumpPlan, context: Context
) -> GraphFiles | None:
    """Return the files of every graph; none where nothing is compiled in the run.

    Variables that a form sets count before those of the context. AscendCL runs models that were
    compiled before.
    """
    if surface == "acl":
        return None
    own = config.data.get("environment", {})
    env = {**context.env, **{name: value for name, value in own.items() if value}}
    asked = surface in BY_OPTIONS and plan.kind in _ENABLE
    stages = stage_files(env, dumps=asked)
    if not stages:
        return None
    return GraphFiles(stages, stage_folder(env, PID, context.device), _options(plan, asked=asked))


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
