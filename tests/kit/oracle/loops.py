"""What the oracles of operators share: numbers to compute with, and loops in plain Python.

No oracle uses NumPy to compute.
"""

from __future__ import annotations

import itertools
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


def pair_of(value):
    return (value, value) if isinstance(value, int) else tuple(value)[-2:]


def sigmoid(v):
    return 0.5 + 0.5 * math.tanh(v / 2)


def _pads(settings, size, kernel, stride, dilation):
    """Padding by the definition: what makes the number of windows come out right."""
    mode = str(settings["pad_mode"]).lower()
    if mode == "pad":
        pad = settings["pad"]
        top, bottom, left, right = (pad,) * 4 if isinstance(pad, int) else pad
        return (top, bottom), (left, right)
    both = []
    for n, k, s, d in zip(size, kernel, stride, dilation, strict=True):
        total = 0
        if mode == "same":
            wanted = math.ceil(n / s)
            while (n + total - ((k - 1) * d + 1)) // s + 1 < wanted:
                total += 1
        both.append((total // 2, total - total // 2))
    return both[0], both[1]


def windows(size, settings, kernel, stride):
    """For every output position, the list of input positions and window elements inside."""
    kernel, stride, dilation = (
        pair_of(kernel),
        pair_of(stride),
        pair_of(settings.get("dilation", 1)),
    )
    (top, bottom), (left, right) = _pads(settings, size, kernel, stride, dilation)
    high = range(-top, size[0] + bottom - (kernel[0] - 1) * dilation[0], stride[0])
    wide = range(-left, size[1] + right - (kernel[1] - 1) * dilation[1], stride[1])
    table = {}
    for (r, y), (c, x) in itertools.product(enumerate(high), enumerate(wide)):
        inside = []
        for i, j in itertools.product(range(kernel[0]), range(kernel[1])):
            p, q = y + i * dilation[0], x + j * dilation[1]
            if 0 <= p < size[0] and 0 <= q < size[1]:
                inside.append((p, q, i, j))
        table[r, c] = inside
    return table, (len(high), len(wide))


def placed(shape, dtype, source):
    """Array of a shape whose element at an index is ``source(index)``."""
    values = [source(index) for index in np.ndindex(*shape)]
    return np.array(values, dtype).reshape(shape)


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

SIGNS = np.array([[-2.5, -0.5, 0.0, 0.5, 1.5, 2.5], [3.2, -3.2, 7.0, -7.0, 0.49999, -0.51]])

FLAT = numbers(5, seed=3)

UNIT = numbers(2, 3, 4, low=0.05, high=0.95)
