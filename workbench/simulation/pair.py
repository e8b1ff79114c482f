"""A rehearsal: the same graph on the reference and on the simulated NPU, dumped and compared."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.core.problems import require
from workbench.simulation.lowering import unsupported
from workbench.simulation.simulate import simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from workbench.config import Config
    from workbench.graph.control_flow import Network
    from workbench.npu.faults import Fault
    from workbench.run.executor import Feeds

    Report = Callable[[int, int, str], None]


DEVICE = "a2"
"""The device that rehearses if none is named."""

_INCOMPARABLE = {
    "watch": "a dump that watches memory holds one tensor again and again",
    "exception": "a dump of what fails holds nothing else",
}


def unsupported_reason(config: Config) -> str:
    """Why a form cannot be rehearsed; empty if it can."""
    judged = config.judge()
    errors = [problem for problem in judged.problems if problem.severity == "error"]
    if errors:
        return str(errors[0])
    plan = judged.plan()
    if plan.kind in _INCOMPARABLE:
        return f"{_INCOMPARABLE[plan.kind]}: nothing to compare"
    problem = unsupported(plan, config.surface.name, DEVICE)
    return "" if problem is None else str(problem)


def dump_both(
    graph: Network | Sequence[Network],
    config: Config,
    root: Path,
    *,
    feeds: Feeds | Sequence[Feeds] = None,
    device: str = DEVICE,
    faults: Sequence[Fault | str] = (),
    precision_mode: str | None = None,
    report: Report | None = None,
    **options: Any,
) -> tuple[Path, Path]:
    """Run graphs on the simulated NPU and on the reference; return the trees ``target`` and ``golden`` below ``root``.

    Parameters
    ----------
    graph : Graph, Flow or a sequence of them
    config : Config
        A form of which `unsupported_reason` says nothing; both runs dump what it asks for.
    feeds, device, faults, precision_mode, options
        See `workbench.simulation.simulate.simulate`.
    report : callable (done, total, text), optional
        Called after every tensor; ``total`` is 0 while it is unknown. What it raises ends the run.

    Raises
    ------
    ConfigError
        The form would be refused, or what it asks for is not simulated.
    """
    plan = config.plan(out=str(root))
    require(filter(None, [unsupported(plan, config.surface.name, device)]))
    plan = replace(plan, kind="data")  # the reference never overflows
    golden = simulate(
        graph, feeds, plan, root / "golden", progress=_counter(report, "reference"), **options
    )
    target = simulate(
        graph,
        feeds,
        config,
        root / "target",
        device=device,
        surface=config.surface.name,
        faults=faults,
        precision_mode=precision_mode,
        progress=_counter(report, device),
        **options,
    )
    return target, golden


def _counter(report: Report | None, name: str) -> Callable[[int, str], None] | None:
    if report is None:
        return None
    return lambda done, op_name: report(done, 0, f"{name}: {op_name}")
