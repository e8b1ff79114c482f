"""What else must hold in a ``data_dump.json``: one table, each row with the surfaces it holds on.

``error`` is what MindSpore refuses, ``warning`` what it changes or ignores.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workbench.config.context import Context
from workbench.config.mindspore.form import COMMON, E2E
from workbench.config.mindspore.kernel_list import kernel_text, read_kernel
from workbench.config.mindspore.reading import (
    DEVICE_CATEGORIES,
    common,
    debug_mode,
    e2e,
    folder,
    on_device,
)
from workbench.config.mindspore.row import SEEN, Row
from workbench.config.mindspore.start import ABSENT
from workbench.config.rule import NOTHING, Breach, Example
from workbench.core.plan import CATEGORIES, Iterations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.mindspore.form import MindSporeForm

_PATH = re.compile(r"/[A-Za-z0-9_/-]*")


def _common(key: str) -> str:
    return f"{COMMON}.{key}"


def _section(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    if common(form) is None:
        yield Breach(COMMON)


def _mode(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    if e2e(form) is None:
        yield Breach(E2E)


def _folder(form: MindSporeForm, context: Context) -> Iterator[Breach]:
    if common(form) and not _PATH.fullmatch(folder(form, context)):
        yield Breach(_common("path"), folder(form, context) or NOTHING)


def _void(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    for piece in filter(None, form.common_dump_settings.iteration.split("|")):
        ranges = Iterations.parse(piece).ranges
        if ranges is not None and not any(low <= high for low, high in ranges):
            yield Breach(_common("iteration"), piece)


def _set_dump(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    if form.common_dump_settings.dump_mode == 2:
        yield Breach(_common("dump_mode"), 2)


def _debug_dump_mode(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    mode = form.common_dump_settings.dump_mode
    if mode and debug_mode(form):
        yield Breach(_common("dump_mode"), mode, {"mode": debug_mode(form)})


def _overflow_number(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    section = form.common_dump_settings
    if "overflow_number" in section.model_fields_set and debug_mode(form) != 3:
        words = {"mode": section.op_debug_mode}
        yield Breach(_common("overflow_number"), section.overflow_number, words)


def _mapped(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    if form.common_dump_settings.op_debug_mode in (1, 2):
        yield Breach(_common("op_debug_mode"), form.common_dump_settings.op_debug_mode)


def _unread(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    section = form.common_dump_settings
    if section.kernels and section.dump_mode != 1:
        yield Breach(_common("kernels"), section.kernels, {"mode": section.dump_mode})


def _backslash(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    section = form.common_dump_settings
    for index, entry in enumerate(section.kernels if section.dump_mode == 1 else ()):
        if "\\" in kernel_text(entry):
            yield Breach(_common(f"kernels[{index}]"), entry)


def _regex(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    section = form.common_dump_settings
    for index, entry in enumerate(section.kernels if section.dump_mode == 1 else ()):
        selector = read_kernel(entry)
        if selector and selector.kind == "regex":
            try:
                re.compile(selector.text)
            except re.error as error:
                yield Breach(_common(f"kernels[{index}]"), selector.text, {"reason": error})


def _own_device(form: MindSporeForm, context: Context) -> Iterator[Breach]:
    section = common(form)
    if section and context.device not in section.support_device:
        words = {"device": context.device}
        yield Breach(_common("support_device"), section.support_device, words)


def _twice(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    devices = form.common_dump_settings.support_device
    if len(set(devices)) < len(devices):
        yield Breach(_common("support_device"), devices)


def _statistics(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    if form.common_dump_settings.saved_data != "tensor":
        yield Breach(_common("saved_data"), form.common_dump_settings.saved_data)


def _category(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    section = form.common_dump_settings
    if section.saved_data != "tensor":
        for index, name in enumerate(section.statistic_category):
            if name not in CATEGORIES:
                yield Breach(_common(f"statistic_category[{index}]"), name)


def _device_category(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    for index, name in enumerate(form.common_dump_settings.statistic_category):
        if on_device(form) and name in CATEGORIES and name not in DEVICE_CATEGORIES:
            yield Breach(_common(f"statistic_category[{index}]"), name)


def _on_host(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    section = e2e(form)
    if section and section.stat_calc_mode == "device" and not on_device(form):
        yield Breach(f"{E2E}.stat_calc_mode", "device")


def _no_effect(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    for key in ("save_kernel_args", "sample_mode"):
        value = getattr(e2e(form), key, None)
        if value:
            yield Breach(f"{E2E}.{key}", value)


ROWS = (
    Row(
        "section",
        "error",
        _section,
        "be an object",
        "add the section",
        Example({COMMON: ABSENT}),
        Example({}),
    ),
    Row(
        "o2",
        "warning",
        _mode,
        "be present for O0/O1",
        'Ascend dumps in the O2 way; add "e2e_dump_settings": {{}}',
        Example({E2E: ABSENT}),
        Example({E2E: {}}),
        on="o0o1",
    ),
    Row(
        "path",
        "error",
        _folder,
        "be an absolute path of letters, digits, '-', '_' and '/'",
        "name a folder or set MS_DIAGNOSTIC_DATA_PATH",
        Example({"path": "/a.b"}),
        Example({"path": ""}, Context(env={"MS_DIAGNOSTIC_DATA_PATH": "/data"})),
    ),
    Row(
        "iteration-void",
        "warning",
        _void,
        "be numbers and ranges like '5-8'",
        "this piece never matches",
        Example({"iteration": "0||5-"}),
        Example({"iteration": "0||5-5"}),
    ),
    Row(
        "set-dump",
        "error",
        _set_dump,
        "be 0 or 1 on a CPU or GPU",
        "only Ascend knows set_dump",
        Example({"dump_mode": 2}),
        Example({"dump_mode": 1}),
        SEEN,
        on="cpu gpu",
    ),
    Row(
        "debug-dump-mode",
        "warning",
        _debug_dump_mode,
        "be 0 with op_debug_mode {mode}",
        "MindSpore takes 0",
        Example({"op_debug_mode": 3, "dump_mode": 1}),
        Example({"op_debug_mode": 3, "dump_mode": 0}),
    ),
    Row(
        "debug-mode",
        "warning",
        _mapped,
        "be 0, 3 or 4",
        "MindSpore takes 3",
        Example({"op_debug_mode": 1}),
        Example({"op_debug_mode": 3}),
    ),
    Row(
        "overflow-number",
        "error",
        _overflow_number,
        "be absent with op_debug_mode {mode}",
        "remove the key",
        Example({"overflow_number": 1, "op_debug_mode": 0}),
        Example({"overflow_number": 1, "op_debug_mode": 3}),
    ),
    Row(
        "kernels-unread",
        "hint",
        _unread,
        "be empty with dump_mode {mode}",
        "set dump_mode to 1",
        Example({"kernels": ["Conv2D"]}),
        Example({"kernels": ["Conv2D"], "dump_mode": 1}),
    ),
    Row(
        "kernels-backslash",
        "warning",
        _backslash,
        "have no backslash, which MindSpore doubles",
        "write '[.]' for a dot",
        Example({"dump_mode": 1, "kernels": [r"name-regex(a\.b)"]}),
        Example({"dump_mode": 1, "kernels": ["name-regex(a[.]b)"]}),
    ),
    Row(
        "kernels-regex",
        "error",
        _regex,
        "be a regular expression ({reason})",
        "mend it",
        Example({"dump_mode": 1, "kernels": ["name-regex(()"]}),
        Example({"dump_mode": 1, "kernels": ["name-regex(a)"]}),
    ),
    Row(
        "support-device",
        "warning",
        _own_device,
        "contain the device that runs, {device}",
        "nothing is dumped",
        Example({"support_device": []}),
        Example({"support_device": [0]}),
        on="o0o1 o2 ge gpu",
    ),
    Row(
        "support-device-twice",
        "warning",
        _twice,
        "hold each device once",
        "remove the others",
        Example({"support_device": [0, 0]}),
        Example({"support_device": [0]}),
    ),
    Row(
        "saved-data",
        "error",
        _statistics,
        "be 'tensor' on a CPU",
        "statistics need Ascend or a GPU",
        Example({"saved_data": "full"}),
        Example({"saved_data": "tensor"}),
        SEEN,
        on="cpu",
    ),
    Row(
        "category",
        "error",
        _category,
        f"be one of {list(CATEGORIES)}",
        "remove it",
        Example({"saved_data": "full", "statistic_category": ["mean"]}),
        Example({"saved_data": "full", "statistic_category": ["avg"]}),
        on="o0o1 o2 ge gpu",
    ),
    Row(
        "category-device",
        "warning",
        _device_category,
        f"be one of {list(DEVICE_CATEGORIES)} with stat_calc_mode 'device'",
        "it is left out",
        Example(
            {
                "saved_data": "statistic",
                "statistic_category": ["max", "md5"],
                "e2e.stat_calc_mode": "device",
            }
        ),
        Example(
            {
                "saved_data": "statistic",
                "statistic_category": ["max"],
                "e2e.stat_calc_mode": "device",
            }
        ),
        on="o0o1",
    ),
    Row(
        "stat-host",
        "warning",
        _on_host,
        "be 'host' unless Ascend dumps statistics alone",
        "MindSpore takes 'host'",
        Example({"e2e.stat_calc_mode": "device"}),
        Example({"e2e.stat_calc_mode": "host"}),
        on="o0o1 cpu gpu",
    ),
    Row(
        "no-effect",
        "warning",
        _no_effect,
        "be unset on a CPU",
        "it has no effect",
        Example({"e2e.sample_mode": 1}),
        Example({"e2e.sample_mode": 0}),
        SEEN,
        on="cpu",
    ),
)
"""Every rule; order is that of MindSpore's own checks."""
