"""A program: what a compiler has made of a graph for one device, ready to run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from workbench.graph.nodes import Graph, Op
    from workbench.run.numeric import Formats, NumericModel

COMPILED = "compiled"
"""Dialect of a graph that the graph engine runs: MindSpore's words for operators, GE's kernels."""


@dataclass(frozen=True)
class Program:
    """A compiled graph.

    Attributes
    ----------
    source : Graph
        What the framework handed over.
    graph : Graph
        What runs: one operator a kernel.
    model : NumericModel
        The device and what it was asked for.
    formats : mapping of str to Formats
        What operators round to beyond their dtypes, by name; those inside fused ones too.
    stages : mapping of str to Graph
        The graph after every stage of compiling that changes it, in order; the first is ``source``.
    """

    source: Graph
    graph: Graph
    model: NumericModel
    formats: Mapping[str, Formats] = field(default_factory=dict)
    stages: Mapping[str, Graph] = field(default_factory=dict)

    @property
    def computed(self) -> Iterator[Op]:
        """Operators of the graph, and those inside fused ones."""
        for op in self.graph.ops:
            yield op
            if op.fused is not None:
                yield from op.fused.ops


def as_it_is(graph: Graph, model: NumericModel) -> Program:
    """Return the program of a graph whose operators run one by one, as they are."""
    names = [op.name for op in graph.ops]
    return Program(graph, graph, model, dict(zip(names, model.formats(graph), strict=True)))
