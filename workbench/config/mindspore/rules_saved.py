"""Rules on statistics, and hints on what a dump will cost and what the script must do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.config.context import Context
from workbench.config.form.rules import Example, Row
from workbench.config.mindspore.reading import DEVICE_CATEGORIES, iterations, known_categories
from workbench.config.mindspore.settings import ASCEND, SEEN, TUTORIAL, common_path, e2e_path
from workbench.core.plan import CATEGORIES

if TYPE_CHECKING:
    from workbench.config.form.rules import At
    from workbench.config.mindspore.reading import MindSporeReading

CATEGORY = common_path("statistic_category")
EACH = f"{CATEGORY}[]"
_MANY = 2


def _saves_statistics(r: MindSporeReading, at: At) -> Any:
    return r.saved != "tensor" and {"got": r.saved}


def _saves_statistics_in_bin(r: MindSporeReading, at: At) -> bool:
    return not r.by_kernel and at.value != "tensor" and r.common.file_format == "bin"


def _is_unknown(r: MindSporeReading, at: At) -> Any:
    known = known_categories(r.context)
    return r.saved != "tensor" and at.value not in known and {"known": list(known)}


def _is_not_on_device(r: MindSporeReading, at: At) -> bool:
    known = r.on_device and at.value in known_categories(r.context)
    return known and at.value not in DEVICE_CATEGORIES


def _is_whole_dump(r: MindSporeReading) -> bool:
    return r.has_common and not r.dump_mode and not r.debug_mode and r.saved != "statistic"


def _writes_everything(r: MindSporeReading, at: At) -> bool:
    sampled = r.e2e is not None and r.e2e.sample_mode == 1
    return at.value == "all" and _is_whole_dump(r) and not sampled


def _length(r: MindSporeReading) -> int:
    """Count the iterations asked for, up to a few."""
    ranges = iterations(r.common.iteration).ranges
    if ranges is None:
        return _MANY
    return min(_MANY, sum(max(0, high - low + 1) for low, high in ranges))


def _may_time_out(r: MindSporeReading, at: At) -> bool:
    many = len(r.devices) > 1 and _length(r) >= _MANY
    return many and _is_whole_dump(r) and not at.value


def _is_later(r: MindSporeReading, at: At) -> bool:
    """Look for iterations behind the first, whose numbers depend on how data sink."""
    first = iterations(at.value).ranges == ((0, 0),)
    return r.has_common and bool(_length(r)) and not first


def _statistic(*names: str, **more: object) -> dict[str, object]:
    form = {"saved_data": "statistic", "statistic_category": list(names), "file_format": "npy"}
    return form | more


_DEVICE: dict[str, object] = {"e2e.stat_calc_mode": "device"}

ROWS = (
    Row(
        id="saved-data",
        severity="error",
        at=common_path("saved_data"),
        when=_saves_statistics,
        says="{key} {got!r} is not supported on a CPU: statistics need Ascend or a GPU",
        fix="Set it to 'tensor'.",
        breaks={"saved_data": "full"},
        keeps={"saved_data": "tensor"},
        source=SEEN,
        on="cpu",
    ),
    Row(
        id="saved-data-bin",
        severity="error",
        at=common_path("saved_data"),
        when=_saves_statistics_in_bin,
        says="{key} {got!r} is not supported with file_format 'bin', which is the default",
        fix="Set file_format to 'npy'.",
        breaks={"saved_data": "statistic", "file_format": "bin"},
        keeps={"saved_data": "statistic", "file_format": "npy"},
        on="o2 ge",
    ),
    Row(
        id="stat-host",
        severity="warning",
        at=e2e_path("stat_calc_mode"),
        when=lambda r, at: at.value == "device" and not r.on_device,
        says="{key} 'device' needs Ascend and saved_data 'statistic' (for overflow also enable true); it is ignored",
        fix="Set it to 'host'.",
        breaks=_DEVICE,
        keeps={"e2e.stat_calc_mode": "host"},
        on="o0o1 cpu gpu",
    ),
    Row(
        id="category",
        severity="error",
        at=EACH,
        when=_is_unknown,
        says="{path}: unknown statistic {got!r}",
        fix="Choose from {known:list}.",
        breaks=_statistic("mean"),
        keeps=_statistic("avg"),
        on="o0o1 o2 ge gpu",
    ),
    Row(
        id="category-device",
        severity="warning",
        at=EACH,
        when=_is_not_on_device,
        says="{path}: {got!r} is left out, because the device does not compute it",
        fix=f"With stat_calc_mode 'device', use {', '.join(DEVICE_CATEGORIES)}.",
        breaks=_statistic("max", "md5", **_DEVICE),
        keeps=_statistic("max", **_DEVICE),
        on="o0o1",
    ),
    Row(
        id="category-empty",
        severity="hint",
        at=CATEGORY,
        when=lambda r, at: r.saved != "tensor" and not at.value,
        says="{key} is empty, so statistic.csv has no columns of statistics",
        fix=f"Choose from {', '.join(CATEGORIES)}.",
        breaks=_statistic(),
        keeps=_statistic("max"),
        on="o0o1 o2 ge gpu",
    ),
    Row(
        id="category-twice",
        severity="hint",
        at=CATEGORY,
        when=lambda r, at: r.saved != "tensor" and len(set(at.value)) < len(at.value),
        says="{key} {got!r} repeats a statistic; up to 2.7.0 its column appears twice",
        fix="Remove the duplicates.",
        breaks=_statistic("max", "max"),
        keeps=_statistic("max", "min"),
        on="o0o1 o2 ge gpu",
    ),
    Row(
        id="precision-unread",
        severity="hint",
        at=e2e_path("device_stat_precision_mode"),
        when=lambda r, at: at.value == "low" and not r.on_device,
        says="{key} has no effect unless the device computes statistics",
        fix="Remove it.",
        breaks={"e2e.device_stat_precision_mode": "low"},
        keeps=_statistic("max", **_DEVICE, **{"e2e.device_stat_precision_mode": "low"}),
        source=TUTORIAL,
        on="o0o1",
    ),
    Row(
        id="precision-low",
        severity="hint",
        at=e2e_path("device_stat_precision_mode"),
        when=lambda r, at: at.value == "low" and r.on_device,
        says="Sums in the tensor's own dtype may overflow: avg and l2norm are then Inf",
        fix="Set {key} to 'high' for large values.",
        breaks=_statistic("avg", **_DEVICE, **{"e2e.device_stat_precision_mode": "low"}),
        keeps=_statistic("avg", **_DEVICE),
        source=TUTORIAL,
        on="o0o1",
    ),
    Row(
        id="volume",
        severity="hint",
        at=common_path("iteration"),
        when=_writes_everything,
        says="Dumping full tensors for all iterations can be very large",
        fix="Limit iterations or operators, or use statistics.",
        breaks={"iteration": "all"},
        keeps={"iteration": "0-3"},
        source="the size of a dump",
    ),
    Row(
        id="timeout",
        severity="hint",
        at="$HCCL_EXEC_TIMEOUT",
        when=_may_time_out,
        says="Multi-device dumps can time out",
        fix="Set HCCL_EXEC_TIMEOUT (e.g. 3600).",
        breaks={"iteration": "0-9"},
        keeps=Example({"iteration": "0-9"}, Context(env={"HCCL_EXEC_TIMEOUT": "7200"})),
        source=TUTORIAL,
        on=ASCEND,
    ),
    Row(
        id="sink-size",
        severity="hint",
        at=common_path("iteration"),
        when=_is_later,
        says="{key} {got!r} needs sink size 1; O2 dumps refuse any other",
        fix="Pass sink_size=1 to model.train or mindspore.data_sink.",
        breaks={"iteration": "5"},
        keeps={"iteration": "0"},
        source=f"{TUTORIAL}; MindSpore ge_backend.cc",
        on="o2",
    ),
    Row(
        id="sink-mode",
        severity="hint",
        at=common_path("iteration"),
        when=_is_later,
        says="{key} {got!r}: some steps are lost in data sink mode",
        fix="Pass dataset_sink_mode=False to model.train or DatasetHelper.",
        breaks={"iteration": "5"},
        keeps={"iteration": "0"},
        source=TUTORIAL,
        on="gpu",
    ),
)
"""Order is that of MindSpore's own checks; hints come last."""
