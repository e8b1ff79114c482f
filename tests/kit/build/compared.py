"""Comparisons of two runs in memory that tests of views look into."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import workbench as wb
from kit.build.small_dumps import Net, given, in_memory, shoot

if TYPE_CHECKING:
    from workbench.graph.graph import Graph
    from workbench.session.comparison import Comparison
    from workbench.views.operator import OperatorView


def spoiled(graph: Graph, alter: dict[str, Any] | None = None, **options: Any) -> Comparison:
    """A run whose operators are altered (name → function of their output), and the same run as it is."""
    values = given(graph)
    good = in_memory(shoot(graph, values), graph)
    return wb.compare(in_memory(shoot(graph, values, alter=alter), graph), good, **options)


def two_graphs(target: Graph, golden: Graph) -> Comparison:
    """Runs of two graphs with the same inputs and weights."""
    values = given(golden) | given(target)
    return wb.compare(*(in_memory(shoot(graph, values), graph) for graph in (target, golden)))


def two_tensors(target: np.ndarray, golden: np.ndarray) -> OperatorView:
    """A look at the output of a single operator whose sides are given."""
    net = Net()
    shape, dtype = target.shape, target.dtype.name
    net.op("Reshape", net.feed("x", shape, dtype), shape=shape, dtype=dtype)
    graph, values = net.graph(), {"x": np.zeros(shape, target.dtype)}
    sides = (
        in_memory(shoot(graph, values, alter={"Default/Reshape-op0": lambda _, of=of: of}), graph)
        for of in (target, golden)
    )
    return wb.compare(*sides).operator("Reshape-op0")
