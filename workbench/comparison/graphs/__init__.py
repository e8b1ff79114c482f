"""What a comparison reads off one graph.

In: a `Graph`, whatever file it came from. Out: `view.GraphView` (values with casts looked through, readers, ancestry),
roles of operators and parameters, phases, quantization, the network behind a compiled graph, and dumps whose graphs
are one. Who looks through operators that only hand values on asks `traverse`, with its own set of types.
Added here: what a new question reads off a graph alone; a new kind of graph file needs nothing here.
"""

from typing import TYPE_CHECKING

from workbench._doors import make_door

if TYPE_CHECKING:
    from workbench.comparison.graphs.source_network import network_of

__all__ = [
    "network_of",
]

PLACES = {
    "network_of": "workbench.comparison.graphs.source_network:network_of",
}
"""What others import from here, by name; each is loaded when it is first used."""

__getattr__, __dir__ = make_door(__name__, PLACES)
