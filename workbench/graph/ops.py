"""Operators as the table describes them: rows, operands by role, shapes of outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.core.errors import GraphError
from workbench.graph.graph import Bundle, Const, Param, once
from workbench.graph.infer import Call
from workbench.graph.table import OPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from workbench.core.tensors import TensorSpec
    from workbench.graph.graph import Op, Operand
    from workbench.graph.opdef import OpDef

__all__ = ["OPS", "Bound", "bind", "infer_outputs", "left_in", "op_def", "written"]


class Bound(NamedTuple):
    """Operands of an operator by role; ``slots`` are the flat input slots of the tensors.

    A setting that is not a constant (a computed shape) stays the operand that it is.
    """

    tensors: tuple[Operand, ...]
    slots: tuple[int, ...]
    settings: dict[str, Any]


def op_def(op_type: str) -> OpDef:
    """Row of the table; raises GraphError naming the known types."""
    try:
        return OPS[op_type]
    except KeyError:
        raise GraphError(
            "core/choice", subject="operator type", got=op_type, known=sorted(OPS)
        ) from None


@once
def bind(op: Op) -> Bound:
    """Sort an operator's operands into tensors and settings.

    Settings come from the defaults, then the attributes, then constant operands.
    """
    row = op_def(op.op_type)
    operands = list(op.flat_inputs())
    slots = row.positions if row.tensors >= 0 else range(_leading_tensors(op))
    if slots and len(operands) <= slots[-1]:
        count = len(slots)
        raise GraphError(
            "graph/inputs-count", op=op.name, type=op.op_type, expected=count, got=len(operands)
        )
    others = [
        operand.value if isinstance(operand, Const) else operand
        for slot, operand in enumerate(operands)
        if slot not in slots
    ]
    settings = {**row.defaults, **op.attrs, **row.named(others)}
    return Bound(tuple(operands[slot] for slot in slots), tuple(slots), settings)


def _leading_tensors(op: Op) -> int:
    """How many operands of a variadic operator are its tensors."""
    first = op.inputs[0] if op.inputs else None
    if isinstance(first, Bundle):
        return len(first.items)
    constants = 0
    operands = list(op.flat_inputs())
    for operand in reversed(operands):
        if not isinstance(operand, Const) or constants == len(OPS[op.op_type].settings):
            break
        constants += 1
    return len(operands) - constants


def infer_outputs(
    op_type: str, tensors: Iterable[TensorSpec], settings: Mapping[str, Any]
) -> tuple[TensorSpec, ...]:
    """Specs of an operator's outputs; raises GraphError if the inputs do not fit."""
    row = op_def(op_type)
    return row.infer(Call(op_type, tuple(tensors), dict(row.defaults) | dict(settings)))


@once
def written(op: Op) -> tuple[int, ...]:
    """Flat input slots that an operator overwrites; a kernel gives their new values after its outputs."""
    if op.fused is not None:
        return tuple(place for one in op.fused.ops for place in _fused_places(one))
    row = OPS.get(op.op_type)
    if row is None or not row.writes:
        return ()
    return row.writes if not row.writes_if or bind(op).settings[row.writes_if] else ()


@once
def left_in(op: Op) -> dict[int, int]:
    """Outputs that are nothing but an overwritten input: output slot → flat input slot."""
    if op.fused is None:
        places = written(op)
        return dict(zip(range(len(op.outputs)), places, strict=False)) if places[:1] == (0,) else {}
    found = {}
    for slot, value in enumerate(op.fused.results):
        one = op.fused.ops[value.op]
        inner = left_in(one)
        if value.slot in inner:
            found[slot] = _fused_places(one)[written(one).index(inner[value.slot])]
    return found


def _fused_places(op: Op) -> list[int]:
    """Inputs of a kernel that an operator inside it overwrites."""
    operands = list(op.flat_inputs())
    named = [operands[place] for place in written(op)]
    return [operand.index for operand in named if isinstance(operand, Param)]


def groups_of(op: Op) -> int:
    """Return the groups of a convolution; 1 for all else."""
    try:
        groups = bind(op).settings.get("group", 1)
    except GraphError:  # of a type that is not known
        groups = op.attrs.get("group", 1)
    return groups if isinstance(groups, int) else 1
