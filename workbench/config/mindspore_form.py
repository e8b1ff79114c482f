"""``data_dump.json`` of MindSpore for O0/O1 on Ascend and for the CPU: every setting, once.

Facts: MindSpore ``dump_json_parser.cc`` at r2.7. Defaults are the vendor's; a required setting
defaults to a value that dumps everything, so an empty form is a useful one.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from workbench.config.setting import Form, Section, Setting, always

Unsigned = Annotated[int, Field(ge=0, le=2**64 - 1)]
Number = int | float

CATEGORIES = (
    "max",
    "min",
    "avg",
    "count",
    "negative zero count",
    "positive zero count",
    "nan count",
    "negative inf count",
    "positive inf count",
    "zero count",
    "md5",
    "l2norm",
)
"""Statistic categories by MindSpore's names."""


def section(form: Form, name: str) -> Form:
    """Return a section of a form; an empty one if it is missing or no object."""
    value = form.get(name)
    return value if isinstance(value, dict) else {}


def _samples(form: Form) -> bool:
    return section(form, "e2e_dump_settings").get("sample_mode") == 1


def _has_statistics(form: Form) -> bool:
    return section(form, "common_dump_settings").get("saved_data") in ("statistic", "full")


def _lacks_e2e(form: Form) -> bool:
    return "e2e_dump_settings" not in form


class Common(Section):
    """``common_dump_settings``."""

    op_debug_mode: Annotated[
        Unsigned,
        Field(le=4),
        Setting(
            "0, 3 or 4",
            "0 dumps as asked, 3 looks for overflow, 4 dumps what fails",
            required=_lacks_e2e,
        ),
    ] = 0
    dump_mode: Annotated[
        Unsigned,
        Field(le=2),
        Setting(
            "0, 1 or 2",
            "0 dumps every operator, 1 those in kernels, 2 those marked with set_dump",
            required=always,
        ),
    ] = 0
    path: Annotated[
        str,
        Setting(
            "an absolute path of letters, digits, '-', '_' and '/'",
            "folder of the dump; empty: debug_dump in $MS_DIAGNOSTIC_DATA_PATH",
        ),
    ] = ""
    net_name: Annotated[
        str,
        Field(pattern=r"^[A-Za-z0-9_-]+$"),
        Setting(
            "letters, digits, '-' and '_'",
            "name of the network, a folder of the dump",
            required=always,
        ),
    ] = "Net"
    iteration: Annotated[
        str,
        Field(pattern=r"^(all|[0-9|-]+)$"),
        Setting(
            "'all' or numbers and ranges like '0|5-8' without blanks",
            "iterations to dump, the first is 0",
            required=always,
        ),
    ] = "all"
    file_format: Annotated[
        Literal["bin", "npy"],
        Setting("'bin' or 'npy'", "file type of O2 dumps", read=_lacks_e2e),
    ] = "bin"
    saved_data: Annotated[
        Literal["tensor", "statistic", "full"],
        Setting("'tensor', 'statistic' or 'full'", "tensors, their statistics, or both"),
    ] = "tensor"
    input_output: Annotated[
        Unsigned,
        Field(le=2),
        Setting("0, 1 or 2", "0 dumps inputs and outputs, 1 inputs, 2 outputs", required=always),
    ] = 0
    kernels: Annotated[
        tuple[Any, ...],
        Field(strict=False),
        Setting(
            "a list of names, types or 'name-regex(…)'",
            "operators to dump, if dump_mode is 1",
            required=always,
        ),
    ] = ()
    support_device: Annotated[
        tuple[Number, ...],
        Field(strict=False),
        Setting("a list of numbers", "devices that dump", required=always),
    ] = (0, 1, 2, 3, 4, 5, 6, 7)
    statistic_category: Annotated[
        tuple[str, ...],
        Field(strict=False),
        Setting(f"a list of {list(CATEGORIES)}", "columns of statistics", read=_has_statistics),
    ] = ("max", "min", "l2norm")
    overflow_number: Annotated[
        Unsigned, Setting("an unsigned integer", "dumps at most, 0: no limit (op_debug_mode 3)")
    ] = 0
    initial_iteration: Annotated[
        Unsigned, Setting("an unsigned integer", "number of the first iteration, since 2.6")
    ] = 0


class E2e(Section):
    """``e2e_dump_settings``; its presence makes Ascend dump in the O0/O1 way."""

    enable: Annotated[bool, Setting("true or false", "launch operators one after another")] = False
    trans_flag: Annotated[bool, Setting("true or false", "dump in host format")] = True
    save_kernel_args: Annotated[
        bool, Setting("true or false", "write the arguments of every operator as JSON")
    ] = False
    stat_calc_mode: Annotated[
        Literal["host", "device"], Setting("'host' or 'device'", "who computes statistics")
    ] = "host"
    device_stat_precision_mode: Annotated[
        Literal["high", "low"], Setting("'high' or 'low'", "precision of statistics on the device")
    ] = "high"
    sample_mode: Annotated[
        Unsigned, Field(le=1), Setting("0 or 1", "1 dumps only the first elements of a tensor")
    ] = 0
    sample_num: Annotated[
        Unsigned,
        Field(ge=1),
        Setting("an integer of at least 1", "elements kept, if sample_mode is 1", read=_samples),
    ] = 100


class MindSporeForm(Section):
    """A ``data_dump.json``. Without ``e2e_dump_settings`` Ascend dumps in the O2 way."""

    common_dump_settings: Common = Common()
    e2e_dump_settings: E2e | None = None


DATA_DUMP = MindSporeForm(e2e_dump_settings=E2e(enable=True))
"""A form that dumps every tensor of every iteration."""
