"""Rehearse a dump: run a graph on the reference or the simulated NPU and write its tree."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.core.errors import ConfigError, GraphError
from workbench.core.plan import DumpPlan
from workbench.core.problems import Problem
from workbench.dump.choice import dumped_iterations
from workbench.dump.mindspore_tree import Clock
from workbench.dump.writer import write
from workbench.run.faults import Fault, faulty_graph, parse_fault
from workbench.run.npu import run_npu
from workbench.run.numeric import PROFILES
from workbench.run.reference import run_reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from workbench.config.config import Config
    from workbench.core.tensors import TensorRecord
    from workbench.dump.mindspore_tree import Device
    from workbench.dump.writer import Progress
    from workbench.graph.nodes import Graph

    Run = Callable[..., Iterator[TensorRecord]]

REFERENCE = "reference"
"""The device that makes golden trees."""

PLATFORMS: dict[str, Device] = {
    "mindspore-o0o1": "Ascend",
    "mindspore-cpu": "CPU",
    "mindspore-gpu": "GPU",
}
"""Surfaces whose trees can be written, with the platform that writes them."""


def simulate(
    graph: Graph,
    feeds: Mapping[str, Any] | None,
    config: DumpPlan | Config | str | Path,
    out: str | Path,
    *,
    device: str = REFERENCE,
    surface: str | None = None,
    faults: Sequence[Fault | str] = (),
    seed: int = 0,
    iterations: int = 1,
    precision_mode: str | None = None,
    progress: Progress | None = None,
) -> Path:
    """Run a graph and write one dump tree; return ``out``.

    Parameters
    ----------
    graph : Graph
    feeds : mapping of parameter name to array, or None
        Inputs and weights; what is missing comes from the traced graph.
    config : DumpPlan, Config or path
        What to dump; a path names a form of the surface.
    out : path
        A folder that is new or empty; it replaces the form's own.
    device : str
        ``reference``, or a key of `workbench.run.numeric.PROFILES` (``910a``, ``a2``, …).
    surface : str, optional
        ``mindspore-cpu`` (the default of the reference), ``mindspore-o0o1`` (that of an NPU) or
        ``mindspore-gpu``.
    faults : sequence of Fault or text
        Defects planted in the NPU, as `workbench.run.faults.parse_fault` spells them.
    seed : int
        Seed of faults, timestamps and random file numbers.
    iterations : int
        How many iterations run, counted from the form's ``initial_iteration``.
    precision_mode : str, optional
        The NPU's precision mode.
    progress : callable, optional
        Called after every tensor with their number so far and the operator's name.

    Raises
    ------
    ConfigError
        The form breaks a rule of its surface.
    GraphError
        Device, fault, mode or feed are unknown or do not fit.
    FormatError
        The form or the folder cannot be read or written.
    """
    planted = tuple(parse_fault(item) if isinstance(item, str) else item for item in faults)
    _check(device, planted, precision_mode, iterations)
    surface = surface or ("mindspore-cpu" if device == REFERENCE else "mindspore-o0o1")
    plan, platform, text = _lower(config, surface, out)
    wanted = dumped_iterations(plan, iterations)
    run: Run = partial(run_reference, graph, feeds)
    if device != REFERENCE:
        run = partial(run_npu, graph, feeds, profile=device, seed=seed)
        run = partial(run, precision_mode=precision_mode, faults=planted)
    return write(
        chain.from_iterable(run(iteration=iteration) for iteration in wanted),
        plan,
        out,
        graph=faulty_graph(graph, planted),  # what the device compiled is what its IR shows
        device=platform,
        config_text=text,
        progress=progress,
        clock=Clock(seed),
    )


def _check(
    device: str, faults: Sequence[Fault], precision_mode: str | None, iterations: int
) -> None:
    known = [REFERENCE, *PROFILES]
    if device not in known:
        message = f"device must be one of {known}, got {device!r}"
        raise GraphError(message)
    if iterations < 1:
        message = f"iterations must be 1 or more, got {iterations}"
        raise GraphError(message)
    if device == REFERENCE and (faults or precision_mode):
        given = "faults" if faults else f"precision mode {precision_mode!r}"
        message = f"device must be one of {list(PROFILES)} with {given}, got {device!r}"
        raise GraphError(message)


def _lower(
    config: DumpPlan | Config | str | Path, surface: str, out: str | Path
) -> tuple[DumpPlan, Device, str | None]:
    """Return the plan, the device whose files are written, and the text of the form."""
    if surface not in PLATFORMS:
        message = f"surface must be one of {list(PLATFORMS)}, got {surface!r}"
        raise ConfigError([Problem("surface", "error", "", message)])
    if isinstance(config, DumpPlan):
        plan, text = config, None
    else:
        from workbench.config import get, load  # pydantic

        form = load(config, surface) if isinstance(config, str | Path) else config
        plan = replace(form, surface=get(surface)).plan(out=str(out))
        text = form.decoded.text if form.decoded else form.to_text()
    if plan.kind != "data":
        message = f"kind of dump must be 'data' for the simulated device, got {plan.kind!r}"
        fix = "it does not write overflow and exception dumps yet; set op_debug_mode to 0"
        raise ConfigError([Problem("kind", "error", "", message, fix)])
    return plan, PLATFORMS[surface], text
