"""A ``data_dump.json`` as a dump plan, and the way back."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from workbench.config.mindspore.kernel_list import (
    read_kernels,
    told_acl,
    write_for_acl,
    write_kernel,
)
from workbench.config.mindspore.reading import (
    DEVICE_CATEGORIES,
    asks_e2e,
    by_msprobe,
    categories,
    debug_mode,
    devices,
    dump_mode,
    e2e,
    first_iteration,
    folder,
    iterations,
    limited,
    on_device,
    saved,
)
from workbench.config.mindspore.rules_form import PATH
from workbench.config.mindspore.start import changed
from workbench.config.surface import Lowered
from workbench.config.words import selector_words
from workbench.core.plan import BOTH, CATEGORIES, DumpPlan, Iterations, Selector
from workbench.core.words import Message

if TYPE_CHECKING:
    from workbench.config.context import Context
    from workbench.config.mindspore.form import MindSporeForm, Target
    from workbench.core.tensors import Io

Kind = Literal["data", "overflow", "exception"]

_IO: dict[int, frozenset[Io]] = {0: BOTH, 1: frozenset(("input",)), 2: frozenset(("output",))}
_KINDS: dict[int, Kind] = {0: "data", 3: "overflow", 4: "exception"}
_DEFAULT = DumpPlan("")
_WHOLE_GRAPH = ("o2", "ge")


def plan(form: MindSporeForm, context: Context) -> DumpPlan:
    """Return what a form asks for."""
    section = form.common_dump_settings
    if asks_e2e(form, context) == (form.target in _WHOLE_GRAPH):
        # the second section decides for the other way to dump, which writes nothing on this surface
        nothing = DumpPlan(folder(form, context), section.net_name, Iterations(()))
        return replace(nothing, devices=devices(form))
    return DumpPlan(
        path=folder(form, context),
        net_name=section.net_name,
        kind=_kind(form),
        iterations=_iterations(form, context),
        io=_io(form),
        select=_select(form, context),
        initial_iteration=first_iteration(form, context),
        limit=_limit(form, context),
        detail=_detail(form),
        devices=None if form.target == "cpu" else devices(form),
        **_saving(form, context),
    )


def _iterations(form: MindSporeForm, context: Context) -> Iterations:
    """Which iterations; AscendCL is told nothing of them where it looks for overflow or exceptions.

    msprobe tells it of those without a search for overflow.
    """
    mode = debug_mode(form)
    untold = form.target in _WHOLE_GRAPH and not by_msprobe(form, context)
    if mode == 4 or (mode == 3 and untold):
        return Iterations(None)
    return iterations(form.common_dump_settings.iteration)


def _kind(form: MindSporeForm) -> Kind:
    """A CPU or GPU looks for no overflow: it dumps as asked."""
    kind = _KINDS[debug_mode(form)]
    return "data" if kind == "overflow" and form.target in ("cpu", "gpu") else kind


def _detail(form: MindSporeForm) -> Literal["", "brief", "norm"]:
    if debug_mode(form) != 4:
        return ""
    return "brief" if form.target in _WHOLE_GRAPH else "norm"


def _io(form: MindSporeForm) -> frozenset[Io]:
    mode = debug_mode(form)
    if mode == 4 and form.target == "o0o1":
        return frozenset(("input",))
    forced = mode == 3 or (mode == 4 and form.target in _WHOLE_GRAPH)
    return BOTH if forced else _IO[form.common_dump_settings.input_output]


def _select(form: MindSporeForm, context: Context) -> tuple[Selector, ...]:
    mode = dump_mode(form)
    if mode == 2:
        return (Selector("marked"),)
    selectors = read_kernels(form.common_dump_settings.kernels) if mode == 1 else ()
    if form.target in _WHOLE_GRAPH:
        return told_acl(selectors, anywhere=not by_msprobe(form, context))
    return selectors


def _limit(form: MindSporeForm, context: Context) -> int:
    counted = _kind(form) == "overflow" and limited(form, context)
    return form.common_dump_settings.overflow_number if counted else 0


def _saving(form: MindSporeForm, context: Context) -> dict[str, Any]:
    """What is kept of a tensor, and how."""
    section, more = form.common_dump_settings, e2e(form) if form.target == "o0o1" else None
    whole = form.target in _WHOLE_GRAPH
    exception = debug_mode(form) == 4
    named = "tensor" if exception else saved(form, context)
    result: dict[str, Any] = {
        "saved": named,
        "files": section.file_format if whole else "npy",
        "host_format": section.file_format == "npy" if whole else not more or more.trans_flag,
        "kernel_args": bool(more and more.save_kernel_args),
    }
    if more and more.sample_mode == 1 and not exception:
        result["sample"] = more.sample_num
    if named != "tensor":
        result["statistics"] = categories(form, context)
    if more and on_device(form, context):
        result["statistics_on"] = "device"
        result["statistics_precision"] = more.device_stat_precision_mode
    return result


def from_plan(target: Target, wanted: DumpPlan) -> Lowered:
    """Return a form that dumps what a plan wants, as far as the surface can."""
    modes: dict[str, int] = {"overflow": 3, "exception": 4}
    mode = modes.get(wanted.kind, 0)
    if target in ("cpu", "gpu") and mode == 3:
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
    write = write_for_acl if target in _WHOLE_GRAPH else write_kernel
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
