"""The form as a dump plan, and the way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.config.ge.options import DEBUG_MODES
from workbench.config.ge.plans import BINARY, IO, exception_folder, mode_of, nothing, saved
from workbench.config.ge.steps import bridge_iterations, step_text
from workbench.config.surface import Lowered
from workbench.core.plan import DumpPlan, Selector

if TYPE_CHECKING:
    from workbench.config.tensorflow.reading import TensorFlowReading

_DETAIL = {1: "norm", 2: "brief"}


def plan(r: TensorFlowReading) -> DumpPlan:
    """Return what a run shall write; one without iterations if nothing."""
    dump, script, run = r.form.dump, r.form.script, r.form.run
    ranks = None if script.rank is None else (script.rank,)
    if not r.on_device or r.ge.refused:
        return nothing(dump.dump_path)
    if dump.enable_dump:
        return DumpPlan(
            dump.dump_path,
            iterations=bridge_iterations(dump.dump_step),
            io=IO[dump.dump_mode or "output"],
            select=tuple(Selector("name", name) for name in dict.fromkeys(dump.dump_layer.split())),
            before_quantisation=run.quant_dumpable == "1",
            ranks=ranks,
            **saved(dump.dump_data),
            **BINARY,
        )
    if dump.enable_dump_debug:
        lost = r.takes_arguments and dump.dump_mode is None
        mode: Any = "all" if lost else dump.dump_debug_mode
        return DumpPlan(dump.dump_path, kind="overflow", overflow=mode, ranks=ranks, **BINARY)
    detail: Any = _DETAIL.get(run.enable_exception_dump)
    if detail is None:
        return nothing(dump.dump_path)
    return DumpPlan(
        exception_folder(r.context)[0] or "./", kind="exception", detail=detail, **BINARY
    )


def template() -> dict[str, Any]:
    """Return a form that dumps outputs and inputs of one iteration."""
    return {
        "script": {"interface": "session", "porting": "automated"},
        "dump": {
            "enable_dump": True,
            "dump_path": "/tmp/dump",
            "dump_step": "0",
            "dump_mode": "all",
        },
        "environment": {"DUMP_GE_GRAPH": "2"},
    }


def from_plan(wanted: DumpPlan) -> Lowered:
    """Return a form that dumps what a plan wants, as far as the surface can."""
    data = template()
    path = wanted.path or "./"
    steps = step_text(wanted.iterations)
    if wanted.kind == "exception":
        del data["dump"]
        data["run"] = {"enable_exception_dump": 2 if wanted.detail in ("", "brief") else 1}
        return Lowered(data)
    if wanted.kind == "overflow":
        data["dump"] = {
            "enable_dump_debug": True,
            "dump_path": path,
            "dump_debug_mode": wanted.overflow if wanted.overflow in DEBUG_MODES else "all",
        }
    elif steps is None:
        data["dump"] = {"enable_dump": False, "dump_path": wanted.path}
        data["run"] = {"enable_exception_dump": 0}
        return Lowered(data)
    else:
        data["dump"] = _data(wanted, path, steps)
        if wanted.before_quantisation:
            data["run"] = {"quant_dumpable": "1"}
    if wanted.ranks is not None and len(wanted.ranks) == 1:
        data["script"]["rank"] = wanted.ranks[0]
    return Lowered(data)


def _data(wanted: DumpPlan, path: str, steps: str) -> dict[str, Any]:
    """Return the settings of a dump of data."""
    names = [s.text for s in wanted.select if s.kind == "name" and len(s.text.split()) == 1]
    dump: dict[str, Any] = {"enable_dump": True, "dump_path": path}
    if steps:
        dump["dump_step"] = steps
    dump["dump_mode"] = mode_of(wanted.io)
    if wanted.saved == "statistic":
        dump["dump_data"] = "stats"
    if names:
        dump["dump_layer"] = " ".join(names)
    return dump
