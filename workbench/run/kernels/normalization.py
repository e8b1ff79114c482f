"""Kernels that shift and scale by means and variances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]


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


def rms_norm(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Return x / √(mean of squares + epsilon) · gamma, and the factor."""
    x, gamma = inputs
    axes = tuple(range(x.ndim - gamma.ndim, x.ndim))
    square = np.mean(x * x, axis=axes, keepdims=True)
    kind = x.dtype.type
    factor = np.asarray(kind(1) / np.sqrt(square + kind(settings["epsilon"])))
    return [x * factor * gamma, factor]


def group_norm(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Normalize groups of channels: the output, then mean and 1 / deviation of every group."""
    x, weight, bias = inputs
    groups = int(settings["num_groups"])
    flat = x.reshape(x.shape[0], groups, -1)
    mean = np.mean(flat, axis=-1, keepdims=True)
    centered = flat - mean
    variance = np.mean(centered * centered, axis=-1, keepdims=True)
    kind = x.dtype.type
    factor = np.asarray(kind(1) / np.sqrt(variance + kind(settings["eps"])))
    view = (1, -1, *(1,) * (x.ndim - 2))
    out = (centered * factor).reshape(x.shape) * weight.reshape(view) + bias.reshape(view)
    return [out, mean[..., 0], factor[..., 0]]


def lrn(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """X / (bias + alpha · sum of the squares of the channels around) ^ beta."""
    x, radius = inputs[0], int(settings["depth_radius"])
    kind = x.dtype.type
    square = x * x
    total = square.copy()
    for step in range(1, min(radius, x.shape[1] - 1) + 1):
        total[:, step:] += square[:, :-step]
        total[:, :-step] += square[:, step:]
    total *= kind(settings["alpha"])
    total += kind(settings["bias"])
    return [x * np.power(total, kind(-settings["beta"]))]
