"""Operators that treat every element alone: arithmetic, comparisons, functions of one number."""

from __future__ import annotations

from math import pi, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.tensors import TensorSpec
from workbench.ops.definition import (
    Call,
    OpDef,
    ShapeRule,
    cast_target,
    foreign,
    grad_of,
    integers,
    numbers_if_given,
    output_like,
    reject,
    same_as_input,
    same_dtype,
    unary,
)
from workbench.ops.gradient import (
    Backward,
    Entries,
    GradientRule,
    Symbol,
    backward_op,
    input_gradient,
    number,
    zero_gradient,
)
from workbench.ops.kernels import elementwise as kernels
from workbench.ops.kernels.window import is_channels_last

if TYPE_CHECKING:
    from collections.abc import Sequence


def _joint(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        reject("graph/broadcast", got=tuple(shapes))


def broadcast_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Two inputs of one dtype, NumPy's broadcasting."""
    same_dtype(call)
    return output_like(call, _joint((call.shape(0), call.shape(1))))


def compare_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """As `broadcast`; the output is bool."""
    return (TensorSpec("bool", broadcast_shapes(call)[0].shape),)


def predicate_like(call: Call) -> tuple[TensorSpec, ...]:
    """A bool for every element."""
    return (TensorSpec("bool", call.shape()),)


def logic_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """One or two bool inputs."""
    for spec in call.tensors:
        if spec.dtype != "bool":
            reject(
                "graph/dtype",
                subject="inputs",
                expected=["bool"],
                got=tuple(one.dtype for one in call.tensors),
            )
    return output_like(call, _joint([call.shape(index) for index in range(len(call.tensors))]))


def bitwise_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """One or two integer inputs."""
    for index in range(len(call.tensors)):
        integers(call, index, f"input {index}")
    same_dtype(call)
    return output_like(call, _joint([call.shape(index) for index in range(len(call.tensors))]))


def sum_of_inputs(call: Call) -> tuple[TensorSpec, ...]:
    """Any number of inputs of one dtype and shape."""
    same_dtype(call)
    shapes = tuple(call.shape(index) for index in range(len(call.tensors)))
    if len(set(shapes)) != 1:
        reject("graph/shapes-differ", subject="inputs", got=shapes)
    return output_like(call, shapes[0])


def bias_add_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Output as the input; the bias is as long as the axis of the channels."""
    same_dtype(call)
    shape = call.shape()
    if len(shape) < 2:
        reject("graph/rank", subject="input", least=2, got=shape)
    expected = (_channels(call),)
    if call.shape(1) != expected:
        reject("graph/shape", subject="bias", expected=expected, got=call.shape(1))
    return output_like(call, shape)


def _channels(call: Call) -> int:
    """Number of channels of an input of at least two dimensions."""
    return call.shape()[-1 if is_channels_last(call.settings["data_format"]) else 1]


def select_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """A bool condition and two inputs of one dtype, NumPy's broadcasting."""
    if call.tensors[0].dtype != "bool":
        reject("graph/dtype", subject="condition", expected=["bool"], got=call.tensors[0].dtype)
    if call.tensors[1].dtype != call.tensors[2].dtype:
        got = (call.tensors[1].dtype, call.tensors[2].dtype)
        reject("graph/dtypes-differ", subject="both values", got=got)
    return output_like(call, _joint([call.shape(index) for index in range(3)]), 1)


def masked_fill_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Input, bool mask that broadcasts to it, 0-d value of the input's dtype."""
    shape, mask = call.shape(0), call.shape(1)
    if call.tensors[1].dtype != "bool":
        reject("graph/dtype", subject="mask", expected=["bool"], got=call.tensors[1].dtype)
    try:
        return output_like(call, np.broadcast_shapes(shape, mask))
    except ValueError:
        reject("graph/broadcast-to", subject="mask", expected=shape, got=mask)


def cast_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Shape of the input; the dtype is an attribute or, in some versions, an argument."""
    target = call.settings.get("dst_type", call.settings.get("dtype"))
    return (TensorSpec(cast_target(target), call.shape()),)


def bias_add_grad_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Return a sum for every channel."""
    shape = call.shape()
    if len(shape) < 2:
        reject("graph/rank", subject="dout", least=2, got=shape)
    return output_like(call, (_channels(call),))


def add_gradient(b: Backward) -> Entries:
    """X + y."""
    x, y = b.inputs
    return lambda: b.sum_to(b.dout, x), lambda: b.sum_to(b.dout, y)


def sub_gradient(b: Backward) -> Entries:
    """X - y."""
    x, y = b.inputs
    return lambda: b.sum_to(b.dout, x), lambda: b.sum_to(b.record("Neg", b.dout), y)


def mul_gradient(b: Backward) -> Entries:
    """X · y."""
    x, y = b.inputs
    return lambda: b.sum_to(b.times(y, b.dout), x), lambda: b.sum_to(b.times(x, b.dout), y)


def divide_gradient(b: Backward) -> Entries:
    """X / y; that of y is -dout · (x / y) / y, in MindSpore's order."""
    x, y = b.inputs

    def divisor() -> Symbol:
        return b.sum_to(b.record("Mul", b.record("Neg", b.dout), b.record("Div", b.out, y)), y)

    return lambda: b.sum_to(b.record("Div", b.dout, y), x), divisor


def power_gradient(b: Backward) -> Entries:
    """X ^ y; that of y is 0 where 0 is raised to a power that is not negative."""
    x, y = b.inputs

    def base() -> Symbol:
        lower = b.record("Pow", x, b.record("Sub", y, number(1, y)))
        return b.sum_to(b.times(b.record("Mul", y, lower), b.dout), x)

    def exponent() -> Symbol:
        share = b.record("Mul", b.out, b.record("Log", x))
        zero = b.record("Equal", x, number(0, x))
        still = b.record("LogicalAnd", zero, b.record("GreaterEqual", y, number(0, y)))
        share = b.record("Select", still, b.record("ZerosLike", share), share)
        return b.sum_to(b.times(share, b.dout), y)

    return base, exponent


def extreme_gradient(loses: str, wins: str) -> GradientRule:
    """Gradient of the larger or smaller of two; each has half of it where both are equal."""

    def rule(b: Backward) -> Entries:
        x, y = b.inputs

        def share(op_type: str, of: Symbol) -> Symbol:
            half = b.record("Div", b.dout, number(2, b.dout))
            shared = b.record("Select", b.record("Equal", x, y), half, b.dout)
            lost = b.record(op_type, x, y)
            return b.sum_to(b.record("Select", lost, b.record("ZerosLike", b.out), shared), of)

        return lambda: share(loses, x), lambda: share(wins, y)

    return rule


def add_n_gradient(b: Backward) -> Entries:
    """Sum of any number of tensors."""
    return (lambda: b.dout,) * len(b.inputs)


def bias_add_gradient(b: Backward) -> Entries:
    """Vector along the channels."""
    return lambda: b.dout, lambda: b.record("BiasAddGrad", b.dout, b.settings["data_format"])


def select_gradient(b: Backward) -> Entries:
    """X where a condition is true, else y."""
    condition, x, y = b.inputs

    def taken() -> Symbol:
        return b.sum_to(b.record("Select", condition, b.dout, b.record("ZerosLike", b.dout)), x)

    def other() -> Symbol:
        return b.sum_to(b.record("Select", condition, b.record("ZerosLike", b.dout), b.dout), y)

    return None, taken, other


def masked_fill_gradient(b: Backward) -> Entries:
    """X with a value where the mask is true."""
    x, mask, value = b.inputs

    def filled() -> Symbol:
        inside = b.record("Select", mask, b.dout, b.record("ZerosLike", b.dout))
        return b.sum_to(inside, value)

    return lambda: b.sum_to(b.record("MaskedFill", b.dout, mask, number(0, x)), x), None, filled


def square_gradient(b: Backward) -> Symbol:
    """2 · x."""
    twice = b.record("Mul", b.record("Pow", b.x, number(1, b.x)), number(2, b.x))
    return b.times(b.dout, twice)


def exp_gradient(b: Backward) -> Symbol:
    """exp(x)."""
    return b.times(b.dout, b.out)


def log_gradient(b: Backward) -> Symbol:
    """1 / x."""
    return b.record("Div", b.dout, b.x)


def reciprocal_gradient(b: Backward) -> Symbol:
    """-1 / x²."""
    return b.times(b.record("Neg", b.dout), b.record("Mul", b.out, b.out))


def erf_gradient(b: Backward) -> Symbol:
    """2 / sqrt(π) · exp(-x²)."""
    bell = b.record("Exp", b.record("Neg", b.record("Pow", b.x, number(2, b.x))))
    return b.times(b.record("Mul", bell, number(2 / sqrt(pi), b.x)), b.dout)


def sin_gradient(b: Backward) -> Symbol:
    """cos(x)."""
    return b.times(b.dout, b.record("Cos", b.x))


def cos_gradient(b: Backward) -> Symbol:
    """-sin(x)."""
    return b.times(b.dout, b.record("Neg", b.record("Sin", b.x)))


def absolute_gradient(b: Backward) -> Symbol:
    """Sign of x."""
    return b.times(b.dout, b.record("Sign", b.x))


def neg_gradient(b: Backward) -> Symbol:
    """-1."""
    return b.record("Neg", b.dout)


def cast_gradient(b: Backward) -> Symbol:
    """Round the gradient to the dtype of the input."""
    return b.record("Cast", b.dout, dst_type=b.x.dtype)


def clamp_gradient(b: Backward) -> Symbol:
    """1 between the bounds, both included."""
    inside: Symbol | None = None
    for name, op_type in (("min", "GreaterEqual"), ("max", "LessEqual")):
        if b.settings[name] is not None:
            within = b.record(op_type, b.x, number(b.settings[name], b.x))
            inside = within if inside is None else b.record("LogicalAnd", inside, within)
    if inside is None:
        return b.dout
    return b.record("Select", inside, b.dout, b.record("ZerosLike", b.dout))


def binary(
    names: str = "input other", shape_rule: ShapeRule = broadcast_shapes, **facts: Any
) -> OpDef:
    """Row of an operator on two tensors that are stretched to one shape."""
    return OpDef(names, shape_rule, tensors=2, **facts)


def clamp_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Output as the input; each bound is a number or left out."""
    numbers_if_given(call, "min", "max")
    return same_as_input(call)


def round_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Output as the input; a whole number of decimals."""
    if not isinstance(call.settings["decimals"], int):
        reject("graph/integer-any", subject="decimals", got=call.settings["decimals"])
    return same_as_input(call)


ROWS: dict[str, OpDef] = {
    "Add": binary(kernel=np.add, gradient=add_gradient, onnx="Add", commutative=True),
    "Sub": binary(kernel=np.subtract, gradient=sub_gradient, onnx="Sub"),
    "Mul": binary(kernel=np.multiply, gradient=mul_gradient, onnx="Mul", commutative=True),
    "RealDiv": binary("x y", kernel=np.divide, gradient=divide_gradient),
    "Div": binary(kernel=np.divide),
    "FloorDiv": binary(kernel=np.floor_divide, gradient=zero_gradient, discontinuous=True),
    "FloorMod": binary("x y", kernel=np.remainder, discontinuous=True),
    "TruncateDiv": binary("x y", kernel=kernels.truncated_division, discontinuous=True),
    "TruncateMod": binary("x y", kernel=np.fmod, discontinuous=True),
    "Maximum": binary(
        kernel=np.maximum,
        gradient=extreme_gradient("Less", "Greater"),
        effect="choose",
        commutative=True,
    ),
    "Minimum": binary(
        kernel=np.minimum,
        gradient=extreme_gradient("Greater", "Less"),
        effect="choose",
        commutative=True,
    ),
    "Pow": binary("input exponent", kernel=np.power, gradient=power_gradient, libm=True),
    "Equal": binary(
        shape_rule=compare_shapes,
        kernel=np.equal,
        onnx="Equal",
        commutative=True,
        discontinuous=True,
    ),
    "NotEqual": binary(
        shape_rule=compare_shapes, kernel=np.not_equal, commutative=True, discontinuous=True
    ),
    "Greater": binary(
        shape_rule=compare_shapes, kernel=np.greater, onnx="Greater", discontinuous=True
    ),
    "GreaterEqual": binary(
        shape_rule=compare_shapes,
        kernel=np.greater_equal,
        onnx="GreaterOrEqual",
        discontinuous=True,
    ),
    "Less": binary(shape_rule=compare_shapes, kernel=np.less, onnx="Less", discontinuous=True),
    "LessEqual": binary(
        shape_rule=compare_shapes, kernel=np.less_equal, onnx="LessOrEqual", discontinuous=True
    ),
    "LogicalAnd": binary("x y", logic_shapes, kernel=np.logical_and, onnx="And", commutative=True),
    "LogicalOr": binary("x y", logic_shapes, kernel=np.logical_or, onnx="Or", commutative=True),
    "LogicalXor": binary(
        shape_rule=logic_shapes, kernel=np.logical_xor, onnx="Xor", commutative=True
    ),
    "BitwiseAnd": binary(
        "x1 x2", bitwise_shapes, kernel=np.bitwise_and, onnx="BitwiseAnd", commutative=True
    ),
    "BitwiseOr": binary(
        "x1 x2", bitwise_shapes, kernel=np.bitwise_or, onnx="BitwiseOr", commutative=True
    ),
    "BitwiseXor": binary(
        "x1 x2", bitwise_shapes, kernel=np.bitwise_xor, onnx="BitwiseXor", commutative=True
    ),
    "LeftShift": binary("x1 x2", bitwise_shapes, kernel=np.left_shift),
    "RightShift": binary("input_x input_y", bitwise_shapes, kernel=np.right_shift),
    "AddN": OpDef(
        "x",
        sum_of_inputs,
        tensors=-1,
        kernel=kernels.add_n,
        gradient=add_n_gradient,
        commutative=True,
    ),
    "BiasAdd": OpDef(
        "input_x bias data_format",
        bias_add_shapes,
        tensors=2,
        defaults={"data_format": 0},
        kernel=kernels.bias_add,
        gradient=bias_add_gradient,
    ),
    "Select": OpDef(
        "condition input other",
        select_shapes,
        tensors=3,
        kernel=kernels.select,
        gradient=select_gradient,
        onnx="Where",
        discontinuous=True,
    ),
    "MaskedFill": OpDef(
        "input_x mask value",
        masked_fill_shapes,
        tensors=3,
        kernel=kernels.masked_fill,
        gradient=masked_fill_gradient,
    ),
    "Erf": unary(kernel=kernels.erf, gradient=input_gradient(erf_gradient), onnx="Erf", libm=True),
    "Sqrt": unary(
        "x", kernel=np.sqrt, gradient=backward_op("SqrtGrad", "out dout"), onnx="Sqrt", floats=(0,)
    ),
    "Rsqrt": unary(
        kernel=kernels.rsqrt, gradient=backward_op("RsqrtGrad", "out dout"), libm=True, floats=(0,)
    ),
    "Reciprocal": unary(
        kernel=kernels.reciprocal,
        gradient=input_gradient(reciprocal_gradient),
        onnx="Reciprocal",
        floats=(0,),
    ),
    "Exp": unary(
        kernel=np.exp, gradient=input_gradient(exp_gradient), onnx="Exp", libm=True, floats=(0,)
    ),
    "Expm1": unary(kernel=np.expm1, libm=True, floats=(0,)),
    "Log": unary(
        kernel=np.log, gradient=input_gradient(log_gradient), onnx="Log", libm=True, floats=(0,)
    ),
    "Log1p": unary(kernel=np.log1p, libm=True, floats=(0,)),
    "Sin": unary(
        kernel=np.sin, gradient=input_gradient(sin_gradient), onnx="Sin", libm=True, floats=(0,)
    ),
    "Cos": unary(
        kernel=np.cos, gradient=input_gradient(cos_gradient), onnx="Cos", libm=True, floats=(0,)
    ),
    "Tan": unary(kernel=np.tan, onnx="Tan", libm=True, floats=(0,)),
    "Asin": unary(kernel=np.arcsin, onnx="Asin", libm=True, floats=(0,)),
    "ACos": unary(kernel=np.arccos, onnx="Acos", libm=True, floats=(0,)),
    "Atan": unary(kernel=np.arctan, onnx="Atan", libm=True, floats=(0,)),
    "Sinh": unary(kernel=np.sinh, onnx="Sinh", libm=True, floats=(0,)),
    "Cosh": unary(kernel=np.cosh, onnx="Cosh", libm=True, floats=(0,)),
    "Asinh": unary(kernel=np.arcsinh, onnx="Asinh", libm=True, floats=(0,)),
    "Acosh": unary(kernel=np.arccosh, onnx="Acosh", libm=True, floats=(0,)),
    "Atanh": unary(kernel=np.arctanh, onnx="Atanh", libm=True, floats=(0,)),
    "Abs": unary(
        kernel=np.abs, gradient=input_gradient(absolute_gradient), onnx="Abs", effect="choose"
    ),
    "Neg": unary(
        kernel=np.negative, gradient=input_gradient(neg_gradient), onnx="Neg", effect="choose"
    ),
    "Sign": unary(kernel=np.sign, gradient=zero_gradient, onnx="Sign", discontinuous=True),
    "Square": unary(kernel=np.square, gradient=input_gradient(square_gradient)),
    "Floor": unary(kernel=np.floor, gradient=zero_gradient, onnx="Floor", discontinuous=True),
    "Ceil": unary(kernel=np.ceil, gradient=zero_gradient, onnx="Ceil", discontinuous=True),
    "Trunc": unary(kernel=np.trunc, discontinuous=True),
    "Rint": unary("input_x", kernel=np.rint, discontinuous=True, floats=(0,)),
    "Round": OpDef(
        "input decimals",
        round_shapes,
        defaults={"decimals": 0},
        kernel=kernels.round_to,
        gradient=zero_gradient,
        discontinuous=True,
    ),
    "ClampScalar": OpDef(
        "input min max",
        clamp_shapes,
        defaults={"min": None, "max": None},
        kernel=kernels.clamp,
        gradient=input_gradient(clamp_gradient),
    ),
    "Invert": unary("x", bitwise_shapes, kernel=np.invert, onnx="BitwiseNot"),
    "LogicalNot": unary(shape_rule=logic_shapes, kernel=np.logical_not, onnx="Not"),
    "IsNan": unary("x", predicate_like, kernel=np.isnan, onnx="IsNaN", discontinuous=True),
    "IsInf": unary(shape_rule=predicate_like, kernel=np.isinf, discontinuous=True),
    "IsFinite": unary(shape_rule=predicate_like, kernel=np.isfinite, discontinuous=True),
    "ZerosLike": unary("x", kernel=np.zeros_like),
    "OnesLike": unary("x", kernel=np.ones_like, gradient=zero_gradient),
    "Cast": OpDef(
        "input_x dtype",
        cast_shapes,
        kernel=kernels.cast,
        gradient=input_gradient(cast_gradient),
        effect="identity",
    ),
    "TransData": unary("src", kernel=kernels.cast, effect="identity"),
    "BiasAddGrad": OpDef(
        "dout data_format",
        bias_add_grad_shapes,
        defaults={"data_format": 0},
        kernel=kernels.bias_add_grad,
        effect="sum",
    ),
    "SqrtGrad": grad_of("dy y", kernel=kernels.sqrt_grad),
    "RsqrtGrad": grad_of("y_backprop x", kernel=kernels.rsqrt_grad),
    "AddExt": foreign("input other alpha"),
    "Adds": foreign("x value"),
    "ClampTensor": foreign("input min max"),
    "InplaceAddExt": foreign("input other alpha", writes=(0,)),
    "Muls": foreign("input other"),
    "SubExt": foreign("input other alpha"),
}
