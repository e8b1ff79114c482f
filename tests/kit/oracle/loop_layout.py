"""Where elements lie on the device, by loops over every one of them: the written index formulas, none of ours."""

from __future__ import annotations

import itertools
import math

import numpy as np


def up(number, block):
    """Blocks that a number of places needs."""
    blocks = 0
    while blocks * block < number:
        blocks += 1
    return blocks


def flat(shape, index):
    place = 0
    for size, at in zip(shape, index, strict=True):
        assert 0 <= at < size
        place = place * size + at
    return place


def shape_of(device, size, c0):
    """Device shape, from the table of shapes; ``size`` holds the extent of each axis."""
    n, c, h, w, d = (size.get(axis, 1) for axis in "NCHWD")
    return {
        "NC1HWC0": (n, up(c, c0), h, w, c0),
        "NC1HWC0_C04": (n, up(c, 4), h, w, 4),
        "FRACTAL_Z": (up(c, c0) * h * w, up(n, 16), 16, c0),
        "FRACTAL_Z_C04": (up(4 * h * w, 16), up(n, 16), 16, 16),
        "C1HWNCoC0": (up(c, c0), h, w, n, c0, c0),
        "NDC1HWC0": (n, d, up(c, c0), h, w, c0),
        "FRACTAL_Z_3D": (d * up(c, c0) * h * w, up(n, 16), 16, c0),
    }[device]


def place_of(device, size, at, c0):
    """Flat device index of the element ``at``, from the table of positions."""
    n, c, h, w, d = (at.get(axis, 0) for axis in "NCHWD")
    sizes = [size.get(axis, 1) for axis in "NCHWD"]
    count, channels, height, width, depth = sizes
    c1, n1 = up(channels, c0), up(count, 16)
    weights = (height, width, n1, 16, c0)
    if device == "FRACTAL_Z_C04":
        k = (h * width + w) * 4 + c
        return flat(shape_of(device, size, c0), (k // 16, n // 16, n % 16, k % 16))
    if device == "FRACTAL_Z":
        return flat((c1, *weights), (c // c0, h, w, n // 16, n % 16, c % c0))
    if device == "FRACTAL_Z_3D":
        return flat((depth, c1, *weights), (d, c // c0, h, w, n // 16, n % 16, c % c0))
    if device == "NC1HWC0_C04":
        c0 = 4
    index = {
        "NC1HWC0": (n, c // c0, h, w, c % c0),
        "NC1HWC0_C04": (n, c // c0, h, w, c % c0),
        "C1HWNCoC0": (c // c0, h, w, n, c % c0, c % c0),
        "NDC1HWC0": (n, d, c // c0, h, w, c % c0),
    }[device]
    return flat(shape_of(device, size, c0), index)


def device_by_loops(array, host, device, c0):
    size = dict(zip(host, array.shape, strict=True))
    shape = shape_of(device, size, c0)
    result = np.zeros(math.prod(shape), array.dtype)
    for index in np.ndindex(*array.shape):
        at = dict(zip(host, index, strict=True))
        result[place_of(device, size, at, c0)] = array[index]
    return result.reshape(shape)


def grouped_by_loops(array, groups, c0):
    """Grouped weights (N, cin, D, H, W) on the device, element by element."""
    total, cin, depth, height, width = array.shape
    cout = total // groups
    per_in = next(k for k in itertools.count(1) if k * cin % c0 == 0)
    per_out = next(k for k in itertools.count(1) if k * cout % 16 == 0)
    both = next(k for k in itertools.count(1) if k % per_in == 0 and k % per_out == 0)
    together = min(both, groups)
    cin_opt, cout_opt = up(together * cin, c0) * c0, up(together * cout, 16) * 16
    blocks = up(groups, together) * depth * (cin_opt // c0) * height * width
    result = np.zeros(blocks * cout_opt * c0, array.dtype)
    for g, n, c, d, h, w in np.ndindex(groups, cout, cin, depth, height, width):
        dci, dco = (g % together) * cin + c, (g % together) * cout + n
        block = (g // together) * depth * (cin_opt // c0) + d * (cin_opt // c0) + dci // c0
        place = ((block * height + h) * width + w) * cout_opt * c0 + dco * c0 + dci % c0
        result[place] = array[g * cout + n, c, d, h, w]
    return result.reshape(blocks, cout_opt // 16, 16, c0)


def matrix_by_loops(array, c0):
    """FRACTAL_NZ of an array of rank 2 or more."""
    *lead, rows, columns = array.shape
    shape = (*lead, up(columns, c0), up(rows, 16), 16, c0)
    result = np.zeros(shape, array.dtype)
    for *before, i, j in np.ndindex(*array.shape):
        result[(*before, j // c0, i // 16, i % 16, j % c0)] = array[(*before, i, j)]
    return result


def counted(shape, dtype=np.int32):
    """1, 2, 3, …: no element looks like padding or like another."""
    return np.arange(1, math.prod(shape) + 1).astype(dtype).reshape(shape)
