"""A ``data_dump.json`` as a dump plan, and the way back."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from workbench.config.explain import selector_words
from workbench.config.mindspore.kernels import (
    ascendcl_entry,
    for_ascendcl,
    read_kernels,
    write_kernel,
)
from workbench.config.mindspore.reading import (
    DEVICE_CATEGORIES,
    iterations,
)
from workbench.config.mindspore.rules_form import PATH
from workbench.config.mindspore.template import changed
from workbench.config.surface import Lowered
from workbench.core.plan import BOTH, CATEGORIES, DumpPlan, Iterations, Selector
from workbench.core.words import Message

if TYPE_CHECKING:
    from workbench.config.mindspore.reading import MindSporeReading
    from workbench.config.mindspore.settings import Target
    from workbench.core.tensors import Io

Kind = Literal["data", "overflow", "exception"]

_IO: dict[int, frozenset[Io]] = {0: BOTH, 1: frozenset(("input",)), 2: frozenset(("output",))}
_KINDS: dict[int, Kind] = {0: "data", 3: "overflow", 4: "exception"}
_REFUSED: dict[Target, int] = {"cpu": 3, "gpu": 3, "ge": 4}
"""Target → the ``op_debug_mode`` that it refuses."""

_DEFAULT = DumpPlan("")
_WHOLE_GRAPH = ("o2", "ge")


def plan(r: MindSporeReading) -> DumpPlan:
    """Return what a form asks for."""
    section = r.common
    if r.by_kernel == (r.form.target in _WHOLE_GRAPH):
        # the second section decides for the other way to dump, which writes nothing on this surface
        nothing = DumpPlan(r.folder, section.net_name, Iterations(()))
        return replace(nothing, devices=r.devices)
    return DumpPlan(
        path=r.folder,
        net_name=section.net_name,
        kind=_kind(r),
        iterations=_iterations(r),
        io=_io(r),
        select=_select(r),
        initial_iteration=r.first_iteration,
        limit=_limit(r),
        detail=_detail(r),
        devices=None if r.form.target == "cpu" else r.devices,
        **_saving(r),
    )


def _iterations(r: MindSporeReading) -> Iterations:
    """Which iterations; AscendCL is told nothing of them where it looks for overflow or exceptions.

    msprobe tells it of those without a search for overflow.
    """
    mode = r.debug_mode
    untold = r.form.target in _WHOLE_GRAPH and not r.by_msprobe
    if mode == 4 or (mode == 3 and untold):
        return Iterations(None)
    return iterations(r.common.iteration)


def _kind(r: MindSporeReading) -> Kind:
    """A CPU or GPU looks for no overflow: it dumps as asked."""
    kind = _KINDS[r.debug_mode]
    return "data" if kind == "overflow" and r.form.target in ("cpu", "gpu") else kind


def _detail(r: MindSporeReading) -> Literal["", "brief", "norm"]:
    if r.debug_mode != 4:
        return ""
    return "brief" if r.form.target in _WHOLE_GRAPH else "norm"


def _io(r: MindSporeReading) -> frozenset[Io]:
    mode = r.debug_mode
    if mode == 4 and r.form.target == "o0o1":
        return frozenset(("input",))
    forced = mode == 3 or (mode == 4 and r.form.target in _WHOLE_GRAPH)
    return BOTH if forced else _IO[r.common.input_output]


def _select(r: MindSporeReading) -> tuple[Selector, ...]:
    mode = r.dump_mode
    if mode == 2:
        return (Selector("marked"),)
    selectors = read_kernels(r.common.kernels) if mode == 1 else ()
    if r.form.target in _WHOLE_GRAPH:
        return for_ascendcl(selectors, anywhere=not r.by_msprobe)
    return selectors


def _limit(r: MindSporeReading) -> int:
    counted = _kind(r) == "overflow" and r.limited
    return r.common.overflow_number if counted else 0


def _saving(r: MindSporeReading) -> dict[str, Any]:
    """What is kept of a tensor, and how."""
    section, more = r.common, r.e2e if r.form.target == "o0o1" else None
    whole = r.form.target in _WHOLE_GRAPH
    exception = r.debug_mode == 4
    named = "tensor" if exception else r.saved
    result: dict[str, Any] = {
        "saved": named,
        "files": section.file_format if whole else "npy",
        "host_format": section.file_format == "npy" if whole else not more or more.trans_flag,
        "kernel_args": bool(more and more.save_kernel_args),
    }
    if more and more.sample_mode == 1 and not exception:
        result["sample"] = more.sample_num
    if named != "tensor":
        result["statistics"] = r.categories
    if more and r.on_device:
        result["statistics_on"] = "device"
        result["statistics_precision"] = more.device_stat_precision_mode
    return result


def from_plan(target: Target, wanted: DumpPlan) -> Lowered:
    """Return a form that dumps what a plan wants, as far as the surface can."""
    modes: dict[str, int] = {"overflow": 3, "exception": 4}
    mode = modes.get(wanted.kind, 0)
    if mode == _REFUSED.get(target):
        mode = 0
    whole = target in _WHOLE_GRAPH
    files = "npy" if wanted.saved != "tensor" and mode != 4 else wanted.files
    select, losses = _kernels(target, wanted, mode)
    change: dict[str, Any] = {
        "op_debug_mode": mode,
        "path": wanted.path if PATH.fullmatch(wanted.path) else "/dump",
        "net_name": re.sub(r"[^A-Za-z0-9_-]", "_", wanted.net_name) or "Net",
        "iteration": "all" if mode == 4 else str(wanted.iterations) or "-",
        "input_output": next(n for n, io in _IO.items() if io == (wanted.io or BOTH)),
        **select,
        **_saved_settings(target, wanted, mode),
    }
    if mode == 3:
        change["input_output"] = 0
    if mode == 4 and target not in ("cpu", "gpu"):
        change["input_output"] = 1 if target == "o0o1" else 0
    if wanted.initial_iteration:
        change["initial_iteration"] = max(0, wanted.initial_iteration) % 2**32
    if target != "cpu" and wanted.devices is not None:
        change["support_device"] = [device % 2**32 for device in wanted.devices]
    if whole:
        change["file_format"] = "bin" if files == "bin" else "npy"
    if mode == 3 and wanted.limit > 0:
        change["overflow_number"] = wanted.limit % 2**32
    return Lowered(changed(target, change), losses)


def _kernels(
    target: Target, wanted: DumpPlan, mode: int
) -> tuple[dict[str, Any], tuple[Message, ...]]:
    """``dump_mode`` and ``kernels`` for the operators of a plan, and those that they cannot name."""
    select = wanted.select
    if mode or not select or any(entry.kind == "all" for entry in select):
        return {}, ()
    if all(entry.kind == "marked" for entry in select) and target not in ("cpu", "gpu"):
        return {"dump_mode": 2}, ()
    write = ascendcl_entry if target in _WHOLE_GRAPH else write_kernel
    entries = [(entry, write(entry)) for entry in select]
    kept = [text for _, text in entries if text]
    lost = [entry for entry, text in entries if not text]
    losses = [Message("config/lost-operators", operators=selector_words(entry)) for entry in lost]
    if not kept:
        return {}, (*losses, Message("config/lost-every-operator"))
    return {"dump_mode": 1, "kernels": kept}, tuple(losses)


def _saved_settings(target: Target, wanted: DumpPlan, mode: int) -> dict[str, Any]:
    """What is kept of a tensor, in the form's words."""
    change: dict[str, Any] = {"saved_data": wanted.saved}
    if target == "cpu" or mode == 4:
        change["saved_data"] = "tensor"
    device = target == "o0o1" and wanted.statistics_on == "device"
    device = device and change["saved_data"] == "statistic"
    if change["saved_data"] != "tensor":
        change["statistic_category"] = list(_columns(target, wanted, device=device))
    if target != "o0o1":
        return change
    change["e2e.trans_flag"] = wanted.host_format
    if wanted.kernel_args:
        change["e2e.save_kernel_args"] = True
    if wanted.sample is not None and mode != 4:
        change["e2e.sample_mode"] = 1
        change["e2e.sample_num"] = min(max(1, wanted.sample), 2**32 - 1)
    if device:
        change["e2e.stat_calc_mode"] = "device"
        change["e2e.device_stat_precision_mode"] = wanted.statistics_precision
    return change


def _columns(target: Target, wanted: DumpPlan, *, device: bool) -> tuple[str, ...]:
    if device:
        return tuple(name for name in wanted.statistics if name in DEVICE_CATEGORIES)
    named = tuple("hash" if name == "sha1" else name for name in wanted.statistics)
    known = CATEGORIES if target in _WHOLE_GRAPH else (*CATEGORIES, "hash")
    return tuple(name for name in named if name in known)
