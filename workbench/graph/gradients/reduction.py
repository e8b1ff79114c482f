"""Gradients of reductions, running sums and softmax."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from workbench.graph.gradients.rule import number, reshaped, stretched, times
from workbench.graph.tensor import record

if TYPE_CHECKING:
    from workbench.graph.gradients.rule import Backward, Entries
    from workbench.graph.tensor import Tensor


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


def reduce_prod(b: Backward) -> Tensor:
    """Product of all other elements: of those before, and of those behind."""
    axes = _axes(b)
    order = (*axes, *(axis for axis in range(b.x.ndim) if axis not in axes))
    moved = record("Transpose", b.x, order)
    rows = prod(b.x.shape[axis] for axis in axes)
    flat = reshaped(moved, (rows, prod(moved.shape[len(axes) :])))
    before = record("CumProd", flat, 0, True, False)
    others = record("Mul", before, record("CumProd", flat, 0, True, True))
    back = tuple(int(axis) for axis in np.argsort(order))
    others = record("Transpose", reshaped(others, moved.shape), back)
    return times(_kept(b, b.dout), others)


def place_and_value(b: Backward) -> Entries:
    """Largest or smallest value: the gradient goes to its place."""
    axis = int(b.settings["axis"]) % b.x.ndim
    kept = bool(b.settings["keep_dims"])

    def gradient() -> Tensor:
        place, value = b.outputs[0], b.grad(1)
        if not kept:
            place = record("ExpandDims", place, axis)
            value = record("ExpandDims", value, axis)
        zeros = record("ZerosLike", b.x)
        return record("TensorScatterElements", zeros, place, value, axis=axis, reduce="none")

    return (gradient,)


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


def cum_prod(b: Backward) -> Tensor:
    """Running sum of out · dout from the other end, over x; not a number where x is 0."""
    s = b.settings
    whole = record("CumSum", times(b.out, b.dout), s["axis"], s["exclusive"], not s["reverse"])
    return record("RealDiv", whole, b.x)


def softmax(b: Backward) -> Tensor:
    """Out · (dout - sum(out · dout))."""
    axis = b.settings["axis"]
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    total = record("ReduceSum", record("Mul", b.out, b.dout), axes, True, False)
    return record("Mul", b.out, record("Sub", b.dout, total))
