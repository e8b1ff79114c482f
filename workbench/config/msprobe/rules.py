"""What msprobe demands of a ``config.json`` beyond the type of each setting, and what it then leaves out.

Facts: msprobe 26.2.0, ``DebuggerConfig`` of either framework, ``core/dump/data_dump/scope.py``, and what a
``PrecisionDebugger`` does when it is made; what it refuses only when it starts is a warning.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.config.form.rules import Row, rules_of
from workbench.config.msprobe.reading import MODULES, names
from workbench.config.msprobe.settings import COMMON

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from workbench.config.form.rules import At, Rule, When
    from workbench.config.form.settings import Section
    from workbench.config.msprobe.reading import MsprobeReading
    from workbench.config.msprobe.settings import Framework

PYTORCH = "msprobe pytorch/dump/debugger/debugger_config.py"
MINDSPORE = "msprobe mindspore/dump/debugger/debugger_config.py"
SCOPE = "msprobe core/dump/data_dump/scope.py"
SERVICE = "msprobe core/dump/service.py"
COLLECTOR = "msprobe core/dump/data_dump"
TOOLS = "msprobe mindspore/dump/dump_processor"

_SECTIONS = "statistics|tensor|structure|nan_check|diff_check|exception_dump"

_CALL = re.compile(
    r"(?:Distributed|Functional|Torch|Tensor|Mint|MintFunctional|Primitive|Aten|VF|NPU|Jit)\..*\.\d+\.(?:forward|backward)$"
)
_MODULE = re.compile(r"(?:Cell|Module)\..*\.(?:forward|backward)\.\d+$")
_NAMES = {"L0": (_MODULE,), "L1": (_CALL,), "mix": (_CALL, _MODULE)}
_KINDS = {
    "L0": "a module like Module.fc1.Linear.forward.0",
    "L1": "a call like Functional.conv2d.0.forward",
    "mix": "a call or a module",
}


def is_named(name: str, level: str) -> bool:
    """Whether a name is one of what a level dumps: calls, modules or both."""
    return any(pattern.match(name) for pattern in _NAMES[level])


def _is_module(name: str) -> bool:
    return name.partition(".")[0] in ("Module", "Cell")


def _scope(r: MsprobeReading, at: At) -> tuple[str, ...]:
    """Return the ends of a scope that is looked at."""
    return names(at.value) if r.reads(at) and not r.kernels else ()


def _lacks_path(r: MsprobeReading, at: At) -> Any:
    if not r.by_pytorch:
        return not at.value and {"code": "Exception"}
    return not at.value and (not r.loads or r.form.load.dump_after_load)


def _is_no_pair(r: MsprobeReading, at: At) -> Any:
    scope = _scope(r, at)
    return scope and len(scope) != 2 and {"count": len(scope)}


def _misnamed(r: MsprobeReading, at: At) -> list[dict[str, Any]]:
    patterns = _NAMES.get(r.level, ())
    return [
        {"below": f"[{index}]", "got": name, "level": r.level, "kind": _KINDS[r.level]}
        for index, name in enumerate(_scope(r, at))
        if patterns and not is_named(name, r.level)
    ]


def _is_mixed(r: MsprobeReading, at: At) -> bool:
    scope = _scope(r, at)
    return r.level != "mix" and len(scope) == 2 and _is_module(scope[0]) != _is_module(scope[1])


def _lacks_list(r: MsprobeReading, at: At) -> bool:
    waits = r.form.async_dump and r.task == "tensor" and r.selects
    return r.reads(at) and waits and not names(at.value)


def _sums_late(r: MsprobeReading, at: At) -> bool:
    sums = at.value if isinstance(at.value, tuple) else (at.value,)
    return r.reads(at) and r.form.async_dump and "md5" in sums


def _invalid(r: MsprobeReading, at: At) -> list[dict[str, Any]]:
    looks = r.reads(at) and r.kernels and r.task in ("tensor", "statistics")
    return [
        {"below": f"[{index}]", "got": name, "why": fault}
        for index, name in enumerate(names(at.value) if looks else ())
        if (fault := _fault(name))
    ]


def _fault(name: str) -> str:
    if not (name.startswith("name-regex(") and name.endswith(")")):
        return ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "[[" may mean something else to a later Python
            re.compile(name[len("name-regex(") : -1])
    except (re.error, RecursionError, OverflowError) as error:
        return str(error)
    return ""


def _modules(fits: Any) -> When:
    """Return when an entry of ``load.modules`` is broken; MindSpore looks at them, too."""

    def find(_r: Any, at: At) -> list[dict[str, Any]]:
        return [
            {"below": f"[{index}]", "got": name}
            for index, name in enumerate(at.value or ())
            if not fits(at.value, index, name)
        ]

    return find


def _too_much(r: MsprobeReading, at: At) -> bool:
    return r.task == "tensor" and not (at.value or names(r.options.list) or r.options.scope)


def _has_unread_names(r: MsprobeReading, at: At) -> bool:
    return r.reads(at) and r.level == "debug" and bool(names(at.value))


def _is_cut_in_vain(r: MsprobeReading, at: At) -> bool:
    fits = r.task in ("statistics", "tensor") and r.level in ("L0", "L1", "mix")
    return r.by_pytorch and r.reads(at) and bool(at.value) and not fits


def _is_no_single_mode(r: MsprobeReading, at: At) -> bool:
    modes = at.value if at.value else ("all",)
    single = len(modes) == 1 and modes[0] in ("all", "input", "output")
    return r.reads(at) and r.kernels and r.task in ("statistics", "tensor") and not single


TEMPLATE: dict[str, Any] = {
    "task": "tensor",
    "dump_path": "./dump",
    "rank": [],
    "step": [0],
    "level": "L1",
    "tensor": {"scope": [], "list": [], "data_mode": ["all"]},
}
"""A form that passes its check and dumps the tensors of every call in the first step."""


def changed(change: Mapping[str, Any]) -> dict[str, Any]:
    """Return the form to start with with keys changed; the section of the task by ``section``."""
    form = TEMPLATE | {key: value for key, value in change.items() if key != "section"}
    if "section" in change:
        form[form["task"]] = change["section"]
    return form


_PAIR = ["Functional.relu.0.forward", "Functional.conv2d.0.forward"]
_LOADED: dict[str, Any] = {"path": "/earlier", "modules": ["Module.fc1.Linear.forward.0"]}
_KERNEL = {"level": "L2", "section": {"list": ["Functional.conv2d.0.forward"]}}


def _load(**changes: Any) -> dict[str, Any]:
    return {"load": _LOADED | changes}


LOADED = (
    Row(
        "load-none", "error", "load.modules", lambda r, at: not at.value,
        "{path} is empty", "Name modules, like 'Module.fc1.Linear.forward.0'.",
        _load(modules=[]), _load(), COMMON,
    ),
    Row(
        "load-twice", "error", "load.modules", _modules(lambda all_, index, name: name not in all_[:index]),
        "{path} {got!r} is named twice", "Remove one.",
        _load(modules=_LOADED["modules"] * 2), _load(), COMMON,
    ),
    Row(
        "load-name", "error", "load.modules",
        _modules(lambda _all, _index, name: name.startswith("Module.")
                 and ".backward." not in name and re.search(r"\.forward\.\d+$", name)),
        "{path} {got!r} is not the forward pass of a module", "Write it like 'Module.fc1.Linear.forward.0'.",
        _load(modules=["fc1"]), _load(), COMMON,
    ),
    Row(
        "load-path", "error", "load.path", lambda r, at: not at.value,
        "{path} is empty", "Name the folder of the earlier dump.",
        _load(path=""), _load(), COMMON,
    ),
)  # fmt: skip
"""What is demanded of ``load``, when the file is read."""

CHECKED = (
    Row(
        "path-empty", "error", "dump_path",
        _lacks_path,
        "{key} is empty", "Name a folder.",
        {"dump_path": ""}, {"dump_path": "./dump"}, PYTORCH,
    ),
    Row(
        "nan-level", "error", "level", lambda r, at: r.task == "nan_check" and at.value != "L1",
        "task 'nan_check' needs level L1, not {got}", "Leave level out.",
        {"task": "nan_check", "level": "L0"}, {"task": "nan_check"}, PYTORCH, "pytorch",
    ),
    Row(
        "nan-inputs", "error", "nan_check.data_mode",
        lambda r, at: r.reads(at) and "input" in at.value and "output" not in at.value,
        "{path} {got} leaves out the outputs, which task 'nan_check' looks at", "Add 'output' or use ['all'].",
        {"task": "nan_check", "section": {"data_mode": ["input"]}},
        {"task": "nan_check", "section": {"data_mode": ["input", "output"]}}, PYTORCH, "pytorch",
    ),
    Row(
        "async-list", "error", "tensor.list", _lacks_list,
        "{path} is empty, so async_dump would keep the tensors of all calls in memory",
        "Name calls, or set async_dump to false.",
        {"async_dump": True}, {"async_dump": True, "section": {"list": ["conv2d"]}}, PYTORCH,
    ),
    Row(
        "async-md5", "error", f"{_SECTIONS}.summary_mode", _sums_late,
        "{path} 'md5' is not supported with async_dump", "Use 'statistics', or set async_dump to false.",
        {"async_dump": True, "section": {"list": ["conv2d"], "summary_mode": "md5"}},
        {"section": {"summary_mode": "md5"}}, PYTORCH,
    ),
    Row(
        "kernel-scope", "error", f"{_SECTIONS}.scope",
        lambda r, at: r.reads(at) and r.kernels and bool(at.value),
        "{path} is not supported at level L2", "Remove it.",
        {"level": "L2", "section": {"scope": _PAIR, "list": ["Functional.relu.0.forward"]}}, _KERNEL,
        PYTORCH, "pytorch",
    ),
    Row(
        "kernel-list", "error", f"{_SECTIONS}.list",
        lambda r, at: r.reads(at) and r.kernels and len(names(at.value)) != 1,
        "{path}: level L2 dumps exactly one API, got {got}", "Name one, like 'Functional.conv2d.0.forward'.",
        {"level": "L2", "section": {"list": []}}, _KERNEL, PYTORCH, "pytorch",
    ),
    Row(
        "kernel-task", "error", "task", lambda r, at: r.kernels and at.value != "tensor",
        "{key} {got!r} is not supported at level L2", 'Set "task": "tensor".',
        {"task": "statistics", "level": "L2", "section": {"list": ["Functional.conv2d.0.forward"]}}, _KERNEL,
        PYTORCH, "pytorch",
    ),
)  # fmt: skip
"""What ``DebuggerConfig`` demands."""

MADE = (
    Row(
        "kernel-expression", "error", f"{_SECTIONS}.list", _invalid,
        "{path} {got!r} is not a valid regular expression: {why}", "Correct it.",
        {"level": "L2", "section": {"list": ["name-regex(()"]}},
        {"level": "L2", "section": {"list": ["name-regex(Default/.+)"]}}, TOOLS, "mindspore",
    ),
    Row(
        "acc-check", "error", "task", lambda r, at: at.value == "acc_check",
        "{key} {got!r} is not a dump; PrecisionDebugger refuses it", "Use it with the command msprobe acc_check only.",
        {"task": "acc_check"}, {"task": "tensor"}, COLLECTOR, "pytorch",
    ),
    Row(
        "exception-level", "error", "task",
        lambda r, at: at.value == "exception_dump" and not r.kernels,
        "{key} {got!r} needs level L2", 'Set "level": "L2".',
        {"task": "exception_dump"}, {"task": "exception_dump", "level": "L2"}, COLLECTOR, "mindspore",
    ),
)  # fmt: skip
"""What nobody in msprobe would dump."""

SCOPED = (
    Row(
        "scope-pair", "error", f"{_SECTIONS}.scope", _is_no_pair,
        "{path} has {count:count name}, not two", "Name the first and the last call or module.",
        {"section": {"scope": _PAIR[:1]}}, {"section": {"scope": _PAIR}}, SCOPE,
    ),
    Row(
        "scope-name", "error", f"{_SECTIONS}.scope", _misnamed,
        "{path} {got!r} is not a name at level {level}: expected {kind}", "Take names from dump.json.",
        {"section": {"scope": ["conv2d", _PAIR[1]]}}, {"section": {"scope": _PAIR}}, SCOPE,
    ),
    Row(
        "scope-mixed", "error", f"{_SECTIONS}.scope", _is_mixed,
        "{path} goes from a call to a module or back", "Name two calls or two modules, or use level mix.",
        {"level": "debug", "section": {"scope": ["Module.fc1.Linear.forward.0", _PAIR[1]]}},
        {"level": "debug", "section": {"scope": _PAIR}}, SCOPE,
    ),
)  # fmt: skip
"""What a scope must be."""

LATER = (
    Row(
        "structure-level", "warning", "level",
        lambda r, at: r.task == "structure" and at.given and at.value not in MODULES,
        "{key} {got} becomes mix, because task 'structure' needs modules", "Use L0 or mix.",
        {"task": "structure", "section": {}}, {"task": "structure", "level": "L0"}, PYTORCH,
    ),
    Row(
        "names-unread", "warning", f"{_SECTIONS}.list|tensor_list", _has_unread_names,
        "{path} is not read at level debug", "Remove it: what the script saves is dumped.",
        {"level": "debug", "section": {"list": ["conv2d"]}}, {"level": "debug"}, PYTORCH,
    ),
    Row(
        "cut-in-vain", "warning", f"{_SECTIONS}.slice|request_id", _is_cut_in_vain,
        "{path} is read only at levels L0, L1 and mix, for tasks tensor and statistics", "Remove it.",
        {"level": "debug", "section": {"request_id": "r1"}}, {"section": {"request_id": "r1"}},
        PYTORCH, "pytorch",
    ),
    Row(
        "cut-unknown", "warning", f"{_SECTIONS}.slice|request_id",
        lambda r, at: r.reads(at) and bool(at.value),
        "{path} has no effect with MindSpore", "Remove it.",
        {"section": {"request_id": "r1"}}, {"section": {}}, MINDSPORE, "mindspore",
    ),
    Row(
        "kernel-mode", "warning", f"{_SECTIONS}.data_mode", _is_no_single_mode,
        "{path} {got} is refused when the dump starts: level L2 supports all, input or output", "Choose one of them.",
        {"level": "L2", "section": {"data_mode": ["forward"]}}, {"level": "L2", "section": {"data_mode": ["input"]}},
        TOOLS, "mindspore",
    ),
    Row(
        "every-step", "hint", "step", _too_much,
        "Tensors of all calls in all steps can be very large",
        "Limit step, list or scope, or use task statistics.",
        {"step": []}, {"step": [0]}, SERVICE,
    ),
    Row(
        "async-memory", "hint", "async_dump", lambda r, at: at.value,
        "{key} keeps what is dumped in memory until the step ends", "Limit list if memory runs out.",
        {"async_dump": True, "section": {"list": ["conv2d"]}}, {}, COMMON,
    ),
    Row(
        "model-needed", "hint", "level", lambda r, at: r.level in MODULES,
        "level {got} needs the model: debugger.start(model=model)", "Pass it, or use level L1.",
        {"level": "L0"}, {}, PYTORCH,
    ),
)  # fmt: skip
"""What is changed, not read, refused when the dump starts, or hurts."""

GROUPS = (
    (LOADED, "MsprobeException"),
    (CHECKED, "MsprobeException"),
    (MADE, "ValueError"),
    (SCOPED, "ScopeException"),
    (LATER, ""),
)
"""Rules in the order in which msprobe meets them, with the exception that it raises."""


def rules_for(framework: Framework, model: type[Section]) -> Iterator[Rule]:
    """Yield the rules of one framework, in the order of the tables, each at the places that its form has."""
    for rows, code in GROUPS:
        for rule in rules_of(rows, framework, changed, model=model):
            yield replace(rule, code=code)
