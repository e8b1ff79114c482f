"""Updates of weights in place, one element at a time."""

from __future__ import annotations

import math

import numpy as np

from kit.oracle.loops import POSITIVE, X, Y, filled, numbers, whole
from kit.oracle.operator_case import OperatorCase


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

SIGNS_OF_SGD = np.where(numbers(2, 3, 4, seed=3) > 0, 1.0, 0.0)

BETAS = [np.asarray(v) for v in (0.81, 0.998, 0.1, 0.9, 0.999, 1e-8)]

DECAY = [np.asarray(v) for v in (0.1, 0.9, 0.999, 1e-6, 0.01)]

ASSIGNED = [([whole(1), whole(1, seed=2)], {}), ([X, Y], {})]

PLAIN = {"dampening": 0.0, "weight_decay": 0.0, "nesterov": False}


def adagrad(inputs, settings):
    """A step divided by the root of the sum of all squares, this one's included if they are updated."""
    weight, squares, rate, gradient = inputs
    new_weight, new_squares = np.empty(weight.shape), np.empty(weight.shape)
    for place in np.ndindex(weight.shape):
        g, total = float(gradient[place]), float(squares[place])
        total += g * g if settings["update_slots"] else 0.0
        new_squares[place] = total
        new_weight[place] = float(weight[place]) - float(rate) * g / math.sqrt(total)
    return [new_weight, new_squares, new_weight, new_squares]


CASES = {
    "Assign": OperatorCase(assigned(lambda a, b: b), ASSIGNED),
    "AssignAdd": OperatorCase(assigned(lambda a, b: a + b), ASSIGNED),
    "AssignSub": OperatorCase(assigned(lambda a, b: a - b), ASSIGNED),
    "ApplyMomentum": OperatorCase(
        momentum,
        [
            ([X, Y, RATE, GRADIENT, SHARE], {"use_nesterov": False}),
            ([X, Y, RATE, GRADIENT, SHARE], {"use_nesterov": True}),
        ],
    ),
    "FusedMulApplyMomentum": OperatorCase(
        scaled, [([X, Y, RATE, GRADIENT, SHARE, np.asarray(0.25)], {"use_nesterov": False})]
    ),
    "SGD": OperatorCase(
        sgd,
        [
            ([X, GRADIENT, RATE, Y, SHARE, SIGNS_OF_SGD], PLAIN),
            ([X, GRADIENT, RATE, Y, np.asarray(0.0), SIGNS_OF_SGD], PLAIN),
            ([X, GRADIENT, RATE, Y, SHARE, SIGNS_OF_SGD], {**PLAIN, "nesterov": True}),
            (
                [X, GRADIENT, RATE, Y, SHARE, SIGNS_OF_SGD],
                {"dampening": 0.3, "weight_decay": 0.02, "nesterov": False},
            ),
        ],
    ),
    "Adam": OperatorCase(
        adam,
        [
            ([X, Y, POSITIVE, *BETAS, GRADIENT], {"use_nesterov": False}),
            ([X, Y, POSITIVE, *BETAS, GRADIENT], {"use_nesterov": True}),
        ],
    ),
    "AdamWeightDecay": OperatorCase(
        decayed, [([X, Y, POSITIVE, *DECAY, GRADIENT], {"clip": False})]
    ),
    "FusedMulAddN": OperatorCase(scaled_total, [([X, Y, RATE], {}), ([X, Y, RATE.reshape(1)], {})]),
    "AllFinite": OperatorCase(
        overflowed,
        [
            ([X, Y], {}),
            ([X, np.array([1.0, np.inf])], {}),
            ([np.array([np.nan]), X], {}),
        ],
    ),
    "NPUGetFloatStatusV2": OperatorCase(quiet, [([whole(8, dtype=np.int32)], {})]),
    "NPUClearFloatStatusV2": OperatorCase(quiet, [([whole(8, dtype=np.int32)], {})]),
    "ApplyAdagrad": OperatorCase(
        adagrad,
        [
            (
                [
                    numbers(2, 3),
                    numbers(2, 3, low=0.1, seed=1),
                    np.array(0.1),
                    numbers(2, 3, seed=2),
                ],
                {"update_slots": flag},
            )
            for flag in (True, False)
        ],
    ),
    "ApplyRMSProp": OperatorCase(None),
}
