"""Write a graph anew: operators are kept, replaced and inserted, and operands follow."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.graph.constants import operand_spec
from workbench.graph.graph import Bundle, Param, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from workbench.core.tensors import TensorSpec
    from workbench.graph.graph import Graph, Op, Operand, Parameter


def map_operands(operand: Operand, change: Callable[[Param | Value], Operand]) -> Operand:
    """Return an operand whose parameters and values are others, those inside tuples included."""
    if isinstance(operand, Param | Value):
        return change(operand)
    if isinstance(operand, Bundle):
        return replace(operand, items=tuple(map_operands(item, change) for item in operand.items))
    return operand


def live_ops(ops: Sequence[Op], outputs: Iterable[Operand], kept: Iterable[int] = ()) -> set[int]:
    """Numbers of the operators that outputs depend on, or that those in ``kept`` do, themselves included."""
    alive: set[int] = set()
    numbers = {op.name: number for number, op in enumerate(ops)}
    waiting = [operand.op for operand in outputs if isinstance(operand, Value)]
    waiting += kept
    while waiting:
        number = waiting.pop()
        if number not in alive:
            alive.add(number)
            inputs = ops[number].flat_inputs()
            waiting += [operand.op for operand in inputs if isinstance(operand, Value)]
            if ops[number].unless:
                waiting.append(numbers[ops[number].unless])
    return alive


class GraphBuilder:
    """A graph in the making, from an old one.

    What is inserted has operands of the new graph; `operand` translates those of the old one, as far as it has
    been written. `build` gives the graph.
    """

    def __init__(self, old: Graph) -> None:
        self.old = old
        self.ops: list[Op] = []
        self.parameters: list[Parameter] = list(old.parameters)
        self._now: dict[Value | Param, Operand] = {}

    def operand(self, old: Operand) -> Operand:
        """Return what an operand of the old graph is in the new one; a parameter is itself if nothing is said."""
        return map_operands(
            old, lambda one: self._now[one] if isinstance(one, Value) else self._now.get(one, one)
        )

    def inputs(self, op: Op) -> tuple[Operand, ...]:
        """Operands of an old operator in the new graph."""
        return tuple(self.operand(operand) for operand in op.inputs)

    def spec(self, operand: Operand) -> TensorSpec | None:
        """Spec of an operand of the new graph, as `Graph.spec` gives it."""
        return operand_spec(operand, self.ops, self.parameters)

    def insert(self, op: Op) -> int:
        """Append an operator and return its number."""
        self.ops.append(op)
        return len(self.ops) - 1

    def put(self, old: Value | Param, new: Operand) -> None:
        """Say what stands for an old value or parameter from now on."""
        self._now[old] = new

    def replace(self, old: int, op: Op) -> int:
        """Append an operator whose outputs stand for those of an old one; return its number."""
        number = self.insert(op)
        for slot in range(max(len(op.outputs), len(self.old.ops[old].outputs), 1)):
            self.put(Value(old, slot), Value(number, slot))
        return number

    def keep(self, old: int) -> int:
        """Append an operator as it was; return its number."""
        op = self.old.ops[old]
        return self.replace(old, replace(op, inputs=self.inputs(op)))

    def add_parameter(self, parameter: Parameter) -> Param:
        """Append a parameter."""
        self.parameters.append(parameter)
        return Param(len(self.parameters) - 1)

    def build(self, outputs: Iterable[Operand] | None = None) -> Graph:
        """Return the new graph; its outputs are those of the old one unless others are given."""
        given = map(self.operand, self.old.outputs) if outputs is None else outputs
        return replace(
            self.old,
            parameters=tuple(self.parameters),
            outputs=tuple(given),
            ops=tuple(self.ops),
        )
