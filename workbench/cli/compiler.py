"""What a command asks of the graph engine's compiler: options of their own, or a file of ATC's."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from workbench.cli.terminal import tell
from workbench.core.errors import WorkbenchError
from workbench.core.words import Message

if TYPE_CHECKING:
    from workbench.npu.precision import Precision

FUSION = Annotated[
    str,
    typer.Option(
        metavar="on|off|FILE", help="GE fusions: on (default), off or a fusion_switch_file."
    ),
]
GE_OPTIONS = Annotated[
    str,
    typer.Option(
        metavar="FILE",
        help="Options of the graph engine's compiler under ATC's names: precision_mode, keep_dtype, customize_dtypes, "
        "modify_mixlist, op_precision_mode, allow_hf32, fusion_switch_file …; one a line, or JSON.",
    ),
]
QUANTIZATION = Annotated[
    str,
    typer.Option(metavar="w8a8|w8a16", help="Quantize the network to int8 first."),
]


class Asked(NamedTuple):
    """What a command asks of the compiler."""

    precision: Precision | str | None
    fusion: str


def compiler_options(file: str, precision_mode: str, fusion: str) -> Asked:
    """What ``--ge-options`` asks for, or the options beside it; raises WorkbenchError for what both say."""
    if not file:
        return Asked(precision_mode or None, fusion or "on")
    from workbench.npu.precision.options import read_compiler_options

    found = read_compiler_options(file)
    if precision_mode and found.precision.mode:
        raise WorkbenchError("cli/said-twice", option="--precision-mode", file=file)
    if fusion and found.fusion != "on":
        raise WorkbenchError("cli/said-twice", option="--fusion", file=file)
    if found.others:
        tell(Message("cli/options-left", file=file, names=found.others), err=True)
    mode = precision_mode or found.precision.mode
    return Asked(replace(found.precision, mode=mode), fusion or found.fusion)
