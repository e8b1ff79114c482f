"""Options that several commands have, and how their texts are read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.cli.commands import flag, option, repeated
from workbench.core.errors import WorkbenchError
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workbench.npu.precision.options import CompilerOptions

SURFACE = option("--surface", default="", help="Surface. Default: from the content.")
VERSION = option(
    "--target-version",
    default="",
    metavar="V",
    help="Version of the vendor's software, e.g. 2.6, or guide: what its documents say.",
)
HERE = flag("--here", help="The run is on this machine: check paths, too.")
ENV = repeated(
    "--env",
    metavar="NAME=VALUE",
    help="Environment variable of the run, e.g. RANK_ID=1 (repeatable).",
)
SCHEDULE = option(
    "--schedule",
    default="",
    metavar="N,N,…",
    help="Order of the graphs (0 is the first); replaces --iterations.",
)
JSON = flag("--json", help="Print JSON.")
FUSION = option(
    "--fusion",
    default="",
    metavar="on|off|FILE",
    help="GE fusions: on (default), off or a fusion_switch_file.",
)
GE_OPTIONS = option(
    "--ge-options",
    default="",
    metavar="FILE",
    help="Options of the graph engine's compiler under ATC's names: precision_mode, keep_dtype, customize_dtypes, "
    "modify_mixlist, op_precision_mode, allow_hf32, fusion_switch_file …; one a line, or JSON.",
)
QUANTIZATION = option(
    "--quantization",
    default="",
    metavar="w8a8|w8a16",
    help="Quantize the network to int8 first.",
)
PRECISION_MODE = option("--precision-mode", default="", help="Precision mode, e.g. force_fp16.")
INPUT = repeated(
    "--input",
    "input_",
    metavar="NAME=FILE.npy|FOLDER",
    help="Value of an input (repeatable), or the folder inputs/ of golden data. Default: from the seed.",
)
SHAPE = repeated(
    "--shape",
    metavar="NAME=1,3,48,192",
    help="Shape of an input, or size of an open dimension (repeatable).",
)

MODEL_BY = "its folder, or one of its operators."
"""How a model of a dump is named."""


def variables(items: Sequence[str] | None) -> dict[str, str]:
    """Read the variables of ``--env``; raises WorkbenchError for what is no ``NAME=VALUE``."""
    found = {}
    for item in items or ():
        name, equals, value = item.partition("=")
        if not (name and equals):
            raise WorkbenchError("cli/variable", got=item)
        found[name] = value
    return found


def places_of(text: str) -> list[int] | None:
    """Read ``--schedule``; raises WorkbenchError for what is no list of places."""
    if not text:
        return None
    places = text.split(",")
    if not all(place.isascii() and place.isdecimal() and len(place) < 4 for place in places):
        raise WorkbenchError("cli/schedule", got=text)
    return [int(place) for place in places]


def compiler_options(
    file: str, precision_mode: str, fusion: str, report: Callable[[Message], None]
) -> CompilerOptions:
    """What ``--ge-options`` asks for, or the options beside it; raises WorkbenchError for what both say.

    ``report`` is told of options that change nothing in the simulation.
    """
    from workbench.npu.precision.modes import Precision
    from workbench.npu.precision.options import CompilerOptions, read_compiler_options

    if not file:
        return CompilerOptions(
            Precision(precision_mode) if precision_mode else None, fusion or "on"
        )
    found = read_compiler_options(file)
    own = found.precision or Precision()
    if precision_mode and own.mode:
        raise WorkbenchError("cli/said-twice", option="--precision-mode", file=file)
    if fusion and found.fusion != "on":
        raise WorkbenchError("cli/said-twice", option="--fusion", file=file)
    if found.others:
        report(Message("cli/options-left", file=file, names=found.others))
    asked = replace(own, mode=precision_mode or own.mode)
    return found._replace(precision=asked, fusion=fusion or found.fusion)
