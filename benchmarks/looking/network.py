"""A network of any number of operators with scopes, weights and source lines, and two small trees of it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import numpy as np

import workbench as wb
from workbench import nn

if TYPE_CHECKING:
    from pathlib import Path

    from workbench.graph.graph import Graph

SIZE = 4
"""Rows and columns of every tensor."""

OPERATORS = 18
"""Operators of a block."""

FAULTS = 40
"""Operators of the device that give wrong results, at most."""

SURFACE = "mindspore-o0o1"


class Block(nn.Cell):
    """Attention of one head and a dense layer, each with what it reads added and normalized."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Dense(SIZE, SIZE) for _ in range(3))
        self.attended, self.dense = nn.LayerNorm((SIZE,)), nn.Dense(SIZE, SIZE)
        self.norm, self.relu = nn.LayerNorm((SIZE,)), nn.ReLU()

    def construct(self, x: Any) -> Any:
        """Run the block."""
        query = self.query(x)
        key = self.key(x)
        value = self.value(x)
        scores = nn.functional.matmul(query, nn.functional.transpose(key, (1, 0)))
        weights = nn.functional.softmax(scores * 0.5, -1)
        x = self.attended(x + nn.functional.matmul(weights, value))
        return self.norm(x + self.relu(self.dense(x)))


class Deep(nn.Cell):
    """Blocks, one after the other."""

    def __init__(self, blocks: int) -> None:
        super().__init__()
        self.blocks = nn.CellList([Block() for _ in range(blocks)])

    def construct(self, x: Any) -> Any:
        """Run all blocks."""
        for block in self.blocks:
            x = block(x)
        return x


def network(operators: int) -> Graph:
    """Return a network of at least so many operators."""
    x = np.random.default_rng(0).normal(size=(SIZE, SIZE)).astype(np.float32)
    graph: Graph = wb.trace(Deep(-(-operators // OPERATORS)), x)
    return graph


def trees(operators: int, folder: Path) -> tuple[Path, Path]:
    """Dump the outputs of a network on a simulated NPU with faults and on the reference; return both trees.

    A folder that has them is used as it is.
    """
    target, golden, done = folder / "target", folder / "golden", folder / "done"
    if done.exists():
        return target, golden
    graph = network(operators)
    products = [op.name for op in graph.ops if op.op_type == "MatMul"]
    wrong = products[7 :: max(7, len(products) // FAULTS)]
    data = dict(wb.config.new(SURFACE).data)
    data["common_dump_settings"] = {**data["common_dump_settings"], "input_output": 2}
    form = wb.config.of(SURFACE, data)
    device = {
        "device": "a2",
        "surface": SURFACE,
        "faults": [f"scaled-output:{name}:strength=1.5" for name in wrong],
    }
    for place, options in ((golden, {}), (target, device)):
        shutil.rmtree(place, ignore_errors=True)
        wb.simulate(graph, None, form, place, **options)
    done.touch()
    return target, golden
