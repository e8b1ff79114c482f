"""Rules on statistics, and hints on what a dump will cost and what the script must do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.config.context import Context
from workbench.config.mindspore.reading import (
    DEVICE_CATEGORIES,
    asks_e2e,
    common,
    debug_mode,
    devices,
    dump_mode,
    e2e,
    iterations,
    known_categories,
    on_device,
    saved,
    wants_device,
)
from workbench.config.mindspore.row import ASCEND, SEEN, TUTORIAL, Row, e2e_setting, setting
from workbench.config.rule import Breach, Example
from workbench.core.plan import CATEGORIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.mindspore.form import MindSporeForm

_MANY = 2


def _statistics_here(form: MindSporeForm, context: Context) -> Iterator[Breach]:
    if saved(form, context) != "tensor":
        yield Breach(setting("saved_data"), saved(form, context))


def _statistics_of_bin(form: MindSporeForm, context: Context) -> Iterator[Breach]:
    section = form.common_dump_settings
    by_acl = not asks_e2e(form, context)
    if by_acl and section.saved_data != "tensor" and section.file_format == "bin":
        yield Breach(setting("saved_data"), section.saved_data)


def _on_host(form: MindSporeForm, context: Context) -> Iterator[Breach]:
    if wants_device(form) and not on_device(form, context):
        yield Breach(e2e_setting("stat_calc_mode"), "device")


def _unknown(form: MindSporeForm, context: Context) -> Iterator[Breach]:
    if saved(form, context) != "tensor":
        known = known_categories(context)
        for index, name in enumerate(form.common_dump_settings.statistic_category):
            if name not in known:
                yield Breach(setting(f"statistic_category[{index}]"), name, {"known": list(known)})


def _not_on_device(form: MindSporeForm, context: Context) -> Iterator[Breach]:
    if on_device(form, context):
        for index, name in enumerate(form.common_dump_settings.statistic_category):
            if name not in DEVICE_CATEGORIES and name in known_categories(context):
                yield Breach(setting(f"statistic_category[{index}]"), name)


def _no_columns(form: MindSporeForm, context: Context) -> Iterator[Breach]:
    section = form.common_dump_settings
    if saved(form, context) != "tensor" and not section.statistic_category:
        yield Breach(setting("statistic_category"), [])


def _columns_twice(form: MindSporeForm, context: Context) -> Iterator[Breach]:
    named = form.common_dump_settings.statistic_category
    if saved(form, context) != "tensor" and len(set(named)) < len(named):
        yield Breach(setting("statistic_category"), list(named))


def _precision(form: MindSporeForm, context: Context) -> Iterator[Breach]:
    section = e2e(form)
    if section and section.device_stat_precision_mode == "low" and not on_device(form, context):
        yield Breach(e2e_setting("device_stat_precision_mode"), "low")


def _low(form: MindSporeForm, context: Context) -> Iterator[Breach]:
    section = e2e(form)
    if section and section.device_stat_precision_mode == "low" and on_device(form, context):
        yield Breach(e2e_setting("device_stat_precision_mode"), "low")


def _whole_dump(form: MindSporeForm, context: Context) -> bool:
    everything = dump_mode(form) == 0 and not debug_mode(form)
    return everything and saved(form, context) != "statistic" and common(form) is not None


def _volume(form: MindSporeForm, context: Context) -> Iterator[Breach]:
    section = e2e(form)
    sampled = section is not None and section.sample_mode == 1
    if form.common_dump_settings.iteration == "all" and _whole_dump(form, context) and not sampled:
        yield Breach(setting("iteration"), "all")


def _length(form: MindSporeForm) -> int:
    """Count the iterations asked for, up to a few."""
    ranges = iterations(form.common_dump_settings.iteration).ranges
    if ranges is None:
        return _MANY
    return min(_MANY, sum(max(0, high - low + 1) for low, high in ranges))


def _timeout(form: MindSporeForm, context: Context) -> Iterator[Breach]:
    many = len(devices(form)) > 1 and _length(form) >= _MANY
    if many and _whole_dump(form, context) and not context.variable("HCCL_EXEC_TIMEOUT"):
        yield Breach("HCCL_EXEC_TIMEOUT")


def _later(form: MindSporeForm, _: Context) -> Iterator[Breach]:
    """Look for iterations behind the first, whose numbers depend on how data sink."""
    text = form.common_dump_settings.iteration
    if common(form) and _length(form) and iterations(text).ranges != ((0, 0),):
        yield Breach(setting("iteration"), text)


def _statistic(*names: str, **more: object) -> dict[str, object]:
    form = {"saved_data": "statistic", "statistic_category": list(names), "file_format": "npy"}
    return form | more


_DEVICE: dict[str, object] = {"e2e.stat_calc_mode": "device"}

ROWS = (
    Row(
        "saved-data",
        "error",
        _statistics_here,
        "{key} {got!r} is not supported on a CPU: statistics need Ascend or a GPU",
        "Set it to 'tensor'.",
        {"saved_data": "full"},
        {"saved_data": "tensor"},
        SEEN,
        on="cpu",
    ),
    Row(
        "saved-data-bin",
        "error",
        _statistics_of_bin,
        "{key} {got!r} is not supported with file_format 'bin', which is the default",
        "Set file_format to 'npy'.",
        {"saved_data": "statistic", "file_format": "bin"},
        {"saved_data": "statistic", "file_format": "npy"},
        on="o2 ge",
    ),
    Row(
        "stat-host",
        "warning",
        _on_host,
        "{key} 'device' needs Ascend and saved_data 'statistic' (for overflow also enable true); it is ignored",
        "Set it to 'host'.",
        _DEVICE,
        {"e2e.stat_calc_mode": "host"},
        on="o0o1 cpu gpu",
    ),
    Row(
        "category",
        "error",
        _unknown,
        "{path} must be one of {known:list}, got {got!r}",
        "Remove it.",
        _statistic("mean"),
        _statistic("avg"),
        on="o0o1 o2 ge gpu",
    ),
    Row(
        "category-device",
        "warning",
        _not_on_device,
        "{path}: the device does not compute {got!r}, and it is left out",
        f"With stat_calc_mode 'device', use {', '.join(DEVICE_CATEGORIES)}.",
        _statistic("max", "md5", **_DEVICE),
        _statistic("max", **_DEVICE),
        on="o0o1",
    ),
    Row(
        "category-empty",
        "hint",
        _no_columns,
        "{key} is empty, so statistic.csv has no columns of statistics",
        f"Choose from {', '.join(CATEGORIES)}.",
        _statistic(),
        _statistic("max"),
        on="o0o1 o2 ge gpu",
    ),
    Row(
        "category-twice",
        "hint",
        _columns_twice,
        "{key} {got!r} repeats a statistic; up to 2.7.0 its column appears twice",
        "Remove the others.",
        _statistic("max", "max"),
        _statistic("max", "min"),
        on="o0o1 o2 ge gpu",
    ),
    Row(
        "precision-unread",
        "hint",
        _precision,
        "{key} has no effect unless the device computes statistics",
        "Remove it.",
        {"e2e.device_stat_precision_mode": "low"},
        _statistic("max", **_DEVICE, **{"e2e.device_stat_precision_mode": "low"}),
        TUTORIAL,
        on="o0o1",
    ),
    Row(
        "precision-low",
        "hint",
        _low,
        "Sums in the tensor's own dtype may overflow",
        "Set {key} to 'high' for large values.",
        _statistic("avg", **_DEVICE, **{"e2e.device_stat_precision_mode": "low"}),
        _statistic("avg", **_DEVICE),
        TUTORIAL,
        on="o0o1",
    ),
    Row(
        "complex",
        "hint",
        _statistics_here,
        "complex64 and complex128 tensors get no statistics",
        "Set {key} to 'tensor' to dump them.",
        _statistic("max"),
        {"saved_data": "tensor"},
        TUTORIAL,
        on="o0o1 o2 ge gpu",
    ),
    Row(
        "volume",
        "hint",
        _volume,
        "Dumping full tensors for all iterations can be very large",
        "Limit iterations or operators, or use statistics.",
        {"iteration": "all"},
        {"iteration": "0-3"},
        "the size of a dump",
    ),
    Row(
        "timeout",
        "hint",
        _timeout,
        "Multi-device dumps can time out",
        "Set HCCL_EXEC_TIMEOUT (e.g. 3600).",
        {"iteration": "0-9"},
        Example({"iteration": "0-9"}, Context(env={"HCCL_EXEC_TIMEOUT": "7200"})),
        TUTORIAL,
        on=ASCEND,
    ),
    Row(
        "sink-size",
        "hint",
        _later,
        "{key} {got!r} needs sink size 1; O2 dumps refuse any other",
        "Pass sink_size=1 to model.train or mindspore.data_sink.",
        {"iteration": "5"},
        {"iteration": "0"},
        f"{TUTORIAL}; MindSpore ge_backend.cc",
        on="o2",
    ),
    Row(
        "sink-mode",
        "hint",
        _later,
        "{key} {got!r}: some steps are lost in data sink mode",
        "Pass dataset_sink_mode=False to model.train or DatasetHelper.",
        {"iteration": "5"},
        {"iteration": "0"},
        TUTORIAL,
        on="gpu",
    ),
)
"""Order is that of MindSpore's own checks; hints come last."""
