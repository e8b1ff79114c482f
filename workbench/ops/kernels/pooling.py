"""Kernels of poolings and resizing, and their gradients."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.ops.kernels.matrix import pad, taps
from workbench.ops.kernels.movement import collected
from workbench.ops.kernels.window import Window, padded_window, window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]


def slide(
    padded: Array, view: Window, out: tuple[int, int], combine: Callable[..., Array]
) -> Array:
    """Combine the elements of each window, first along the height, then along the width."""
    for axis in (0, 1):
        size, count = view.kernel[axis], out[axis]
        pieces = []
        for tap in range(size):
            along = taps(count, view.stride[axis], view.dilation[axis], tap)
            pieces.append(padded[:, :, along] if axis == 0 else padded[..., along])
        total = pieces[0].copy()
        for piece in pieces[1:]:
            combine(total, piece, out=total)
        padded = total
    return padded


def max_pool(x: Array, **settings: Any) -> Array:
    """Largest value of each window; NaN wins."""
    view = window(settings, x.shape[2:], settings["kernel_size"], settings["strides"])
    return slide(pad(x, view, -np.inf), view, view.output(*x.shape[2:]), np.maximum)


def avg_pool(x: Array, **settings: Any) -> Array:
    """Mean of each window; padding does not count."""
    view = window(settings, x.shape[2:], settings["kernel_size"], settings["strides"])
    out = view.output(*x.shape[2:])
    total = slide(pad(x, view, 0), view, out, np.add)
    if any(view.pads):
        inside = pad(np.ones((1, 1, *x.shape[2:]), x.dtype), view, 0)
        return total / slide(inside, view, out, np.add)
    total /= x.dtype.type(view.kernel[0] * view.kernel[1])
    return total


def padded_max_pool(x: Array, **settings: Any) -> Array:
    """As `max_pool`, with given padding (`MaxPoolV3`)."""
    view = padded_window(settings, x.shape[2:])
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    return slide(pad(x, view, lowest), view, view.output(*x.shape[2:]), np.maximum)


def padded_avg_pool(x: Array, **settings: Any) -> Array:
    """As `avg_pool`, with given padding that counts unless ``exclusive`` (`AvgPoolV2`)."""
    view = padded_window(settings, x.shape[2:])
    out = view.output(*x.shape[2:])
    total = slide(pad(x, view, 0), view, out, np.add)
    counted = pad(np.ones((1, 1, *x.shape[2:]), x.dtype), view, float(not settings["exclusive"]))
    if not settings["exclusive"]:  # what ceil_mode added behind the padding never counts
        plain = padded_window({**settings, "ceil_mode": False}, x.shape[2:]).pads
        counted[:, :, x.shape[2] + plain[0] + plain[1] :] = 0
        counted[..., x.shape[3] + plain[2] + plain[3] :] = 0
    total /= slide(counted, view, out, np.add)
    return total


def nearest(old: int, size: int, settings: Mapping[str, Any]) -> Array:
    """Place of the pixel, of ``old`` ones, that each of ``size`` new ones takes."""
    place = np.arange(size)
    if settings["align_corners"] and size > 1:
        return (2 * place * (old - 1) + size - 1) // (2 * (size - 1))
    if settings["half_pixel_centers"]:
        return (2 * place + 1) * old // (2 * size)
    return place * old // size


def resize_nearest(x: Array, **settings: Any) -> Array:
    """Take the pixel whose place, scaled, is at or before (aligned corners: nearest to) each."""
    for axis, size in zip((2, 3), settings["size"], strict=True):
        x = np.take(x, nearest(x.shape[axis], size, settings), axis)
    return x


def between(
    old: int, size: int, settings: Mapping[str, Any], axis: int, dtype: Any
) -> tuple[Array, Array, Array]:
    """Places of the two pixels that each new one mixes, and the share of the second."""
    place = np.arange(size, dtype=np.float64)
    if settings["align_corners"]:
        place *= (old - 1) / max(size - 1, 1)
    elif settings["half_pixel_centers"]:
        place = np.maximum((place + 0.5) * (old / size) - 0.5, 0)
    else:
        place *= old / size
    low = np.minimum(place.astype(np.intp), old - 1)
    part = (place - low).astype(dtype).reshape([-1 if i == axis else 1 for i in range(4)])
    return low, np.minimum(low + 1, old - 1), part


def resize_bilinear(x: Array, **settings: Any) -> Array:
    """Mix the two neighbors on either axis by their distance."""
    for axis, size in zip((2, 3), settings["size"], strict=True):
        low, high, part = between(x.shape[axis], size, settings, axis, x.dtype)
        first = np.take(x, low, axis)
        x = first + (np.take(x, high, axis) - first) * part
    return x


_CACHED = 1 << 16
"""Elements of the images that are worked on together, so that all of their windows stay near."""


def max_pool_grad(x: Array, _unused: Array, dout: Array, **settings: Any) -> Array:
    """Hand the gradient of each window to its largest element; of equal ones to the first.

    As on MindSpore's CPU the place is looked for in the input; the output is not read.
    """
    view = window(settings, x.shape[2:], settings["kernel_size"], settings["strides"])
    out = np.empty_like(x)
    count = max(1, _CACHED // max(1, math.prod(x.shape[1:])))
    for start in range(0, len(x), count):
        some = slice(start, start + count)
        padded = pad(x[some], view, -np.inf)
        total = np.zeros(padded.size, x.dtype)
        np.add.at(total, _largest(padded, view, dout.shape[2:]).reshape(-1), dout[some].reshape(-1))
        out[some] = _inside(total.reshape(padded.shape), view, x.shape)
    return out


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


def avg_pool_grad(x: Array, _unused: Array, dout: Array, **settings: Any) -> Array:
    """Spread the gradient of each window evenly over its elements; padding gets nothing."""
    view = window(settings, x.shape[2:], settings["kernel_size"], settings["strides"])
    counted = pad(np.ones((1, 1, *x.shape[2:]), x.dtype), view, 0)
    count = np.zeros((1, 1, *dout.shape[2:]), x.dtype)
    for where in _places(view, dout.shape):
        count += counted[where]
    share = dout / count
    total = np.zeros(pad(x, view, 0).shape, x.dtype)
    for where in _places(view, dout.shape):
        total[where] += share
    return _inside(total, view, x.shape)


def _places(view: Window, shape: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    """Index, for every element of the window in turn, of what it meets in the padded input."""
    for i, j in np.ndindex(view.kernel):
        down = taps(shape[2], view.stride[0], view.dilation[0], i)
        yield ..., down, taps(shape[3], view.stride[1], view.dilation[1], j)


def _inside(total: Array, view: Window, shape: Sequence[int]) -> Array:
    """Drop the padding."""
    top, _, left, _ = view.pads
    return np.ascontiguousarray(total[:, :, top : top + shape[2], left : left + shape[3]])


def resize_nearest_grad(total: Array, **settings: Any) -> Array:
    """Add every gradient to the pixel that was taken."""
    for axis, size in zip((2, 3), settings["size"], strict=True):
        total = collected(total, nearest(size, total.shape[axis], settings), size, axis)
    return total


def resize_bilinear_grad(total: Array, image: Array, **settings: Any) -> Array:
    """Share every gradient among the pixels that were mixed."""
    for axis in (2, 3):
        old = image.shape[axis]
        low, high, part = between(old, total.shape[axis], settings, axis, total.dtype)
        second = total * part
        first = collected(total - second, low, old, axis)
        total = first + collected(second, high, old, axis)
    return total
