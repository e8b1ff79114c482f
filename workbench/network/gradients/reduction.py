"""Gradients of reductions, running sums and softmax."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from workbench.network.gradients.rule import number, reshaped, stretched
from workbench.network.symbolic import record

if TYPE_CHECKING:
    from workbench.network.gradients.rule import Backward, Entries
    from workbench.network.symbolic import Tensor


def _axes(b: Backward) -> tuple[int, ...]:
    """Axes that are reduced, not negative."""
    axis = b.settings["axis"]
    axes = (axis,) if isinstance(axis, int) else tuple(axis or ())
    return tuple(sorted(axis % b.x.ndim for axis in axes or range(b.x.ndim)))


def _kept(b: Backward, tensor: Tensor) -> Tensor:
    """Return a reduced tensor with its axes of size 1."""
    axes = _axes(b)
    return reshaped(tensor, tuple(1 if i in axes else n for i, n in enumerate(b.x.shape)))


def reduce_sum(b: Backward) -> Tensor:
    """1 for every element."""
    if b.settings["skip_mode"] and not b.settings["axis"]:
        return b.dout
    return stretched(_kept(b, b.dout), b.x.shape)


def reduce_mean(b: Backward) -> Tensor:
    """1 / number of elements."""
    count = prod(b.x.shape[axis] for axis in _axes(b))
    whole = stretched(_kept(b, b.dout), b.x.shape)
    return record("RealDiv", whole, number(count, b.x)) if count != 1 else whole


def reduce_extreme(b: Backward) -> Tensor:
    """1 for the largest or smallest element, shared where there are several."""
    axes = _axes(b)
    places = record("Cast", record("Equal", _kept(b, b.out), b.x), dst_type=b.x.dtype)
    count = record("ReduceSum", places, axes, True, False)
    return record("Mul", record("Div", _kept(b, b.dout), count), places)


def top_k(b: Backward) -> Entries:
    """Largest elements: each gradient goes to the place that the second output names."""

    def gradient() -> Tensor:
        places, width = b.outputs[1], b.x.shape[-1]
        rows = record("Reshape", places, (-1, places.shape[-1]))
        starts = np.arange(rows.shape[0], dtype=places.dtype)[:, None] * width
        names = record("Reshape", record("Add", rows, starts), (-1, 1))
        values = record("Reshape", b.dout, (-1,))
        spread = record("ScatterNd", names, values, (prod(b.x.shape),))
        return record("Reshape", spread, b.x.shape)

    return (gradient,)


def cum_sum(b: Backward) -> Tensor:
    """Running sum from the other end."""
    s = b.settings
    return record("CumSum", b.dout, s["axis"], s["exclusive"], not s["reverse"])


def softmax(b: Backward) -> Tensor:
    """Out · (dout - sum(out · dout))."""
    axis = b.settings["axis"]
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    total = record("ReduceSum", record("Mul", b.out, b.dout), axes, True, False)
    return record("Mul", b.out, record("Sub", b.dout, total))
