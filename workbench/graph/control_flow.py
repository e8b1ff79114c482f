"""Control flow: several graphs, and steps that say which of them runs when.

Values go from graph to graph by name. A graph's parameters that are no weights are read by name: what
another graph left (`workbench.graph.graph.Parameter.captured`), or an input of the network. Weights are the
same for all graphs.
"""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from workbench._values import dataclass
from workbench.core.errors import GraphError
from workbench.core.text import one_line
from workbench.core.words import Message
from workbench.graph.graph import Const, Graph

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from workbench.graph.graph import Parameter

Source = str | Const
"""Where a value comes from: its name, or a constant."""


@dataclass(frozen=True, slots=True)
class Run:
    """Run a graph; its outputs are called ``results`` from then on."""

    graph_id: int
    results: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bind:
    """Give values new names, all at once: what a loop carries on, what a branch results in."""

    names: tuple[str, ...]
    values: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class While:
    """Run ``condition``, then ``body`` as long as ``predicate`` is true; ``name`` is for messages."""

    name: str
    condition: tuple[FlowStep, ...]
    predicate: Source
    body: tuple[FlowStep, ...]


@dataclass(frozen=True, slots=True)
class If:
    """Run ``then`` if ``predicate`` is true, else ``orelse``."""

    predicate: Source
    then: tuple[FlowStep, ...]
    orelse: tuple[FlowStep, ...]


FlowStep = Run | Bind | While | If


@dataclass(frozen=True, repr=False)
class ControlFlow:
    """A network with control flow.

    Attributes
    ----------
    graphs : tuple of Graph
        In the order of their ids. The first is where a run begins unless it is ``inner``.
    steps : tuple of FlowStep
        One iteration.
    parameters : tuple of Parameter
        Inputs of the network and weights of all graphs.
    results : tuple of str or Const
        What the network returns.
    batches : function, optional
        Returns the feeds of an iteration, where they differ.
    """

    name: str
    graphs: tuple[Graph, ...]
    steps: tuple[FlowStep, ...]
    parameters: tuple[Parameter, ...] = ()
    results: tuple[Source, ...] = ()
    batches: Callable[[int], Mapping[str, Any]] | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        count = sum(len(graph.ops) for graph in self.graphs)
        return one_line(f"<Flow {self.name}: {count} operators in {len(self.graphs)} graphs>")

    @cached_property
    def by_id(self) -> dict[int, Graph]:
        """Graphs by their ids."""
        return {graph.graph_id: graph for graph in self.graphs}

    def graph(self, graph_id: int) -> Graph:
        """Return a graph by its id."""
        try:
            return self.by_id[graph_id]
        except KeyError:
            known = sorted(self.by_id)
            raise GraphError("core/choice", subject="graph id", got=graph_id, known=known) from None


Network = Graph | ControlFlow
"""What a trace makes."""


_UNKNOWN = Message("graph/control-not-compiled")


def graphs_of(network: Network) -> tuple[Graph, ...]:
    """Return the graphs of a network: several where control flow was cut out."""
    return network.graphs if isinstance(network, ControlFlow) else (network,)


def one_graph(network: Network, who: str, why: Message | str = _UNKNOWN) -> Graph:
    """Return a network that is one graph; raises GraphError, which names who cannot run another, and why."""
    if isinstance(network, Graph):
        return network
    count = len(network.graphs)
    raise GraphError("graph/control-flow", user=who, graph=network.name, count=count, why=why)
