"""Write a graph anew: operators are kept, replaced and added, and operands follow."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.graph.graph import Bundle, Param, Value

if TYPE_CHECKING:
    from workbench.graph.graph import Graph, Op, Operand, Parameter


class Rewrite:
    """A graph in the making.

    Operators are added with operands of the new graph; `operand` translates those of the old one,
    as far as it has been written.
    """

    def __init__(self, old: Graph) -> None:
        self.old = old
        self.ops: list[Op] = []
        self.parameters: list[Parameter] = list(old.parameters)
        self._now: dict[Value, Operand] = {}

    def operand(self, old: Operand) -> Operand:
        """Return what an operand of the old graph is in the new one."""
        if isinstance(old, Value):
            return self._now[old]
        if isinstance(old, Bundle):
            return replace(old, items=tuple(self.operand(item) for item in old.items))
        return old

    def inputs(self, op: Op) -> tuple[Operand, ...]:
        """Operands of an old operator in the new graph."""
        return tuple(self.operand(operand) for operand in op.inputs)

    def add(self, op: Op) -> int:
        """Append an operator and return its number."""
        self.ops.append(op)
        return len(self.ops) - 1

    def put(self, old: Value, new: Operand) -> None:
        """Say what stands for an old value from now on."""
        self._now[old] = new

    def stand(self, old: int, op: Op) -> int:
        """Append an operator whose outputs stand for those of an old one; return its number."""
        number = self.add(op)
        for slot in range(max(len(op.outputs), len(self.old.ops[old].outputs), 1)):
            self.put(Value(old, slot), Value(number, slot))
        return number

    def keep(self, old: int) -> int:
        """Append an operator as it was; return its number."""
        op = self.old.ops[old]
        return self.stand(old, replace(op, inputs=self.inputs(op)))

    def parameter(self, parameter: Parameter) -> Param:
        """Append a parameter."""
        self.parameters.append(parameter)
        return Param(len(self.parameters) - 1)

    def graph(self) -> Graph:
        """Return the new graph; its outputs are those of the old one."""
        return replace(
            self.old,
            parameters=tuple(self.parameters),
            ops=tuple(self.ops),
            outputs=tuple(self.operand(operand) for operand in self.old.outputs),
        )
