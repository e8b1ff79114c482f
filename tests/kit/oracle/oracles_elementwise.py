"""Oracles of the operators that treat every element alone, by Python's own arithmetic.

Functions of elements, updates of weights in place, and the operators in which the ranks of a job meet. In front
stands what the oracles of all operators share: numbers to compute with, and loops.
"""

from __future__ import annotations

import cmath
import math
from itertools import chain

import numpy as np


def numbers(*shape, low=-2.0, high=2.0, seed=7):
    return np.random.default_rng(seed).uniform(low, high, shape)


def whole(*shape, low=-9, high=9, seed=7, dtype=np.int64):
    return np.random.default_rng(seed).integers(low, high, shape, dtype=dtype)


def flags(*shape, seed=7):
    return np.random.default_rng(seed).random(shape) < 0.5


def filled(array, values):
    """Values in the shape of an array, in the dtype that they have in Python."""
    return np.array(values).reshape(array.shape)


def each(function):
    """Oracle of an elementwise function of one number."""

    def oracle(inputs, settings):
        return [filled(inputs[0], [function(v) for v in inputs[0].ravel().tolist()])]

    return oracle


def each_with(function):
    """Oracle of an elementwise function of one number and the settings."""

    def oracle(inputs, settings):
        return [filled(inputs[0], [function(v, **settings) for v in inputs[0].ravel().tolist()])]

    return oracle


def pairs(function):
    """Oracle of an elementwise function of two numbers, broadcasting by modulo of indices."""

    def oracle(inputs, settings):
        shape = np.broadcast_shapes(inputs[0].shape, inputs[1].shape)
        found = []
        for index in np.ndindex(shape):
            picked = []
            for array in inputs:
                own = index[len(index) - array.ndim :]
                place = tuple(i % n for i, n in zip(own, array.shape, strict=True))
                picked.append(array[place].item())
            found.append(function(*picked))
        return [np.array(found).reshape(shape)]

    return oracle


def lines(array, axis):
    """Index of every line of an array along an axis."""
    axis %= array.ndim
    for index in np.ndindex(*(1 if i == axis else n for i, n in enumerate(array.shape))):
        yield (*index[:axis], slice(None), *index[axis + 1 :])


def two(value):
    return (value, value) if isinstance(value, int) else tuple(value)[-2:]


X = numbers(2, 3, 4)
POSITIVE = numbers(2, 3, 4, low=0.1, high=3.0)
SMALL = numbers(2, 3, 4, low=-0.9, high=0.9)
Y, ROW = numbers(2, 3, 4, seed=8), numbers(4, seed=9)
IMAGE = numbers(2, 4, 7, 6)
TWO = [([X, Y], {}), ([X, ROW], {}), ([np.asarray(1.5), X], {})]
ONE = [([X], {})]
INTEGERS = [
    ([whole(2, 3, 4), whole(2, 3, 4, seed=8) * 2 + 1], {}),
    ([whole(3), np.asarray(-4)], {}),
]


def sigmoid(v):
    return 0.5 + 0.5 * math.tanh(v / 2)


# ---------------------------------------------------------------- one element at a time


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


# ---------------------------------------------------------------- updates of weights in place


def arrays(like, *lists):
    return [filled(like, values) for values in lists]


def assigned(function):
    def oracle(inputs, settings):
        variable, value = inputs
        lists = [function(a, b) for a, b in zip(variable.flat, value.flat, strict=True)]
        return arrays(variable, lists, lists)

    return oracle


def momentum(inputs, settings):
    variable, accumulation, (rate,), gradient, (share,) = (x.ravel().tolist() for x in inputs)
    left, velocities = [], []
    for w, v, g in zip(variable, accumulation, gradient, strict=True):
        velocity = v * share + g
        down = g + share * velocity if settings["use_nesterov"] else velocity
        velocities.append(velocity)
        left.append(w - rate * down)
    return arrays(inputs[0], left, left, velocities)


def scaled(inputs, settings):
    *others, gradient, share, factor = inputs
    product = filled(gradient, [v * float(factor) for v in gradient.ravel().tolist()])
    return momentum([*others, product, share], settings)


def sgd(inputs, settings):
    columns = [x.ravel().tolist() for x in inputs]
    (rate,), (share,) = columns[2], columns[4]
    left, velocities, states = [], [], []
    for w, g, v, state in zip(columns[0], columns[1], columns[3], columns[5], strict=True):
        g += settings["weight_decay"] * w
        if share > 0:
            v = g if state > 0 else share * v + (1 - settings["dampening"]) * g
            state = 0.0 if state > 0 else state
            g = g + share * v if settings["nesterov"] else v
        left.append(w - rate * g)
        velocities.append(v)
        states.append(state)
    return arrays(inputs[0], left, left, velocities, states)


def adam(inputs, settings):
    columns = [x.ravel().tolist() for x in inputs]
    (power1,), (power2,), (rate,), (beta1,), (beta2,), (epsilon,) = columns[3:9]
    found = []
    for w, m, v, g in zip(*columns[:3], columns[9], strict=True):
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        up = beta1 * m + (1 - beta1) * g if settings["use_nesterov"] else m
        corrected = rate * math.sqrt(1 - power2) / (1 - power1)
        found.append((w - corrected * up / (math.sqrt(v) + epsilon), m, v))
    return arrays(inputs[0], *zip(*found, strict=True)) * 2


