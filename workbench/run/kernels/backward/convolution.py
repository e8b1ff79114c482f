"""Gradient of a convolution's weight; that of its input is the transposed convolution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.graph.windows import Window, window
from workbench.run.kernels.matrix import pad, taps, windows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]


def conv2d_filter(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Sum of every window of (N, C, H, W) times what its output (N, O, h, w) is blamed for.

    Returns (O, C / group, kh, kw), which is ``filter_size``.
    """
    dout, x = inputs
    group, size = int(settings["group"]), tuple(settings["filter_size"])
    view = window(settings, x.shape[2:], size[2:], settings["stride"])
    if group == x.shape[1] == size[0] and group > 1:
        return [_depthwise(dout, pad(x, view, 0), view).reshape(size)]
    rows, columns = dout.shape[2:]
    space = np.empty((x.shape[1], *view.kernel, rows, columns), x.dtype)
    total = np.zeros((group, size[0] // group, size[1] * size[2] * size[3]), x.dtype)
    for matrix, blame in zip(windows(x, view, space), dout, strict=True):
        flat = matrix.reshape(group, total.shape[2], rows * columns)
        total += np.matmul(blame.reshape(group, -1, rows * columns), flat.swapaxes(1, 2))
    return [total.reshape(size)]


def _depthwise(dout: Array, padded: Array, view: Window) -> Array:
    """Each channel with its own kernel: one sum for each element of the kernel."""
    rows, columns = dout.shape[2:]
    out = np.empty((dout.shape[1], *view.kernel), dout.dtype)
    for i, j in np.ndindex(view.kernel):
        down = taps(rows, view.stride[0], view.dilation[0], i)
        along = taps(columns, view.stride[1], view.dilation[1], j)
        out[:, i, j] = (dout * padded[:, :, down, along]).sum(axis=(0, 2, 3))
    return out
