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
    total = np.zeros((group, size[1] * size[2] * size[3], size[0] // group), x.dtype)
    for some, matrix in windows(x, view, (dout.shape[2], dout.shape[3])):
        blame = dout[some].swapaxes(0, 1).reshape(group, total.shape[2], -1)
        total += np.matmul(matrix.reshape(*total.shape[:2], -1), blame.swapaxes(1, 2))
    return [np.ascontiguousarray(total.swapaxes(1, 2)).reshape(size)]


def _depthwise(dout: Array, padded: Array, view: Window) -> Array:
    """Each channel with its own kernel: one sum for each element of the kernel."""
    rows, columns = dout.shape[2:]
    out = np.empty((dout.shape[1], *view.kernel), dout.dtype)
    for i, j in np.ndindex(view.kernel):
        down = taps(rows, view.stride[0], view.dilation[0], i)
        along = taps(columns, view.stride[1], view.dilation[1], j)
        out[:, i, j] = (dout * padded[:, :, down, along]).sum(axis=(0, 2, 3))
    return out
