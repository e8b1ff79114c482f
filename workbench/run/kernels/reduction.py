"""Kernels that combine elements: sums, softmax, normalizations, pooling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.graph.infer import reduced_axes
from workbench.graph.windows import Window, window
from workbench.run.kernels.matrix import pad, taps

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

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


def reduce_mean(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Mean over the axes."""
    x = inputs[0]
    axes = reduced_axes(settings["axis"], x.ndim)
    return [np.asarray(np.mean(x, axis=axes, keepdims=bool(settings["keep_dims"])))]


def reduce_sum(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Sum over the axes."""
    x = inputs[0]
    axes = reduced_axes(settings["axis"], x.ndim)
    if settings.get("skip_mode") and settings["axis"] == ():
        return [x]
    return [np.asarray(np.sum(x, axis=axes, keepdims=bool(settings["keep_dims"])))]


def layer_norm(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Return (x - mean) / √(variance + epsilon) · gamma + beta, mean and variance."""
    x, gamma, beta = inputs
    begin = int(settings["begin_norm_axis"]) % x.ndim
    axes = tuple(range(begin, x.ndim))
    mean = np.mean(x, axis=axes, keepdims=True)
    centered = x - mean
    variance = np.mean(centered * centered, axis=axes, keepdims=True)
    centered /= np.sqrt(variance + x.dtype.type(settings["epsilon"]))
    return [centered * gamma + beta, mean, variance]


def batch_norm(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Normalize with the given moments; these come back twice, MindSpore has five outputs."""
    x = inputs[0]
    view = (1, -1, *(1,) * (x.ndim - 2))
    scale, bias, mean, variance = (one.reshape(view) for one in inputs[1:5])
    factor = scale / np.sqrt(variance + variance.dtype.type(settings["epsilon"]))
    out = (x - mean) * factor + bias
    return [out, inputs[3], inputs[4], inputs[3], inputs[4]]


def _slide(
    padded: Array, view: Window, out: tuple[int, int], combine: Callable[..., Array]
) -> Array:
    """Combine the elements of each window, first along the height, then along the width."""
    for axis in (0, 1):
        size, count = view.kernel[axis], out[axis]
        pieces = []
        for tap in range(size):
            along = taps(count, view.stride[axis], view.dilation[axis], tap)
            pieces.append(padded[:, :, along] if axis == 0 else padded[..., along])
        total = pieces[0].copy()
        for piece in pieces[1:]:
            combine(total, piece, out=total)
        padded = total
    return padded


def max_pool(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Largest value of each window; NaN wins."""
    x = inputs[0]
    view = window(settings, x.shape[2:], settings["kernel_size"], settings["strides"])
    return [_slide(pad(x, view, -np.inf), view, view.output(*x.shape[2:]), np.maximum)]


def avg_pool(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Mean of each window; padding does not count."""
    x = inputs[0]
    view = window(settings, x.shape[2:], settings["kernel_size"], settings["strides"])
    out = view.output(*x.shape[2:])
    total = _slide(pad(x, view, 0), view, out, np.add)
    if any(view.pads):
        inside = pad(np.ones((1, 1, *x.shape[2:]), x.dtype), view, 0)
        return [total / _slide(inside, view, out, np.add)]
    total /= x.dtype.type(view.kernel[0] * view.kernel[1])
    return [total]
