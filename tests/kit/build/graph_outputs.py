"""Outputs of a graph, in their order, as an executor records them."""

from __future__ import annotations

from workbench.graph.nodes import Param, Value
from workbench.run.constants import constant
from workbench.run.reference import run_reference


def results(graph, feeds, run=run_reference):
    """Values of a graph's outputs."""
    values = {}
    for record in run(graph, feeds):
        if record.key.io == "output":
            values[record.key.op_name, record.key.slot] = record.source.array()
    found = []
    for operand in graph.outputs:
        if isinstance(operand, Value):
            found.append(values[graph.ops[operand.op].name, operand.slot])
        elif isinstance(operand, Param):
            found.append(values[graph.parameters[operand.index].name, 0])
        else:
            found.append(constant(operand))
    return found
