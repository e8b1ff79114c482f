"""The form of torchair: what a script sets on a ``CompilerConfig``, as one tree of settings.

The vendor's form is a script; ``script`` and ``write`` go between the two. Rules of the values are
those of `Ascend/torchair`_ ``configs/dump_config.py`` and ``configs/_option_base.py``.

.. _Ascend/torchair: https://gitcode.com/Ascend/torchair
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from workbench.config.form.kinds import RECORD, SWITCH, TEXT, converted, optional, where
from workbench.config.form.settings import Section, choice, section, setting, text

SOURCE = "Ascend/torchair configs/dump_config.py"
GUIDE = "TorchAir guide of Ascend Extension for PyTorch"

CAPTURE_MODES = ("reduce-overhead", "npugraph_ex")
"""Modes that capture operators instead of compiling a graph with GE."""

MODE_SINCE = {"reduce-overhead": "7.0", "npugraph_ex": "26.0"}
CAPTURE_DUMP_SINCE = "26.0"
"""First version that dumps in the capture modes; before, ``enable_dump`` does nothing there."""

DUMP_DATA_SINCE = "7.1"
"""The guide of 7.0 lacks ``dump_data`` and ``dump_config_path``, that of 7.2 has them."""

OTHER_OPTIONS = (
    "debug",
    "aoe_config",
    "export",
    "fusion_config",
    "experimental_config",
    "inference_config",
    "ge_config",
    "aclgraph_config",
    "npugraphex_config",
    "post_grad_custom_pre_pass",
    "post_grad_custom_post_pass",
)
"""Attributes of ``CompilerConfig`` that are not about dumping."""

# The vendor's pattern is ^(((\d+)|(\d+-{0,1}\d+))\|{0,1})*$, which takes exponential time to fail:
# numbers and ranges need no separator, so a number between two hyphens is split if it has two
# digits. This one accepts the same texts in linear time; `$` lets one line end pass in both.
_PIECE = r"\d++(?:-\d\d++(?=-))*+(?:-\d++)?+"
STEP_TEXT = re.compile(rf"(?:{_PIECE}(?:\|{_PIECE})*+\|?+)?+$")
LAYER_TEXT = re.compile(r'[0-9a-zA-Z_" /\\.]*+$')


def _truth(value: Any) -> Any:
    """``value in [False, True]`` is the vendor's test, so numbers equal to one of them pass."""
    return bool(value) if isinstance(value, int | float) and value in (0, 1) else value


def _is_folder(text: str) -> bool:
    return bool(text) and "\0" not in text


def _is_json(text: str) -> bool:
    return text.endswith(".json") and "\0" not in text


_TRUTH = replace(converted(_truth, SWITCH), expected="True or False")


class DumpConfig(Section):
    """``config.dump_config``: any other attribute raises ValueError."""

    unknown = "error"

    enable_dump: bool = setting(
        _TRUTH,
        False,
        "Dump tensors of the compiled graph.",
        expected="True or False",
        misfit="True",
        run_default=True,
    )
    dump_path: str = setting(
        where(_is_folder, TEXT),
        "./",
        "Folder of the dump, absolute or relative to the start folder.",
        expected="an existing folder",
        misfit="",
        widget="path",
    )
    dump_mode: str = choice(
        "all", "input output all", "Tensors to dump of each operator.", misfit="both"
    )
    quant_dumpable: bool = setting(
        _TRUTH,
        False,
        "Keep tensors before quantization, which compilation may otherwise remove.",
        expected="True or False",
        misfit="False",
    )
    dump_step: str = setting(
        where(STEP_TEXT.match, TEXT),
        "",
        "Iterations to dump, counted from 0. Empty = all.",
        expected="iterations like '0|2-5'",
        misfit="1,2",
        widget="iterations",
    )
    dump_layer: str = setting(
        where(LAYER_TEXT.match, TEXT),
        "",
        "Operators to dump, by their names in the compiled graph. Empty = all.",
        expected='names of letters, digits and _ \\" / \\ . with spaces between them',
        misfit="conv-1",
        widget="names",
    )
    dump_data: str = choice(
        "tensor",
        "tensor stats",
        "Full tensors, or their statistics as CSV.",
        misfit="statistic",
        since=DUMP_DATA_SINCE,
    )
    dump_config_path: str | None = setting(
        optional(where(_is_json, TEXT)),
        None,
        "JSON file of AscendCL, for model, overflow and watch dumps.",
        expected="None or an existing file whose name ends in .json",
        misfit="dump.txt",
        since=DUMP_DATA_SINCE,
        widget="file",
    )
    data_dump_stage: str = choice(
        "optimized",
        "original optimized",
        "Dump the graph before or after the passes of torchair (capture modes).",
        misfit="Original",
        since=CAPTURE_DUMP_SINCE,
    )


class Environment(Section):
    """Environment variables that the script sets and that decide about dumps and graph files."""

    unknown = "hint"

    DUMP_GE_GRAPH: str = text(
        "", "Write graph files: 1 = all, 2 = without weights, 3 = structure only.", misfit=3
    )
    DUMP_GRAPH_LEVEL: str = text(
        "", "Stages to write: 1 = all, 2 = usual ones, 3 = last, 4 = first.", misfit=3
    )
    DUMP_GRAPH_PATH: str = text("", "Folder of the graph files.", misfit=None, widget="path")
    ASCEND_WORK_PATH: str = text(
        "", "Folder for files that CANN writes by itself.", misfit=0, widget="path"
    )
    NPU_COLLECT_PATH: str = text(
        "", "Folder of fault records; cannot be combined with a dump.", misfit=0, widget="path"
    )


class Torchair(Section):
    """What a script sets on one ``CompilerConfig``."""

    unknown = "error"

    mode: str = choice(
        "max-autotune",
        "max-autotune reduce-overhead npugraph_ex",
        "How a graph runs: compiled by GE, or captured operator by operator.",
        misfit="default",
        source="Ascend/torchair configs/compiler_config.py",
    )
    dump_config: DumpConfig = section(DumpConfig)
    options: Mapping[str, Any] = setting(
        RECORD,
        {},
        "Other attributes of the CompilerConfig: kept, not checked.",
        expected="an object of values by dotted name",
    )
    environment: Environment = section(Environment)


def value_code(key: str, value: Any) -> str:
    """Return the exception that assigning a value which does not fit raises."""
    unpathlike = isinstance(value, list | tuple | dict | float)
    if key in Environment.fields:
        return "TypeError"
    if key == "dump_path":
        return "TypeError" if unpathlike else "FileNotFoundError"
    if key == "dump_config_path" and value not in (None, ""):
        return "TypeError" if unpathlike else "FileNotFoundError"
    if key in ("dump_step", "dump_layer"):
        return "ValueError" if isinstance(value, str) else "TypeError"
    return "ValueError"
