"""Kernels that read or write where another tensor says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import GraphError
from workbench.ops.definition import Kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


REDUCTIONS = {"none": "none", "add": "add", 0: "none", 1: "add"}
"""Ways of `TensorScatterElements` to combine: MindSpore's words and numbers."""


def _inside(indices: Array, size: int) -> Array:
    """Indices from the front; raises GraphError for one outside the axis."""
    where = indices.astype(np.int64)
    outside = (where < -size) | (where >= size)
    if outside.any():
        got = int(where[outside][0])
        raise GraphError("run/out-of-range", subject="indices", low=-size, high=size, got=got)
    return np.where(where < 0, where + size, where)


def gather(x: Array, indices: Array, *, axis: Any) -> Array:
    """Take slices along an axis; an index outside the axis gives zeros."""
    axis = int(axis) % x.ndim
    where = indices.astype(np.int64, copy=False)
    if where.size and where.min() >= 0 and where.max() < x.shape[axis]:
        return np.take(x, where, axis=axis)
    where = np.where(where < 0, where + x.shape[axis], where)
    outside = (where < 0) | (where >= x.shape[axis])
    taken = np.take(x, where, axis=axis, mode="clip")
    if outside.any():
        taken[(slice(None),) * axis + (outside,)] = 0
    return taken


def along(indices: Array, shape: tuple[int, ...], axis: int) -> tuple[Array, ...]:
    """Index of every element of ``indices`` in its own place, but for ``axis``."""
    grid = list(np.ix_(*(np.arange(size) for size in indices.shape)))
    grid[axis] = _inside(indices, shape[axis])
    return tuple(grid)


def gather_d(x: Array, indices: Array, *, dim: Any) -> Array:
    """Replace every index by the element with that place along an axis."""
    axis = int(dim) % x.ndim
    return x[along(indices, x.shape, axis)]


def rows(indices: Array, shape: tuple[int, ...]) -> tuple[Array, ...]:
    """Rows of indices as one index for each of the leading axes."""
    return tuple(_inside(indices[..., k], shape[k]) for k in range(indices.shape[-1]))


def gather_nd(x: Array, indices: Array) -> Array:
    """Replace every row of indices by what it names."""
    return x[rows(indices, x.shape)]


def scatter_nd_update(x: Array, indices: Array, updates: Array) -> Array:
    """Write every update where its row of indices says; the last one stays."""
    out = x.copy()
    out[rows(indices, x.shape)] = updates
    return out


def scatter_nd(function: np.ufunc) -> Kernel:
    """Return the kernel that combines every update with what its row of indices names."""

    def kernel(x: Array, indices: Array, updates: Array) -> Array:
        out = x.copy()
        function.at(out, rows(indices, x.shape), updates)
        return out

    return kernel


def scatter_elements(x: Array, indices: Array, updates: Array, *, axis: Any, reduce: Any) -> Array:
    """Write or add every update at the place that its index names along an axis."""
    axis = int(axis) % x.ndim
    where = along(indices, x.shape, axis)
    out = x.copy()
    if REDUCTIONS[reduce] == "add":
        np.add.at(out, where, updates)
    else:
        out[where] = updates
    return out


def one_hot(indices: Array, on: Array, off: Array, *, axis: Any, depth: Any) -> Array:
    """Return ``on_value`` where the place along the new axis is the index, else ``off_value``."""
    axis, rank = int(axis), indices.ndim + 1
    places = np.arange(int(depth))
    shape = [-1 if i == axis % rank else 1 for i in range(rank)]
    hit = np.expand_dims(indices, axis) == places.reshape(shape)
    return np.where(hit, on.reshape(()), off.reshape(()))


def gather_d_grad(x: Array, index: Array, dout: Array, *, dim: Any) -> Array:
    """Add every gradient to the element that was read."""
    out = np.zeros(x.shape, dout.dtype)
    np.add.at(out, along(index, x.shape, int(dim) % x.ndim), dout)
    return out


def segment_sum(x: Array, segments: Array, *, num_segments: Any) -> Array:
    """Sum the rows of each segment; rows of a negative one are left out.

    Raises GraphError for a segment behind the last.
    """
    count = int(num_segments)
    if segments.size and segments.max() >= count:
        got = int(segments.max())
        raise GraphError("run/out-of-range", subject="segment_ids", low=0, high=count, got=got)
    flat = segments.reshape(-1)
    values = x.reshape(flat.size, *x.shape[segments.ndim :])
    out = np.zeros((count, *values.shape[1:]), x.dtype)
    order = np.argsort(flat, kind="stable")[np.count_nonzero(flat < 0) :]
    places, starts = np.unique(flat[order], return_index=True)
    if places.size:
        out[places] = np.add.reduceat(values[order], starts, axis=0)
    return out


def scatter_to_zeros(indices: Array, updates: Array, *, shape: Any) -> Array:
    """Add every update to zeros where its row of indices says."""
    out = np.zeros(tuple(shape), updates.dtype)
    np.add.at(out, rows(indices, out.shape), updates)
    return out
