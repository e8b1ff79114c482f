"""Gradients of operators that take or put elements by index."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from workbench.core.words import Message
from workbench.network.gradients.rule import reshaped, undefined
from workbench.network.symbolic import record

if TYPE_CHECKING:
    from workbench.network.gradients.rule import Backward, Entries
    from workbench.network.symbolic import Tensor


def gather(b: Backward) -> Entries:
    """Slices along an axis: each slice's gradient is added to where it was taken from."""
    x, indices = b.inputs

    def gradient() -> Tensor:
        if b.settings["batch_dims"]:
            undefined("Gather", Message("graph/grad-batch-dims"))
        axis = int(b.settings["axis"]) % x.ndim
        count = prod(indices.shape)
        rest = x.shape[:axis] + x.shape[axis + 1 :]
        names = reshaped(indices, (count,))
        if axis == 0:
            rows = reshaped(b.dout, (count, *rest))
            return record("UnsortedSegmentSum", rows, names, np.asarray(x.shape[0], np.int64))
        flat = reshaped(b.dout, (*x.shape[:axis], count, *x.shape[axis + 1 :]))
        order = (axis, *(place for place in range(x.ndim) if place != axis))
        rows = record("Transpose", flat, order)
        total = record("UnsortedSegmentSum", rows, names, np.asarray(x.shape[axis], np.int64))
        return record("Transpose", total, tuple(int(place) for place in np.argsort(order)))

    return gradient, None


def gather_d(b: Backward) -> Entries:
    """Elements along an axis."""
    x, index = b.inputs
    return lambda: record("GatherDGradV2", x, b.settings["dim"], index, b.dout), None


def gather_nd(b: Backward) -> Entries:
    """What rows of indices name."""
    x, indices = b.inputs
    return lambda: record("ScatterNd", indices, b.dout, x.shape), None


def one_hot(b: Backward) -> Entries:
    """1 at an index: what the on and off values have of it is not asked of MindSpore either."""

    def values() -> Tensor:
        undefined("OneHot", Message("graph/grad-one-hot"))

    return None, values, values
