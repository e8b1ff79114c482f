"""Operators under other names than the table's, and those that do the work of several."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.graph.graph import Const, Kernel, Op, Param, Value
from workbench.graph_files.onnx.dialect import DOMAIN, STANDARD, is_onnx
from workbench.ops import OPS, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from workbench.graph.graph import Operand

_AXES = {"axes": "axis", "dim": "axis", "keepdim": "keep_dims", "adj_x1": "transpose_a",
         "adj_x2": "transpose_b", "transpose_x1": "transpose_a", "transpose_x2": "transpose_b",
         "adj_x": "transpose_a", "adj_y": "transpose_b"}  # fmt: skip
"""Settings under other names."""


_ONNX = {row.onnx: name for name, row in OPS.items() if row.onnx}
"""Type of ONNX → ours of the same inputs."""


def canonical_op(op: Op) -> Op | None:
    """Return the operator under the table's name; ``None`` if it has none there."""
    if is_onnx(op):
        return _of_onnx(op)
    row = SPELLINGS.get(op.op_type)
    return row.respell(op, row.op_type) if row is not None else None


def _of_onnx(op: Op) -> Op | None:
    """Return what a node of ONNX is under another name; without attributes it is that in every opset from 7 on."""
    name = _ONNX.get(op.op_type) if op.attrs.get(DOMAIN, "") in STANDARD else None
    if name is None or len(op.inputs) != len(OPS[name].positions):
        return None
    return replace(op, op_type=name, attrs={})


def _renamed(attrs: Mapping[str, Any]) -> dict[str, Any]:
    return {_AXES.get(name, name): value for name, value in attrs.items()}


def _same(op: Op, op_type: str) -> Op:
    return replace(op, op_type=op_type, attrs=_renamed(op.attrs))


def _reduction(op: Op, op_type: str) -> Op:
    """Return a reduction whose axes may be none, which is all of them."""
    own = {_AXES.get(name, name): value for name, value in settings(op).items()}
    axis = own.get("axis")
    chosen = {
        "axis": axis if axis not in (None, "None") else (),
        "keep_dims": own.get("keep_dims", False),
    }
    tensors = tuple(o for o in op.inputs if not isinstance(o, Const))[:1]
    return replace(op, op_type=op_type, inputs=tensors, attrs=chosen)


class Spelling(NamedTuple):
    """The table's name of an operator, and how its inputs and settings are written there."""

    op_type: str
    respell: Callable[[Op, str], Op] = _same


SPELLINGS: dict[str, Spelling] = {
    "AddV2": Spelling("Add"),
    "BatchMatMulExt": Spelling("BatchMatMul"),
    "BatchMatMulV2": Spelling("BatchMatMul"),
    "BiasAddV1": Spelling("BiasAdd"),
    "FlattenExt": Spelling("Flatten"),
    "Gelu": Spelling("GeLU"),
    "GeluGrad": Spelling("GeLUGrad"),
    "InplaceAddExt": Spelling("Add"),
    "LogSoftmaxV2": Spelling("LogSoftmax"),
    "MatMulV2": Spelling("MatMul"),
    "MatMulV3": Spelling("MatMul"),
    "MeanExt": Spelling("ReduceMean", _reduction),
    "ReduceMaxD": Spelling("ReduceMax", _reduction),
    "ReduceMeanD": Spelling("ReduceMean", _reduction),
    "ReduceSumD": Spelling("ReduceSum", _reduction),
    "Relu": Spelling("ReLU"),
    "Relu6": Spelling("ReLU6"),
    "ReshapeExt": Spelling("Reshape"),
    "SoftmaxV2": Spelling("Softmax"),
    "SumExt": Spelling("ReduceSum", _reduction),
    "TransposeD": Spelling("Transpose"),
    "TransposeExt": Spelling("Transpose"),
    "Unsqueeze": Spelling("ExpandDims"),
    "UnsqueezeExt": Spelling("ExpandDims"),
}
"""Operator type → its name in the table. Types are told apart, so that the order decides nothing."""


def _given(op: Op) -> list[Operand]:
    """Operands of an operator as inputs of its kernel, constants as they are."""
    return [o if isinstance(o, Const) else Param(n) for n, o in enumerate(op.flat_inputs())]


def _absent(operand: Operand) -> bool:
    return isinstance(operand, Const) and operand.dtype == "None"


def _step(op: Op, kind: str, *inputs: Operand, **attrs: Any) -> Op:
    return Op(op.name, kind, tuple(inputs), attrs, op.outputs[:1], ())


def _biased(*after: str) -> Callable[[Op], Kernel]:
    """MatMul and BiasAdd in one, and what follows."""

    def expand(op: Op) -> Kernel:
        x, y, bias = _given(op)[:3]
        own = _renamed(op.attrs)
        product = _step(
            op, "MatMul", x, y,
            transpose_a=own.get("transpose_a", False), transpose_b=own.get("transpose_b", False),
        )  # fmt: skip
        ops = [product, _step(op, "BiasAdd", Value(0), bias)]
        for kind in after:
            ops.append(_step(op, kind, Value(len(ops) - 1)))
        return Kernel(tuple(ops), (Value(len(ops) - 1),))

    return expand


def _dense(op: Op) -> Kernel:
    """x·wᵀ + b, b may be missing."""
    given = _given(op)
    ops = [_step(op, "BatchMatMul", *given[:2], transpose_a=False, transpose_b=True)]
    if len(given) > 2 and not _absent(given[2]):
        ops.append(_step(op, "Add", Value(0), given[2]))
    return Kernel(tuple(ops), (Value(len(ops) - 1),))


def _scaled(kind: str) -> Callable[[Op], Kernel]:
    """X ± alpha·y."""

    def expand(op: Op) -> Kernel:
        given = _given(op)
        x, y = given[:2]
        if len(given) < 3 or (isinstance(given[2], Const) and given[2].value == 1):
            return Kernel((_step(op, kind, x, y),), (Value(0),))
        return Kernel((_step(op, "Mul", y, given[2]), _step(op, kind, x, Value(0))), (Value(1),))

    return expand


def _product(op: Op) -> Kernel:
    """Matrix product of any ranks."""
    x, y = _given(op)[:2]
    return Kernel(
        (_step(op, "BatchMatMul", x, y, transpose_a=False, transpose_b=False),), (Value(0),)
    )


EXPANSIONS: dict[str, Callable[[Op], Kernel]] = {
    "AddExt": _scaled("Add"),
    "Dense": _dense,
    "MatMulBiasAddFusion": _biased(),
    "MatMulBiasAddReluFusion": _biased("ReLU"),
    "MatMulExt": _product,
    "SubExt": _scaled("Sub"),
}
"""Operator type → what it does in operators of the table; none of them has another name there."""
