"""Gradients of operators that move, join and cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.network.gradients.rule import reshaped, several, sum_to
from workbench.network.symbolic import record

if TYPE_CHECKING:
    from workbench.network.gradients.rule import Backward, Entries, Entry
    from workbench.network.symbolic import Tensor


def reshape(b: Backward) -> Tensor:
    """The same elements in the shape of the input."""
    return reshaped(b.dout, b.x.shape)


def transpose(b: Backward) -> Tensor:
    """The axes back in their order."""
    rank = b.x.ndim
    order = [axis % rank for axis in b.settings["dims"]]
    return record("Transpose", b.dout, tuple(int(axis) for axis in np.argsort(order)))


def concat(b: Backward) -> Entries:
    """Each input has its part of the gradient."""
    axis = int(b.settings["axis"]) % b.x.ndim
    ends = np.cumsum([tensor.shape[axis] for tensor in b.inputs])

    def part(place: int) -> Entry:
        tensor = b.inputs[place]
        begin = [0] * tensor.ndim
        begin[axis] = int(ends[place]) - tensor.shape[axis]
        return lambda: record("Slice", b.dout, tuple(begin), tensor.shape)

    return [part(place) for place in range(len(b.inputs))]


def stack(b: Backward) -> Entries:
    """Each input has its row of the gradient."""
    count = len(b.inputs)
    axis = int(b.settings["axis"])
    return several(count, "Unstack", lambda: (b.dout,), num=count, axis=axis)


def split(b: Backward) -> Tensor:
    """The gradients of the pieces, joined."""
    axis = int(b.settings["axis" if "axis" in b.settings else "split_dim"])
    return record("Concat", tuple(b.grad(slot) for slot in range(len(b.outputs))), axis)


def slices(b: Backward) -> Tensor:
    """The gradient where the piece was cut from, zeros around."""
    return record("SliceGrad", b.dout, b.x, *(_vector(b.settings[k]) for k in ("begin", "size")))


def strided_slice(b: Backward) -> Tensor:
    """The gradient where the elements came from, zeros between."""
    masks = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    bounds = [_vector(b.settings[name]) for name in ("begin", "end", "strides")]
    settings = {name: int(b.settings[name]) for name in masks}
    return record("StridedSliceGrad", b.dout, _vector(b.x.shape), *bounds, **settings)


def _vector(sizes: Any) -> np.ndarray[Any, Any]:
    return np.asarray(sizes, np.int64)


def pad(b: Backward) -> Tensor:
    """The gradient without what was put around; copies of elements are added to them."""
    paddings, mode = b.settings["paddings"], b.settings["mode"]
    if mode != "constant":
        return record("PadV3Grad", b.dout, tuple(paddings), mode=mode)
    before = tuple(paddings[::2])[::-1]
    begin = (0,) * (b.x.ndim - len(before)) + before
    return record("Slice", b.dout, begin, b.x.shape)


def tile(b: Backward) -> Tensor:
    """The sum over all repeats."""
    dims = tuple(b.settings["dims"])
    shape = (1,) * (len(dims) - b.x.ndim) + b.x.shape
    dims = (1,) * (len(shape) - len(dims)) + dims
    pairs = tuple(n for pair in zip(dims, shape, strict=True) for n in pair)
    repeats = tuple(range(0, len(pairs), 2))
    total = record("ReduceSum", reshaped(b.dout, pairs), repeats, False, False)
    return reshaped(total, b.x.shape)


def broadcast_to(b: Backward) -> Tensor:
    """The sum over the axes that were stretched."""
    return sum_to(b.dout, b.x)


def reverse(b: Backward) -> Tensor:
    """The axes turned back."""
    return record("ReverseV2", b.dout, tuple(b.settings["axis"]))
