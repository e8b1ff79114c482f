"""The operator table: MindSpore's primitive vocabulary, its arguments, shapes and engines.

An operator has *tensor arguments* first and *settings* after them. A setting is a constant operand
in newer dialects (``MatMul(%x, %w, Bool(0), Bool(1))``) and an attribute in older ones and in
`Conv2D`; `bind` reads both the same way. Argument names and order are those of MindSpore 2.10.
`tests/graph/test_ops.py` checks every row; `tests/run/test_kernels.py` that each has a kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from workbench.core.errors import GraphError
from workbench.graph import infer
from workbench.graph.infer import Call, nothing
from workbench.graph.nodes import Bundle, Const

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from workbench.core.tensors import TensorSpec
    from workbench.graph.nodes import Op, Operand

Engine = Literal["cube", "vector", "none"]


@dataclass(frozen=True, slots=True)
class OpDef:
    """One operator type.

    ``tensors`` counts the leading arguments that are tensors (-1: the first argument is a tuple of
    tensors), ``defaults`` gives settings that may be left out, attributes among them. ``engine`` is
    the unit that computes it: ``none`` only renames data. ``derived`` gives attributes that follow
    from the others and the shapes, as MindSpore writes them into its IR.
    """

    arguments: tuple[str, ...]
    infer: Callable[[Call], tuple[TensorSpec, ...]]
    engine: Engine = "vector"
    tensors: int = 1
    defaults: Mapping[str, Any] = field(default_factory=dict)
    derived: Callable[[Call], Mapping[str, Any]] = nothing

    @property
    def settings(self) -> tuple[str, ...]:
        """Arguments behind the tensors, in order."""
        return self.arguments[1:] if self.tensors < 0 else self.arguments[self.tensors :]


def _unary(name: str = "input") -> OpDef:
    return OpDef((name,), infer.same)


def _binary(*names: str) -> OpDef:
    return OpDef(names or ("input", "other"), infer.broadcast, tensors=2)


_TRANSPOSES = {"transpose_a": False, "transpose_b": False}
_CONV = {"group": 1, "pad_mode": "valid", "pad": 0, "stride": 1, "dilation": 1, "format": "NCHW"}
_POOL = {"kernel_size": 1, "strides": 1, "pad_mode": "valid", "data_format": 0}

OPS: dict[str, OpDef] = {
    # cube unit
    "Conv2D": OpDef(("x", "weight"), infer.conv2d, "cube", 2, _CONV, infer.pad_list),
    "MatMul": OpDef(
        ("input", "mat2", "transpose_a", "transpose_b"), infer.matmul, "cube", 2, _TRANSPOSES
    ),
    "BatchMatMul": OpDef(
        ("x", "y", "transpose_a", "transpose_b"), infer.matmul, "cube", 2, _TRANSPOSES
    ),
    # elementwise, two inputs
    "Add": _binary(),
    "Sub": _binary(),
    "Mul": _binary(),
    "RealDiv": _binary("x", "y"),
    "Div": _binary(),
    "Maximum": _binary(),
    "Minimum": _binary(),
    "Pow": _binary("input", "exponent"),
    "BiasAdd": OpDef(
        ("input_x", "bias", "data_format"), infer.bias_add, tensors=2, defaults={"data_format": 0}
    ),
    "MaskedFill": OpDef(("input_x", "mask", "value"), infer.masked_fill, tensors=3),
    # elementwise, one input
    "ReLU": _unary(),
    "Sigmoid": _unary(),
    "Tanh": _unary(),
    "GeLU": _unary(),
    "Erf": _unary(),
    "Sqrt": _unary("x"),
    "Rsqrt": _unary(),
    "Exp": _unary(),
    "Log": _unary(),
    "Abs": _unary(),
    "Neg": _unary(),
    "Square": _unary(),
    "Cast": OpDef(("input_x", "dtype"), infer.cast),
    # reductions, normalisations, windows
    "Softmax": OpDef(("input", "axis"), infer.softmax, defaults={"axis": (-1,)}),
    "LogSoftmax": OpDef(("logits", "axis"), infer.softmax, defaults={"axis": -1}),
    "ReduceMean": OpDef(
        ("x", "axis", "keep_dims"), infer.reduce, defaults={"axis": (), "keep_dims": False}
    ),
    "ReduceSum": OpDef(
        ("x", "axis", "keep_dims", "skip_mode"),
        infer.reduce,
        defaults={"axis": (), "keep_dims": False, "skip_mode": False},
    ),
    "LayerNorm": OpDef(
        ("input_x", "gamma", "beta", "begin_norm_axis", "begin_params_axis", "epsilon"),
        infer.layer_norm,
        tensors=3,
        defaults={"begin_norm_axis": 1, "begin_params_axis": 1, "epsilon": 1e-7},
    ),
    "BatchNorm": OpDef(
        (
            "input_x",
            "scale",
            "bias",
            "mean",
            "variance",
            "is_training",
            "epsilon",
            "momentum",
            "data_format",
        ),
        infer.batch_norm,
        tensors=5,
        defaults={"is_training": False, "epsilon": 1e-5, "momentum": 0.1, "data_format": 0},
    ),
    "MaxPool": OpDef(
        ("x", "kernel_size", "strides", "pad_mode", "data_format"), infer.pool, defaults=_POOL
    ),
    "AvgPool": OpDef(
        ("x", "kernel_size", "strides", "pad_mode", "data_format"),
        infer.pool,
        defaults=_POOL,
    ),
    # data movement
    "Reshape": OpDef(("input", "shape"), infer.reshape, "none"),
    "Flatten": OpDef(("input_x",), infer.flatten, "none"),
    "ExpandDims": OpDef(("input_x", "axis"), infer.expand_dims, "none"),
    "Transpose": OpDef(("input", "dims"), infer.transpose),
    "Concat": OpDef(("tensors", "axis"), infer.concat, tensors=-1, defaults={"axis": 0}),
    "Gather": OpDef(
        ("input_params", "input_indices", "axis", "batch_dims"),
        infer.gather,
        tensors=2,
        defaults={"axis": 0, "batch_dims": 0},
    ),
}
"""Every operator the workbench can trace and execute, by type."""


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
        message = f"operator type must be one of {sorted(OPS)}, got {op_type!r}"
        raise GraphError(message) from None


def bind(op: Op) -> Bound:
    """Sort an operator's operands into tensors and settings.

    Settings come from the defaults, then the attributes, then constant operands.
    """
    row = op_def(op.op_type)
    operands = list(enumerate(op.flat_inputs()))
    count = row.tensors if row.tensors >= 0 else _leading_tensors(op)
    if len(operands) < count:
        message = f"inputs of {op.name} ({op.op_type}) must be {count} tensors, got {len(operands)}"
        raise GraphError(message)
    settings = dict(row.defaults) | dict(op.attrs)
    for name, (_, operand) in zip(row.settings, operands[count:], strict=False):
        settings[name] = operand.value if isinstance(operand, Const) else operand
    slots, tensors = zip(*operands[:count], strict=True) if count else ((), ())
    return Bound(tensors, slots, settings)


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
