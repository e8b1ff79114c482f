"""Kernels that read or write where another tensor says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import GraphError
from workbench.graph.infer.indexing import REDUCTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from workbench.run.kernels.elementwise import Kernel

    Array = NDArray[Any]


def _inside(indices: Array, size: int) -> Array:
    """Indices from the front; raises GraphError for one outside the axis."""
    where = indices.astype(np.int64)
    outside = (where < -size) | (where >= size)
    if outside.any():
        got = int(where[outside][0])
        raise GraphError("run/out-of-range", subject="indices", low=-size, high=size, got=got)
    return np.where(where < 0, where + size, where)


def gather(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Take slices along an axis; an index outside the axis gives zeros."""
    x, indices = inputs
    axis = int(settings["axis"]) % x.ndim
    where = indices.astype(np.int64, copy=False)
    if where.size and where.min() >= 0 and where.max() < x.shape[axis]:
        return [np.take(x, where, axis=axis)]
    where = np.where(where < 0, where + x.shape[axis], where)
    outside = (where < 0) | (where >= x.shape[axis])
    taken = np.take(x, where, axis=axis, mode="clip")
    if outside.any():
        taken[(slice(None),) * axis + (outside,)] = 0
    return [taken]


def along(indices: Array, shape: tuple[int, ...], axis: int) -> tuple[Array, ...]:
    """Index of every element of ``indices`` in its own place, but for ``axis``."""
    grid = list(np.ix_(*(np.arange(size) for size in indices.shape)))
    grid[axis] = _inside(indices, shape[axis])
    return tuple(grid)


def gather_d(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Replace every index by the element with that place along an axis."""
    x, indices = inputs
    axis = int(settings["dim"]) % x.ndim
    return [x[along(indices, x.shape, axis)]]


def rows(indices: Array, shape: tuple[int, ...]) -> tuple[Array, ...]:
    """Rows of indices as one index for each of the leading axes."""
    return tuple(_inside(indices[..., k], shape[k]) for k in range(indices.shape[-1]))


def gather_nd(inputs: Sequence[Array], _settings: Mapping[str, Any]) -> list[Array]:
    """Replace every row of indices by what it names."""
    x, indices = inputs
    return [x[rows(indices, x.shape)]]


def scatter_nd_update(inputs: Sequence[Array], _settings: Mapping[str, Any]) -> list[Array]:
    """Write every update where its row of indices says; the last one stays."""
    x, indices, updates = inputs
    out = x.copy()
    out[rows(indices, x.shape)] = updates
    return [out]


def scatter_nd(function: np.ufunc) -> Kernel:
    """Return the kernel that combines every update with what its row of indices names."""

    def kernel(inputs: Sequence[Array], _settings: Mapping[str, Any]) -> list[Array]:
        x, indices, updates = inputs
        out = x.copy()
        function.at(out, rows(indices, x.shape), updates)
        return [out]

    return kernel


def scatter_elements(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Write or add every update at the place that its index names along an axis."""
    x, indices, updates = inputs
    axis = int(settings["axis"]) % x.ndim
    where = along(indices, x.shape, axis)
    out = x.copy()
    if REDUCTIONS[settings["reduce"]] == "add":
        np.add.at(out, where, updates)
    else:
        out[where] = updates
    return [out]


def one_hot(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Return ``on_value`` where the place along the new axis is the index, else ``off_value``."""
    indices, on, off = inputs
    axis, rank = int(settings["axis"]), indices.ndim + 1
    places = np.arange(int(settings["depth"]))
    shape = [-1 if i == axis % rank else 1 for i in range(rank)]
    hit = np.expand_dims(indices, axis) == places.reshape(shape)
    return [np.where(hit, on.reshape(()), off.reshape(()))]
