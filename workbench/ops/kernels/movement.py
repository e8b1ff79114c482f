"""Kernels that only move elements, and their gradients."""

from __future__ import annotations

import math
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import GraphError
from workbench.ops.kernels.window import strided_index

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def whole_shape(shape: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...]:
    """Shape with -1 replaced by what is left; beside a 0 that is 0."""
    known = prod(dim for dim in wanted if dim != -1)
    rest = prod(shape) // known if known else 0
    return tuple(rest if dim == -1 else dim for dim in wanted)


def whole_sizes(sizes: tuple[int, ...], length: int) -> tuple[int, ...]:
    """Sizes of `SplitV`, with -1 replaced by what is left."""
    rest = length - sum(size for size in sizes if size != -1)
    return tuple(rest if size == -1 else size for size in sizes)


def strided_slice_grad(dout: Array, **settings: Any) -> Array:
    """Put the gradient where the slice was taken from, zeros elsewhere."""
    out = np.zeros(tuple(settings["shapex"]), dout.dtype)
    place = strided_index(out.shape, settings)
    out[place] = dout.reshape(np.shape(out[place]))
    return out


def slices_grad(dout: Array, x: Array, *, begin: Any) -> Array:
    """As `strided_slice`, with begin and size of every axis."""
    out = np.zeros(x.shape, dout.dtype)
    bounds = zip(begin, dout.shape, strict=True)
    out[tuple(slice(begin, begin + size) for begin, size in bounds)] = dout
    return out


def collected(dout: Array, places: Array, size: int, axis: int) -> Array:
    """Sum of the slices along an axis that were taken from the same place."""
    shape = (*dout.shape[:axis], size, *dout.shape[axis + 1 :])
    out = np.zeros(shape, dout.dtype)
    index: Any = (*(slice(None),) * axis, places)
    np.add.at(out, index, dout)
    return out


def pad_grad(x: Array, *, paddings: Any, mode: Any) -> Array:
    """Add what the mirrored or repeated border was given to where it came from."""
    total, mode = x, str(mode)
    flat = tuple(paddings)
    for place, widths in enumerate(zip(flat[::2], flat[1::2], strict=True)):
        axis = total.ndim - 1 - place
        size = total.shape[axis] - sum(widths)
        kind: Any = "wrap" if mode == "circular" else mode
        total = collected(total, np.pad(np.arange(size), widths, mode=kind), size, axis)
    return total


def unstack(x: Array, *, axis: Any) -> list[Array]:
    """Return the slices along an axis, which disappears."""
    x, axis = x, int(axis)
    return [np.ascontiguousarray(piece) for piece in np.moveaxis(x, axis, 0)]


def _sizes(value: Any) -> tuple[int, ...]:
    """Sizes or axes of a setting; a single integer is one of them."""
    return (value,) if isinstance(value, int) else tuple(value)


def fill(x: Array, *, shape: Any) -> Array:
    """Return one value everywhere."""
    return np.full(_sizes(shape), x)


def reshape(x: Array, *, shape: Any) -> Array:
    """Return the elements in another shape."""
    return x.reshape(whole_shape(x.shape, _sizes(shape)))


def flatten(x: Array) -> Array:
    """Join every axis but the first."""
    return x.reshape(x.shape[0], math.prod(x.shape[1:]))


def expand_dims(x: Array, *, axis: Any) -> Array:
    """Insert an axis of size 1."""
    return np.expand_dims(x, int(axis))


def squeeze(x: Array, *, axis: Any) -> Array:
    """Drop axes of size 1; all of them if none are given."""
    return np.squeeze(x, _sizes(axis) or None)


def transpose(x: Array, *, dims: Any) -> Array:
    """Return the axes in another order."""
    return np.ascontiguousarray(x.transpose(tuple(dims)))


def concat(*inputs: Array, axis: Any) -> Array:
    """Join arrays along an axis."""
    return np.concatenate(inputs, axis=int(axis))


def stack(*inputs: Array, axis: Any) -> Array:
    """Join arrays along a new axis."""
    return np.stack(inputs, axis=int(axis))


def split(x: Array, *, output_num: Any, axis: Any) -> list[Array]:
    """Equal pieces along an axis."""
    pieces = np.split(x, int(output_num), axis=int(axis))
    return [np.ascontiguousarray(piece) for piece in pieces]


def split_sizes(x: Array, *, split_dim: Any, size_splits: Any) -> list[Array]:
    """Pieces of given sizes along an axis."""
    axis = int(split_dim)
    ends = np.cumsum(whole_sizes(_sizes(size_splits), x.shape[axis]))
    return [np.ascontiguousarray(piece) for piece in np.split(x, ends[:-1], axis=axis)]


