"""``workbench demo``: simulate a dump twice, inject a fault into one, and find it again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.cli.commands import Command, option
from workbench.cli.compare import summary, verdict_line
from workbench.cli.terminal import Exit, print_error, print_lines
from workbench.core.errors import FormatError
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.session.comparison import Comparison

MODEL = "alexnet"
GUILTY = "Default/conv3-Conv2d/Conv2D-op0"
FAULT = f"wrong-attribute:{GUILTY}:pad_mode=pad,pad=1"
DEVICE = "a2"


@click.command(cls=Command)
@option("--out", default="demo_out", metavar="DIR", help="Output folder, new or empty.")
def demo(out: str) -> int:
    """Inject a fault into a simulated run, find it by comparison, write a report."""
    comparison, report, found = run_demo(out, lambda said: print_lines(said, err=True))
    print_lines(*summary(comparison)[:-1])
    if not found:
        print_error(Message("cli/demo-missed"))
    print_lines(verdict_line(comparison), Message("cli/report", path=report))
    return Exit.DONE if found else Exit.TROUBLE


def run_demo(
    out: str | Path, report: Callable[[Message], None] = lambda said: None
) -> tuple[Comparison, Path, bool]:
    """Run the main job below ``out`` (new or empty): simulate, reference, compare, report.

    Returns the comparison, the path of the report, and whether the planted defect was found.
    Raises FormatError if ``out`` holds something already.
    """
    from workbench.core.plan import DumpPlan
    from workbench.graph.control_flow import one_graph
    from workbench.network.models import load_graph
    from workbench.session.compare import compare
    from workbench.simulation.simulate import simulate

    root = Path(out)
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise FormatError("cli/demo-folder", got=str(root))
    graph = one_graph(load_graph(MODEL), "the demonstration")
    report(Message("cli/demo-golden", model=MODEL, ops=len(graph.ops)))
    every = DumpPlan(path=str(root), net_name="AlexNet")  # every tensor of every operator
    golden = simulate(graph, None, every, root / "golden")
    report(Message("cli/demo-target", device=DEVICE, fault=FAULT))
    target = simulate(graph, None, every, root / "target", device=DEVICE, faults=(FAULT,))
    comparison = compare(target, golden)
    written = comparison.to_html(root / "report.html", title=str(Message("cli/demo-title")))
    found = bool(comparison.findings) and comparison.findings[0].op_name == GUILTY
    return comparison, written, found
