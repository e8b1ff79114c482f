"""Kernels that slide windows over images: pooling and resizing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.graph.windows import Window, padded_window, window
from workbench.run.kernels.matrix import pad, taps

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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


def max_pool(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Largest value of each window; NaN wins."""
    x = inputs[0]
    view = window(settings, x.shape[2:], settings["kernel_size"], settings["strides"])
    return [slide(pad(x, view, -np.inf), view, view.output(*x.shape[2:]), np.maximum)]


def avg_pool(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Mean of each window; padding does not count."""
    x = inputs[0]
    view = window(settings, x.shape[2:], settings["kernel_size"], settings["strides"])
    out = view.output(*x.shape[2:])
    total = slide(pad(x, view, 0), view, out, np.add)
    if any(view.pads):
        inside = pad(np.ones((1, 1, *x.shape[2:]), x.dtype), view, 0)
        return [total / slide(inside, view, out, np.add)]
    total /= x.dtype.type(view.kernel[0] * view.kernel[1])
    return [total]


def padded_max_pool(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """As `max_pool`, with given padding (`MaxPoolV3`)."""
    x = inputs[0]
    view = padded_window(settings, x.shape[2:])
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    return [slide(pad(x, view, lowest), view, view.output(*x.shape[2:]), np.maximum)]


def padded_avg_pool(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """As `avg_pool`, with given padding that counts unless ``exclusive`` (`AvgPoolV2`)."""
    x = inputs[0]
    view = padded_window(settings, x.shape[2:])
    out = view.output(*x.shape[2:])
    total = slide(pad(x, view, 0), view, out, np.add)
    counted = pad(np.ones((1, 1, *x.shape[2:]), x.dtype), view, float(not settings["exclusive"]))
    if not settings["exclusive"]:  # what ceil_mode added behind the padding never counts
        plain = padded_window({**settings, "ceil_mode": False}, x.shape[2:]).pads
        counted[:, :, x.shape[2] + plain[0] + plain[1] :] = 0
        counted[..., x.shape[3] + plain[2] + plain[3] :] = 0
    total /= slide(counted, view, out, np.add)
    return [total]


def nearest(old: int, size: int, settings: Mapping[str, Any]) -> Array:
    """Place of the pixel, of ``old`` ones, that each of ``size`` new ones takes."""
    place = np.arange(size)
    if settings["align_corners"] and size > 1:
        return (2 * place * (old - 1) + size - 1) // (2 * (size - 1))
    if settings["half_pixel_centers"]:
        return (2 * place + 1) * old // (2 * size)
    return place * old // size


def resize_nearest(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Take the pixel whose place, scaled, is at or before (aligned corners: nearest to) each."""
    x = inputs[0]
    for axis, size in zip((2, 3), settings["size"], strict=True):
        x = np.take(x, nearest(x.shape[axis], size, settings), axis)
    return [x]


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


def resize_bilinear(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Mix the two neighbors on either axis by their distance."""
    x = inputs[0]
    for axis, size in zip((2, 3), settings["size"], strict=True):
        low, high, part = between(x.shape[axis], size, settings, axis, x.dtype)
        first = np.take(x, low, axis)
        x = first + (np.take(x, high, axis) - first) * part
    return [x]
