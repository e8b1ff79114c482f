"""A fault of the compiler: an operator computes with other settings than the network asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.core.errors import GraphError
from workbench.graph.graph import Bundle, Const, Param, Value
from workbench.ops import Call, bind, infer_outputs, op_def
from workbench.ops.kernels.window import PAD_MODES

if TYPE_CHECKING:
    from workbench.core.tensors import TensorSpec
    from workbench.graph.graph import Op, Operand
    from workbench.npu.faults.fault import Fault, OpExecution


def wrong_attribute(fault: Fault, execution: OpExecution) -> OpExecution:
    """Compute with other settings than the network asked for."""
    if not isinstance(fault.value, dict) or not fault.value:
        raise GraphError("run/fault-attributes", op=execution.op.name, got=fault.value)
    op = execution.op
    for name, value in fault.value.items():
        op = _with_setting(op, name, value)
    return replace(execution, op=_derived(op, set(fault.value)))


def _with_setting(op: Op, name: str, value: Any) -> Op:
    """Return the operator with another attribute or constant argument."""
    row = op_def(op.op_type)
    if name in row.settings:
        position = row.arguments.index(name)
        if position < len(op.inputs):
            inputs = list(op.inputs)
            old = inputs[position]
            before = old.value if isinstance(old, Const) else value
            inputs[position] = Const(
                _shaped(name, value, before),
                old.dtype if isinstance(old, Const) else "",
                old.shape if isinstance(old, Const) else None,
            )
            return replace(op, inputs=tuple(inputs))
    known = set(op.attrs) | set(row.defaults)
    if name not in known:
        raise GraphError(
            "run/fault-attribute", op=op.name, type=op.op_type, got=name, known=sorted(known)
        )
    attrs = dict(op.attrs)
    attrs[name] = _shaped(name, value, op.attrs.get(name, row.defaults.get(name)))
    return replace(op, attrs=attrs)


def _shaped(name: str, value: Any, before: Any) -> Any:
    """Write a value like the old one: ``2`` for the stride ``(1, 1, 4, 4)`` is ``(1, 1, 2, 2)``."""
    if isinstance(before, int) and isinstance(value, str):
        return next((number for number, word in PAD_MODES.items() if word == value), value)
    if not isinstance(before, tuple) or isinstance(value, tuple):
        return value
    if len(before) == 4 and name != "pad":
        return (1, 1, value, value)
    return (value,) * len(before)


def _derived(op: Op, altered: set[str]) -> Op:
    """Compute attributes that follow from the altered ones, and refuse another output shape."""
    row, specs = op_def(op.op_type), _tensor_specs(op)
    stale = replace(
        op, attrs={k: v for k, v in op.attrs.items() if k != "pad_list" or k in altered}
    )
    call = Call(op.op_type, specs, bind(stale).settings)
    fresh = replace(stale, attrs={**stale.attrs, **row.derived(call)})
    outputs = infer_outputs(op.op_type, specs, bind(fresh).settings)
    if [spec.shape for spec in outputs] != [spec.shape for spec in op.outputs]:
        got = tuple(spec.shape for spec in outputs)
        want = tuple(spec.shape for spec in op.outputs)
        raise GraphError("run/fault-shapes", op=op.name, expected=want, got=got)
    return fresh


def _tensor_specs(op: Op) -> tuple[TensorSpec, ...]:
    """Specs of the operator's tensor inputs, as the graph states them."""
    row = op_def(op.op_type)
    specs: list[TensorSpec] = []
    for place, (operand, spec) in enumerate(zip(op.inputs, op.input_specs, strict=False)):
        if row.tensors >= 0 and place not in row.positions:
            continue
        items: tuple[Operand, ...] = operand.items if isinstance(operand, Bundle) else (operand,)
        if spec is not None and (isinstance(operand, Value | Param) or len(items) == 1):
            specs.append(spec)
    return tuple(specs)
