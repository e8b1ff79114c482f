"""Graphs that the user's notebook holds, by the names of its variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.core.errors import WorkbenchError
from workbench.graph.control_flow import ControlFlow
from workbench.graph.graph import Graph
from workbench.network.nn import Cell

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.graph.control_flow import Network


def notebook_names() -> Mapping[str, Any]:
    """Return the variables of the notebook; none outside of one."""
    try:
        from IPython import get_ipython
    except ImportError:
        return {}
    shell = get_ipython()
    return {} if shell is None else dict(shell.user_ns)


def own_graphs(names: Mapping[str, Any]) -> dict[str, Network | Cell]:
    """Return graphs, flows and cells among variables, those of IPython itself left out."""
    return {
        name: value
        for name, value in names.items()
        if not name.startswith("_") and isinstance(value, Graph | ControlFlow | Cell)
    }


def variable_of(graph: object) -> str:
    """Return the variable of the notebook that holds a graph, ``graph`` if none does."""
    names = notebook_names().items()
    return next((n for n, one in names if one is graph and not n.startswith("_")), "graph")


def graph_of(name: str, value: Network | Cell, names: Mapping[str, Any]) -> Network:
    """Return the graph that a variable stands for; a cell is traced with the arrays in a variable ``inputs``.

    Raises WorkbenchError if a cell has no inputs.
    """
    from workbench.network.tracer import trace

    if isinstance(value, Graph | ControlFlow):
        return value
    inputs = names.get("inputs")
    if inputs is None:
        raise WorkbenchError("ui/no-inputs", name=name)
    return trace(value, *(inputs if isinstance(inputs, tuple | list) else (inputs,)))
