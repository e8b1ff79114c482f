"""The form of torchair: what a script sets on a ``CompilerConfig``, as one tree of settings.

The vendor's form is a script; ``read`` and ``write`` go between the two. Rules of the values are
those of `Ascend/torchair`_ ``configs/dump_config.py`` and ``configs/_option_base.py``.

.. _Ascend/torchair: https://gitcode.com/Ascend/torchair
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator

from workbench.config.setting import Section, Setting

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


def _fits(pattern: re.Pattern[str], text: str) -> str:
    if not pattern.match(text):
        raise ValueError(text)
    return text


def _folder(text: str) -> str:
    if not text or "\0" in text:
        raise ValueError(text)
    return text


def _json_file(path: str | None) -> str | None:
    if path is not None and (not path.endswith(".json") or "\0" in path):
        raise ValueError(path)
    return path


Truth = Annotated[bool, BeforeValidator(_truth)]
Steps = Annotated[str, AfterValidator(lambda text: _fits(STEP_TEXT, text))]
Layers = Annotated[str, AfterValidator(lambda text: _fits(LAYER_TEXT, text))]
Folder = Annotated[str, AfterValidator(_folder)]
JsonFile = Annotated[str | None, AfterValidator(_json_file)]


class DumpConfig(Section):
    """``config.dump_config``: any other attribute raises ValueError."""

    unknown = "error"

    enable_dump: Annotated[
        Truth,
        Setting("True or False", "Dump tensors of the compiled graph.", bad="True", assumed=True),
    ] = False
    dump_path: Annotated[
        Folder,
        Setting(
            "an existing folder",
            "Folder of the dump, absolute or relative to the start folder.",
            bad="",
            widget="path",
        ),
    ] = "./"
    dump_mode: Annotated[
        Literal["input", "output", "all"],
        Setting("'input', 'output' or 'all'", "Tensors to dump of each operator.", bad="both"),
    ] = "all"
    quant_dumpable: Annotated[
        Truth,
        Setting(
            "True or False",
            "Keep tensors before quantization, which compilation may otherwise remove.",
            bad="False",
        ),
    ] = False
    dump_step: Annotated[
        Steps,
        Setting(
            "iterations like '0|2-5'",
            "Iterations to dump, counted from 0. Empty = all.",
            bad="1,2",
            widget="iterations",
        ),
    ] = ""
    dump_layer: Annotated[
        Layers,
        Setting(
            r"names of letters, digits and _ \" / \ . with spaces between them",
            "Operators to dump, by their names in the compiled graph. Empty = all.",
            bad="conv-1",
            widget="names",
        ),
    ] = ""
    dump_data: Annotated[
        Literal["tensor", "stats"],
        Setting(
            "'tensor' or 'stats'",
            "Full tensors, or their statistics as CSV.",
            bad="statistic",
            since=DUMP_DATA_SINCE,
        ),
    ] = "tensor"
    dump_config_path: Annotated[
        JsonFile,
        Setting(
            "None or an existing file whose name ends in .json",
            "JSON file of AscendCL, for model, overflow and watch dumps.",
            bad="dump.txt",
            since=DUMP_DATA_SINCE,
            widget="file",
        ),
    ] = None
    data_dump_stage: Annotated[
        Literal["original", "optimized"],
        Setting(
            "'original' or 'optimized'",
            "Dump the graph before or after the passes of torchair (capture modes).",
            bad="Original",
            since=CAPTURE_DUMP_SINCE,
        ),
    ] = "optimized"


class Environment(Section):
    """Environment variables that the script sets and that decide about dumps and graph files."""

    unknown = "hint"

    DUMP_GE_GRAPH: Annotated[
        str,
        Setting(
            "text", "Write graph files: 1 = all, 2 = without weights, 3 = structure only.", bad=3
        ),
    ] = ""
    DUMP_GRAPH_LEVEL: Annotated[
        str,
        Setting("text", "Stages to write: 1 = all, 2 = usual ones, 3 = last, 4 = first.", bad=3),
    ] = ""
    DUMP_GRAPH_PATH: Annotated[
        str, Setting("text", "Folder of the graph files.", bad=None, widget="path")
    ] = ""
    ASCEND_WORK_PATH: Annotated[
        str, Setting("text", "Folder for files that CANN writes by itself.", bad=0, widget="path")
    ] = ""
    NPU_COLLECT_PATH: Annotated[
        str,
        Setting(
            "text", "Folder of fault records; cannot be combined with a dump.", bad=0, widget="path"
        ),
    ] = ""


class Torchair(Section):
    """What a script sets on one ``CompilerConfig``."""

    unknown = "error"

    mode: Annotated[
        Literal["max-autotune", "reduce-overhead", "npugraph_ex"],
        Setting(
            "'max-autotune', 'reduce-overhead' or 'npugraph_ex'",
            "How a graph runs: compiled by GE, or captured operator by operator.",
            bad="default",
            source="Ascend/torchair configs/compiler_config.py",
        ),
    ] = "max-autotune"
    dump_config: DumpConfig = DumpConfig()
    options: Annotated[
        dict[str, Any],
        Setting(
            "an object of values by dotted name",
            "Other attributes of the CompilerConfig: kept, not checked.",
            bad=[],
        ),
    ] = {}  # noqa: RUF012  (frozen, never changed)
    environment: Environment = Environment()


def value_code(key: str, value: Any) -> str:
    """Return the exception that assigning a value which does not fit raises."""
    unpathlike = isinstance(value, list | tuple | dict | float)
    if key in Environment.model_fields:
        return "TypeError"
    if key == "dump_path":
        return "TypeError" if unpathlike else "FileNotFoundError"
    if key == "dump_config_path" and value not in (None, ""):
        return "TypeError" if unpathlike else "FileNotFoundError"
    if key in ("dump_step", "dump_layer"):
        return "ValueError" if isinstance(value, str) else "TypeError"
    return "ValueError"
