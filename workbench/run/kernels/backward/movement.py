"""Gradients of what moves, takes or drops elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import GraphError
from workbench.graph.strides import strided_index
from workbench.run.kernels.indexing import along, rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]


def strided_slice(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Put the gradient where the slice was taken from, zeros elsewhere."""
    dout = inputs[0]
    out = np.zeros(tuple(settings["shapex"]), dout.dtype)
    place = strided_index(out.shape, settings)
    out[place] = dout.reshape(np.shape(out[place]))
    return [out]


def slices(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """As `strided_slice`, with begin and size of every axis."""
    dout, x = inputs
    out = np.zeros(x.shape, dout.dtype)
    bounds = zip(settings["begin"], dout.shape, strict=True)
    out[tuple(slice(begin, begin + size) for begin, size in bounds)] = dout
    return [out]


def gather_d(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Add every gradient to the element that was read."""
    x, index, dout = inputs
    out = np.zeros(x.shape, dout.dtype)
    np.add.at(out, along(index, x.shape, int(settings["dim"]) % x.ndim), dout)
    return [out]


def segment_sum(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Sum the rows of each segment; rows of a negative one are left out.

    Raises GraphError for a segment behind the last.
    """
    x, segments = inputs
    count = int(settings["num_segments"])
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
    return [out]


def scatter_nd(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Add every update to zeros where its row of indices says."""
    indices, updates = inputs
    out = np.zeros(tuple(settings["shape"]), updates.dtype)
    np.add.at(out, rows(indices, out.shape), updates)
    return [out]


def collected(dout: Array, places: Array, size: int, axis: int) -> Array:
    """Sum of the slices along an axis that were taken from the same place."""
    shape = (*dout.shape[:axis], size, *dout.shape[axis + 1 :])
    out = np.zeros(shape, dout.dtype)
    index: Any = (*(slice(None),) * axis, places)
    np.add.at(out, index, dout)
    return out


def pad(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Add what the mirrored or repeated border was given to where it came from."""
    total, mode = inputs[0], str(settings["mode"])
    flat = tuple(settings["paddings"])
    for place, widths in enumerate(zip(flat[::2], flat[1::2], strict=True)):
        axis = total.ndim - 1 - place
        size = total.shape[axis] - sum(widths)
        kind: Any = "wrap" if mode == "circular" else mode
        total = collected(total, np.pad(np.arange(size), widths, mode=kind), size, axis)
    return [total]


def unstack(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Return the slices along an axis, which disappears."""
    x, axis = inputs[0], int(settings["axis"])
    return [np.ascontiguousarray(piece) for piece in np.moveaxis(x, axis, 0)]


def fill(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Return one value everywhere."""
    return [np.full(tuple(settings["shape"]), inputs[0])]
