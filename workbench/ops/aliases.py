"""Operators under other names than the table's: GE's, TensorFlow's, MindSpore's older and newer ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench._values import NamedTuple
from workbench.graph.graph import Const, Op

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_AXES = {"axes": "axis", "dim": "axis", "keepdim": "keep_dims", "adj_x1": "transpose_a",
         "adj_x2": "transpose_b", "transpose_x1": "transpose_a", "transpose_x2": "transpose_b",
         "adj_x": "transpose_a", "adj_y": "transpose_b"}  # fmt: skip
"""Settings under other names."""


def resolve_alias(op: Op) -> Op | None:
    """Return the operator under the table's name; ``None`` if it has none there."""
    row = ALIASES.get(op.op_type)
    return row.respell(op, row.op_type) if row is not None else None


def type_of(op_type: str) -> str:
    """Return the table's name of a type; the given one if it has no other."""
    row = ALIASES.get(op_type)
    return row.op_type if row is not None else op_type


def renamed(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings under the names of the table."""
    return {_AXES.get(name, name): value for name, value in attrs.items()}


def _same(op: Op, op_type: str) -> Op:
    return replace(op, op_type=op_type, attrs=renamed(op.attrs))


def _reduction(op: Op, op_type: str) -> Op:
    """Return a reduction whose axes may be none, which is all of them."""
    from workbench.ops.operands import settings

    own = renamed(settings(op))
    axis = own.get("axis")
    chosen = {
        "axis": axis if axis not in (None, "None") else (),
        "keep_dims": own.get("keep_dims", False),
    }
    tensors = tuple(o for o in op.inputs if not isinstance(o, Const))[:1]
    return replace(op, op_type=op_type, inputs=tensors, attrs=chosen)


class Alias(NamedTuple):
    """The table's name of an operator, and how its inputs and settings are written there."""

    op_type: str
    respell: Callable[[Op, str], Op] = _same


ALIASES: dict[str, Alias] = {
    "AddV2": Alias("Add"),
    "ApplyAdam": Alias("Adam"),
    "BatchMatMulExt": Alias("BatchMatMul"),
    "BatchMatMulV2": Alias("BatchMatMul"),
    "BiasAddV1": Alias("BiasAdd"),
    "FlattenExt": Alias("Flatten"),
    "GatherV2": Alias("Gather"),
    "GatherV2D": Alias("Gather"),
    "Gelu": Alias("GeLU"),
    "GeluGrad": Alias("GeLUGrad"),
    "LogSoftmaxV2": Alias("LogSoftmax"),
    "MatMulV2": Alias("MatMul"),
    "MatMulV3": Alias("MatMul"),
    "MeanExt": Alias("ReduceMean", _reduction),
    "ReduceMaxD": Alias("ReduceMax", _reduction),
    "ReduceMeanD": Alias("ReduceMean", _reduction),
    "ReduceSumD": Alias("ReduceSum", _reduction),
    "Relu": Alias("ReLU"),
    "Relu6": Alias("ReLU6"),
    "ReshapeExt": Alias("Reshape"),
    "SoftmaxV2": Alias("Softmax"),
    "StridedSliceD": Alias("StridedSlice"),
    "SumExt": Alias("ReduceSum", _reduction),
    "TransposeD": Alias("Transpose"),
    "TransposeExt": Alias("Transpose"),
    "Unsqueeze": Alias("ExpandDims"),
    "UnsqueezeExt": Alias("ExpandDims"),
    "View": Alias("Reshape"),
}
"""Operator type → its name in the table. Types are told apart, so that the order decides nothing."""
