"""Parts of a training step: forward, backward, optimizer. An operator is in one of them by its graph.

Operators in the scope ``Gradients/…``, or linked to a forward operator, are backward, and so is what lies
between them, or comes after the first and serves them alone: a gradient written by hand (``bprop``) keeps
the scope of its layer. What else comes behind them and what only updates are made with (learning rates,
counters) is the optimizer's; all else is forward.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from workbench.comparison.graphs.ge_origins import original_names
from workbench.comparison.graphs.roles import LEAVES, updates
from workbench.graph.graph import Value
from workbench.graph_files.ge.fields import ITERATOR
from workbench.ops import IN_PLACE

if TYPE_CHECKING:
    from workbench.graph.graph import Graph, Op

Phase = Literal["forward", "backward", "optimizer"]
PHASES: tuple[Phase, ...] = ("forward", "backward", "optimizer")

_BACKWARD = ("Gradients/", "Gradients_")
_NORMALIZES = "BatchNorm"
"""Types beginning so update their statistics on the way forward."""


def phases(graph: Graph) -> list[Phase]:
    """Part of every operator of a graph, by its number."""
    backward = [is_backward(op) for op in graph.ops]
    behind = _behind(graph, backward)
    first = backward.index(True) if True in backward else len(backward)
    result: list[Phase] = ["forward"] * len(graph.ops)
    for number in reversed(range(len(graph.ops))):
        readers = {result[reader] for reader in _readers(graph, number)}
        # what the forward part computes last may serve gradients alone, too, but comes before them
        serves = readers == {"backward"} and first < number
        if backward[number] or serves or (behind[number] and "backward" in readers):
            result[number] = "backward"
        elif behind[number] or _serves_updates(graph, number, readers):
            result[number] = "optimizer"
    return result


def is_backward(op: Op) -> bool:
    """Whether an operator computes a gradient."""
    names = original_names(op) or (op.name,)
    return bool(op.forward_id) or any(name.startswith(_BACKWARD) for name in names)


def phase_by_name(name: str, op_type: str) -> Phase:
    """Part of an operator that no graph knows, by what its file is called."""
    if name.startswith(_BACKWARD):
        return "backward"
    updates_something = op_type in IN_PLACE and not op_type.startswith(_NORMALIZES)
    return "optimizer" if updates_something else "forward"


def _behind(graph: Graph, backward: list[bool]) -> list[bool]:
    """Whether a gradient reaches an operator."""
    result: list[bool] = []
    for number, op in enumerate(graph.ops):
        sources = [o.op for o in op.flat_inputs() if isinstance(o, Value) and o.op < number]
        result.append(any(backward[n] or result[n] for n in sources))
    return result


def _serves_updates(graph: Graph, number: int, readers: set[Phase]) -> bool:
    """Whether all that comes of an operator is an update; ``readers`` are the parts of what reads it."""
    op = graph.ops[number]
    if readers:
        leads = op.op_type not in LEAVES and op.op_type != ITERATOR
        return leads and readers == {"optimizer"}
    return any(True for _ in updates(graph, op)) and not op.op_type.startswith(_NORMALIZES)


def _readers(graph: Graph, number: int) -> set[int]:
    values = [Value(number, slot) for slot in range(max(len(graph.ops[number].outputs), 1))]
    return {
        reader
        for value in values
        for reader, _ in graph.consumers.get(value, [])
        if graph.ops[reader].op_type != "NetOutput" and reader > number
    }
