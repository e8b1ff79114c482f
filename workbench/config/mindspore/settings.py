"""``data_dump.json`` of MindSpore: every setting, once. Five surfaces read the same form.

Facts: MindSpore ``dump_json_parser.cc`` at r2.7 and after it. Defaults are the vendor's; a required
setting defaults to a value that dumps everything, so an empty form is a useful one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

from workbench.config.form.kinds import choice_of, integer_from, uint32, unsigned
from workbench.config.form.settings import (
    Form,
    Section,
    altered,
    always,
    choice,
    items,
    never,
    section,
    setting,
    switch,
    text,
)
from workbench.core.plan import CATEGORIES

Target = Literal["o0o1", "o2", "cpu", "gpu", "ge"]

PARSER = "MindSpore dump_json_parser.cc"
TUTORIAL = "MindSpore tutorial: Using Dump in the Graph Mode"
SEEN = "seen with MindSpore 2.10.0 on a CPU"

ASCEND = "o0o1 o2 ge"
WHOLE_GRAPH = "o2 ge"

COMMON, E2E = "common_dump_settings", "e2e_dump_settings"
HASHES = ("hash", "hash:sha1", "hash:md5")
"""Statistic categories that only releases behind 2.7.0 know."""

_BETWEEN = (
    "MindSpore tutorial: not in that of 2.0, in that of 2.3.1 or 2.5; the release is not verified"
)
_LATE = "MindSpore tutorial before 2.6, absent from a parser of 2024; the release is not verified"


def common_path(key: str) -> str:
    """Path of a setting of the common section."""
    return f"{COMMON}.{key}"


def e2e_path(key: str) -> str:
    """Path of a setting of the second section."""
    return f"{E2E}.{key}"


def part(form: Form, name: str) -> Form:
    """Return a section of a decoded form; an empty one if it is missing or no object."""
    value = form.get(name)
    return value if isinstance(value, Mapping) else {}


def _samples(form: Form) -> bool:
    return uint32(part(form, E2E).get("sample_mode")) == 1


def _lacks_e2e(form: Form) -> bool:
    return E2E not in form


def _fails(form: Form) -> bool:
    """Whether only the operator that fails is asked for."""
    return uint32(part(form, COMMON).get("op_debug_mode")) == 4


def _reads_saved(form: Form) -> bool:
    """MindSpore replaces any text by 'tensor' before it looks, if the failing operator is wanted."""
    replaced = _fails(form) and isinstance(part(form, COMMON).get("saved_data"), str)
    return not replaced


def _reads_saved_on_ascend(form: Form) -> bool:
    return _lacks_e2e(form) or _reads_saved(form)


def _has_statistics(form: Form) -> bool:
    wanted = part(form, COMMON).get("saved_data") in ("statistic", "full")
    return wanted and (_lacks_e2e(form) or not _fails(form))


_UNSIGNED = replace(unsigned(integer_from(0)), expected="an unsigned integer")


class Common(Section):
    """``common_dump_settings`` on Ascend."""

    op_debug_mode: int = setting(
        unsigned(choice_of(0, 1, 2, 3, 4)),
        0,
        "0 normal · 3 overflow only · 4 on exception",
        expected="0, 3 or 4",
        required=_lacks_e2e,
    )
    dump_mode: int = setting(
        unsigned(choice_of(0, 1, 2)),
        0,
        "0 all operators · 1 those in kernels · 2 those marked with set_dump",
        required=always,
    )
    path: str = text(
        "",
        "Folder of the dump, created if missing. Empty = debug_dump in $MS_DIAGNOSTIC_DATA_PATH.",
        expected="an absolute path of letters, digits, '-', '_' and '/'",
        misfit=7,
        widget="path",
    )
    net_name: str = text(
        "Net",
        "Name of the network, a folder of the dump.",
        pattern=r"^[A-Za-z0-9_-]+$",
        expected="letters, digits, '-' and '_'",
        misfit="My Net",
        required=always,
    )
    iteration: str = text(
        "all",
        "Iterations to dump, counted from 0.",
        pattern=r"^(all|[0-9|-]+)$",
        expected="'all' or numbers and ranges like '0|5-8' without blanks",
        misfit="0 | 5",
        required=always,
        widget="iterations",
    )
    saved_data: str = choice(
        "tensor",
        "tensor statistic full",
        "Tensors, their statistics, or both.",
        misfit="all",
        read_when=_reads_saved_on_ascend,
    )
    input_output: int = setting(
        unsigned(choice_of(0, 1, 2)),
        0,
        "0 inputs and outputs · 1 inputs · 2 outputs",
        required=always,
    )
    kernels: tuple[Any, ...] = items(
        "any",
        "Operators to dump (dump_mode 1). Empty = all.",
        expected="a list of names, types or 'name-regex(…)'",
        misfit="Conv2D",
        required=always,
        widget="names",
    )
    support_device: tuple[Any, ...] = items(
        "number",
        "Devices that dump.",
        default=tuple(range(8)),
        expected="a list of numbers",
        misfit=["0"],
        required=always,
    )
    statistic_category: tuple[str, ...] = items(
        "text",
        "Columns of statistics, in this order.",
        default=("max", "min", "l2norm"),
        expected=f"a list of {', '.join(CATEGORIES)}",
        misfit=[1],
        read_when=_has_statistics,
        since="2.3.1",
    )
    file_format: str = choice(
        "bin", "bin npy", "File type of O2 dumps.", misfit="txt", read_when=_lacks_e2e
    )
    overflow_number: int = setting(
        _UNSIGNED,
        0,
        "Maximum number of overflows to dump (op_debug_mode 3). 0 = no limit.",
        since="2.3",
        source=_BETWEEN,
    )
    initial_iteration: int = setting(_UNSIGNED, 0, "Number of the first iteration.", since="2.6")


class HostCommon(Common):
    """``common_dump_settings`` on CPU and GPU, which always dump kernel by kernel."""

    op_debug_mode: int = altered(Common, "op_debug_mode", required=never)
    saved_data: str = altered(Common, "saved_data", read_when=_reads_saved)
    file_format: str = altered(Common, "file_format", read_when=never)


class CpuCommon(HostCommon):
    """``common_dump_settings`` on a CPU, which knows no statistics."""

    statistic_category: tuple[str, ...] = altered(Common, "statistic_category", read_when=never)


class E2e(Section):
    """``e2e_dump_settings``; its presence makes Ascend dump kernel by kernel, whatever is in it."""

    coerced: ClassVar[bool] = True

    enable: bool = switch(False, "Launch operators one after another.")
    trans_flag: bool = switch(True, "Convert to host format (e.g. NCHW).", misfit=1)
    stat_calc_mode: str = choice(
        "host",
        "host device",
        "Where statistics are computed. Device supports max, min, avg, l2norm.",
        misfit="npu",
        since="2.3",
        source=_BETWEEN,
    )
    device_stat_precision_mode: str = choice(
        "high",
        "high low",
        "Precision of sums on the device: high = float32, low = dtype of the tensor (may overflow).",
        misfit="mid",
        since="2.5",
        source=_LATE,
    )
    sample_mode: int = setting(
        unsigned(choice_of(0, 1)),
        0,
        "1 = dump only the first sample_num elements of a tensor.",
        since="2.3",
        source=_BETWEEN,
    )
    sample_num: int = setting(
        unsigned(integer_from(1)),
        100,
        "Number of elements (sample_mode 1).",
        read_when=_samples,
        since="2.3",
        source=_BETWEEN,
    )
    save_kernel_args: bool = switch(
        False,
        "Write the arguments of every operator as JSON.",
        misfit=0,
        since="2.3",
        source=_BETWEEN,
    )


class MindSporeForm(Section):
    """A ``data_dump.json`` on O0/O1; the other surfaces differ in their ``target``."""

    target: ClassVar[Target] = "o0o1"

    common_dump_settings: Common = section(Common)
    e2e_dump_settings: E2e | None = section(E2e, optional=True)


class O2Form(MindSporeForm):
    """The form of a graph compiled whole."""

    target: ClassVar[Target] = "o2"


class GeForm(MindSporeForm):
    """The form of a dump by the graph engine."""

    target: ClassVar[Target] = "ge"


class CpuForm(MindSporeForm):
    """The form on a CPU."""

    target: ClassVar[Target] = "cpu"

    common_dump_settings: CpuCommon = section(CpuCommon)


class GpuForm(MindSporeForm):
    """The form on a GPU."""

    target: ClassVar[Target] = "gpu"

    common_dump_settings: HostCommon = section(HostCommon)
