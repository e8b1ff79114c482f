"""How a device tells of overflow: in its results, or, if it saturates, in a register of its own.

MindSpore looks for Inf and NaN in gradients (``AllFinite``), or asks a device that has none for its float
status, clears it, and takes any number but 0 for an overflow (``nn/wrap/loss_scale.py``).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Const, Op, Value
from workbench.graph.rewrite import Rewrite

if TYPE_CHECKING:
    from workbench.graph.graph import Graph, Operand
    from workbench.npu.numerics import NumericModel

_STATUS = TensorSpec("int32", (8,))
_FLAG = TensorSpec("bool", ())
_CLEAN = Const((0,) * 8, "int32", (8,))


def by_register(graph: Graph, model: NumericModel) -> Graph:
    """Return the graph as the framework makes it for a device: one that saturates is asked for its status."""
    if not model.saturates or not any(op.op_type == "AllFinite" for op in graph.ops):
        return graph
    return _Asking(graph).graph()


class _Asking(Rewrite):
    def __init__(self, old: Graph) -> None:
        super().__init__(old)
        self._ids = Counter((op.scope, op.op_type) for op in old.ops)
        self._names: dict[str, str] = {}
        for number, op in enumerate(old.ops):
            if op.op_type == "AllFinite":
                self._ask(number, op)
            else:
                self.keep(number)

    def graph(self) -> Graph:
        """Return the new graph; what hung on a flag hangs on the one in its place."""
        ops = (replace(op, unless=self._names.get(op.unless, op.unless)) for op in self.ops)
        return replace(super().graph(), ops=tuple(ops))

    def _ask(self, number: int, op: Op) -> None:
        status = self.add(self._op(op, "NPUGetFloatStatusV2", (_CLEAN,), _STATUS))
        self.add(self._op(op, "NPUClearFloatStatusV2", (_CLEAN,), _STATUS))
        zero = Const(0, "int32", ())
        clean = self._op(op, "Equal", (zero, Value(status)), TensorSpec("bool", (8,)))
        axes, keep = Const((), "tuple", (0,)), Const(False, "bool", ())
        finite = self._op(op, "ReduceAll", (Value(self.add(clean)), axes, keep), _FLAG)
        last = self._op(op, "LogicalNot", (Value(self.add(finite)),), _FLAG)
        self._names[op.name] = last.name
        self.stand(number, last)

    def _op(self, op: Op, kind: str, inputs: tuple[Operand, ...], output: TensorSpec) -> Op:
        """Return an operator beside another one, with its source lines."""
        name = f"{op.scope}/{kind}-op{self._ids[op.scope, kind]}"
        self._ids[op.scope, kind] += 1
        specs = tuple(_spec(one, self.ops) for one in inputs)
        return Op(name, kind, inputs, {}, (output,), specs, frames=op.frames, unless=op.unless)


def _spec(operand: Operand, ops: list[Op]) -> TensorSpec | None:
    if isinstance(operand, Value):
        return ops[operand.op].outputs[operand.slot]
    if isinstance(operand, Const) and operand.dtype != "tuple":
        return TensorSpec(operand.dtype, operand.shape)
    return None
