"""Kernels that shift and scale by means and variances."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]


_CHUNK = 32768  # elements; what is worked on at a time stays in the second-level cache


def _blocks(rows: int, columns: int) -> Iterator[slice]:
    """Ranges of rows that fit the cache."""
    height = max(_CHUNK // max(columns, 1), 1)
    return (slice(start, start + height) for start in range(0, rows, height))


def layer_norm(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Return (x - mean) / √(variance + epsilon) · gamma + beta, mean and variance."""
    x, gamma, beta = inputs
    begin = int(settings["begin_norm_axis"]) % x.ndim
    rows, columns = math.prod(x.shape[:begin]), math.prod(x.shape[begin:])
    flat, out = x.reshape(rows, columns), np.empty((rows, columns), x.dtype)
    mean, variance = np.empty((2, rows, 1), x.dtype)
    epsilon = x.dtype.type(settings["epsilon"])
    factors = [np.broadcast_to(one, x.shape[begin:]).reshape(-1) for one in (gamma, beta)]
    for block in _blocks(rows, columns):
        target = out[block]
        np.mean(flat[block], axis=1, keepdims=True, out=mean[block])
        np.subtract(flat[block], mean[block], out=target)
        np.mean(target * target, axis=1, keepdims=True, out=variance[block])
        target /= np.sqrt(variance[block] + epsilon)
        target *= factors[0]
        target += factors[1]
    moments = (*x.shape[:begin], *(1 for _ in x.shape[begin:]))
    return [out.reshape(x.shape), mean.reshape(moments), variance.reshape(moments)]


def batch_norm(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Normalize with the given moments; these come back twice, MindSpore has five outputs.

    In training it is those of the batch, and the given ones follow them: the outputs are the moving
    moments as they become and those of the batch, the new moving ones are left in the inputs.
    """
    x, scale, bias, mean, variance = inputs
    if settings["is_training"]:
        return _training(inputs, settings)
    return _normalized(x, scale, bias, mean, variance, settings)


def _training(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    x, scale, bias, *moving = inputs
    axes = (0, *range(2, x.ndim))
    mean, variance = np.mean(x, axis=axes), np.var(x, axis=axes)
    left = _moved(moving, (mean, variance), x, settings["momentum"])
    out = _normalized(x, scale, bias, mean, variance, settings)[0]
    return [out, *left, mean, variance, *left]


def _moved(
    moving: Sequence[Array], batch: tuple[Array, Array], x: Array, momentum: float
) -> list[Array]:
    """Moving mean and variance as they follow those of a batch, the variance without its bias."""
    count, kind = x.size // x.shape[1], x.dtype.type
    share, unbiased = kind(momentum), batch[1] * kind(count / max(count - 1, 1))
    pairs = zip(moving, (batch[0], unbiased), strict=True)
    return [old * (kind(1) - share) + new * share for old, new in pairs]


def channel_sums(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Return the sum of every channel, and that of its squares."""
    (x,) = inputs
    axes = (0, *range(2, x.ndim))
    return [np.sum(x, axis=axes), np.sum(x * x, axis=axes)]


def update_by_sums(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Normalize by moments of the batch that its sums give, as `batch_norm` does in training."""
    x, total, squares, scale, offset, *moving = inputs
    count = x.dtype.type(max(x.size // x.shape[1], 1))
    mean = total / count
    variance = squares / count - mean * mean
    left = _moved(moving, (mean, variance), x, settings["factor"])
    out = _normalized(x, scale, offset, mean, variance, settings)[0]
    return [out, *left, mean, variance, *left]


def _normalized(
    x: Array, scale: Array, bias: Array, mean: Array, variance: Array, settings: Mapping[str, Any]
) -> list[Array]:
    factor = scale / np.sqrt(variance + variance.dtype.type(settings["epsilon"]))
    rows, columns = x.shape[0] * x.shape[1], math.prod(x.shape[2:])
    flat, out = x.reshape(rows, columns), np.empty((rows, columns), x.dtype)
    center, slope, shift = (np.tile(one, x.shape[0])[:, None] for one in (mean, factor, bias))
    for block in _blocks(rows, columns):
        target = out[block]
        np.subtract(flat[block], center[block], out=target)
        target *= slope[block]
        target += shift[block]
    return [out.reshape(x.shape), mean, variance, mean, variance]


def _factor(inputs: Sequence[Array], settings: Mapping[str, Any]) -> Array:
    """What normalization multiplies each channel by."""
    _, scale, _, _, variance = inputs
    return np.asarray(scale / np.sqrt(variance + variance.dtype.type(settings["epsilon"])))


def folded_filter(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Return the filter of a convolution that normalizes what it computes."""
    filters = inputs[0]
    return [filters * _factor(inputs, settings).reshape(-1, *(1,) * (filters.ndim - 1))]


def folded_bias(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Return the bias of such a convolution: what becomes of its own, moved by the moments."""
    bias, _, offset, mean, _ = inputs
    return [offset + (bias - mean) * _factor(inputs, settings)]


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
    np.log(total, out=total)  # faster than a power of either precision
    total *= kind(-settings["beta"])
    np.exp(total, out=total)
    total *= x
    return [total]
