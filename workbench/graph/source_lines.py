"""The source lines of an operator: the user's stack, innermost first, and how sure each line is.

Graph compilers that merge or expand operators note several lines as candidates. A candidate is taken for the
operator's own where an operator beside it, of the same scope, has that very line as its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.core.words import Message
from workbench.graph.graph import CERTAINTIES, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.graph.graph import Graph, SourceFrame

_TOLD = {"candidate": "compare/line-candidate", "forward": "compare/line-forward"}
"""Words of a line that is not surely the operator's own."""


def told(frame: SourceFrame) -> Message | str:
    """Return a source line with what is to know of its certainty."""
    code = _TOLD.get(frame.group)
    return str(frame) if code is None else Message(code, line=str(frame))


def user_frames(graph: Graph, number: int) -> tuple[SourceFrame, ...]:
    """Return the lines of an operator, the surest group first, innermost first within a group.

    The first is the one to show: findings and rows have it as their source. Lines of installed packages are left
    out where any line is the user's.
    """
    frames = frames_of(graph, number)
    if len(frames) < 2:
        return frames
    shown = [one for one in frames if not one.library] or frames
    ordered = [one for group in CERTAINTIES for one in reversed(shown) if one.group == group]
    return tuple(dict.fromkeys(ordered))


def frames_of(graph: Graph, number: int) -> tuple[SourceFrame, ...]:
    """Return the whole traceback as the graph has it, outermost first; confirmed candidates are the operator's own."""
    frames = graph.ops[number].frames
    if all(one.group != "candidate" or one.library for one in frames):
        return frames
    confirmed = {(one.file, one.line) for one in _beside(graph, number)}
    return tuple(
        replace(one, group="own")
        if one.group == "candidate" and (one.file, one.line) in confirmed
        else one
        for one in frames
    )


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
