"""How long a training step takes, beside the forward pass of the same network on the same batches.

``python benchmarks/training.py [--steps N] [NAME …]``
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

from one_thread import start_anew

from workbench.network.models import TRAININGS, load_graph
from workbench.npu.runner import run_npu
from workbench.run.reference import run_reference

if TYPE_CHECKING:
    from workbench.graph.graph import Graph
    from workbench.run.executor import State

LIMIT = 2.8
"""Times the forward pass that a step may take."""


def forward(graph: Graph) -> Graph:
    """Return the part of a training step that computes its loss."""
    (loss,) = graph.outputs
    return replace(graph, ops=graph.ops[: loss.op + 1])


def seconds(graph: Graph, device: str, step: int, state: State) -> float:
    """Processor time of a step."""
    start = time.process_time()
    if device == "reference":
        run = run_reference(graph, iteration=step, state=state)
    else:
        run = run_npu(graph, iteration=step, state=state, profile=device)
    for _ in run:
        pass
    return time.process_time() - start


def rounds(graph: Graph, device: str, steps: int) -> list[tuple[float, float]]:
    """Forward pass and whole step in turns; the first round warms up."""
    first, kept, trained = forward(graph), {}, {}
    return [
        (seconds(first, device, step, kept), seconds(graph, device, step, trained))
        for step in range(steps + 1)
    ][1:]


def main() -> None:
    """Print a line for every network and device."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(TRAININGS))
    parser.add_argument("--steps", type=int, default=15)
    arguments = parser.parse_args()
    print(f"{'network':<20}{'device':<11}{'forward':>10}{'step':>10}{'times':>8}")
    for name in arguments.names:
        graph = load_graph(name)
        for device in ("reference", "a2"):
            measured = rounds(graph, device, arguments.steps)
            first, whole = (median(times) * 1e3 for times in zip(*measured, strict=True))
            times = median(step / before for before, step in measured)
            note = "" if times <= LIMIT else f"  over {LIMIT}"
            print(f"{name:<20}{device:<11}{first:>8.1f}ms{whole:>8.1f}ms{times:>8.2f}{note}")


if __name__ == "__main__":
    start_anew()
    main()
