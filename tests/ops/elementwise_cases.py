"""Operators that treat every element alone, by Python's own arithmetic, and their gradients."""

from __future__ import annotations

import cmath
import math

import numpy as np

from kit.oracle.differences import blamed, differences_of_each
from kit.oracle.loops import (
    IMAGE,
    INTEGERS,
    ONE,
    POSITIVE,
    ROW,
    SIGNS,
    SMALL,
    TWO,
    UNIT,
    X,
    Y,
    each,
    each_with,
    filled,
    flags,
    numbers,
    pairs,
    whole,
)
from kit.oracle.operator_case import OperatorCase
from kit.oracle.slopes import GradientCase, anywhere, between, one_tensor, positive, two_tensors
from workbench.network.symbolic import record


def truncated(a, b):
    """Quotient towards zero, by magnitudes."""
    size = abs(a) // abs(b)
    return size if (a < 0) == (b < 0) else -size


def add_n(inputs, settings):
    columns = zip(*(array.ravel().tolist() for array in inputs), strict=True)
    return [filled(inputs[0], [math.fsum(column) for column in columns])]


def select(inputs, settings):
    shape = np.broadcast_shapes(*(array.shape for array in inputs))
    condition, first, second = (np.broadcast_to(array, shape) for array in inputs)
    chosen = [
        first[index].item() if condition[index] else second[index].item()
        for index in np.ndindex(shape)
    ]
    return [np.array(chosen).reshape(shape)]


def round_half_even(v, decimals=0):
    shifted = v * 10**decimals
    below = math.floor(shifted)
    rest = shifted - below
    up = rest > 0.5 or (rest == 0.5 and below % 2 == 1)
    return (below + up) / 10**decimals


def clamp(v, min=None, max=None):
    if min is not None and v < min:
        return min
    return max if max is not None and v > max else v


def bias_add(inputs, settings):
    x, bias = inputs
    axis = -1 if settings.get("data_format") in (1, "NHWC") else 1
    out = np.empty(x.shape)
    for index in np.ndindex(x.shape):
        out[index] = float(x[index]) + float(bias[index[axis]])
    return [out]


def masked_fill(inputs, settings):
    x, mask, value = inputs
    full = np.broadcast_to(mask, x.shape)
    flat = [
        float(value) if m else v
        for v, m in zip(x.ravel().tolist(), full.ravel().tolist(), strict=True)
    ]
    return [np.array(flat).reshape(x.shape)]


def bias_add_gradient(inputs, settings):
    dout = inputs[0]
    zero = np.zeros(dout.shape)
    length = dout.shape[-1 if settings.get("data_format") == 1 else 1]
    return [blamed(lambda b: bias_add([zero, b], settings), [np.zeros(length)], 0, [dout])]


STRANGE = np.array([[math.nan, math.inf], [-math.inf, 1.0]])

COMPARED = [([whole(3, 4), whole(3, 4, seed=2)], {}), ([SIGNS, np.asarray(0.5)], {})]

LOGICAL = [([flags(3, 4), flags(4, seed=1)], {})]

MASK = np.array([[True, False, True], [False, False, True]])


