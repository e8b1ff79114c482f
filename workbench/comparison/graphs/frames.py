"""The source lines of an operator: the user's stack, innermost first, and how sure each line is.

Graph compilers that merge or expand operators note several lines as candidates. A candidate is taken for the
operator's own where an operator beside it, of the same scope, has that very line as its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.graph.nodes import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.graph.nodes import Graph, SourceFrame

_GROUPS = ("own", "candidate", "forward")
"""How a line is known, the surest first."""


def user_frames(graph: Graph, number: int) -> tuple[SourceFrame, ...]:
    """Return the lines of an operator, the surest group first, innermost first within a group.

    Lines of installed packages are left out where any line is the user's.
    """
    frames = graph.ops[number].frames
    ordered = [one for group in _GROUPS for one in reversed(frames) if one.group == group]
    own = [one for one in ordered if not one.library] or ordered
    if all(one.group != "candidate" for one in own):
        return tuple(dict.fromkeys(own))
    confirmed = {(one.file, one.line) for one in _beside(graph, number)}
    raised = [
        replace(one, group="own")
        if one.group == "candidate" and (one.file, one.line) in confirmed
        else one
        for one in own
    ]
    return tuple(dict.fromkeys(sorted(raised, key=lambda one: _GROUPS.index(one.group))))


def _beside(graph: Graph, number: int) -> Iterator[SourceFrame]:
    """Own lines of the operators of the same scope that an operator reads or that read it."""
    op = graph.ops[number]
    producers = {one.op for one in op.flat_inputs() if isinstance(one, Value)}
    readers = {
        reader
        for slot in range(max(len(op.outputs), 1))
        for reader, _ in graph.consumers.get(Value(number, slot), ())
    }
    for other in sorted((producers | readers) - {number}):
        if graph.ops[other].scope == op.scope:
            yield from (one for one in graph.ops[other].frames if one.group == "own")
