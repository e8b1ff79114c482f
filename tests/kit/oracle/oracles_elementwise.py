"""Closed forms of the operators that treat every element alone, by Python's own arithmetic."""

from __future__ import annotations

import cmath
import math

import numpy as np

from kit.oracle.oracles_basic import (
    INTEGERS,
    ONE,
    POSITIVE,
    ROW,
    SMALL,
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

SIGNS = np.array([[-2.5, -0.5, 0.0, 0.5, 1.5, 2.5], [3.2, -3.2, 7.0, -7.0, 0.49999, -0.51]])
STRANGE = np.array([[math.nan, math.inf], [-math.inf, 1.0]])
COMPARED = [([whole(3, 4), whole(3, 4, seed=2)], {}), ([SIGNS, np.asarray(0.5)], {})]
LOGICAL = [([flags(3, 4), flags(4, seed=1)], {})]


def truncated(a, b):
    """Quotient towards zero, by magnitudes."""
    size = abs(a) // abs(b)
    return size if (a < 0) == (b < 0) else -size


def add_n(inputs, settings):
    columns = zip(*(array.ravel().tolist() for array in inputs), strict=True)
    return [filled(inputs[0], [math.fsum(column) for column in columns])]


def prelu(inputs, settings):
    x, weight = inputs
    out = np.empty(x.shape)
    for index in np.ndindex(x.shape):
        slope = float(weight[index[1] if weight.size > 1 and x.ndim > 1 else 0])
        out[index] = x[index] if x[index] > 0 else slope * float(x[index])
    return [out]


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


def softplus(v):
    return v + math.log(1 + math.exp(-v)) if v > 0 else math.log(1 + math.exp(v))


def clamp(v, min=None, max=None):
    if min is not None and v < min:
        return min
    return max if max is not None and v > max else v


CASES = {
    "FloorDiv": (
        pairs(lambda a, b: a // b),
        [*INTEGERS, ([X, numbers(2, 3, 4, low=0.4, high=1.3)], {})],
    ),
    "FloorMod": (pairs(lambda a, b: a - b * math.floor(a / b)), INTEGERS),
    "TruncateDiv": (pairs(truncated), INTEGERS),
    "TruncateMod": (pairs(lambda a, b: a - b * truncated(a, b)), INTEGERS),
    "Equal": (pairs(lambda a, b: a == b), COMPARED),
    "NotEqual": (pairs(lambda a, b: a != b), COMPARED),
    "Greater": (pairs(lambda a, b: a > b), COMPARED),
    "GreaterEqual": (pairs(lambda a, b: a >= b), COMPARED),
    "Less": (pairs(lambda a, b: a < b), COMPARED),
    "LessEqual": (pairs(lambda a, b: a <= b), COMPARED),
    "LogicalAnd": (pairs(lambda a, b: a and b), LOGICAL),
    "LogicalOr": (pairs(lambda a, b: a or b), LOGICAL),
    "LogicalXor": (pairs(lambda a, b: a != b), LOGICAL),
    "BitwiseAnd": (pairs(lambda a, b: a & b), INTEGERS),
    "BitwiseOr": (pairs(lambda a, b: a | b), INTEGERS),
    "BitwiseXor": (pairs(lambda a, b: a ^ b), INTEGERS),
    "LeftShift": (pairs(lambda a, n: a * 2**n), [([whole(3, 4), whole(4, low=0, seed=1)], {})]),
    "RightShift": (pairs(lambda a, n: a // 2**n), [([whole(3, 4), whole(4, low=0, seed=1)], {})]),
    "AddN": (add_n, [([X, Y, numbers(2, 3, 4, seed=3)], {}), ([X], {})]),
    "PReLU": (
        prelu,
        [([X, numbers(3, seed=2)], {}), ([X, np.array([0.25])], {}), ([ROW, np.array([0.1])], {})],
    ),
    "Select": (
        select,
        [
            ([flags(2, 3, 4), X, Y], {}),
            ([flags(3, 1), X, np.asarray(2.0)], {}),
            ([flags(2, 2), whole(2, 2), whole(2, 2, seed=1)], {}),
        ],
    ),
    "ReLU6": (each(lambda v: sorted((0.0, v, 6.0))[1]), [([SIGNS], {})]),
    "Elu": (
        each_with(lambda v, alpha=1.0: v if v > 0 else alpha * (math.exp(v) - 1)),
        [([X], {}), ([X], {"alpha": 0.3})],
    ),
    "CeLU": (
        each_with(lambda v, alpha=1.0: v if v > 0 else alpha * (math.exp(v / alpha) - 1)),
        [([X], {}), ([X], {"alpha": 2.0})],
    ),
    "SeLU": (
        each(
            lambda v: 1.0507009873554805 * (v if v > 0 else 1.6732632423543772 * (math.exp(v) - 1))
        ),
        ONE,
    ),
    "SiLU": (each(lambda v: v / (1 + math.exp(-v))), ONE),
    "HSwish": (each(lambda v: v * sorted((0.0, v + 3, 6.0))[1] / 6), [([2 * SIGNS], {})]),
    "HSigmoid": (each(lambda v: sorted((0.0, (v + 3) / 6, 1.0))[1]), [([2 * SIGNS], {})]),
    "HShrink": (
        each_with(lambda v, lambd=0.5: v if v > lambd or v < -lambd else 0.0),
        [([SIGNS], {}), ([SIGNS], {"lambd": 1.6})],
    ),
    "SoftShrink": (
        each_with(
            lambda v, lambd=0.5: v - lambd if v > lambd else v + lambd if v < -lambd else 0.0
        ),
        [([SIGNS], {}), ([SIGNS], {"lambd": 1.6})],
    ),
    "Threshold": (
        each_with(lambda v, threshold, value: v if v > threshold else value),
        [([SIGNS], {"threshold": 0.5, "value": -20.0})],
    ),
    "Softplus": (each(softplus), [([20 * X], {})]),
    "Softsign": (each(lambda v: v / (1 + v if v > 0 else 1 - v)), ONE),
    "Mish": (each(lambda v: v * math.tanh(softplus(v))), ONE),
    "Reciprocal": (each(lambda v: v**-1), [([POSITIVE], {})]),
    "Expm1": (each(lambda v: 2 * math.sinh(v / 2) * math.exp(v / 2)), [([X], {}), ([X / 1e9], {})]),
    "Log1p": (each(lambda v: 2 * math.atanh(v / (2 + v))), [([SMALL], {}), ([SMALL / 1e9], {})]),
    "Sin": (each(lambda v: cmath.exp(1j * v).imag), ONE),
    "Cos": (each(lambda v: cmath.exp(1j * v).real), ONE),
    "Tan": (each(lambda v: math.sin(2 * v) / (1 + math.cos(2 * v))), [([SMALL], {})]),
    "Asin": (each(lambda v: math.atan2(v, math.sqrt(1 - v * v))), [([SMALL], {})]),
    "ACos": (each(lambda v: math.atan2(math.sqrt(1 - v * v), v)), [([SMALL], {})]),
    "Atan": (each(lambda v: cmath.phase(complex(1, v))), ONE),
    "Sinh": (each(lambda v: (math.exp(v) - math.exp(-v)) / 2), ONE),
    "Cosh": (each(lambda v: (math.exp(v) + math.exp(-v)) / 2), ONE),
    "Asinh": (each(lambda v: math.copysign(math.log(abs(v) + math.hypot(v, 1)), v)), ONE),
    "Acosh": (each(lambda v: math.log(v + math.sqrt(v * v - 1))), [([1 + POSITIVE], {})]),
    "Atanh": (each(lambda v: math.log((1 + v) / (1 - v)) / 2), [([SMALL], {})]),
    "Sign": (each(lambda v: float((v > 0) - (v < 0))), [([SIGNS], {})]),
    "Floor": (each(lambda v: float(math.floor(v))), [([SIGNS], {})]),
    "Ceil": (each(lambda v: float(-math.floor(-v))), [([SIGNS], {})]),
    "Trunc": (each(lambda v: float(int(v))), [([SIGNS], {})]),
    "Rint": (each(round_half_even), [([SIGNS], {})]),
    "Round": (each_with(round_half_even), [([SIGNS], {}), ([SIGNS], {"decimals": 1})]),
    "ClampScalar": (
        each_with(clamp),
        [
            ([X], {"min": -0.5, "max": 1.0}),
            ([X], {"min": 0.25}),
            ([X], {"max": 0.0}),
            ([whole(3, 4)], {"min": -2, "max": 3}),
            ([X], {}),
        ],
    ),
    "Invert": (each(lambda v: -v - 1), [([whole(3, 4)], {})]),
    "LogicalNot": (each(lambda v: not v), [([flags(3, 4)], {})]),
    "IsNan": (each(lambda v: v != v), [([STRANGE], {})]),
    "IsInf": (each(lambda v: abs(v) == math.inf), [([STRANGE], {})]),
    "IsFinite": (each(lambda v: v - v == 0), [([STRANGE], {})]),
    "ZerosLike": (each(lambda v: v * 0), [([X], {}), ([whole(3)], {})]),
    "OnesLike": (each(lambda v: v * 0 + 1), [([X], {}), ([whole(3)], {})]),
}
