"""Every rule on a ``data_dump.json``, and the order in which MindSpore would meet its problems.

``error`` is what MindSpore refuses, ``warning`` what it changes or ignores, ``hint`` what will hurt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.config.mindspore import rules_form, rules_kernels, rules_modes, rules_saved
from workbench.config.mindspore.settings import COMMON, E2E

if TYPE_CHECKING:
    from collections.abc import Mapping

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
