"""What one step hands on to the next: parameters that an operator of the graph updates in place.

In a graph of MindSpore they are parameters, in one of GE the outputs of data operators. Their error in an
iteration is what the updates of the last one have left, and no cause of its own.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from workbench.comparison.align.fusions import LEAVES
from workbench.comparison.bind.anomalies import rewritten_slots
from workbench.comparison.measure.noise import sum_length
from workbench.graph.nodes import Param, Value
from workbench.graph.traits import CONTRACTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from workbench.comparison.follow.states import State
    from workbench.graph.nodes import Graph, Op, Operand


def state_name(graph: Graph, operand: Operand) -> str:
    """Name of the parameter that an operand is; empty if it is none."""
    if isinstance(operand, Param):
        return graph.parameters[operand.index].name
    if isinstance(operand, Value) and graph.ops[operand.op].op_type in LEAVES:
        return graph.ops[operand.op].name
    return ""


def updates(graph: Graph, op: Op) -> Iterator[tuple[int, str]]:
    """Input slots that an operator overwrites, and the names of the parameters that lie there."""
    slots = rewritten_slots(op)
    if not slots:
        return
    for slot, operand in enumerate(op.flat_inputs()):
        name = state_name(graph, operand) if slot in slots else ""
        if name:
            yield slot, name


def updated_names(graph: Graph) -> set[str]:
    """Parameters that any operator of a graph updates."""
    return {name for op in graph.ops for _, name in updates(graph, op)}


def aligned(op: Op, states: Iterable[State]) -> float:
    """Error that a sum of products may make of weights that training has moved apart.

    An update is made of the very activations that the weights meet again, so their differences add up
    instead of averaging out: √K times as much as those of independent factors.
    """
    if op.op_type not in CONTRACTIONS:
        return 0.0
    errors = (state.error for state in states if state.carried and math.isfinite(state.error))
    return math.sqrt(sum_length(op)) * max(errors, default=0.0)
