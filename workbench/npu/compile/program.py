"""A program: what a compiler has made of a graph for one device, ready to run."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from workbench._values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from workbench.graph.graph import Graph, Kernel, Op
    from workbench.npu.numerics import Formats, NumericModel


@dataclass(frozen=True, slots=True)
class Module:
    """A graph while it is compiled.

    ``network`` is what the framework hands over; ``constants`` says how parameters of the graph are computed
    from those of the network, by name; ``folded`` names the operators that became such parameters.
    """

    graph: Graph
    network: Graph
    constants: Mapping[str, Kernel] = field(default_factory=dict)
    folded: frozenset[str] = frozenset()

    def handed(self, graph: Graph) -> Module:
        """Return the module with a graph that the framework hands over."""
        return replace(self, graph=graph, network=self.network if self.constants else graph)


@dataclass(frozen=True)
class Program:
    """A compiled graph.

    Attributes
    ----------
    network : Graph
        What the framework handed over.
    graph : Graph
        What runs: one operator a kernel.
    model : NumericModel
        The device and what it was asked for.
    formats : mapping of str to Formats
        What operators round to beyond their dtypes, by name; those inside fused ones too.
    constants : mapping of str to Kernel
        How the compiler computes parameters from those of the network, by name.
    stages : mapping of str to Graph
        The graph after every stage of compiling that changes it, in order;
        the first is what was handed over, quantized and as a faulty compiler has it. Empty if nothing is compiled.
    folded : frozenset of str
        Operators that the compiler has computed: the device never runs them.
    """

    network: Graph
    graph: Graph
    model: NumericModel
    formats: Mapping[str, Formats] = field(default_factory=dict)
    constants: Mapping[str, Kernel] = field(default_factory=dict)
    stages: Mapping[str, Graph] = field(default_factory=dict)
    folded: frozenset[str] = frozenset()

    @property
    def computed(self) -> Iterator[Op]:
        """Operators of the graph, and those inside fused ones."""
        for op in self.graph.ops:
            yield op
            if op.fused is not None:
                yield from op.fused.ops
