"""``data_dump.json`` of MindSpore: every setting, once. Five surfaces read the same form.

Facts: MindSpore ``dump_json_parser.cc`` at r2.7 and after it. Defaults are the vendor's; a required
setting defaults to a value that dumps everything, so an empty form is a useful one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from workbench.config.mindspore.numbers import Cut, cut
from workbench.config.setting import Form, Section, Setting, always, never
from workbench.core.plan import CATEGORIES

Target = Literal["o0o1", "o2", "cpu", "gpu", "ge"]

COMMON, E2E = "common_dump_settings", "e2e_dump_settings"
HASHES = ("hash", "hash:sha1", "hash:md5")
"""Statistic categories that only releases behind 2.7.0 know."""

_UNSIGNED = "an unsigned integer"
_BETWEEN = (
    "MindSpore tutorial: not in that of 2.0, in that of 2.3.1 or 2.5; the release is not verified"
)
_LATE = "MindSpore tutorial before 2.6, absent from a parser of 2024; the release is not verified"


def part(form: Form, name: str) -> Form:
    """Return a section of a decoded form; an empty one if it is missing or no object."""
    value = form.get(name)
    return value if isinstance(value, Mapping) else {}


def _samples(form: Form) -> bool:
    return cut(part(form, E2E).get("sample_mode")) == 1


def _lacks_e2e(form: Form) -> bool:
    return E2E not in form


def _fails(form: Form) -> bool:
    """Whether only the operator that fails is asked for."""
    return cut(part(form, COMMON).get("op_debug_mode")) == 4


def _reads_saved(form: Form) -> bool:
    """MindSpore replaces any text by 'tensor' before it looks, if the failing operator is wanted."""
    replaced = _fails(form) and isinstance(part(form, COMMON).get("saved_data"), str)
    return not replaced


def _reads_saved_on_ascend(form: Form) -> bool:
    return _lacks_e2e(form) or _reads_saved(form)


def _has_statistics(form: Form) -> bool:
    wanted = part(form, COMMON).get("saved_data") in ("statistic", "full")
    return wanted and (_lacks_e2e(form) or not _fails(form))


_SAVED = Literal["tensor", "statistic", "full"]
_SAVED_WORDS = ("'tensor', 'statistic' or 'full'", "Tensors, their statistics, or both.")
_MODE = Literal[0, 1, 2, 3, 4]
_MODE_WORDS = (
    "0, 3 or 4",
    "0 normal · 3 overflow only · 4 on exception",
)
_FORMAT = Literal["bin", "npy"]
_FORMAT_WORDS = ("'bin' or 'npy'", "File type of O2 dumps.")
_CATEGORY_WORDS = (f"a list of {', '.join(CATEGORIES)}", "Columns of statistics, in this order.")


class Common(Section):
    """``common_dump_settings`` on Ascend."""

    op_debug_mode: Annotated[_MODE, Cut(), Setting(*_MODE_WORDS, bad=5, required=_lacks_e2e)] = 0
    dump_mode: Annotated[
        Literal[0, 1, 2],
        Cut(),
        Setting(
            "0, 1 or 2",
            "0 all operators · 1 those in kernels · 2 those marked with set_dump",
            bad=3,
            required=always,
        ),
    ] = 0
    path: Annotated[
        str,
        Setting(
            "an absolute path of letters, digits, '-', '_' and '/'",
            "Folder of the dump, created if missing. Empty = debug_dump in $MS_DIAGNOSTIC_DATA_PATH.",
            bad=7,
            widget="path",
        ),
    ] = ""
    net_name: Annotated[
        str,
        Field(pattern=r"^[A-Za-z0-9_-]+$"),
        Setting(
            "letters, digits, '-' and '_'",
            "Name of the network, a folder of the dump.",
            bad="My Net",
            required=always,
        ),
    ] = "Net"
    iteration: Annotated[
        str,
        Field(pattern=r"^(all|[0-9|-]+)$"),
        Setting(
            "'all' or numbers and ranges like '0|5-8' without blanks",
            "Iterations to dump, counted from 0.",
            bad="0 | 5",
            required=always,
            widget="iterations",
        ),
    ] = "all"
    saved_data: Annotated[
        _SAVED, Setting(*_SAVED_WORDS, bad="all", read=_reads_saved_on_ascend)
    ] = "tensor"
    input_output: Annotated[
        Literal[0, 1, 2],
        Cut(),
        Setting("0, 1 or 2", "0 inputs and outputs · 1 inputs · 2 outputs", bad=3, required=always),
    ] = 0
    kernels: Annotated[
        tuple[Any, ...],
        Setting(
            "a list of names, types or 'name-regex(…)'",
            "Operators to dump (dump_mode 1). Empty = all.",
            bad="Conv2D",
            required=always,
            widget="names",
        ),
    ] = ()
    support_device: Annotated[
        tuple[int | float | bool, ...],
        Setting(
            "a list of numbers",
            "Devices that dump.",
            bad=["0"],
            required=always,
            widget="list",
        ),
    ] = (0, 1, 2, 3, 4, 5, 6, 7)
    statistic_category: Annotated[
        tuple[str, ...],
        Setting(*_CATEGORY_WORDS, bad=[1], read=_has_statistics, since="2.3.1", widget="list"),
    ] = ("max", "min", "l2norm")
    file_format: Annotated[_FORMAT, Setting(*_FORMAT_WORDS, bad="txt", read=_lacks_e2e)] = "bin"
    overflow_number: Annotated[
        int,
        Cut(),
        Setting(
            _UNSIGNED,
            "Maximum number of overflows to dump (op_debug_mode 3). 0 = no limit.",
            bad=-1,
            since="2.3",
            source=_BETWEEN,
        ),
    ] = 0
    initial_iteration: Annotated[
        int, Cut(), Setting(_UNSIGNED, "Number of the first iteration.", bad=-1, since="2.6")
    ] = 0


class HostCommon(Common):
    """``common_dump_settings`` on CPU and GPU, which always dump kernel by kernel."""

    op_debug_mode: Annotated[_MODE, Cut(), Setting(*_MODE_WORDS, bad=5)] = 0
    saved_data: Annotated[_SAVED, Setting(*_SAVED_WORDS, bad="all", read=_reads_saved)] = "tensor"
    file_format: Annotated[_FORMAT, Setting(*_FORMAT_WORDS, bad="txt", read=never)] = "bin"


class CpuCommon(HostCommon):
    """``common_dump_settings`` on a CPU, which knows no statistics."""

    statistic_category: Annotated[
        tuple[str, ...],
        Setting(*_CATEGORY_WORDS, bad=[1], read=never, since="2.3.1", widget="list"),
    ] = ("max", "min", "l2norm")


class E2e(Section):
    """``e2e_dump_settings``; its presence makes Ascend dump kernel by kernel, whatever is in it."""

    lenient: ClassVar[bool] = True

    enable: Annotated[
        bool, Setting("true or false", "Launch operators one after another.", bad="true")
    ] = False
    trans_flag: Annotated[
        bool, Setting("true or false", "Convert to host format (e.g. NCHW).", bad=1)
    ] = True
    stat_calc_mode: Annotated[
        Literal["host", "device"],
        Setting(
            "'host' or 'device'",
            "Where statistics are computed. Device supports max, min, avg, l2norm.",
            bad="npu",
            since="2.3",
            source=_BETWEEN,
        ),
    ] = "host"
    device_stat_precision_mode: Annotated[
        Literal["high", "low"],
        Setting(
            "'high' or 'low'",
            "Precision of sums on the device: high = float32, low = dtype of the tensor (may overflow).",
            bad="mid",
            since="2.5",
            source=_LATE,
        ),
    ] = "high"
    sample_mode: Annotated[
        Literal[0, 1],
        Cut(),
        Setting(
            "0 or 1",
            "1 = dump only the first sample_num elements of a tensor.",
            bad=2,
            since="2.3",
            source=_BETWEEN,
        ),
    ] = 0
    sample_num: Annotated[
        int,
        Field(ge=1),
        Cut(),
        Setting(
            "an integer of at least 1",
            "Number of elements (sample_mode 1).",
            bad=0,
            read=_samples,
            since="2.3",
            source=_BETWEEN,
        ),
    ] = 100
    save_kernel_args: Annotated[
        bool,
        Setting(
            "true or false",
            "Write the arguments of every operator as JSON.",
            bad=0,
            since="2.3",
            source=_BETWEEN,
        ),
    ] = False


class MindSporeForm(Section):
    """A ``data_dump.json`` on O0/O1; the other surfaces differ in their ``target``."""

    target: ClassVar[Target] = "o0o1"

    common_dump_settings: Common = Common()
    e2e_dump_settings: E2e | None = None


class O2Form(MindSporeForm):
    """The form of a graph compiled whole."""

    target: ClassVar[Target] = "o2"


class GeForm(MindSporeForm):
    """The form of a dump by the graph engine."""

    target: ClassVar[Target] = "ge"


class CpuForm(MindSporeForm):
    """The form on a CPU."""

    target: ClassVar[Target] = "cpu"

    common_dump_settings: CpuCommon = CpuCommon()


class GpuForm(MindSporeForm):
    """The form on a GPU."""

    target: ClassVar[Target] = "gpu"

    common_dump_settings: HostCommon = HostCommon()
