"""Kernels that only move elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]


def reshape(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Return the elements in another shape."""
    return [inputs[0].reshape(tuple(settings["shape"]))]


def flatten(inputs: Sequence[Array], _settings: Mapping[str, Any]) -> list[Array]:
    """Join every axis but the first."""
    return [inputs[0].reshape(inputs[0].shape[0], -1)]


def expand_dims(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Insert an axis of size 1."""
    return [np.expand_dims(inputs[0], int(settings["axis"]))]


def transpose(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Return the axes in another order."""
    return [np.ascontiguousarray(inputs[0].transpose(tuple(settings["dims"])))]


def concat(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Join arrays along an axis."""
    return [np.concatenate(inputs, axis=int(settings["axis"]))]


def gather(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Take slices along an axis; an index outside the axis gives zeros."""
    x, indices = inputs
    axis = int(settings["axis"]) % x.ndim
    where = indices.astype(np.int64)
    where = np.where(where < 0, where + x.shape[axis], where)
    outside = (where < 0) | (where >= x.shape[axis])
    taken = np.take(x, where, axis=axis, mode="clip")
    if outside.any():
        taken[(slice(None),) * axis + (outside,)] = 0
    return [taken]
