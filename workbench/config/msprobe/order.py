"""Which exception msprobe raises of a value, and in which order it meets what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.config.form.paths import steps
from workbench.config.msprobe.rules import CHECKED, GROUPS
from workbench.config.msprobe.settings import TASKS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from workbench.config.msprobe.settings import Framework
    from workbench.core.problems import Problem

_READ = (
    *("rank", "step", "task", "dump_path", "level", "dump_enable", "extra_info", "async_dump"),
    *("precision", "risk_level", "custom_op_namespaces"),
)
"""Settings of every task, in the order in which they are looked at; ``load`` follows, then the section of the task."""

_SECTION = (
    *("scope", "list", "slice", "data_mode", "request_id", "summary_mode", "device", "precision"),
    *("tensor_list", "diff_nums", "white_list", "black_list", "error_data_path"),
)
_LOAD = ("modules", "path", "dump_after_load", "step", "rank")

_PLACE = {
    row.id: (phase, index)
    for phase, (rows, _) in enumerate(GROUPS)
    for index, row in enumerate(rows)
}
_LATE = {"TypeError": 2, "ScopeException": 3}
"""Exceptions of values that are looked at late, and the group of rules with which they are."""

_EVERY_TASK = {task for tasks in TASKS.values() for task in tasks}

_COMMON, _LOADING, _TASK, _RULES, _LATER = range(5)


def order(problem: Problem, _data: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the key by which problems are sorted; what refuses comes before what warns."""
    first, *rest = steps(problem.path) or [""]
    if problem.severity != "error":
        return (_LATER,)
    if first == "load":
        name = rest[0] if rest else ""
        entry = next((step for step in rest if isinstance(step, int)), -1)
        return (_LOADING, _index(_LOAD, name), entry, _PLACE.get(problem.id, (0, -1))[1])
    if problem.id in _PLACE:
        return (_RULES, *_PLACE[problem.id])
    if problem.code in _LATE:
        return (_RULES, _LATE[problem.code], -2 if "list" in rest else -1)
    if problem.id == "missing":
        return (_RULES, *_PLACE[CHECKED[0].id])
    if first == "task" and problem.code == "Exception":
        return (_TASK, -2)
    if first in _READ:
        return (_COMMON, _READ.index(str(first)))
    return (_TASK, _index(_SECTION, rest[0]) if rest else -1)


def _index(names: tuple[str, ...], name: str | int) -> int:
    return names.index(name) if name in names else -1


def value_code(framework: Framework) -> Callable[[str, Any], str]:
    """Return what tells the exception of a value that does not fit its declaration."""

    def code(key: str, value: Any) -> str:
        if key in _EVERY_TASK or (key == "load" and value):
            return "AttributeError"
        other = key == "task" and isinstance(value, str) and value in _EVERY_TASK
        missing = framework == "mindspore" and (key, value) == ("dump_path", None)
        return "Exception" if other or missing else "MsprobeException"

    return code
