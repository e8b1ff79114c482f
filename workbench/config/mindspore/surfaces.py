"""The five surfaces of MindSpore: one form, judged and read in five ways, in the order of MindSpore's own checks.

Of its rules ``error`` is what MindSpore refuses, ``warning`` what it changes or ignores, ``hint`` what will hurt.
"""

from __future__ import annotations

import difflib
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.config.form.rules import rules_of
from workbench.config.mindspore import rules_form, rules_kernels, rules_modes, rules_saved
from workbench.config.mindspore.code import code
from workbench.config.mindspore.notes import notes
from workbench.config.mindspore.plan import from_plan, plan
from workbench.config.mindspore.reading import reading
from workbench.config.mindspore.settings import (
    COMMON,
    E2E,
    PARSER,
    CpuForm,
    GeForm,
    GpuForm,
    MindSporeForm,
    O2Form,
)
from workbench.config.mindspore.template import changed, template
from workbench.config.surface import Surface
from workbench.core.writers import MINDSPORE_RELEASE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from workbench.core.problems import Problem

ROWS = (
    *rules_form.ROWS,
    *rules_modes.ROWS,
    *rules_kernels.ROWS,
    *rules_saved.ROWS,
)
"""Every rule of the five surfaces."""

_E2E = (
    *("enable", "trans_flag", "save_kernel_args", "stat_calc_mode"),
    *("device_stat_precision_mode", "sample_mode", "sample_num"),
)
_PRESENT = (
    *("dump_mode", "net_name", "iteration", "input_output", "kernels", "support_device"),
    "op_debug_mode",
)
_VALUES = (
    *("dump_mode", "path", "net_name", "iteration", "input_output", "kernels", "support_device"),
    *("op_debug_mode", "file_format", "overflow_number", "saved_data", "initial_iteration"),
    "statistic_category",
)


def order(problem: Problem, _data: Mapping[str, Any]) -> tuple[int, int]:
    """Return when MindSpore meets a problem: file, second section, presence of keys, their values."""
    if problem.severity == "hint":
        return 5, 0
    section, _, rest = problem.path.partition(".")
    key = rest.partition("[")[0].partition(".")[0]
    if section == E2E:
        return 1, _E2E.index(key) if key in _E2E else -1
    if section != COMMON:
        return (0, 0) if not problem.path or problem.path.isupper() else (4, 0)
    if not key:
        return 2, -1
    if problem.id == "missing":
        return 2, _PRESENT.index(key)
    return (3, _VALUES.index(key)) if key in _VALUES else (4, 0)


def _surface(model: type[MindSporeForm], title: str, recognises: Callable[[Any], bool]) -> Surface:
    target = model.target
    return Surface(
        name=f"mindspore-{target}",
        title=title,
        product="MindSpore",
        version=MINDSPORE_RELEASE,
        source=PARSER,
        language="json",
        model=model,
        rules=tuple(rules_of(ROWS, target, partial(changed, target), PARSER)),
        reading=reading,
        template=partial(template, target),
        plan=plan,
        from_plan=partial(from_plan, target),
        notes=notes,
        code=code,
        recognises=recognises,
        path_key=f"{COMMON}.path",
        suffix=".json",
        order=order,
    )


def _holds(data: Any, name: str) -> bool:
    """Whether an object has a section, or one that is spelt nearly like it."""
    keys = [key for key in data if isinstance(key, str)] if isinstance(data, dict) else []
    return bool(difflib.get_close_matches(name, keys, 1, 0.85))


def _by_kernel(data: Any) -> bool:
    return _holds(data, E2E)


def _whole_graph(data: Any) -> bool:
    return _holds(data, COMMON)


def _never(_: Any) -> bool:
    return False


O0O1 = _surface(MindSporeForm, "MindSpore on Ascend, O0/O1", _by_kernel)
O2 = _surface(O2Form, "MindSpore on Ascend, O2", _whole_graph)
CPU = _surface(CpuForm, "MindSpore on a CPU", _never)
GPU = _surface(GpuForm, "MindSpore on a GPU", _never)
GE = _surface(GeForm, "MindSpore on Ascend, dumped by GE", _never)
