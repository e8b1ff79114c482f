"""``data_dump.json`` of MindSpore: every setting, once. Five surfaces read the same form.

Facts: MindSpore ``dump_json_parser.cc`` at r2.7. Defaults are the vendor's; a required setting
defaults to a value that dumps everything, so an empty form is a useful one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from workbench.config.setting import Form, Section, Setting, always
from workbench.core.plan import CATEGORIES

Unsigned = Annotated[int, Field(ge=0, le=2**64 - 1)]
Target = Literal["o0o1", "o2", "cpu", "gpu", "ge"]

COMMON, E2E = "common_dump_settings", "e2e_dump_settings"


def part(form: Form, name: str) -> Form:
    """Return a section of a decoded form; an empty one if it is missing or no object."""
    value = form.get(name)
    return value if isinstance(value, Mapping) else {}


def _samples(form: Form) -> bool:
    return part(form, E2E).get("sample_mode") == 1


def _has_statistics(form: Form) -> bool:
    return part(form, COMMON).get("saved_data") in ("statistic", "full")


def _lacks_e2e(form: Form) -> bool:
    return E2E not in form


class Common(Section):
    """``common_dump_settings``."""

    op_debug_mode: Annotated[
        Unsigned,
        Field(le=4),
        Setting(
            "0, 3 or 4",
            "0 dumps as asked, 3 operators that overflow, 4 the operator that fails",
            bad=5,
            required=_lacks_e2e,
        ),
    ] = 0
    dump_mode: Annotated[
        Unsigned,
        Field(le=2),
        Setting(
            "0, 1 or 2",
            "0 dumps every operator, 1 those in kernels, 2 those marked with set_dump",
            bad=3,
            required=always,
        ),
    ] = 0
    path: Annotated[
        str,
        Setting(
            "an absolute path of letters, digits, '-', '_' and '/'",
            "folder of the dump; empty: debug_dump in $MS_DIAGNOSTIC_DATA_PATH",
            bad=7,
            widget="path",
        ),
    ] = ""
    net_name: Annotated[
        str,
        Field(pattern=r"^[A-Za-z0-9_-]+$"),
        Setting(
            "letters, digits, '-' and '_'",
            "name of the network, a folder of the dump",
            bad="My Net",
            required=always,
        ),
    ] = "Net"
    iteration: Annotated[
        str,
        Field(pattern=r"^(all|[0-9|-]+)$"),
        Setting(
            "'all' or numbers and ranges like '0|5-8' without blanks",
            "iterations to dump, the first is 0",
            bad="0 | 5",
            required=always,
            widget="iterations",
        ),
    ] = "all"
    input_output: Annotated[
        Unsigned,
        Field(le=2),
        Setting(
            "0, 1 or 2", "0 dumps inputs and outputs, 1 inputs, 2 outputs", bad=3, required=always
        ),
    ] = 0
    kernels: Annotated[
        tuple[Any, ...],
        Setting(
            "a list of names, types or 'name-regex(…)'",
            "operators to dump, if dump_mode is 1",
            bad="Conv2D",
            required=always,
            widget="names",
        ),
    ] = ()
    support_device: Annotated[
        tuple[int | float, ...],
        Setting(
            "a list of numbers", "devices that dump", bad=["0"], required=always, widget="list"
        ),
    ] = (0, 1, 2, 3, 4, 5, 6, 7)
    saved_data: Annotated[
        Literal["tensor", "statistic", "full"],
        Setting("'tensor', 'statistic' or 'full'", "tensors, their statistics, or both", bad="all"),
    ] = "tensor"
    statistic_category: Annotated[
        tuple[str, ...],
        Setting(
            f"a list of {list(CATEGORIES)}",
            "columns of statistics",
            bad=[1],
            read=_has_statistics,
            widget="list",
        ),
    ] = ("max", "min", "l2norm")
    file_format: Annotated[
        Literal["bin", "npy"],
        Setting("'bin' or 'npy'", "file type of O2 dumps", bad="txt", read=_lacks_e2e),
    ] = "bin"
    overflow_number: Annotated[
        Unsigned,
        Setting("an unsigned integer", "dumps at most, 0: no limit (op_debug_mode 3)", bad=-1),
    ] = 0
    initial_iteration: Annotated[
        Unsigned, Setting("an unsigned integer", "number of the first iteration", bad=-1)
    ] = 0


class E2e(Section):
    """``e2e_dump_settings``; its presence makes Ascend dump in the O0/O1 way."""

    enable: Annotated[
        bool, Setting("true or false", "launch operators one after another", bad="true")
    ] = False
    trans_flag: Annotated[bool, Setting("true or false", "dump in host format", bad=1)] = True
    stat_calc_mode: Annotated[
        Literal["host", "device"],
        Setting("'host' or 'device'", "who computes statistics", bad="npu"),
    ] = "host"
    device_stat_precision_mode: Annotated[
        Literal["high", "low"],
        Setting("'high' or 'low'", "precision of statistics on the device", bad="mid"),
    ] = "high"
    sample_mode: Annotated[
        Unsigned,
        Field(le=1),
        Setting("0 or 1", "1 dumps only the first elements of a tensor", bad=2),
    ] = 0
    sample_num: Annotated[
        Unsigned,
        Field(ge=1),
        Setting(
            "an integer of at least 1", "elements kept, if sample_mode is 1", bad=0, read=_samples
        ),
    ] = 100
    save_kernel_args: Annotated[
        bool, Setting("true or false", "write the arguments of every operator as JSON", bad=0)
    ] = False


class MindSporeForm(Section):
    """A ``data_dump.json`` on O0/O1; the other surfaces differ in their ``target``."""

    target: ClassVar[Target] = "o0o1"

    common_dump_settings: Common = Common()
    e2e_dump_settings: E2e | None = None


class O2Form(MindSporeForm):
    """The form of a graph compiled whole."""

    target: ClassVar[Target] = "o2"


class CpuForm(MindSporeForm):
    """The form on a CPU."""

    target: ClassVar[Target] = "cpu"


class GpuForm(MindSporeForm):
    """The form on a GPU."""

    target: ClassVar[Target] = "gpu"


class GeForm(MindSporeForm):
    """The form of a dump by the graph engine."""

    target: ClassVar[Target] = "ge"
