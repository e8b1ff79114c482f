"""Oracles of gradients: differences of the oracles of what goes forward, which are loops.

A central difference of eighth order errs by h⁸/630 of the ninth derivative; with numbers of about 1 and
h = 1/200 it is right to twelve digits or so (Fornberg 1988, table 1).
"""

from __future__ import annotations

import math

import numpy as np

from kit.oracle.loops import each, filled


def blamed(function, inputs, slot, douts, step=0.005):
    """Gradient of Σ dout · output by one of the inputs of ``function``."""
    inputs = [np.array(array, dtype=float if array.dtype.kind == "f" else None) for array in inputs]
    place = inputs[slot]
    out = np.empty(place.shape)
    for index in np.ndindex(place.shape):
        middle, total = place[index], []
        for k, weight in enumerate(WEIGHTS, 1):
            for sign in (1, -1):
                place[index] = middle + sign * k * step
                for output, dout in zip(function(*inputs), douts, strict=False):
                    terms = zip(np.ravel(output).tolist(), np.ravel(dout).tolist(), strict=True)
                    total += [sign * weight * a * float(b) for a, b in terms]
        place[index] = middle
        out[index] = math.fsum(total) / step
    return out


def blamed_linearly(function, shape, douts):
    """Gradient of Σ dout · output by the one input, of a shape, of a linear function: what each unit gives."""
    unit, out = np.zeros(shape), np.empty(shape)
    for index in np.ndindex(unit.shape):
        unit[index] = 1.0
        terms = []
        for output, dout in zip(function(unit), douts, strict=False):
            pairs = zip(np.ravel(output).tolist(), np.ravel(dout).tolist(), strict=True)
            terms += [a * float(b) for a, b in pairs]
        unit[index] = 0.0
        out[index] = math.fsum(terms)
    return out


def differences_of_each(function, *, inverse=lambda v: v, order="dx", step=0.005):
    """Gradient of a function of one number; of the input, or of the output and its inverse."""

    def oracle(inputs, settings):
        dout, seen = (inputs[order.index(letter)] for letter in "dx")
        x = filled(seen, [inverse(v) for v in seen.ravel().tolist()])
        found = []
        for v, d in zip(x.ravel().tolist(), dout.ravel().tolist(), strict=True):
            slope = blamed(lambda a: [each(function)([a], {})[0]], [np.array(v)], 0, [1.0], step)
            found.append(slope.item() * d)
        return [filled(dout, found)]

    return oracle


def moved(function, shape, dout=0):
    """Gradient of what only moves, which is linear; ``dout`` is its place among the inputs."""

    def oracle(inputs, settings):
        def forward(a):
            return function(a, inputs, settings)

        return [blamed_linearly(forward, shape(inputs, settings), [inputs[dout]])]

    return oracle


WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
