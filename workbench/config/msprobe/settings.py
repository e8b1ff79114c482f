"""``config.json`` of msprobe: every setting, once. PyTorch and MindSpore read it, each its own tasks of it.

Facts: msprobe 26.2.0, ``core/dump/common_config.py``, ``pt_config.py`` and ``ms_config.py`` of the frameworks.
Only the section of the task is looked at. Where msprobe asks "if value and …", nothing of any type passes for absent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

from workbench.config.form.kinds import (
    SWITCH,
    TEXT,
    Kind,
    Misfit,
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
    section,
    setting,
    switch,
    text,
)

Framework = Literal["pytorch", "mindspore"]

COMMON = "msprobe core/dump/common_config.py"
NUMBERS = "msprobe core/common/utils.py"

TASKS: dict[Framework, tuple[str, ...]] = {
    "pytorch": ("statistics", "tensor", "structure", "nan_check", "diff_check", "acc_check"),
    "mindspore": ("statistics", "tensor", "structure", "exception_dump"),
}
LEVELS = ("L0", "L1", "L2", "mix", "debug")
STATISTICS = (
    *("max", "min", "mean", "count", "negative zero count", "positive zero count", "nan count"),
    *("negative inf count", "positive inf count", "zero count", "l2norm", "hash", "md5"),
)
"""What MindSpore takes in a list as ``summary_mode``."""

LARGEST = 1_000_000
"""Largest step and rank, and longest list of them."""

_NOTHING: dict[str, Any] = {"enum": [None, False, 0, "", [], {}]}
_MODES = ("input", "output", "forward", "backward")
_NUMBERS = "a list of numbers and ranges like '5-8', 0 to 1000000"


def task_of(form: Form) -> str:
    """Return the task of a decoded form, whether or not there is such a task."""
    task = form.get("task") or "statistics"
    return task if isinstance(task, str) else ""


def _or_nothing(kind: Kind, default: Any) -> Kind:
    schema = {"anyOf": [dict(kind.schema), _NOTHING]}
    return Kind(
        kind.expected,
        kind.misfit,
        lambda value: kind.read(value) if value else default,
        schema,
        kind.input,
        kind.options,
    )


def number_range(element: Any) -> tuple[int, int] | None:
    """Return the first and last number of an element of ``step`` or ``rank``; ``None`` if it is none.

    >>> number_range(3), number_range("5-8"), number_range("8-5")
    ((3, 3), (5, 8), None)
    """
    if type(element) is not int and not isinstance(element, str):
        return None
    try:
        first, *more = map(int, element.split("-") if isinstance(element, str) else [element])
    except ValueError:
        return None
    last = more[0] if more else first
    if len(more) > 1:
        return None
    return (first, last) if 0 <= first <= last <= LARGEST else None


def _numbers(value: Any) -> tuple[Any, ...]:
    found: tuple[Any, ...] = list_of("any").read([] if value is None else value)
    if len(found) > LARGEST:
        raise Misfit
    for index, element in enumerate(found):
        if number_range(element) is None:
            raise Misfit(index)
    return found


def _modes(value: Any) -> tuple[str, ...]:
    found: tuple[Any, ...] = list_of("any").read([] if value is None else value)
    if found == ("all",):
        return found
    for index, mode in enumerate(found):
        if mode not in _MODES:
            raise Misfit(index)
    if len(found) > len(_MODES):
        raise Misfit
    return found


def _any_modes(value: Any) -> tuple[Any, ...]:
    """Modes that nobody checks: anything but a number, of elements that a set takes."""
    if isinstance(value, int | float) and value:
        raise Misfit
    for index, mode in enumerate(value if isinstance(value, list | tuple) else ()):
        if isinstance(mode, list | tuple | dict):
            raise Misfit(index)
    return tuple(value) if value and isinstance(value, list | tuple) else ("all",)


def _slices(value: Any) -> tuple[Any, ...]:
    found: tuple[Any, ...] = list_of("any").read(value or [])
    for index, one in enumerate(found):
        numbers = isinstance(one, Mapping) and all(isinstance(n, int) for n in one.values())
        if not numbers or one.get("dim", 0) < 0 or one.get("size", 0) < 0:
            raise Misfit(index)
    return found


def _figures(value: Any) -> Any:
    """MindSpore looks at text and at lists only."""
    if isinstance(value, str) and value not in _SUMMARIES:
        raise Misfit
    for index, one in enumerate(value if isinstance(value, list | tuple) else ()):
        if one not in STATISTICS:
            raise Misfit(index)
    return tuple(value) if isinstance(value, list) else value


def _kind(
    expected: str, misfit: Any, read: Callable[[Any], Any], array: Mapping[str, Any], *more: Any
) -> Kind:
    schema = {"anyOf": [{"type": "array", **array}, *more]}
    return Kind(expected, misfit, read, schema, "list")


_SUMMARIES = ("statistics", "md5", "xor")
_COUNT = {"type": ["integer", "boolean"]}
_NATURAL = _COUNT | {"minimum": 0}
_SPELLED = r"^\s*\+?[0-9]{1,7}\s*(-\s*\+?[0-9]{1,7}\s*)?$"
_NUMBER_LIST = _kind(
    _NUMBERS,
    ["1,2"],
    _numbers,
    {
        "items": {
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": LARGEST},
                {"type": "string", "pattern": _SPELLED},
            ]
        }
    },
    {"type": "null"},
)
_MODE_LIST = _kind(
    f"a list of {', '.join(_MODES)}, or ['all']",
    ["all", "input"],
    _modes,
    {"items": {"enum": list(_MODES)}, "maxItems": len(_MODES)},
    {"const": ["all"]},
    {"type": "null"},
)
_SLICE_LIST = _kind(
    "a list of objects of integers: dim, size, begin, end",
    [{"dim": -1}],
    _slices,
    {
        "items": {
            "type": "object",
            "additionalProperties": _COUNT,
            "properties": {"dim": _NATURAL, "size": _NATURAL},
        }
    },
    _NOTHING,
)
_FIGURE_LIST = _kind(
    f"'statistics', 'md5', 'xor' or a list of {', '.join(STATISTICS)}",
    ["median"],
    _figures,
    {"items": {"enum": list(STATISTICS)}},
    {"enum": list(_SUMMARIES)},
    {"not": {"type": ["string", "array"]}},
)
_ANY_MODES = _kind(
    "a list",
    1,
    _any_modes,
    {"items": {"not": {"type": ["array", "object"]}}},
    {"type": ["string", "object", "null"]},
    _NOTHING,
)
_NAMES = optional(list_of("text"))


def _has_load(form: Form) -> bool:
    """Whether inputs are loaded and nothing is dumped: then no folder is needed."""
    load = form.get("load")
    return isinstance(load, Mapping) and not load.get("dump_after_load", False)


def _needs_path(form: Form) -> bool:
    return not _has_load(form)


class Options(Section):
    """The section of a task."""

    scope: tuple[str, ...] | None = setting(
        _NAMES,
        (),
        "First and last call or module to dump.",
        expected="a list of two names",
        misfit=["a", 1],
        widget="names",
    )
    list: tuple[str, ...] | None = setting(
        _NAMES,
        (),
        "Parts of names: calls whose name has one are dumped. Empty = all.",
        expected="a list of texts",
        misfit=[1],
        widget="names",
    )
    data_mode: tuple[str, ...] = setting(
        _MODE_LIST, ("all",), "Inputs or outputs, of the forward or backward pass."
    )
    slice: tuple[Any, ...] = setting(_SLICE_LIST, (), "Part of each tensor to dump, by dimension.")
    request_id: str | None = setting(
        optional(TEXT), None, "Request of an inference server whose tokens are dumped."
    )
    summary_mode: Any = setting(
        _or_nothing(choice_of(*_SUMMARIES), "statistics"),
        "statistics",
        "Figures of each tensor: max, min, mean and norm, or a checksum.",
        misfit="sha1",
    )


class Statistics(Options):
    """``statistics``."""

    tensor_list: tuple[str, ...] | None = setting(
        _NAMES,
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
        _FIGURE_LIST,
        "statistics",
        "Figures of each tensor: one set of them, a checksum, or a list (level L2).",
    )
    device: str = choice(
        "host", "device host", "Where statistics are computed (level L2).", misfit="npu"
    )
    precision: str = choice(
        "high",
        "high low",
        "Precision of sums on the device: high = float32, low = dtype of the tensor.",
        misfit="mid",
    )


class NanCheck(Statistics):
    """``nan_check``."""

    summary_mode: Any = altered(Options, "summary_mode", read_when=never)


_ANY_NAMES = _or_nothing(list_of("text"), ())


class Unchecked(Options):
    """The section of a task whose options are hardly looked at."""

    scope: tuple[str, ...] | None = altered(Options, "scope", kind=_ANY_NAMES)
    list: tuple[str, ...] | None = altered(Options, "list", kind=_ANY_NAMES)
    data_mode: tuple[Any, ...] = altered(
        Options, "data_mode", kind=_ANY_MODES, expected="a list", misfit=1
    )
    slice: tuple[Any, ...] = altered(Options, "slice", read_when=never)
    request_id: str | None = altered(Options, "request_id", read_when=never)
    summary_mode: Any = altered(Options, "summary_mode", read_when=never)


class ExceptionDump(Options):
    """``exception_dump``: nothing in it is looked at."""

    scope: tuple[str, ...] | None = altered(Options, "scope", read_when=never)
    list: tuple[str, ...] | None = altered(Options, "list", read_when=never)
    data_mode: tuple[str, ...] = altered(Options, "data_mode", read_when=never)
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
    )


class AccCheck(Section):
    """``acc_check``: for ``msprobe acc_check``, which runs dumped calls again."""

    white_list: tuple[str, ...] = setting(
        list_of("text"),
        (),
        "APIs to check. Empty = all.",
        expected="a list of names of APIs",
        misfit=[1],
        widget="names",
    )
    black_list: tuple[str, ...] = setting(
        list_of("text"),
        (),
        "APIs not to check.",
        expected="a list of names of APIs",
        misfit=[1],
        widget="names",
    )
    error_data_path: str = text(
        "./",
        "Existing folder for the tensors of calls that fail.",
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
        _NUMBER_LIST, (), "Steps of the earlier dump. Empty = the same step."
    )
    rank: tuple[Any, ...] = setting(
        _NUMBER_LIST, (), "Ranks of the earlier dump. Empty = the same rank."
    )
    dump_after_load: bool = switch(False, "Dump as well.")


def _of_task(name: str) -> Condition:
    return lambda form: task_of(form) == name


def _given_to(name: str) -> Condition:
    """MindSpore takes nothing of any type for an empty section."""
    return lambda form: task_of(form) == name and bool(form.get(name))


class MsprobeForm(Section):
    """A ``config.json`` for PyTorch."""

    framework: ClassVar[Framework] = "pytorch"

    task: str = setting(
        _or_nothing(choice_of(*TASKS["pytorch"]), "statistics"),
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
        _NUMBER_LIST, (), "Ranks that dump. Empty = all.", source=NUMBERS
    )
    step: tuple[Any, ...] = setting(
        _NUMBER_LIST, (), "Steps to dump, counted from 0. Empty = all.", source=NUMBERS
    )
    level: str = setting(
        _or_nothing(choice_of(*LEVELS), "L1"),
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
        _or_nothing(choice_of("CORE", "FOCUS", "ALL"), "ALL"),
        "FOCUS",
        "Calls to dump by how likely they err, where neither scope nor list is set.",
        misfit="LOW",
    )
    custom_op_namespaces: tuple[str, ...] | None = setting(
        _NAMES,
        None,
        "Namespaces of torch.ops whose operators are dumped.",
        expected="a list of texts",
        misfit=[1],
    )
    load: Load | None = section(Load, optional=True)
    statistics: Statistics = section(Statistics, read_when=_of_task("statistics"))
    tensor: PytorchTensor = section(PytorchTensor, read_when=_of_task("tensor"))
    structure: Unchecked = section(Unchecked, read_when=_of_task("structure"))
    nan_check: NanCheck = section(NanCheck, read_when=_of_task("nan_check"))
    diff_check: DiffCheck = section(DiffCheck, read_when=_of_task("diff_check"))
    acc_check: AccCheck = section(AccCheck, read_when=_of_task("acc_check"))


class MindSporeForm(Section):
    """A ``config.json`` for MindSpore."""

    framework: ClassVar[Framework] = "mindspore"
    other_keys = frozenset(("acc_check", "nan_check", "diff_check"))

    task: str = altered(
        MsprobeForm,
        "task",
        kind=_or_nothing(choice_of(*TASKS["mindspore"]), "statistics"),
        expected=choice_of(*TASKS["mindspore"]).expected,
    )
    dump_path: str | None = altered(MsprobeForm, "dump_path", required=always)
    rank: tuple[Any, ...] = altered(MsprobeForm, "rank")
    step: tuple[Any, ...] = altered(MsprobeForm, "step")
    level: str = altered(MsprobeForm, "level")
    dump_enable: bool | None = altered(
        MsprobeForm, "dump_enable", help="Has no effect with MindSpore."
    )
    extra_info: bool = altered(MsprobeForm, "extra_info")
    async_dump: bool = altered(MsprobeForm, "async_dump")
    precision: str = altered(MsprobeForm, "precision")
    risk_level: str = altered(MsprobeForm, "risk_level", help="Has no effect with MindSpore.")
    custom_op_namespaces: tuple[str, ...] | None = altered(
        MsprobeForm, "custom_op_namespaces", help="Has no effect with MindSpore."
    )
    load: Load | None = section(Load, optional=True)
    statistics: MindSporeStatistics = section(
        MindSporeStatistics, read_when=_given_to("statistics")
    )
    tensor: Options = section(Options, read_when=_given_to("tensor"))
    structure: Unchecked = section(Unchecked, read_when=_given_to("structure"))
    exception_dump: ExceptionDump = section(ExceptionDump, read_when=_given_to("exception_dump"))
