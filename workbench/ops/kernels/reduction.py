"""Kernels that combine elements along axes: sums, extremes, softmax."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.ops.definition import Kernel, cast_target, reduced_axes

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[Any]


def log_softmax_grad(out: Array, dout: Array, *, axis: Any) -> Array:
    """Gradient - exp(output) · sum of the gradients along the axis."""
    total = dout.sum(axis=int(axis), keepdims=True)
    return np.asarray(dout - np.exp(out) * total)


def _axes(axis: Any) -> int | tuple[int, ...]:
    return axis if isinstance(axis, int) else tuple(axis)


def softmax(x: Array, *, axis: Any) -> Array:
    """exp(x - max) / sum, along the axes."""
    axis = _axes(axis)
    scaled = x - np.max(x, axis=axis, keepdims=True)
    np.exp(scaled, out=scaled)
    scaled /= np.sum(scaled, axis=axis, keepdims=True)
    return np.asarray(scaled)


def log_softmax(x: Array, *, axis: Any) -> Array:
    """Logarithm of the softmax: x - max - log(sum(exp(x - max))), along the axes."""
    axis = _axes(axis)
    scaled = x - np.max(x, axis=axis, keepdims=True)
    return np.asarray(scaled - np.log(np.sum(np.exp(scaled), axis=axis, keepdims=True)))


def reduction(function: Callable[..., Any]) -> Kernel:
    """Return the kernel of a NumPy reduction over the axes of the settings."""

    def kernel(x: Array, *, axis: Any, keep_dims: Any) -> Array:
        axes: tuple[int, ...] | None = reduced_axes(axis, x.ndim)
        if axes == tuple(range(x.ndim)):
            axes = None  # NumPy is faster when it need not look at axes
        out = np.asarray(function(x, axis=axes, keepdims=bool(keep_dims)))
        return out.astype(x.dtype, copy=False)

    return kernel


def reduced_sum(x: Array, *, axis: Any, keep_dims: Any, skip_mode: Any) -> Array:
    """Sum over axes; with ``skip_mode`` no axes are none, not all."""
    if skip_mode and axis in ((), None):
        return x
    return np.asarray(_sum(x, axis=axis, keep_dims=keep_dims))


_sum = reduction(np.sum)


def place_of(function: Callable[..., Any]) -> Kernel:
    """Return the kernel of the place of an extreme value; the first one wins."""

    def kernel(x: Array, *, axis: Any, output_type: Any) -> Array:
        return np.asarray(function(x, axis=int(axis))).astype(cast_target(output_type))

    return kernel


def place_and_value(function: Callable[..., Any]) -> Kernel:
    """Return the kernel of an extreme value and its place."""

    def kernel(x: Array, *, axis: Any, keep_dims: Any) -> list[Array]:
        axis = int(axis)
        place = np.expand_dims(function(x, axis=axis), axis)
        value = np.take_along_axis(x, place, axis)
        if not keep_dims:
            place, value = place.squeeze(axis), value.squeeze(axis)
        return [place.astype(np.int32), value]

    return kernel


def top_k(x: Array, *, k: Any) -> list[Array]:
    """Return the k largest values of the last axis, largest first, and their places.

    Of equal values the first one comes first, and NaN is larger than all numbers.
    """
    order = np.argsort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1]
    place = x.shape[-1] - 1 - order[..., : int(k)]
    return [np.take_along_axis(x, place, -1), place.astype(np.int32)]


def cumulative(function: Callable[..., Any], neutral: int) -> Kernel:
    """Return the kernel of sums or products of all elements up to each, along an axis.

    ``reverse`` counts from the end; ``exclusive`` leaves out the element itself.
    """

    def kernel(x: Array, *, axis: Any, exclusive: Any, reverse: Any) -> Array:
        axis = int(axis) % x.ndim
        x = np.flip(x, axis) if reverse else x
        out = np.asarray(function(x, axis=axis)).astype(x.dtype, copy=False)
        if exclusive:
            before = (slice(None),) * axis
            out = np.roll(out, 1, axis)
            out[(*before, slice(0, 1))] = neutral
        return np.ascontiguousarray(np.flip(out, axis) if reverse else out)

    return kernel
