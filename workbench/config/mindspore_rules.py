"""What else must hold in a ``data_dump.json`` for O0/O1 on Ascend and for the CPU.

A rule is a generator of Problems over the form and the surface; types and bounds are in the form
itself. Severity ``error`` is what MindSpore refuses, ``warning`` what it changes or ignores.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from workbench.config.kernel_list import kernel_text, read_kernel
from workbench.config.mindspore_form import CATEGORIES
from workbench.core.plan import Iterations
from workbench.core.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from workbench.config.mindspore_form import MindSporeForm
    from workbench.core.problems import Severity

    Rule = Callable[[MindSporeForm, str], Iterator[Problem]]

PARSER = "MindSpore r2.7 dump_json_parser.cc"
SEEN = "seen with MindSpore 2.10.0 on a CPU"
CPU = "mindspore-cpu"
DEVICE_CATEGORIES = ("max", "min", "avg", "l2norm")

_PATH = re.compile(r"/[A-Za-z0-9_/-]*")


def dump_folder(form: MindSporeForm) -> str:
    """Folder of the dump; empty if neither form nor environment names one."""
    base = os.environ.get("MS_DIAGNOSTIC_DATA_PATH", "")
    return form.common_dump_settings.path or (base and f"{base}/debug_dump")


def debug_mode(form: MindSporeForm) -> int:
    """Return ``op_debug_mode`` as MindSpore understands it: 1 and 2 mean 3."""
    mode = form.common_dump_settings.op_debug_mode
    return 3 if mode in (1, 2) else mode


def _common(
    id_: str, severity: Severity, key: str, message: str, fix: str = "", source: str = PARSER
) -> Problem:
    path = f"common_dump_settings.{key}"
    return Problem(id_, severity, path, f"{path} {message}", fix, source=source)


def path_rule(form: MindSporeForm, _surface: str) -> Iterator[Problem]:
    """Require an absolute folder of few characters."""
    folder = dump_folder(form)
    if not folder:
        fix = "name a folder or set MS_DIAGNOSTIC_DATA_PATH"
        yield _common("path", "error", "path", "must be an absolute path, got nothing", fix)
    elif not _PATH.fullmatch(folder):
        expected = form.common_dump_settings.settings()["path"].expected
        yield _common("path", "error", "path", f"must be {expected}, got {folder!r}")


def iteration_rule(form: MindSporeForm, _surface: str) -> Iterator[Problem]:
    """Find pieces of the iteration text that never match."""
    text = form.common_dump_settings.iteration
    for piece in filter(None, text.split("|")):
        ranges = Iterations.parse(piece).ranges
        if ranges is not None and not any(low <= high for low, high in ranges):
            message = f"must be numbers and ranges like '5-8', got {piece!r}, which never matches"
            yield _common("iteration-void", "warning", "iteration", message)


def dump_mode_rule(form: MindSporeForm, surface: str) -> Iterator[Problem]:
    """Allow ``set_dump`` on Ascend alone; debug modes dump everything."""
    mode = form.common_dump_settings.dump_mode
    if mode == 2 and surface == CPU:
        message = "must be 0 or 1 on a CPU, got 2"
        yield _common("set-dump", "error", "dump_mode", message, source=SEEN)
    if mode and debug_mode(form):
        message = f"must be 0 with op_debug_mode {debug_mode(form)}, got {mode}"
        yield _common("debug-mode", "warning", "dump_mode", message, "MindSpore takes 0")


def debug_rule(form: MindSporeForm, _surface: str) -> Iterator[Problem]:
    """Keep settings of the overflow mode to that mode."""
    common = form.common_dump_settings
    if "overflow_number" in common.model_fields_set and debug_mode(form) != 3:
        message = f"must be absent with op_debug_mode {common.op_debug_mode}"
        got = f"{message}, got {common.overflow_number}"
        yield _common("overflow-number", "error", "overflow_number", got, "remove the key")
    if common.op_debug_mode in (1, 2):
        message = f"must be 0, 3 or 4, got {common.op_debug_mode}"
        yield _common("debug-mode", "warning", "op_debug_mode", message, "MindSpore takes 3")


def kernels_rule(form: MindSporeForm, _surface: str) -> Iterator[Problem]:
    """Compile regular expressions, and look for backslashes, which do not survive."""
    common = form.common_dump_settings
    if common.dump_mode != 1:
        if common.kernels:
            expected = f"must be empty with dump_mode {common.dump_mode}"
            message = f"{expected}, got {len(common.kernels)} entries"
            yield _common("kernels-unread", "hint", "kernels", message, "set dump_mode to 1")
        return
    for index, entry in enumerate(common.kernels):
        key, selector = f"kernels[{index}]", read_kernel(entry)
        if "\\" in kernel_text(entry):
            fix = "write '[.]' for a dot"
            message = f"must have no backslash, which MindSpore doubles, got {entry!r}"
            yield _common("kernels-backslash", "warning", key, message, fix)
        if selector and selector.kind == "regex":
            try:
                re.compile(selector.text)
            except re.error as error:
                message = f"must be a regular expression, got {selector.text!r} ({error})"
                yield _common("kernels-regex", "error", key, message)


def device_rule(form: MindSporeForm, surface: str) -> Iterator[Problem]:
    """Look for the own device, 0 in a simulation; a CPU does not."""
    devices = form.common_dump_settings.support_device
    if surface != CPU and 0 not in devices:
        message = f"must contain the device that runs, 0, got {list(devices)}"
        yield _common("support-device", "warning", "support_device", message, "nothing is dumped")
    if len(set(devices)) < len(devices):
        message = f"must hold each device once, got {list(devices)}"
        yield _common("support-device-twice", "warning", "support_device", message)


def statistic_rule(form: MindSporeForm, surface: str) -> Iterator[Problem]:
    """Allow statistics on Ascend alone, in known categories."""
    common = form.common_dump_settings
    if common.saved_data == "tensor":
        return
    if surface == CPU:
        message = f"must be 'tensor' on a CPU, got {common.saved_data!r}"
        yield _common("saved-data", "error", "saved_data", message, source=SEEN)
    for name in common.statistic_category:
        if name not in CATEGORIES:
            message = f"must hold only {list(CATEGORIES)}, got {name!r}"
            yield _common("category", "error", "statistic_category", message)
        elif computes_on_device(form) and name not in DEVICE_CATEGORIES:
            known = f"{list(DEVICE_CATEGORIES)} with stat_calc_mode 'device'"
            message = f"must hold only {known}, got {name!r}"
            yield _common("category-device", "warning", "statistic_category", message)


def mode_rule(form: MindSporeForm, surface: str) -> Iterator[Problem]:
    """Require the section that decides over O0/O1; ``enable`` does not."""
    if form.e2e_dump_settings is None and surface != CPU:
        path = "e2e_dump_settings"
        message = f"{path} must be present for O0/O1, got nothing; Ascend dumps in the O2 way"
        yield Problem("o2", "warning", path, message, 'add "e2e_dump_settings": {}', source=PARSER)


def e2e_rule(form: MindSporeForm, surface: str) -> Iterator[Problem]:
    """Find settings without effect on a CPU, and device statistics that nobody asked for."""
    e2e = form.e2e_dump_settings
    if e2e is None:
        return
    if e2e.stat_calc_mode == "device" and not (
        form.common_dump_settings.saved_data == "statistic" and surface != CPU
    ):
        path = "e2e_dump_settings.stat_calc_mode"
        message = f"{path} must be 'host' unless Ascend dumps statistics alone, got 'device'"
        yield Problem(
            "stat-host", "warning", path, message, "MindSpore takes 'host'", source=PARSER
        )
    for key in ("save_kernel_args", "sample_mode") if surface == CPU else ():
        if getattr(e2e, key):
            path = f"e2e_dump_settings.{key}"
            message = f"{path} must be unset on a CPU, got {getattr(e2e, key)!r}"
            yield Problem("no-effect", "warning", path, message, "it has no effect", source=SEEN)


def computes_on_device(form: MindSporeForm) -> bool:
    """Whether the device itself computes the statistics."""
    e2e, saved = form.e2e_dump_settings, form.common_dump_settings.saved_data
    return e2e is not None and e2e.stat_calc_mode == "device" and saved == "statistic"


RULES: tuple[Rule, ...] = (
    mode_rule,
    path_rule,
    iteration_rule,
    dump_mode_rule,
    debug_rule,
    kernels_rule,
    device_rule,
    statistic_rule,
    e2e_rule,
)
"""Every rule; order is that of messages."""
