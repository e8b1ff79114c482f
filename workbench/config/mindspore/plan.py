"""A ``data_dump.json`` as a dump plan, and the way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from workbench.config.mindspore.kernel_list import read_kernels
from workbench.config.mindspore.reading import DEVICE_CATEGORIES, debug_mode, e2e, folder, on_device
from workbench.config.mindspore.start import changed
from workbench.config.surface import Lowered
from workbench.core.plan import BOTH, DumpPlan, Iterations, Selector

if TYPE_CHECKING:
    from workbench.config.context import Context
    from workbench.config.mindspore.form import MindSporeForm, Target
    from workbench.core.tensors import Io

_IO: dict[int, frozenset[Io]] = {0: BOTH, 1: frozenset(("input",)), 2: frozenset(("output",))}
_KINDS: dict[int, Literal["data", "overflow", "exception"]] = {
    0: "data",
    3: "overflow",
    4: "exception",
}


def plan(form: MindSporeForm, context: Context) -> DumpPlan:
    """Return what a form asks for."""
    section, more = form.common_dump_settings, e2e(form) if form.target != "cpu" else None
    select = {1: read_kernels(section.kernels), 2: (Selector("marked"),)}.get(section.dump_mode, ())
    statistics = section.statistic_category
    if on_device(form):
        statistics = tuple(name for name in statistics if name in DEVICE_CATEGORIES)
    return DumpPlan(
        path=folder(form, context),
        net_name=section.net_name,
        kind=_KINDS[debug_mode(form)],
        iterations=Iterations.parse(section.iteration),
        io=_IO[section.input_output],
        select=select,
        saved=section.saved_data,
        statistics=statistics,
        sample=more.sample_num if more and more.sample_mode else None,
        initial_iteration=section.initial_iteration,
        kernel_args=bool(more and more.save_kernel_args),
        devices=None if form.target == "cpu" else tuple(map(int, section.support_device)),
    )


def from_plan(target: Target, wanted: DumpPlan) -> Lowered:
    """Return a form that dumps what a plan wants, as far as the surface can."""
    change = {
        "path": wanted.path,
        "net_name": wanted.net_name,
        "iteration": str(wanted.iterations) or "-",
    }
    return Lowered(changed(target, change))
