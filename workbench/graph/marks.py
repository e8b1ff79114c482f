"""Operators that a network marks for a dump (``dump_mode`` 2), as MindSpore's ``set_dump`` does: by an attribute."""

from __future__ import annotations

import difflib
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from workbench.core.errors import GraphError
from workbench.graph.control_flow import ControlFlow, graphs_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.graph.control_flow import Network
    from workbench.graph.graph import Graph, Op

MARK = "dump"
"""Attribute of a marked operator; its value is the text ``true``."""


def is_marked(op: Op) -> bool:
    """Whether an operator is marked."""
    return op.attrs.get(MARK) == "true"


def mark(op: Op) -> Op:
    """Return an operator that is marked."""
    return replace(op, attrs={**op.attrs, MARK: "true"})


def mark_operators(network: Network, patterns: Sequence[str]) -> Network:
    """Return a network whose operators of some names are marked.

    Parameters
    ----------
    patterns : sequence of str
        Full names, patterns with ``*``, operator types, or scopes such as ``Default/conv1-Conv2d``, which mean
        all operators below them and those of their gradients.

    Raises
    ------
    GraphError
        A pattern meets no operator.
    """
    if not patterns:
        return network
    for pattern in patterns:
        _check(pattern, network)
    if isinstance(network, ControlFlow):
        return replace(network, graphs=tuple(_marked(one, patterns) for one in network.graphs))
    return _marked(network, patterns)


def _marked(graph: Graph, patterns: Sequence[str]) -> Graph:
    return replace(graph, ops=tuple(mark(op) if _fits(op, patterns) else op for op in graph.ops))


def _fits(op: Op, patterns: Sequence[str]) -> bool:
    return any(
        pattern in (op.name, op.op_type)
        or fnmatchcase(op.name, pattern)
        or op.name.removeprefix("Gradients/").startswith(f"{pattern.rstrip('/')}/")
        for pattern in patterns
    )


def _check(pattern: str, network: Network) -> None:
    ops = [op for graph in graphs_of(network) for op in graph.ops]
    if any(_fits(op, [pattern]) for op in ops):
        return
    names = [op.name for op in ops]
    close = difflib.get_close_matches(pattern, names, 3, 0.3) or names[:3]
    raise GraphError("graph/mark-nowhere", graph=network.name, got=pattern, close=close)
