"""Which graph files a run of the graph engine writes, as its environment asks for them.

GE hands its graph to the dumper after every stage of compiling; ``DUMP_GE_GRAPH`` says how much of it is
written, ``DUMP_GRAPH_LEVEL`` after which stages, ``DUMP_GRAPH_FORMAT`` in which forms. While data are
dumped by options of the session, the last stage is written whole whatever they say. Sources: GE's
``graph_utils.cc`` and ``ge_dump_graph_whitelist.h``, CANN's reference of environment variables.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.graph_files.ge.files import BUILD, ge_graph_directory
from workbench.graph_files.ge.write_text import LEVELS

if TYPE_CHECKING:
    from collections.abc import Mapping

FIRST = "PreRunBegin"
"""Stage whose graph is the one that the framework handed over."""


class Stage(NamedTuple):
    """A stage of compiling; ``listed`` if it is in GE's white list.

    ``laid`` says that the formats of the device are chosen by then.
    """

    name: str
    listed: bool = False
    laid: bool = True


_EARLY: dict[str, bool] = {
    FIRST: True,
    "PreRunAfterInitPreparation": False,
    "PreRunAfterHandleSummaryOp": False,
    "PreRunAfterNormalizeGraph": True,
    "PreRunAfterOptimizeGraphInit": False,
    "PreRunAfterOptimizeGraphPrepare": False,
    "AfterInfershape": True,
    "PrepareAfterInferFormatAndShape": False,
    "PreRunAfterPrepare": True,
    "OptimizeOriginalGraph_FeGraphFusionAfter": False,
    "PreRunAfterOptimizeOriginalGraph": True,
    "OptimizeOriginalGraph_FeOpDtypeJudgeAfter": False,
    "PreRunAfterRefineRunningPrecision": False,
    "AfterPrecisionRefine": False,
}
_LATE: dict[str, bool] = {
    "OptimizeOriginalGraph_FeOpFormatJudgeAfter": False,
    "OptimizeOriginalGraph_FeDistHeavyFormatAfter": False,
    "OptimizeOriginalGraph_FeInsertTransNodeAfter": False,
    "PreRunAfterRefineRunningFormat": False,
    "OptimizeStage1_1": False,
    "OptimizeStage1_2": False,
    "PreRunAfterOptimize1": False,
    "PreRunAfterOptimizeAfterStage1": True,
    "PreRunAfterInferShape2": False,
    "mergedComputeGraph": False,
    "PreRunAfterOptimizeSubgraph": True,
    "PreRunAfterOptimizeWholeGraph": False,
    "PreRunAfterOptimize2": False,
    "PreRunAfterOptimizeGraphBeforeBuild": True,
    "AfterAssignResource": False,
    BUILD: True,
    "PreRunAfterBuild": False,
}
STAGES: tuple[Stage, ...] = (
    *(Stage(name, listed, laid=False) for name, listed in _EARLY.items()),
    *(Stage(name, listed) for name, listed in _LATE.items()),
)
"""Stages that every graph with fixed shapes passes, in their order; those of its parts are left out."""

_FORMATS = "ge_proto|onnx"
_FOLDERS = ("NPU_COLLECT_PATH", "DUMP_GRAPH_PATH", "ASCEND_WORK_PATH")


class StageFile(NamedTuple):
    """A graph file of a stage: how much it holds (`ge_text_writer.LEVELS`), and the option maps."""

    stage: Stage
    level: int
    options: bool


def stage_files(env: Mapping[str, str], *, dumps: bool) -> tuple[StageFile, ...]:
    """Return the files of one graph in their order.

    Parameters
    ----------
    env : mapping of str to str
        Environment of the process that compiles.
    dumps : bool
        Whether data are dumped by options of the session.
    """
    level = _level(env)
    options = level in (1, 2)
    files = []
    for stage in STAGES:
        always = dumps and stage.name == BUILD
        if always or (level and _is_asked_for(stage, env.get("DUMP_GRAPH_LEVEL"))):
            files.append(StageFile(stage, 1 if always else level, options))
    return tuple(files)


def _level(env: Mapping[str, str]) -> int:
    """Value of ``DUMP_GE_GRAPH``; 0 if no graph is written in GE's own form."""
    formats = (env.get("DUMP_GRAPH_FORMAT") or _FORMATS).lower()
    number = re.match(r"\s*\+?([0-9]{1,9})", env.get("DUMP_GE_GRAPH", ""))
    if "ge_proto" not in formats or number is None:
        return 0
    return int(number[1]) if int(number[1]) in LEVELS else 0


def _is_asked_for(stage: Stage, wanted: str | None) -> bool:
    """Whether ``DUMP_GRAPH_LEVEL`` names a stage: by a number, or by parts of its name."""
    if wanted is not None and not re.fullmatch("[0-9]*", wanted):
        return any(part in stage.name for part in wanted.split("|") if part)
    return {
        "1": True,
        "2": stage.listed,
        "3": stage.name == BUILD,
        "4": stage.name == FIRST,
    }.get("2" if wanted is None else wanted.lstrip("0"), False)


def stage_folder(env: Mapping[str, str], pid: int, device: int, *, old: bool = False) -> str:
    """Folder of the graph files below the one that the environment names; empty if it is that one.

    ``old`` is the guides' name of it, ``7_2``.

    >>> stage_folder({"DUMP_GRAPH_PATH": "/home/graphs"}, 7, 2), stage_folder({}, 7, 2)
    ('pid_7_deviceid_2', '')
    """
    here = {name: "" for name in _FOLDERS if name in env}
    found = ge_graph_directory(here, pid, device).strip("./")
    return found.replace(f"pid_{pid}_deviceid_{device}", f"{pid}_{device}") if old else found