def slices(x: Array, *, begin: Any, size: Any) -> Array:
    """``size`` elements from ``begin`` on, for every axis; -1: all that follow."""
    bounds = zip(begin, size, strict=True)
    index = tuple(slice(b, None if s == -1 else b + s) for b, s in bounds)
    return np.ascontiguousarray(x[index])


def strided_slice(x: Array, **settings: Any) -> Array:
    """Every axis by begin, end and stride."""
    taken = x[strided_index(x.shape, settings)]
    return np.ascontiguousarray(taken).reshape(np.shape(taken))


def evenly_spaced(start: Array, stop: Array, *, num: Any) -> Array:
    """``num`` numbers from start to stop, both included."""
    count = int(num)
    step = (stop - start) / start.dtype.type(max(count - 1, 1))
    found = np.asarray(start + np.arange(count, dtype=start.dtype) * step)
    if count > 1:
        found[-1] = stop
    return found


def progression(start: Array, end: Array, step: Array, *, maxlen: Any) -> Array:
    """Numbers from start up to end, which is not reached; raises GraphError if they are too many."""
    count = max(math.ceil((end - start) / step), 0) if step else -1
    if not 0 <= count <= int(maxlen):
        raise GraphError("run/out-of-range", subject="step", low=0, high=int(maxlen), got=count)
    kind = np.result_type(start, end, step)
    return np.asarray(start + np.arange(count, dtype=kind) * step)


def pad(x: Array, *, mode: Any, paddings: Any, constant_value: Any) -> Array:
    """Put a value, the mirrored or repeated border or the other end around the input.

    Negative widths cut off.
    """
    flat = tuple(paddings)
    pairs = list(zip(flat[::2], flat[1::2], strict=True))[::-1]  # written from the last axis on
    widths = [(0, 0)] * (x.ndim - len(pairs)) + pairs
    if mode == "constant":
        value = x.dtype.type(constant_value or 0)
        sizes = zip(widths, x.shape, strict=True)
        inside = x[tuple(slice(max(-b, 0), n - max(-a, 0)) for (b, a), n in sizes)]
        return np.pad(inside, np.maximum(widths, 0), constant_values=value)
    return np.pad(x, widths, mode="wrap" if mode == "circular" else mode)


def tile(x: Array, *, dims: Any) -> Array:
    """Repeat every axis."""
    return np.tile(x, _sizes(dims))


def broadcast_to(x: Array, *, shape: Any) -> Array:
    """Stretch axes of size 1; -1 keeps an axis."""
    wanted = _sizes(shape)
    whole = (1,) * (len(wanted) - x.ndim) + x.shape
    shape = tuple(n if w == -1 else w for n, w in zip(whole, wanted, strict=True))
    return np.ascontiguousarray(np.broadcast_to(x, shape)).reshape(shape)


def lower(x: Array, *, diagonal: Any) -> Array:
    """Zeros above a diagonal."""
    return np.tril(x, diagonal)


def upper(x: Array, *, diagonal: Any) -> Array:
    """Zeros below a diagonal."""
    return np.triu(x, diagonal)


def reverse(x: Array, *, axis: Any) -> Array:
    """Turn axes around."""
    axes = _sizes(axis)
    return np.ascontiguousarray(np.flip(x, axes)) if axes else x


def reverse_sequence(x: Array, lengths: Array, *, seq_dim: Any, batch_dim: Any) -> Array:
    """Turn the first elements of every sequence of a batch around."""
    seq, batch = int(seq_dim) % x.ndim, int(batch_dim) % x.ndim
    steps = np.arange(x.shape[seq])
    counts = lengths.astype(np.int64).reshape(-1, 1)
    places = np.where(steps < counts, counts - 1 - steps, steps)  # (batch, sequence)
    if seq < batch:
        places = places.T
    shape = [x.shape[i] if i in (seq, batch) else 1 for i in range(x.ndim)]
    return np.take_along_axis(x, places.reshape(shape), seq)


def depth_to_space(x: Array, *, block_size: Any) -> Array:
    """Blocks of channels become blocks of pixels; the channels inside a block come last."""
    x, b = x, int(block_size)
    n, c, h, w = x.shape
    split = x.reshape(n, b, b, c // (b * b), h, w).transpose(0, 3, 4, 1, 5, 2)
    return split.reshape(n, c // (b * b), h * b, w * b)


def space_to_depth(x: Array, *, block_size: Any) -> Array:
    """Blocks of pixels become blocks of channels."""
    x, b = x, int(block_size)
    n, c, h, w = x.shape
    split = x.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4)
    return split.reshape(n, c * b * b, h // b, w // b)
