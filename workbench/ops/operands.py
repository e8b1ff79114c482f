"""Operands of an operator by role: tensors, settings, names of arguments, and what it overwrites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench._values import NamedTuple
from workbench.core.errors import GraphError
from workbench.graph.graph import Bundle, Const, Param
from workbench.ops.table import KNOWN, OPS, op_def

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.graph.graph import Op, Operand

COMPILER_ATTRS = frozenset(
    ("IsFeatureMapInputList", "IsFeatureMapOutput", "input_names", "output_names", "is_backend_cast", "checkpoint",
     "is_dynamic_len", "visited", "side_effect_mem", "side_effect_io", "side_effect_hidden", "left_format",
     "right_format", "DstT", "SrcT", "dst_type", "src_type", "is_grad_", "instance name", "primitive_target",
     "target", "fusion", "stream_id", "unique_id", "forward_unique_id", "duplicate", "recompute", "cse", "T", "N",
     "inplace_prim", "func_name", "has_bias_", "io_format", "keep_origin", "dyn_input_sizes", "is_load",
     "side_effect_propagate", "core_type", "enable_hf32", "with_bias_add", "with_relu", "Tidx", "index",
     "IsFeatureMap", "kernel_name", "format_")
)  # fmt: skip
"""Attributes that the compiler adds; they say nothing about what is computed."""


class Bound(NamedTuple):
    """Operands of an operator by role; ``slots`` are the flat input slots of the tensors.

    A setting that is not a constant (a computed shape) stays the operand that it is.
    """

    tensors: tuple[Operand, ...]
    slots: tuple[int, ...]
    settings: dict[str, Any]


def bind(op: Op) -> Bound:
    """Sort an operator's operands into tensors and settings.

    Settings come from the defaults, then the attributes, then constant operands.
    """
    row = op_def(op.op_type)
    operands = tuple(op.flat_inputs())
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


def written(op: Op) -> tuple[int, ...]:
    """Flat input slots that an operator overwrites; a kernel gives their new values after its outputs."""
    if op.fused is not None:
        return tuple(place for one in op.fused.ops for place in _fused_places(one))
    row = OPS.get(op.op_type)
    if row is None or not row.writes:
        return ()
    return row.writes if not row.writes_if or bind(op).settings[row.writes_if] else ()


def in_place_outputs(op: Op) -> dict[int, int]:
    """Outputs that are nothing but an overwritten input: output slot → flat input slot."""
    if op.fused is None:
        places = written(op)
        return dict(zip(range(len(op.outputs)), places, strict=False)) if places[:1] == (0,) else {}
    found = {}
    for slot, value in enumerate(op.fused.results):
        one = op.fused.ops[value.op]
        inner = in_place_outputs(one)
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


def argument_names(op: Op) -> tuple[str, ...]:
    """Names of the operator's arguments; those of its own ``input_names`` attribute come first."""
    own = op.attrs.get("input_names")
    known = KNOWN[op.op_type].arguments if op.op_type in KNOWN else ()
    if isinstance(own, tuple) and all(isinstance(name, str) for name in own):
        return (*own, *known[len(own) :])
    return tuple(known)


def argument_name(op: Op, flat_slot: int) -> str:
    """Name of the argument that arrives as input ``flat_slot``; ``""`` if it is not known."""
    names = _slot_names(op)
    return names[flat_slot] if 0 <= flat_slot < len(names) else ""


def _slot_names(op: Op) -> tuple[str, ...]:
    """Names of an operator's arguments by flat slot."""
    names = argument_names(op)
    found: list[str] = []
    for argument, width in enumerate(_widths(op)):
        found += [names[argument] if argument < len(names) else ""] * width
    return tuple(found)


def _widths(op: Op) -> Iterator[int]:
    """How many dumped inputs each argument gives."""
    for operand in op.inputs:
        if isinstance(operand, Const) and operand.dtype == "monad":
            yield 0
        else:
            yield len(operand.items) if isinstance(operand, Bundle) and operand.flatten else 1


def settings(op: Op) -> dict[str, Any]:
    """What decides how the operator computes: attributes, and constant arguments under their names.

    Where the dialect gives a setting as attribute and another one as argument, both end up under
    the same name, so that graphs of two versions can be compared.
    """
    result = {k: v for k, v in op.attrs.items() if k not in COMPILER_ATTRS and v is not None}
    names = argument_names(op)
    for position, operand in enumerate(op.inputs):
        if isinstance(operand, Bundle) and not operand.flatten:
            values = tuple(i.value if isinstance(i, Const) else "?" for i in operand.items)
            operand = Const(values, "tuple")
        if isinstance(operand, Const) and operand.dtype not in ("monad", "None"):
            name = names[position] if position < len(names) else f"input.{position}"
            result[name] = operand.value
    return result
