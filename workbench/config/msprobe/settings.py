"""``config.json`` of msprobe: every setting, once. PyTorch and MindSpore read it, each its own tasks of it.

Facts: msprobe 26.2.0, ``core/dump/common_config.py``, ``pt_config.py`` and ``ms_config.py`` of the frameworks.
Only the section of the task is looked at. Where msprobe asks "if value and …", nothing of any type passes for absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from workbench.config.form.kinds import (
    SWITCH,
    TEXT,
    choice_of,
    either,
    integer_from,
    list_of,
    optional,
)
from workbench.config.form.settings import (
    Condition,
    Form,
    Section,
    altered,
    always,
    choice,
    never,
    read_only,
    section,
    setting,
    switch,
    text,
)
from workbench.config.msprobe.kinds import (
    ANY_MODES,
    ANY_NAMES,
    FIGURE_LIST,
    MODE_LIST,
    NAMES,
    NUMBER_LIST,
    SLICE_LIST,
    SUMMARIES,
    or_nothing,
)

Framework = Literal["pytorch", "mindspore"]

COMMON = "msprobe core/dump/common_config.py"
SCOPE, PLAIN = "ScopeException", "Exception"
"""What msprobe raises of settings that it looks at late, or by hand."""

NUMBERS = "msprobe core/common/utils.py"

TASKS: dict[Framework, tuple[str, ...]] = {
    "pytorch": ("statistics", "tensor", "structure", "nan_check", "diff_check", "acc_check"),
    "mindspore": ("statistics", "tensor", "structure", "exception_dump"),
}
LEVELS = ("L0", "L1", "L2", "mix", "debug")


def task_of(form: Form) -> str:
    """Return the task of a decoded form, whether or not there is such a task."""
    task = form.get("task") or "statistics"
    return task if isinstance(task, str) else ""


def _has_load(form: Form) -> bool:
    """Whether inputs are loaded and nothing is dumped: then no folder is needed."""
    load = form.get("load")
    return isinstance(load, Mapping) and not load.get("dump_after_load", False)


def _needs_path(form: Form) -> bool:
    return not _has_load(form)


class Options(Section):
    """The section of a task."""

    scope: tuple[str, ...] | None = setting(
        NAMES,
        (),
        "First and last call or module to dump.",
        expected="a list of two names",
        misfit=["a", 1],
        widget="names",
    )
    list: tuple[str, ...] | None = setting(
        NAMES,
        (),
        "Parts of names: calls whose name has one are dumped. Empty = all.",
        expected="a list of texts",
        misfit=[1],
        widget="names",
    )
    data_mode: tuple[str, ...] = setting(
        MODE_LIST, ("all",), "Inputs or outputs, of the forward or backward pass."
    )
    slice: tuple[Any, ...] = setting(SLICE_LIST, (), "Part of each tensor to dump, by dimension.")
    request_id: str | None = setting(
        optional(TEXT), None, "Request of an inference server whose tokens are dumped."
    )
    summary_mode: Any = setting(
        or_nothing(choice_of(*SUMMARIES), "statistics"),
        "statistics",
        "Figures of each tensor: max, min, mean and norm, or a checksum.",
        misfit="sha1",
    )


class Statistics(Options):
    """``statistics``."""

    tensor_list: tuple[str, ...] | None = setting(
        NAMES,
        (),
        "Parts of names: calls that are dumped with their tensors.",
        expected="a list of texts",
        misfit=[1],
        widget="names",
    )


class PytorchTensor(Options):
    """``tensor``."""

    bench_path: Any = setting(
        optional(TEXT),
        None,
        "Dump of another run, to compare with while this one runs.",
        expected="a folder of a dump",
        widget="path",
    )


class MindSporeStatistics(Statistics):
    """``statistics``, of which MindSpore can have the device compute some."""

    summary_mode: Any = setting(
        FIGURE_LIST,
        "statistics",
        "Figures of each tensor: one set of them, a checksum, or a list (level L2).",
        code=PLAIN,
    )
    device: str = choice(
        "host", "device host", "Where statistics are computed (level L2).", misfit="npu", code=PLAIN
    )
    precision: str = choice(
        "high",
        "high low",
        "Precision of sums on the device: high = float32, low = dtype of the tensor.",
        misfit="mid",
        code=PLAIN,
    )


class NanCheck(Statistics):
    """``nan_check``."""

    summary_mode: Any = altered(Options, "summary_mode", read_when=never)


class Unchecked(Options):
    """The section of a task whose options are hardly looked at."""

    scope: tuple[str, ...] | None = altered(Options, "scope", kind=ANY_NAMES, code=SCOPE)
    list: tuple[str, ...] | None = altered(Options, "list", kind=ANY_NAMES, code=SCOPE)
    data_mode: tuple[Any, ...] = altered(
        Options, "data_mode", kind=ANY_MODES, expected="a list", misfit=1, code="TypeError"
    )
    slice: tuple[Any, ...] = altered(Options, "slice", read_when=never)
    request_id: str | None = altered(Options, "request_id", read_when=never)
    summary_mode: Any = altered(Options, "summary_mode", read_when=never)


class DiffCheck(Unchecked):
    """``diff_check``."""

    diff_nums: int | None = setting(
        optional(either(choice_of(-1), integer_from(1))),
        None,
        "Differences after which it stops. -1 = never.",
        expected="-1 or an integer of at least 1",
        misfit=0,
        code=PLAIN,
    )


class AccCheck(Section):
    """``acc_check``: for ``msprobe acc_check``, which runs dumped calls again."""

    white_list: tuple[str, ...] = setting(
        list_of("text"),
        (),
        "APIs to check. Empty = all.",
        code=PLAIN,
        expected="a list of names of APIs",
        misfit=[1],
        widget="names",
    )
    black_list: tuple[str, ...] = setting(
        list_of("text"),
        (),
        "APIs not to check.",
        code=PLAIN,
        expected="a list of names of APIs",
        misfit=[1],
        widget="names",
    )
    error_data_path: str = text(
        "./",
        "Existing folder for the tensors of calls that fail.",
        code=PLAIN,
        expected="an existing folder",
        widget="path",
    )


class Load(Section):
    """``load``: tensors of an earlier dump that stand in for the inputs of modules."""

    path: str = text(
        "",
        "Folder of the earlier dump.",
        expected="an existing folder",
        required=always,
        widget="path",
    )
    modules: tuple[str, ...] = setting(
        list_of("text"),
        (),
        "Modules whose inputs are replaced.",
        expected="a list of names like 'Module.fc1.Linear.forward.0'",
        misfit=[1],
        required=always,
        widget="names",
    )
    step: tuple[Any, ...] = setting(
        NUMBER_LIST, (), "Steps of the earlier dump. Empty = the same step."
    )
    rank: tuple[Any, ...] = setting(
        NUMBER_LIST, (), "Ranks of the earlier dump. Empty = the same rank."
    )
    dump_after_load: bool = switch(False, "Dump as well.")


def _of_task(name: str) -> Condition:
    return lambda form: task_of(form) == name


def _given_to(name: str) -> Condition:
    """MindSpore takes nothing of any type for an empty section."""
    return lambda form: task_of(form) == name and bool(form.get(name))


_TASKS = or_nothing(choice_of(*TASKS["mindspore"]), "statistics")
_IN_VAIN = "Has no effect with MindSpore."


class Common(Section):
    """What a ``config.json`` says to either framework."""

    task: str = setting(
        or_nothing(choice_of(*TASKS["pytorch"]), "statistics"),
        "statistics",
        "What is written: statistics, tensors, names alone, or calls with NaN.",
        misfit="overflow_check",
    )
    dump_path: str | None = setting(
        optional(TEXT),
        None,
        "Folder of the dump, created if missing.",
        expected="a folder",
        required=_needs_path,
        widget="path",
    )
    rank: tuple[Any, ...] = setting(
        NUMBER_LIST, (), "Ranks that dump. Empty = all.", source=NUMBERS
    )
    step: tuple[Any, ...] = setting(
        NUMBER_LIST, (), "Steps to dump, counted from 0. Empty = all.", source=NUMBERS
    )
    level: str = setting(
        or_nothing(choice_of(*LEVELS), "L1"),
        "L1",
        "L0 modules · L1 calls of APIs · mix both · L2 kernels of APIs · debug what the script saves",
        misfit="L3",
    )
    dump_enable: bool | None = setting(
        optional(SWITCH),
        None,
        "Dump on or off; the file is read again while the script runs. Absent = on.",
    )
    extra_info: bool = switch(True, "Write call stacks and the tree of modules.")
    async_dump: bool = switch(False, "Write after the step; tensors stay in memory until then.")
    precision: str = choice(
        "low", "low high", "Precision of statistics: high = float32.", misfit="mid"
    )
    risk_level: str = setting(
        or_nothing(choice_of("CORE", "FOCUS", "ALL"), "ALL"),
        "FOCUS",
        "Calls to dump by how likely they err, where neither scope nor list is set.",
        misfit="LOW",
    )
    custom_op_namespaces: tuple[str, ...] | None = setting(
        NAMES,
        None,
        "Namespaces of torch.ops whose operators are dumped.",
        expected="a list of texts",
        misfit=[1],
    )
    load: Load | None = section(Load, optional=True)


class MsprobeForm(Common):
    """A ``config.json`` for PyTorch."""

    framework: ClassVar[Framework] = "pytorch"

    statistics: Statistics = section(Statistics, read_when=_of_task("statistics"))
    tensor: PytorchTensor = section(PytorchTensor, read_when=_of_task("tensor"))
    structure: Unchecked = section(Unchecked, read_when=_of_task("structure"))
    nan_check: NanCheck = section(NanCheck, read_when=_of_task("nan_check"))
    diff_check: DiffCheck = section(DiffCheck, read_when=_of_task("diff_check"))
    acc_check: AccCheck = section(AccCheck, read_when=_of_task("acc_check"))


class MindSporeForm(Common):
    """A ``config.json`` for MindSpore."""

    framework: ClassVar[Framework] = "mindspore"
    other_keys = frozenset(("acc_check", "nan_check", "diff_check"))

    task: str = altered(Common, "task", kind=_TASKS, expected=_TASKS.expected)
    dump_path: str | None = altered(Common, "dump_path", required=always)
    dump_enable: bool | None = altered(Common, "dump_enable", help=_IN_VAIN)
    risk_level: str = altered(Common, "risk_level", help=_IN_VAIN)
    custom_op_namespaces: tuple[str, ...] | None = altered(
        Common, "custom_op_namespaces", help=_IN_VAIN
    )
    statistics: MindSporeStatistics = section(
        MindSporeStatistics, read_when=_given_to("statistics")
    )
    tensor: Options = section(Options, read_when=_given_to("tensor"))
    structure: Unchecked = section(Unchecked, read_when=_given_to("structure"))
    exception_dump: Options = section(
        read_only(Options, never), read_when=_given_to("exception_dump")
    )
