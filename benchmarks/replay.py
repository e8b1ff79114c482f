"""What a diagnosis costs beyond the comparison itself: 2,000 operators whose tensors have 10,000 elements.

``python benchmarks/replay.py [--operators N] [--one-thread]``

Comparing is finding the files, binding, pairing and measuring them; the diagnosis is all that comes after it.
BLAS keeps the threads that it takes by default, as in a notebook.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from one_thread import start_anew

import workbench as wb
from workbench import nn
from workbench.comparison.engine import compare_dumps
from workbench.comparison.stages import timed
from workbench.core.plan import DumpPlan

if TYPE_CHECKING:
    from workbench.graph.graph import Graph

GOAL = 10.0
"""Seconds that the diagnosis may take."""

SIZE = 100
"""Rows and columns of every tensor."""

COMPARING = ("bind", "pair", "measure")
"""Stages of `workbench.comparison.engine.compare_dumps` that every comparison needs."""

DIAGNOSIS = ("forecast", "replay", "follow", "explain", "judge", "find")
"""Stages that say who is to blame."""


class Deep(nn.Cell):
    """Layers of a product, a bias, a ReLU and a normalization."""

    def __init__(self, layers: int) -> None:
        self.layers = [nn.Dense(SIZE, SIZE) for _ in range(layers)]
        self.norm = nn.LayerNorm((SIZE,))
        self.relu = nn.ReLU()

    def construct(self, x: Any) -> Any:
        """Run all layers."""
        for layer in self.layers:
            x = self.norm(self.relu(layer(x)))
        return x


def network(operators: int) -> tuple[Graph, str]:
    """Return a network of about so many operators, and the name of a product in its second half."""
    x = np.random.default_rng(0).normal(size=(SIZE, SIZE)).astype(np.float32)
    graph = wb.trace(Deep(operators // 4), x)
    products = [op.name for op in graph.ops if op.op_type == "MatMul"]
    return graph, products[len(products) * 3 // 5]


def main() -> None:
    """Dump, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--operators", type=int, default=2000)
    parser.add_argument("--one-thread", action="store_true", help="as the command runs")
    arguments = parser.parse_args()
    if arguments.one_thread:
        start_anew()
    graph, guilty = network(arguments.operators)
    with tempfile.TemporaryDirectory(prefix="replay-") as folder:
        plan, trees = DumpPlan("/dump"), [Path(folder, name) for name in ("golden", "target")]
        for tree, device in zip(trees, ("reference", "a2"), strict=True):
            faults = [f"half-accumulation:{guilty}"] if device == "a2" else []
            wb.simulate(
                graph, None, plan, tree, device=device, surface="mindspore-o0o1", faults=faults
            )
        golden, target = map(wb.load, trees)
        with timed() as stages:
            found = compare_dumps(target, golden).result
    times = {one.name: (one.seconds, one.busy) for one in stages}
    print(f"{len(graph.ops)} operators, {found.coverage.matched} pairs of {SIZE * SIZE} elements")
    for title, names in (("comparing", COMPARING), ("diagnosis", DIAGNOSIS)):
        clock, busy = (sum(times[name][n] for name in names) for n in (0, 1))
        print(f"{title:10} {clock:6.2f} s, {busy:6.2f} s of processor time")
        for name in names:
            print(f"  {name:14} {times[name][0]:6.2f} {times[name][1]:6.2f}")
    blamed = next((one.op_name for one in found.findings if one.defect), "nothing")
    print(f"goal {GOAL:.0f} s; blamed {'the right operator' if blamed == guilty else blamed}")


if __name__ == "__main__":
    main()
