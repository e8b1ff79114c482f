"""Nodes whose outputs are known before the run: they become constants, as compilers make them.

Values are computed by onnx's reference evaluator, after our own rules have said how large they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.core.errors import GraphError
from workbench.graph_files.onnx.dialect import OUTPUTS
from workbench.graph_files.onnx.tensors import library
from workbench.network.symbolic import Operators

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from workbench.graph.graph import Op
    from workbench.network.onnx.node import Item

    Array = NDArray[Any]

FOLDED = frozenset(
    ("Abs", "Add", "And", "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Cast",
     "CastLike", "Ceil", "Clip", "Concat", "CumSum", "Div", "Equal", "Exp", "Expand", "Flatten", "Floor",
     "Gather", "GatherElements", "GatherND", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Log", "Max",
     "Min", "Mod", "Mul", "Neg", "Not", "OneHot", "Or", "Pad", "Pow", "Reciprocal", "ReduceMax", "ReduceMean",
     "ReduceMin", "ReduceProd", "ReduceSum", "Reshape", "Round", "ScatterElements", "ScatterND", "Sign",
     "Slice", "Split", "Sqrt", "Squeeze", "Sub", "Sum", "Tile", "Transpose", "Trilu", "Unsqueeze", "Where",
     "Xor")
)  # fmt: skip
"""Types that are computed beforehand if all their inputs are known."""

_MOST_BYTES = 1 << 32


class Folder:
    """Computes nodes; all constants of a model together have a bound."""

    def __init__(self, opset: int) -> None:
        self._opset = opset
        self._left = _MOST_BYTES

    def fold(self, op: Op, inputs: Sequence[Array | None], outputs: Sequence[Item]) -> list[Array]:
        """Return the values of a node's outputs; ``outputs`` say how large they are."""
        from onnx.reference import ReferenceEvaluator

        self._left -= sum(_bytes(item) for item in outputs)
        if self._left < 0:
            raise GraphError("graph/onnx-constants-large", most=_MOST_BYTES)
        onnx = library()
        feeds = {f"i{k}": value for k, value in enumerate(inputs) if value is not None}
        bare = _node(op, ["" if value is None else f"i{k}" for k, value in enumerate(inputs)])
        kinds = {k: onnx.helper.np_dtype_to_tensor_dtype(v.dtype) for k, v in feeds.items()}
        info = [onnx.helper.make_tensor_value_info(k, kinds[k], v.shape) for k, v in feeds.items()]
        names = [name for name in bare.output if name]
        results = [onnx.helper.make_empty_tensor_value_info(name) for name in names]
        graph = onnx.helper.make_graph([bare], "constant", info, results)
        imports = [onnx.helper.make_opsetid("", self._opset)]
        model = onnx.helper.make_model(graph, opset_imports=imports)
        try:
            return list(ReferenceEvaluator(model).run(None, feeds))
        except Exception as error:
            kind = type(error).__name__
            raise GraphError("graph/onnx-constant", name=names[0], error=kind, why=error) from error


def _node(op: Op, inputs: Sequence[str]) -> Any:
    """``NodeProto`` of an operator; an empty list can only be one of whole numbers here."""
    helper = library().helper
    node = helper.make_node(op.op_type, inputs, op.attrs[OUTPUTS])
    for name, value in op.attrs.items():
        if ":" not in name and value is not None:
            kind = library().AttributeProto.INTS if value == () else None
            node.attribute.append(helper.make_attribute(name, value, attr_type=kind))
    return node


def _bytes(item: Item) -> int:
    size = 1
    for dim in item.shape:
        size *= dim
    return size * (16 if isinstance(item, Operators) else item.dtype.itemsize)