CASES = {
    "Add": OperatorCase(
        pairs(lambda a, b: a + b), TWO, gradient=two_tensors("Add"), onnx="Add Sum"
    ),
    "Sub": OperatorCase(pairs(lambda a, b: a - b), TWO, gradient=two_tensors("Sub"), onnx="Sub"),
    "Mul": OperatorCase(pairs(lambda a, b: a * b), TWO, gradient=two_tensors("Mul"), onnx="Mul"),
    "RealDiv": OperatorCase(
        pairs(lambda a, b: a / b),
        [([X, POSITIVE], {})],
        gradient=two_tensors("RealDiv"),
        onnx="Div Mean",
    ),
    "Div": OperatorCase(pairs(lambda a, b: a / b), [([X, POSITIVE], {})]),
    "FloorDiv": OperatorCase(
        pairs(lambda a, b: a // b),
        [*INTEGERS, ([X, numbers(2, 3, 4, low=0.4, high=1.3)], {})],
        gradient=two_tensors("FloorDiv"),
    ),
    "FloorMod": OperatorCase(pairs(lambda a, b: a - b * math.floor(a / b)), INTEGERS, onnx="Mod"),
    "TruncateDiv": OperatorCase(pairs(truncated), INTEGERS, onnx="Div"),
    "TruncateMod": OperatorCase(pairs(lambda a, b: a - b * truncated(a, b)), INTEGERS, onnx="Mod"),
    "Maximum": OperatorCase(
        pairs(lambda a, b: a if a > b else b), TWO, gradient=two_tensors("Maximum"), onnx="Max Clip"
    ),
    "Minimum": OperatorCase(
        pairs(lambda a, b: a if a < b else b), TWO, gradient=two_tensors("Minimum"), onnx="Min Clip"
    ),
    "Pow": OperatorCase(
        pairs(math.pow),
        [([POSITIVE, Y], {}), ([X, np.asarray(3.0)], {})],
        gradient=two_tensors("Pow", positive, anywhere),
        onnx="Pow",
    ),
    "Equal": OperatorCase(pairs(lambda a, b: a == b), COMPARED, onnx="Equal IsInf"),
    "NotEqual": OperatorCase(pairs(lambda a, b: a != b), COMPARED),
    "Greater": OperatorCase(pairs(lambda a, b: a > b), COMPARED, onnx="Greater"),
    "GreaterEqual": OperatorCase(pairs(lambda a, b: a >= b), COMPARED, onnx="GreaterOrEqual"),
    "Less": OperatorCase(pairs(lambda a, b: a < b), COMPARED, onnx="Less"),
    "LessEqual": OperatorCase(pairs(lambda a, b: a <= b), COMPARED, onnx="LessOrEqual"),
    "LogicalAnd": OperatorCase(pairs(lambda a, b: a and b), LOGICAL, onnx="And"),
    "LogicalOr": OperatorCase(pairs(lambda a, b: a or b), LOGICAL, onnx="Or"),
    "LogicalXor": OperatorCase(pairs(lambda a, b: a != b), LOGICAL, onnx="Xor"),
    "BitwiseAnd": OperatorCase(pairs(lambda a, b: a & b), INTEGERS, onnx="BitwiseAnd"),
    "BitwiseOr": OperatorCase(pairs(lambda a, b: a | b), INTEGERS, onnx="BitwiseOr"),
    "BitwiseXor": OperatorCase(pairs(lambda a, b: a ^ b), INTEGERS, onnx="BitwiseXor"),
    "LeftShift": OperatorCase(
        pairs(lambda a, n: a * 2**n),
        [([whole(3, 4), whole(4, low=0, seed=1)], {})],
        onnx="BitShift",
    ),
    "RightShift": OperatorCase(
        pairs(lambda a, n: a // 2**n),
        [([whole(3, 4), whole(4, low=0, seed=1)], {})],
        onnx="BitShift",
    ),
    "AddN": OperatorCase(
        add_n,
        [([X, Y, numbers(2, 3, 4, seed=3)], {}), ([X], {})],
        gradient=[
            GradientCase(
                lambda x, y: record("AddN", (x, y, x), n=3, N=3), (anywhere(2), anywhere(2))
            )
        ],
    ),
    "BiasAdd": OperatorCase(
        bias_add,
        [
            ([numbers(3, 4), ROW], {"data_format": 0}),
            ([IMAGE, ROW], {"data_format": 0}),
            ([numbers(2, 2, 3, 4), ROW], {"data_format": 1}),
            ([numbers(2, 3, 4), ROW], {"data_format": "NHWC"}),
        ],
        gradient=[
            GradientCase(
                lambda x, y, code=code: record("BiasAdd", x, y, code),
                (anywhere(*shape), anywhere(3)),
            )
            for code, shape in ((0, (2, 3)), (0, (2, 3, 2, 2)), (1, (2, 2, 2, 3)))
        ],
    ),
    "Select": OperatorCase(
        select,
        [
            ([flags(2, 3, 4), X, Y], {}),
            ([flags(3, 1), X, np.asarray(2.0)], {}),
            ([flags(2, 2), whole(2, 2), whole(2, 2, seed=1)], {}),
        ],
        gradient=[
            GradientCase(
                lambda x, y: record("Select", MASK, x, y), (anywhere(2, 3), anywhere(2, 3))
            )
        ],
        onnx="Where",
    ),
    "MaskedFill": OperatorCase(
        masked_fill,
        [([X, numbers(3, 1) > 0, np.asarray(-1e4)], {}), ([X, X > 0, np.asarray(0.5)], {})],
        gradient=[
            GradientCase(
                lambda x, y: record("MaskedFill", x, MASK, y), (anywhere(2, 3), anywhere())
            ),
            GradientCase(lambda x: record("MaskedFill", x, MASK[0], 2.0), (anywhere(2, 3),)),
        ],
    ),
    "Erf": OperatorCase(each(math.erf), ONE, gradient=one_tensor("Erf"), onnx="Erf"),
    "Sqrt": OperatorCase(
        each(lambda v: v**0.5),
        [([POSITIVE], {})],
        gradient=one_tensor("Sqrt", point=between(0.3, 2.0)),
        onnx="Sqrt",
    ),
    "Rsqrt": OperatorCase(
        each(lambda v: v**-0.5),
        [([POSITIVE], {})],
        gradient=one_tensor("Rsqrt", point=between(0.3, 2.0)),
        onnx="LayerNormalization",
    ),
    "Reciprocal": OperatorCase(
        each(lambda v: v**-1),
        [([POSITIVE], {})],
        gradient=one_tensor("Reciprocal"),
        onnx="Reciprocal",
    ),
    "Exp": OperatorCase(each(math.exp), ONE, gradient=one_tensor("Exp"), onnx="Exp"),
    "Expm1": OperatorCase(
        each(lambda v: 2 * math.sinh(v / 2) * math.exp(v / 2)), [([X], {}), ([X / 1e9], {})]
    ),
    "Log": OperatorCase(
        each(math.log),
        [([POSITIVE], {})],
        gradient=one_tensor("Log", point=between(0.3, 2.0)),
        onnx="Log",
    ),
    "Log1p": OperatorCase(
        each(lambda v: 2 * math.atanh(v / (2 + v))), [([SMALL], {}), ([SMALL / 1e9], {})]
    ),
    "Sin": OperatorCase(
        each(lambda v: cmath.exp(1j * v).imag), ONE, gradient=one_tensor("Sin"), onnx="Sin"
    ),
    "Cos": OperatorCase(
        each(lambda v: cmath.exp(1j * v).real), ONE, gradient=one_tensor("Cos"), onnx="Cos"
    ),
    "Tan": OperatorCase(
        each(lambda v: math.sin(2 * v) / (1 + math.cos(2 * v))), [([SMALL], {})], onnx="Tan"
    ),
    "Asin": OperatorCase(
        each(lambda v: math.atan2(v, math.sqrt(1 - v * v))), [([SMALL], {})], onnx="Asin"
    ),
    "ACos": OperatorCase(
        each(lambda v: math.atan2(math.sqrt(1 - v * v), v)), [([SMALL], {})], onnx="Acos"
    ),
    "Atan": OperatorCase(each(lambda v: cmath.phase(complex(1, v))), ONE, onnx="Atan"),
    "Sinh": OperatorCase(each(lambda v: (math.exp(v) - math.exp(-v)) / 2), ONE, onnx="Sinh"),
    "Cosh": OperatorCase(each(lambda v: (math.exp(v) + math.exp(-v)) / 2), ONE, onnx="Cosh"),
    "Asinh": OperatorCase(
        each(lambda v: math.copysign(math.log(abs(v) + math.hypot(v, 1)), v)), ONE, onnx="Asinh"
    ),
    "Acosh": OperatorCase(
        each(lambda v: math.log(v + math.sqrt(v * v - 1))), [([1 + POSITIVE], {})], onnx="Acosh"
    ),
    "Atanh": OperatorCase(
        each(lambda v: math.log((1 + v) / (1 - v)) / 2), [([SMALL], {})], onnx="Atanh"
    ),
    "Abs": OperatorCase(
        each(lambda v: -v if v < 0 else v), ONE, gradient=one_tensor("Abs"), onnx="Abs"
    ),
    "Neg": OperatorCase(each(lambda v: 0.0 - v), ONE, gradient=one_tensor("Neg"), onnx="Neg"),
    "Sign": OperatorCase(
        each(lambda v: float((v > 0) - (v < 0))),
        [([SIGNS], {})],
        gradient=one_tensor("Sign"),
        onnx="Sign",
    ),
    "Square": OperatorCase(
        each(lambda v: v**2), ONE, gradient=one_tensor("Square"), onnx="ReduceL2 ReduceSumSquare"
    ),
    "Floor": OperatorCase(
        each(lambda v: float(math.floor(v))),
        [([SIGNS], {})],
        gradient=one_tensor("Floor"),
        onnx="Floor",
    ),
    "Ceil": OperatorCase(
        each(lambda v: float(-math.floor(-v))),
        [([SIGNS], {})],
        gradient=one_tensor("Ceil"),
        onnx="Ceil",
    ),
    "Trunc": OperatorCase(each(lambda v: float(int(v))), [([SIGNS], {})]),
    "Rint": OperatorCase(each(round_half_even), [([SIGNS], {})]),
    "Round": OperatorCase(
        each_with(round_half_even),
        [([SIGNS], {}), ([SIGNS], {"decimals": 1})],
        gradient=one_tensor("Round"),
        onnx="Round",
    ),
    "ClampScalar": OperatorCase(
        each_with(clamp),
        [
            ([X], {"min": -0.5, "max": 1.0}),
            ([X], {"min": 0.25}),
            ([X], {"max": 0.0}),
            ([whole(3, 4)], {"min": -2, "max": 3}),
            ([X], {}),
        ],
        gradient=[
            *one_tensor("ClampScalar", -0.45, 0.55),
            *one_tensor("ClampScalar", None, 0.45),
            *one_tensor("ClampScalar", -0.45, None),
            *one_tensor("ClampScalar", None, None),
        ],
        onnx="Clip",
    ),
    "Invert": OperatorCase(each(lambda v: -v - 1), [([whole(3, 4)], {})], onnx="BitwiseNot"),
    "LogicalNot": OperatorCase(each(lambda v: not v), [([flags(3, 4)], {})], onnx="Not"),
    "IsNan": OperatorCase(each(lambda v: v != v), [([STRANGE], {})], onnx="IsNaN"),
    "IsInf": OperatorCase(each(lambda v: abs(v) == math.inf), [([STRANGE], {})], onnx="IsInf"),
    "IsFinite": OperatorCase(each(lambda v: v - v == 0), [([STRANGE], {})]),
    "ZerosLike": OperatorCase(each(lambda v: v * 0), [([X], {}), ([whole(3)], {})]),
    "OnesLike": OperatorCase(
        each(lambda v: v * 0 + 1),
        [([X], {}), ([whole(3)], {})],
        gradient=one_tensor("OnesLike"),
        onnx="Dropout",
    ),
    "Cast": OperatorCase(
        each(float),
        [([X], {"dst_type": "float32"})],
        gradient=one_tensor("Cast", dst_type="float64"),
        onnx="Cast CastLike",
    ),
    "TransData": OperatorCase(each(float), [([X], {})]),
    "BiasAddGrad": OperatorCase(
        bias_add_gradient,
        [([numbers(3, 4)], {}), ([IMAGE], {"data_format": 0}), ([IMAGE], {"data_format": 1})],
        by_differences=True,
    ),
    "SqrtGrad": OperatorCase(
        differences_of_each(math.sqrt, inverse=lambda y: y * y, order="xd", step=0.002),
        [([UNIT + 0.5, Y], {})],
        by_differences=True,
    ),
    "RsqrtGrad": OperatorCase(
        differences_of_each(lambda v: v**-0.5, inverse=lambda y: y**-2, order="xd", step=0.002),
        [([UNIT + 0.5, Y], {})],
        by_differences=True,
    ),
}
