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
from workbench.graph.rewrite import GraphBuilder

if TYPE_CHECKING:
    from workbench.graph.graph import Operand
    from workbench.npu.compile.program import Module
    from workbench.npu.target import Target

_STATUS = TensorSpec("int32", (8,))
_FLAG = TensorSpec("bool", ())
_CLEAN = Const((0,) * 8, "int32", (8,))


def lower_overflow_check(module: Module, target: Target) -> Module:
    """Return the network as the framework makes it for a device that saturates: it is asked for its status.

    What hung on a flag of ``AllFinite`` hangs on the one in its place.
    """
    graph = module.graph
    if not any(op.op_type == "AllFinite" for op in graph.ops):
        return module
    builder, flags = GraphBuilder(graph), dict[str, str]()
    ids = Counter((op.scope, op.op_type) for op in graph.ops)
    for number, op in enumerate(graph.ops):
        if op.op_type == "AllFinite":
            flags[op.name] = _read_status(builder, ids, number, op)
        else:
            builder.keep(number)
    built = builder.build()
    ops = (replace(op, unless=flags.get(op.unless, op.unless)) for op in built.ops)
    return module.handed(replace(built, ops=tuple(ops)))


def _read_status(builder: GraphBuilder, ids: Counter[tuple[str, str]], number: int, op: Op) -> str:
    """Write what reads the status in place of an operator; return the name of what gives the flag."""

    def beside(kind: str, inputs: tuple[Operand, ...], output: TensorSpec) -> Op:
        name = f"{op.scope}/{kind}-op{ids[op.scope, kind]}"
        ids[op.scope, kind] += 1
        specs = tuple(_spec(builder, one) for one in inputs)
        return Op(name, kind, inputs, {}, (output,), specs, frames=op.frames, unless=op.unless)

    status = Value(builder.insert(beside("NPUGetFloatStatusV2", (_CLEAN,), _STATUS)))
    builder.insert(beside("NPUClearFloatStatusV2", (_CLEAN,), _STATUS))
    clean = beside("Equal", (Const(0, "int32", ()), status), TensorSpec("bool", (8,)))
    axes, keep = Const((), "tuple", (0,)), Const(False, "bool", ())
    every = beside("ReduceAll", (Value(builder.insert(clean)), axes, keep), _FLAG)
    last = beside("LogicalNot", (Value(builder.insert(every)),), _FLAG)
    builder.replace(number, last)
    return last.name


def _spec(builder: GraphBuilder, operand: Operand) -> TensorSpec | None:
    """Spec of a tensor; axes are none."""
    axes = isinstance(operand, Const) and operand.dtype == "tuple"
    return None if axes else builder.spec(operand)
