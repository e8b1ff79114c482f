"""Parts of a dump plan that are the same in every dump of the graph engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.core.plan import DumpPlan, Iterations

if TYPE_CHECKING:
    from workbench.config.context import Context
    from workbench.core.tensors import Io

IO: dict[str, frozenset[Io]] = {
    "all": frozenset(("input", "output")),
    "input": frozenset(("input",)),
    "output": frozenset(("output",)),
}
"""``dump_mode`` → what is written of each operator."""

BINARY: dict[str, Any] = {"files": "bin", "host_format": False}
"""How tensors are written: as the device holds them."""

STATISTICS = {
    "Max": "max",
    "Min": "min",
    "Avg": "avg",
    "Nan": "nan count",
    "Negative Inf": "negative inf count",
    "Positive Inf": "positive inf count",
    "L2norm": "l2norm",
}
"""What the device computes, by adump's names, in the order of its columns → the plan's word."""

USUAL_STATISTICS = tuple(STATISTICS)[:6]
"""What it computes unless it is asked for more."""

EXCEPTION_DETAIL = {
    "lite_exception": "brief",
    "aic_err_brief_dump": "brief",
    "aic_err_norm_dump": "norm",
    "aic_err_detail_dump": "detail",
}
"""Scene of an exception dump → how much of a failing operator it writes."""


def mode_of(io: frozenset[Io]) -> str:
    """Return the ``dump_mode`` that writes inputs, outputs or both; the vendor's default for neither."""
    return next((mode for mode, written in IO.items() if written == io), "output")


def nothing(path: str) -> DumpPlan:
    """Return the plan of a form that is accepted and dumps nothing."""
    return DumpPlan(path, iterations=Iterations(()), **BINARY)


def saved(dump_data: str, chosen: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return what is written of a tensor: all of it, or statistics that the device computes, by adump's names."""
    if dump_data == "tensor":
        return {"saved": "tensor"}
    wanted = chosen or USUAL_STATISTICS
    words = tuple(word for name, word in STATISTICS.items() if name in wanted)
    return {"saved": "statistic", "statistics": words, "statistics_on": "device"}


def exception_folder(context: Context, *, old: bool = False) -> tuple[str, str]:
    """Return the folder of an exception dump and the variable that names it; empty if none does.

    A variable that names a file is passed over. ``old`` is CANN 8.0 and before.
    """
    for name in ("NPU_COLLECT_PATH" if old else "ASCEND_DUMP_PATH", "ASCEND_WORK_PATH"):
        folder = context.variable(name)
        if folder and not (context.here and context.file_exists(folder)):
            return folder, name
    return "", ""
