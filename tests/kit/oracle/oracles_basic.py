"""What the oracles share: numbers to compute with, and element by element loops."""

from __future__ import annotations

import math

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