def decayed(inputs, settings):
    columns = [x.ravel().tolist() for x in inputs]
    (rate,), (beta1,), (beta2,), (epsilon,), (decay,) = columns[3:8]
    found = []
    for w, m, v, g in zip(*columns[:3], columns[8], strict=True):
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        found.append((w - rate * (m / (math.sqrt(v) + epsilon) + decay * w), m, v))
    return arrays(inputs[0], *zip(*found, strict=True)) * 2


def scaled_total(inputs, settings):
    x1, x2, x3 = (x.ravel().tolist() for x in inputs)
    return arrays(inputs[0], [a * x3[0] + b for a, b in zip(x1, x2, strict=True)])


def overflowed(inputs, settings):
    return [np.array(not all(math.isfinite(v) for x in inputs for v in x.ravel().tolist()))]


def quiet(inputs, settings):
    return [np.array([0] * 8)]


GRADIENT = numbers(2, 3, 4, seed=10)
RATE, SHARE = np.asarray(0.1), np.asarray(0.9)
STATES = np.where(numbers(2, 3, 4, seed=3) > 0, 1.0, 0.0)
BETAS = [np.asarray(v) for v in (0.81, 0.998, 0.1, 0.9, 0.999, 1e-8)]
DECAY = [np.asarray(v) for v in (0.1, 0.9, 0.999, 1e-6, 0.01)]
ASSIGNED = [([whole(1), whole(1, seed=2)], {}), ([X, Y], {})]
PLAIN = {"dampening": 0.0, "weight_decay": 0.0, "nesterov": False}

CASES |= {
    "Assign": (assigned(lambda a, b: b), ASSIGNED),
    "AssignAdd": (assigned(lambda a, b: a + b), ASSIGNED),
    "AssignSub": (assigned(lambda a, b: a - b), ASSIGNED),
    "ApplyMomentum": (
        momentum,
        [
            ([X, Y, RATE, GRADIENT, SHARE], {"use_nesterov": False}),
            ([X, Y, RATE, GRADIENT, SHARE], {"use_nesterov": True}),
        ],
    ),
    "FusedMulApplyMomentum": (
        scaled,
        [([X, Y, RATE, GRADIENT, SHARE, np.asarray(0.25)], {"use_nesterov": False})],
    ),
    "SGD": (
        sgd,
        [
            ([X, GRADIENT, RATE, Y, SHARE, STATES], PLAIN),
            ([X, GRADIENT, RATE, Y, np.asarray(0.0), STATES], PLAIN),
            ([X, GRADIENT, RATE, Y, SHARE, STATES], {**PLAIN, "nesterov": True}),
            (
                [X, GRADIENT, RATE, Y, SHARE, STATES],
                {"dampening": 0.3, "weight_decay": 0.02, "nesterov": False},
            ),
        ],
    ),
    "Adam": (
        adam,
        [
            ([X, Y, POSITIVE, *BETAS, GRADIENT], {"use_nesterov": False}),
            ([X, Y, POSITIVE, *BETAS, GRADIENT], {"use_nesterov": True}),
        ],
    ),
    "AdamWeightDecay": (decayed, [([X, Y, POSITIVE, *DECAY, GRADIENT], {"clip": False})]),
    "FusedMulAddN": (scaled_total, [([X, Y, RATE], {}), ([X, Y, RATE.reshape(1)], {})]),
    "AllFinite": (
        overflowed,
        [
            ([X, Y], {}),
            ([X, np.array([1.0, np.inf])], {}),
            ([np.array([np.nan]), X], {}),
        ],
    ),
    "NPUGetFloatStatusV2": (quiet, [([whole(8, dtype=np.int32)], {})]),
    "NPUClearFloatStatusV2": (quiet, [([whole(8, dtype=np.int32)], {})]),
}


# ---------------------------------------------------------------- where the ranks of a job meet
# Inputs are the tensors of all ranks.

REDUCE = {"sum": math.fsum, "prod": math.prod, "max": max, "min": min}


def reduced(inputs, settings):
    function = REDUCE[settings.get("op") or settings["reduction"]]
    columns = zip(*(x.ravel().tolist() for x in inputs), strict=True)
    return [np.reshape([function(column) for column in columns], inputs[0].shape)]


def gathered(inputs, settings):
    return [np.array(list(chain.from_iterable(x.tolist() for x in inputs)))]


def scattered(inputs, settings):
    rows = reduced(inputs, settings)[0].tolist()
    count = len(rows) // settings["ranks"]
    return [np.array(rows[settings["rank"] * count :][:count])]


def sent(inputs, settings):
    """A rank that is alone keeps what it has; `test_collectives.py` has the others."""
    return inputs


Z = numbers(2, 3, 4, seed=8)
ALL = [X, Y, Z]
THREE = {"ranks": 3, "rank": 1, "rank_size": 3}
SIX = [numbers(6, 2, seed=seed) for seed in range(3)]


def rows(setting):
    return {
        "AllReduce": (reduced, [(ALL, {setting: name}) for name in REDUCE]),
        "AllGather": (gathered, [(ALL, THREE)]),
        "ReduceScatter": (scattered, [(SIX, {**THREE, setting: name}) for name in REDUCE]),
        "Broadcast": (sent, [([X, SIX[0]], {"root_rank": 0})]),
    }


CASES |= rows("op") | {f"Hcom{name}": case for name, case in rows("reduction").items()}
