"""Matrix products and convolutions by BLAS; the simulated NPU has its own, `run.cube`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.graph.windows import Window, window

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]


def matmul(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Product of two matrices, or of two stacks of them; either may be transposed."""
    left, right = inputs
    if settings["transpose_a"]:
        left = left.swapaxes(-1, -2)
    if settings["transpose_b"]:
        right = right.swapaxes(-1, -2)
    return [np.matmul(left, right)]


def conv2d(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Convolve (N, C, H, W) with (O, C / group, kh, kw): windows as columns, then a product."""
    x, weight = inputs
    group = int(settings["group"])
    view = window(settings, x.shape[2:], weight.shape[2:], settings["stride"])
    rows, columns = view.output(*x.shape[2:])
    padded = pad(x, view, 0)
    out = np.empty((x.shape[0], weight.shape[0], rows, columns), x.dtype)
    if group == x.shape[1] == weight.shape[0] and group > 1:
        return [_depthwise(padded, weight, view, out)]
    flat = weight.reshape(group, weight.shape[0] // group, -1)
    space = np.empty((x.shape[1], *view.kernel, rows, columns), x.dtype)
    for image, target in zip(padded, out, strict=True):
        matrix = image if _plain(view) else _columns(image, view, space)
        np.matmul(
            flat,
            matrix.reshape(group, flat.shape[2], rows * columns),
            out=target.reshape(group, flat.shape[1], rows * columns),
        )
    return [out]


def pad(x: Array, view: Window, value: float) -> Array:
    """Input of a window with its padding around it; the input itself if there is none."""
    top, bottom, left, right = view.pads
    if not any(view.pads):
        return x
    padded = np.full(
        (*x.shape[:2], x.shape[2] + top + bottom, x.shape[3] + left + right), value, x.dtype
    )
    padded[:, :, top : top + x.shape[2], left : left + x.shape[3]] = x
    return padded


def taps(size: int, step: int, gap: int, tap: int) -> slice:
    """Positions that element ``tap`` of a window meets in ``size`` windows."""
    start = tap * gap
    return slice(start, start + (size - 1) * step + 1, step)


def _plain(view: Window) -> bool:
    """Whether the input itself is its matrix of windows (a 1×1 kernel with stride 1)."""
    return view.kernel == (1, 1) and view.stride == (1, 1)


def _columns(image: Array, view: Window, space: Array) -> Array:
    """Fill ``space`` (C, kh, kw, rows, columns) with the windows of one image."""
    rows, columns = space.shape[3:]
    for i in range(view.kernel[0]):
        down = taps(rows, view.stride[0], view.dilation[0], i)
        for j in range(view.kernel[1]):
            along = taps(columns, view.stride[1], view.dilation[1], j)
            space[:, i, j] = image[:, down, along]
    return space


def _depthwise(padded: Array, weight: Array, view: Window, out: Array) -> Array:
    """Each channel with its own kernel: one multiplication for each element of the kernel."""
    rows, columns = out.shape[2:]
    out[:] = 0
    product = np.empty_like(out)
    for i in range(view.kernel[0]):
        down = taps(rows, view.stride[0], view.dilation[0], i)
        for j in range(view.kernel[1]):
            along = taps(columns, view.stride[1], view.dilation[1], j)
            factor = weight[:, 0, i, j].reshape(1, -1, 1, 1)
            np.multiply(padded[:, :, down, along], factor, out=product)
            out += product
    return out
