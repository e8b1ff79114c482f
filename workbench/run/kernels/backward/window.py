"""Gradients of poolings and of resizing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.graph.windows import Window, window
from workbench.run.kernels.backward.movement import collected
from workbench.run.kernels.matrix import pad, taps
from workbench.run.kernels.window import between, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]

_CACHED = 1 << 16
"""Elements of the images that are worked on together, so that all of their windows stay near."""


def max_pool(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Hand the gradient of each window to its largest element; of equal ones to the first.

    As on MindSpore's CPU the place is looked for in the input; the output is not read.
    """
    x, _, dout = inputs
    view = window(settings, x.shape[2:], settings["kernel_size"], settings["strides"])
    out = np.empty_like(x)
    count = max(1, _CACHED // max(1, math.prod(x.shape[1:])))
    for start in range(0, len(x), count):
        some = slice(start, start + count)
        padded = pad(x[some], view, -np.inf)
        total = np.zeros(padded.size, x.dtype)
        np.add.at(total, _largest(padded, view, dout.shape[2:]).reshape(-1), dout[some].reshape(-1))
        out[some] = _inside(total.reshape(padded.shape), view, x.shape)
    return [out]


def _largest(padded: Array, view: Window, out: Sequence[int]) -> Array:
    """Place of the first largest element, or the first NaN, of every window in the flat input."""
    places = list(_places(view, (*padded.shape[:2], *out)))
    best = padded[places[0]].copy()
    tap = np.zeros(best.shape, np.min_scalar_type(len(places)))
    lost = np.isnan(padded).any()
    for number, where in enumerate(places[1:], 1):
        piece = padded[where].copy()  # in one piece, as it is read twice
        better = piece > best
        if lost:
            better |= np.isnan(piece) & ~np.isnan(best)
        np.maximum(best, piece, out=best)
        np.maximum(tap, better * tap.dtype.type(number), out=tap)
    images, channels, high, wide = padded.shape
    corners = np.arange(0, padded.size, high * wide).reshape(images, channels, 1, 1)
    down = np.arange(out[0])[:, None] * (view.stride[0] * wide)
    steps = [i * view.dilation[0] * wide + j * view.dilation[1] for i, j in np.ndindex(view.kernel)]
    found = np.take(steps, tap)
    found += corners + (down + np.arange(out[1]) * view.stride[1])
    return found


def avg_pool(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Spread the gradient of each window evenly over its elements; padding gets nothing."""
    x, _, dout = inputs
    view = window(settings, x.shape[2:], settings["kernel_size"], settings["strides"])
    counted = pad(np.ones((1, 1, *x.shape[2:]), x.dtype), view, 0)
    count = np.zeros((1, 1, *dout.shape[2:]), x.dtype)
    for where in _places(view, dout.shape):
        count += counted[where]
    share = dout / count
    total = np.zeros(pad(x, view, 0).shape, x.dtype)
    for where in _places(view, dout.shape):
        total[where] += share
    return [_inside(total, view, x.shape)]


def _places(view: Window, shape: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    """Index, for every element of the window in turn, of what it meets in the padded input."""
    for i, j in np.ndindex(view.kernel):
        down = taps(shape[2], view.stride[0], view.dilation[0], i)
        yield ..., down, taps(shape[3], view.stride[1], view.dilation[1], j)


def _inside(total: Array, view: Window, shape: Sequence[int]) -> Array:
    """Drop the padding."""
    top, _, left, _ = view.pads
    return np.ascontiguousarray(total[:, :, top : top + shape[2], left : left + shape[3]])


def resize_nearest(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Add every gradient to the pixel that was taken."""
    total = inputs[0]
    for axis, size in zip((2, 3), settings["size"], strict=True):
        total = collected(total, nearest(size, total.shape[axis], settings), size, axis)
    return [total]


def resize_bilinear(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Share every gradient among the pixels that were mixed."""
    total, image = inputs
    for axis in (2, 3):
        old = image.shape[axis]
        low, high, part = between(old, total.shape[axis], settings, axis, total.dtype)
        second = total * part
        first = collected(total - second, low, old, axis)
        total = first + collected(second, high, old, axis)
    return [total]
