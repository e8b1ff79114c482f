"""Operators counted anew: the names alone are those of the graphs."""

from __future__ import annotations

from dataclasses import replace

from kit.build.small_dumps import chain
from workbench.dump.selection import names_anew, numbered_anew


def test_names_counted_anew_are_those_of_graphs_counted_anew():
    inner = chain("ReLU", "Tanh")
    first = replace(chain("ReLU", "MatMul", "ReLU"), subgraphs=(inner,))
    odd = chain("Tanh", "Neg", at_1={"name": "Default/unnumbered"})
    graphs = [first, odd]
    names = names_anew(graphs)
    assert names == [[op.name for op in graph.ops] for graph in numbered_anew(graphs)]
    assert names[1] == ["Default/Tanh-op1", "Default/unnumbered"]
