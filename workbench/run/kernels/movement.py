"""Kernels that only move elements."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.graph.infer.movement import whole_shape, whole_sizes
from workbench.graph.strides import strided_index

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]


def reshape(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Return the elements in another shape."""
    x = inputs[0]
    return [x.reshape(whole_shape(x.shape, tuple(settings["shape"])))]


def flatten(inputs: Sequence[Array], _settings: Mapping[str, Any]) -> list[Array]:
    """Join every axis but the first."""
    x = inputs[0]
    return [x.reshape(x.shape[0], math.prod(x.shape[1:]))]


def expand_dims(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Insert an axis of size 1."""
    return [np.expand_dims(inputs[0], int(settings["axis"]))]


def squeeze(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Drop axes of size 1; all of them if none are given."""
    axis = settings["axis"]
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    return [np.squeeze(inputs[0], axes or None)]


def transpose(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Return the axes in another order."""
    return [np.ascontiguousarray(inputs[0].transpose(tuple(settings["dims"])))]


def concat(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Join arrays along an axis."""
    return [np.concatenate(inputs, axis=int(settings["axis"]))]


def stack(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Join arrays along a new axis."""
    return [np.stack(inputs, axis=int(settings["axis"]))]


def split(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Equal pieces along an axis."""
    pieces = np.split(inputs[0], int(settings["output_num"]), axis=int(settings["axis"]))
    return [np.ascontiguousarray(piece) for piece in pieces]


def split_sizes(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Pieces of given sizes along an axis."""
    x, axis = inputs[0], int(settings["split_dim"])
    ends = np.cumsum(whole_sizes(tuple(settings["size_splits"]), x.shape[axis]))
    return [np.ascontiguousarray(piece) for piece in np.split(x, ends[:-1], axis=axis)]


def slices(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """``size`` elements from ``begin`` on, for every axis; -1: all that follow."""
    bounds = zip(settings["begin"], settings["size"], strict=True)
    index = tuple(slice(b, None if s == -1 else b + s) for b, s in bounds)
    return [np.ascontiguousarray(inputs[0][index])]


def strided_slice(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Every axis by begin, end and stride."""
    taken = inputs[0][strided_index(inputs[0].shape, settings)]
    return [np.ascontiguousarray(taken).reshape(np.shape(taken))]


def pad(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Put a value, the mirrored or repeated border or the other end around the input.

    Negative widths cut off.
    """
    x, mode = inputs[0], settings["mode"]
    flat = tuple(settings["paddings"])
    pairs = list(zip(flat[::2], flat[1::2], strict=True))[::-1]  # written from the last axis on
    widths = [(0, 0)] * (x.ndim - len(pairs)) + pairs
    if mode == "constant":
        value = x.dtype.type(settings["constant_value"] or 0)
        sizes = zip(widths, x.shape, strict=True)
        inside = x[tuple(slice(max(-b, 0), n - max(-a, 0)) for (b, a), n in sizes)]
        return [np.pad(inside, np.maximum(widths, 0), constant_values=value)]
    return [np.pad(x, widths, mode="wrap" if mode == "circular" else mode)]


def tile(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Repeat every axis."""
    return [np.tile(inputs[0], tuple(settings["dims"]))]


def broadcast_to(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Stretch axes of size 1; -1 keeps an axis."""
    x, wanted = inputs[0], tuple(settings["shape"])
    whole = (1,) * (len(wanted) - x.ndim) + x.shape
    shape = tuple(n if w == -1 else w for n, w in zip(whole, wanted, strict=True))
    return [np.ascontiguousarray(np.broadcast_to(x, shape)).reshape(shape)]


def lower(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Zeros above a diagonal."""
    return [np.tril(inputs[0], settings["diagonal"])]


def upper(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Zeros below a diagonal."""
    return [np.triu(inputs[0], settings["diagonal"])]


def reverse(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Turn axes around."""
    axis = settings["axis"]
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    return [np.ascontiguousarray(np.flip(inputs[0], axes)) if axes else inputs[0]]


def reverse_sequence(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Turn the first elements of every sequence of a batch around."""
    x, lengths = inputs
    seq, batch = int(settings["seq_dim"]) % x.ndim, int(settings["batch_dim"]) % x.ndim
    steps = np.arange(x.shape[seq])
    counts = lengths.astype(np.int64).reshape(-1, 1)
    places = np.where(steps < counts, counts - 1 - steps, steps)  # (batch, sequence)
    if seq < batch:
        places = places.T
    shape = [x.shape[i] if i in (seq, batch) else 1 for i in range(x.ndim)]
    return [np.take_along_axis(x, places.reshape(shape), seq)]


def depth_to_space(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Blocks of channels become blocks of pixels; the channels inside a block come last."""
    x, b = inputs[0], int(settings["block_size"])
    n, c, h, w = x.shape
    split = x.reshape(n, b, b, c // (b * b), h, w).transpose(0, 3, 4, 1, 5, 2)
    return [split.reshape(n, c // (b * b), h * b, w * b)]


def space_to_depth(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Blocks of pixels become blocks of channels."""
    x, b = inputs[0], int(settings["block_size"])
    n, c, h, w = x.shape
    split = x.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4)
    return [split.reshape(n, c * b * b, h // b, w // b)]
