"""The end of a trace: what nothing needs is dropped, the rest is numbered and becomes a graph."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.graph.graph import Bundle, Graph, Param, Value
from workbench.ops import written

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workbench.graph.graph import Op, Operand
    from workbench.network.tracer import Trace


def finish(label: str, tracing: Trace, outputs: tuple[Operand, ...]) -> Graph:
    """Drop operators that no output needs and weights that nothing reads; number the rest anew."""
    alive = needed(tracing.ops, outputs)
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
        ops=tuple(replace(op, inputs=tuple(renumber(o, new) for o in op.inputs)) for op in ops),
        outputs=tuple(renumber(operand, new) for operand in outputs),
    )


def needed(ops: Sequence[Op], outputs: tuple[Operand, ...]) -> set[int]:
    """Numbers of the operators that outputs depend on, or that update weights."""
    alive: set[int] = set()
    numbers = {op.name: number for number, op in enumerate(ops)}
    waiting = [operand.op for operand in outputs if isinstance(operand, Value)]
    waiting += [number for number, op in enumerate(ops) if written(op)]
    while waiting:
        number = waiting.pop()
        if number not in alive:
            alive.add(number)
            inputs = ops[number].flat_inputs()
            waiting += [operand.op for operand in inputs if isinstance(operand, Value)]
            if ops[number].unless:
                waiting.append(numbers[ops[number].unless])
    return alive


def renumber(operand: Operand, new: Callable[[Param | Value], Operand]) -> Operand:
    """Return an operand whose parameters and values are others."""
    if isinstance(operand, Param | Value):
        return new(operand)
    if isinstance(operand, Bundle):
        return replace(operand, items=tuple(renumber(item, new) for item in operand.items))
    return operand
