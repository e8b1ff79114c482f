"""Follow a value through operators that only hand it on: back to who computed it, forward to who reads it.

What counts as handing on is the question's own: ``through`` are types of operators. `IDENTITY` are casts and the
like, `MOVEMENT` whatever moves elements without computing, `ALIAS` what gives the same memory another name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.graph.graph import Value
from workbench.ops import RENAMING

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from workbench.graph.graph import Graph, Operand

ALIAS = RENAMING
"""Types that run nothing: their result is what they read, in the same memory."""

_JOINING = frozenset(("Concat", "ConcatD", "Stack", "Pack"))
"""Types that hand on all that they read; others their first input alone."""


def path_back(graph: Graph, operand: Operand | None, through: Container[str]) -> Iterator[Operand]:
    """Yield an operand, and what each operator that only hands it on has read for it; who computes it is last."""
    while operand is not None:
        yield operand
        if not isinstance(operand, Value) or graph.ops[operand.op].op_type not in through:
            return
        before = graph.ops[operand.op].operand(0)
        if isinstance(before, Value) and before.op >= operand.op:
            return  # an edge back, of a loop
        operand = before


def producer(graph: Graph, operand: Operand | None, through: Container[str]) -> Operand | None:
    """Where an operand comes from: a value of an operator that computes, a parameter, a constant."""
    found = None
    for found in path_back(graph, operand, through):  # noqa: B007
        pass
    return found


def storage_of(graph: Graph, value: Value) -> Value:
    """The output in whose memory a value lies."""
    for one in path_back(graph, value, ALIAS):
        value = one if isinstance(one, Value) else value
    return value


def copies(graph: Graph, value: Value, through: Container[str]) -> Iterator[Value]:
    """Yield a value and all under which it goes behind operators that only hand it on, the nearest first."""
    waiting = [value]
    for one in waiting:
        yield one
        for reader, slot in graph.consumers.get(one, ()):
            op_type = graph.ops[reader].op_type
            copy = Value(reader)
            if op_type in through and (slot == 0 or op_type in _JOINING) and copy not in waiting:
                waiting.append(copy)


def readers(graph: Graph, value: Value, through: Container[str]) -> Iterator[tuple[int, int]]:
    """Operators and slots that read a value, whoever handed it on; those who do among them."""
    for one in copies(graph, value, through):
        yield from graph.consumers.get(one, ())
