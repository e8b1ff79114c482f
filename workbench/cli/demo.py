"""The demonstration: rehearse a dump twice, plant a defect in one, and find it again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from workbench.core.errors import FormatError
from workbench.core.plan import DumpPlan
from workbench.core.words import Message
from workbench.graph.control_flow import one_graph
from workbench.network.models import load_graph
from workbench.session.compare import compare
from workbench.session.comparison import Comparison
from workbench.simulation.simulate import simulate

if TYPE_CHECKING:
    from collections.abc import Callable

MODEL = "alexnet"
GUILTY = "Default/conv3-Conv2d/Conv2D-op0"
FAULT = f"wrong-attribute:{GUILTY}:pad_mode=pad,pad=1"
DEVICE = "a2"


def plan(path: str) -> DumpPlan:
    """Every tensor of every operator."""
    return DumpPlan(path=path, net_name="AlexNet")


def demo(
    out: str | Path, say: Callable[[str], None] = lambda text: None
) -> tuple[Comparison, Path, bool]:
    """Run the main job below ``out`` (new or empty): simulate, reference, compare, report.

    Returns the comparison, the path of the report, and whether the planted defect was found.
    Raises FormatError if ``out`` holds something already.
    """
    root = Path(out)
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise FormatError("cli/demo-folder", got=str(root))
    graph = one_graph(load_graph(MODEL), "the demonstration")
    say(str(Message("cli/demo-golden", model=MODEL, ops=len(graph.ops))))
    golden = simulate(graph, None, plan(str(root / "golden")), root / "golden")
    say(str(Message("cli/demo-target", device=DEVICE, fault=FAULT)))
    target = simulate(
        graph, None, plan(str(root / "target")), root / "target", device=DEVICE, faults=(FAULT,)
    )
    comparison = compare(target, golden)
    report = comparison.to_html(root / "report.html", title=str(Message("cli/demo-title")))
    found = bool(comparison.findings) and comparison.findings[0].op_name == GUILTY
    return comparison, report, found
