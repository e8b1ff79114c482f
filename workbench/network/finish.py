"""The end of a trace: what nothing needs is dropped, the rest is numbered and becomes a graph."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.graph.graph import Graph, Param, Value
from workbench.graph.rewrite import live_ops, map_operands
from workbench.ops import written

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workbench.graph.graph import Op, Operand
    from workbench.network.tracer import Trace


def finish(label: str, tracing: Trace, outputs: tuple[Operand, ...]) -> Graph:
    """Drop operators that no output needs and weights that nothing reads; number the rest anew."""
    alive = live_ops(tracing.ops, outputs, updating(tracing.ops))
    ops = [op for number, op in enumerate(tracing.ops) if number in alive]
    used = (operand for op in ops for operand in op.flat_inputs())
    read = {operand for operand in (*used, *outputs) if isinstance(operand, Param)}
    kept = [
        index
        for index, parameter in enumerate(tracing.parameters)
        if not parameter.is_weight or Param(index) in read
    ]
    kept.sort(key=lambda index: not tracing.parameters[index].is_weight)  # feeds last, as the IR
    params = {old: new for new, old in enumerate(kept)}
    numbers = {old: new for new, old in enumerate(sorted(alive))}

    def new(operand: Param | Value) -> Operand:
        if isinstance(operand, Param):
            return Param(params[operand.index])
        return replace(operand, op=numbers[operand.op])

    return Graph(
        name=label,
        parameters=tuple(tracing.parameters[index] for index in kept),
        ops=tuple(replace(op, inputs=tuple(map_operands(o, new) for o in op.inputs)) for op in ops),
        outputs=tuple(map_operands(operand, new) for operand in outputs),
    )


def updating(ops: Sequence[Op]) -> Iterator[int]:
    """Numbers of the operators that update weights."""
    return (number for number, op in enumerate(ops) if written(op))
