"""Kernels that combine elements along axes: sums, extremes, softmax."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.graph.infer import cast_target, reduced_axes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from workbench.run.kernels.elementwise import Kernel

    Array = NDArray[Any]


def _axis(settings: Mapping[str, Any]) -> int | tuple[int, ...]:
    axis = settings["axis"]
    return axis if isinstance(axis, int) else tuple(axis)


def softmax(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """exp(x - max) / sum, along the axes."""
    x, axis = inputs[0], _axis(settings)
    scaled = x - np.max(x, axis=axis, keepdims=True)
    np.exp(scaled, out=scaled)
    scaled /= np.sum(scaled, axis=axis, keepdims=True)
    return [scaled]


def log_softmax(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Logarithm of the softmax: x - max - log(sum(exp(x - max))), along the axes."""
    x, axis = inputs[0], _axis(settings)
    scaled = x - np.max(x, axis=axis, keepdims=True)
    return [scaled - np.log(np.sum(np.exp(scaled), axis=axis, keepdims=True))]


def reduction(function: Callable[..., Any]) -> Kernel:
    """Return the kernel of a NumPy reduction over the axes of the settings."""

    def kernel(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
        x = inputs[0]
        if settings.get("skip_mode") and settings["axis"] == ():
            return [x]
        axes: tuple[int, ...] | None = reduced_axes(settings["axis"], x.ndim)
        if axes == tuple(range(x.ndim)):
            axes = None  # NumPy is faster when it need not look at axes
        out = np.asarray(function(x, axis=axes, keepdims=bool(settings["keep_dims"])))
        return [out.astype(x.dtype, copy=False)]

    return kernel


def place_of(function: Callable[..., Any]) -> Kernel:
    """Return the kernel of the place of an extreme value; the first one wins."""

    def kernel(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
        kind = cast_target(settings["output_type"])
        return [np.asarray(function(inputs[0], axis=int(settings["axis"]))).astype(kind)]

    return kernel


def place_and_value(function: Callable[..., Any]) -> Kernel:
    """Return the kernel of an extreme value and its place."""

    def kernel(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
        x, axis = inputs[0], int(settings["axis"])
        place = np.expand_dims(function(x, axis=axis), axis)
        value = np.take_along_axis(x, place, axis)
        if not settings["keep_dims"]:
            place, value = place.squeeze(axis), value.squeeze(axis)
        return [place.astype(np.int32), value]

    return kernel


def top_k(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Return the k largest values of the last axis, largest first, and their places.

    Of equal values the first one comes first, and NaN is larger than all numbers.
    """
    x = inputs[0]
    order = np.argsort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1]
    place = x.shape[-1] - 1 - order[..., : int(settings["k"])]
    return [np.take_along_axis(x, place, -1), place.astype(np.int32)]


def cumulative(function: Callable[..., Any], neutral: int) -> Kernel:
    """Return the kernel of sums or products of all elements up to each, along an axis.

    ``reverse`` counts from the end; ``exclusive`` leaves out the element itself.
    """

    def kernel(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
        axis = int(settings["axis"]) % inputs[0].ndim
        x = np.flip(inputs[0], axis) if settings["reverse"] else inputs[0]
        out = np.asarray(function(x, axis=axis)).astype(x.dtype, copy=False)
        if settings["exclusive"]:
            before = (slice(None),) * axis
            out = np.roll(out, 1, axis)
            out[(*before, slice(0, 1))] = neutral
        return [np.ascontiguousarray(np.flip(out, axis) if settings["reverse"] else out)]

    return kernel
