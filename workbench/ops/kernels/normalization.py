"""Kernels that shift and scale by means and variances, and their gradients."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.ops.kernels.matrix import together
from workbench.ops.kernels.window import expect_channels_first

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]


_CHUNK = 32768  # elements; what is worked on at a time stays in the second-level cache


def _blocks(rows: int, columns: int) -> Iterator[slice]:
    """Ranges of rows that fit the cache."""
    height = max(_CHUNK // max(columns, 1), 1)
    return (slice(start, start + height) for start in range(0, rows, height))


def layer_norm(
    x: Array, gamma: Array, beta: Array, *, epsilon: Any, begin_norm_axis: Any
) -> list[Array]:
    """Return (x - mean) / √(variance + epsilon) · gamma + beta, mean and variance."""
    begin = int(begin_norm_axis) % x.ndim
    rows, columns = math.prod(x.shape[:begin]), math.prod(x.shape[begin:])
    flat, out = x.reshape(rows, columns), np.empty((rows, columns), x.dtype)
    mean, variance = np.empty((2, rows, 1), x.dtype)
    epsilon = x.dtype.type(epsilon)
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


def batch_norm(
    x: Array,
    scale: Array,
    bias: Array,
    mean: Array,
    variance: Array,
    *,
    is_training: Any,
    epsilon: Any,
    momentum: Any,
    data_format: Any,
) -> list[Array]:
    """Normalize with the given moments; these come back twice, MindSpore has five outputs.

    In training it is those of the batch, and the given ones follow them: the outputs are the moving
    moments as they become and those of the batch, the new moving ones are left in the inputs.
    """
    expect_channels_first({"data_format": data_format})
    if not is_training:
        return [_normalized(x, scale, bias, mean, variance, epsilon), *(mean, variance) * 2]
    axes = (0, *range(2, x.ndim))
    batch = np.mean(x, axis=axes), np.var(x, axis=axes)
    left = _moved((mean, variance), batch, x, momentum)
    return [_normalized(x, scale, bias, *batch, epsilon), *left, *batch, *left]


def _moved(
    moving: Sequence[Array], batch: tuple[Array, Array], x: Array, momentum: float
) -> list[Array]:
    """Moving mean and variance as they follow those of a batch, the variance without its bias."""
    count, kind = x.size // x.shape[1], x.dtype.type
    share, unbiased = kind(momentum), batch[1] * kind(count / max(count - 1, 1))
    pairs = zip(moving, (batch[0], unbiased), strict=True)
    return [old * (kind(1) - share) + new * share for old, new in pairs]


def channel_sums(x: Array) -> list[Array]:
    """Return the sum of every channel, and that of its squares."""
    axes = (0, *range(2, x.ndim))
    return [np.sum(x, axis=axes), np.sum(x * x, axis=axes)]


def update_by_sums(
    x: Array,
    total: Array,
    squares: Array,
    scale: Array,
    offset: Array,
    *moving: Array,
    factor: Any,
    epsilon: Any,
) -> list[Array]:
    """Normalize by moments of the batch that its sums give, as `batch_norm` does in training."""
    count = x.dtype.type(max(x.size // x.shape[1], 1))
    mean = total / count
    variance = squares / count - mean * mean
    left = _moved(moving, (mean, variance), x, factor)
    out = _normalized(x, scale, offset, mean, variance, epsilon)
    return [out, *left, mean, variance, *left]


def _normalized(
    x: Array, scale: Array, bias: Array, mean: Array, variance: Array, epsilon: float
) -> Array:
    factor = _factor(scale, variance, epsilon)
    rows, columns = x.shape[0] * x.shape[1], math.prod(x.shape[2:])
    flat, out = x.reshape(rows, columns), np.empty((rows, columns), x.dtype)
    center, slope, shift = (np.tile(one, x.shape[0])[:, None] for one in (mean, factor, bias))
    for block in _blocks(rows, columns):
        target = out[block]
        np.subtract(flat[block], center[block], out=target)
        target *= slope[block]
        target += shift[block]
    return out.reshape(x.shape)


def _factor(scale: Array, variance: Array, epsilon: float) -> Array:
    """What normalization multiplies each channel by."""
    return np.asarray(scale / np.sqrt(variance + variance.dtype.type(epsilon)))


def folded_filter(
    filters: Array, scale: Array, _offset: Array, _mean: Array, variance: Array, *, epsilon: Any
) -> Array:
    """Return the filter of a convolution that normalizes what it computes."""
    factor = _factor(scale, variance, epsilon)
    return filters * factor.reshape(-1, *(1,) * (filters.ndim - 1))


def folded_bias(
    bias: Array, scale: Array, offset: Array, mean: Array, variance: Array, *, epsilon: Any
) -> Array:
    """Return the bias of such a convolution: what becomes of its own, moved by the moments."""
    return np.asarray(offset + (bias - mean) * _factor(scale, variance, epsilon))


def rms_norm(x: Array, gamma: Array, *, epsilon: Any) -> list[Array]:
    """Return x / √(mean of squares + epsilon) · gamma, and the factor."""
    axes = tuple(range(x.ndim - gamma.ndim, x.ndim))
    square = np.mean(x * x, axis=axes, keepdims=True)
    kind = x.dtype.type
    factor = np.asarray(kind(1) / np.sqrt(square + kind(epsilon)))
    return [x * factor * gamma, factor]


def group_norm(x: Array, weight: Array, bias: Array, *, num_groups: Any, eps: Any) -> list[Array]:
    """Normalize groups of channels: the output, then mean and 1 / deviation of every group."""
    groups = int(num_groups)
    flat = x.reshape(x.shape[0], groups, -1)
    mean = np.mean(flat, axis=-1, keepdims=True)
    centered = flat - mean
    variance = np.mean(centered * centered, axis=-1, keepdims=True)
    kind = x.dtype.type
    factor = np.asarray(kind(1) / np.sqrt(variance + kind(eps)))
    view = (1, -1, *(1,) * (x.ndim - 2))
    out = (centered * factor).reshape(x.shape) * weight.reshape(view) + bias.reshape(view)
    return [out, mean[..., 0], factor[..., 0]]


def lrn(x: Array, *, alpha: Any, bias: Any, depth_radius: Any, beta: Any) -> Array:
    """X / (bias + alpha · sum of the squares of the channels around) ^ beta."""
    x, radius = x, int(depth_radius)
    kind = x.dtype.type
    square = x * x
    total = square.copy()
    for step in range(1, min(radius, x.shape[1] - 1) + 1):
        total[:, step:] += square[:, :-step]
        total[:, :-step] += square[:, step:]
    total *= kind(alpha)
    total += kind(bias)
    np.log(total, out=total)  # faster than a power of either precision
    total *= kind(-beta)
    np.exp(total, out=total)
    total *= x
    return total


def _centered(scaled: Array, normal: Array) -> Array:
    """What reaches a normalized row: its own, less its mean and its share along the row."""
    count = scaled.dtype.type(scaled.shape[-1])
    along = (scaled * normal).sum(axis=-1, keepdims=True) / count
    out = normal * -along
    out += scaled
    out -= scaled.sum(axis=-1, keepdims=True) / count
    return np.asarray(out)


def layer_norm_grad(
    x: Array,
    dout: Array,
    variance: Array,
    mean: Array,
    gamma: Array,
    *,
    begin_norm_axis: Any,
    begin_params_axis: Any,
    epsilon: Any,
) -> list[Array]:
    """Return gradients of x, gamma and beta, of the moments that the forward operator found."""
    begin = int(begin_norm_axis) % x.ndim
    first = int(begin_params_axis) % x.ndim
    rows = math.prod(x.shape[:begin])
    factor = x.dtype.type(1) / np.sqrt(variance + x.dtype.type(epsilon))
    normal = (x - mean) * factor
    dx = _centered((dout * gamma).reshape(rows, -1), normal.reshape(rows, -1))
    dx *= factor.reshape(rows, 1)
    axes = tuple(range(first))
    return [dx.reshape(x.shape), (dout * normal).sum(axis=axes), dout.sum(axis=axes)]


def rms_norm_grad(dout: Array, x: Array, rstd: Array, gamma: Array) -> list[Array]:
    """Return gradients of x and gamma; ``rstd`` is the factor of the forward operator."""
    inner = tuple(range(x.ndim - gamma.ndim, x.ndim))
    normal, scaled = x * rstd, dout * gamma
    along = np.mean(scaled * normal, axis=inner, keepdims=True)
    outer = tuple(range(x.ndim - gamma.ndim))
    return [rstd * (scaled - normal * along), (dout * normal).sum(axis=outer)]


def group_norm_grad(dout: Array, x: Array, mean: Array, rstd: Array, gamma: Array) -> list[Array]:
    """Return gradients of x, weight and bias, of mean and 1 / deviation of every group."""
    view, rows = (1, -1, *(1,) * (x.ndim - 2)), mean.size
    factor = rstd.reshape(rows, 1)
    normal = (x.reshape(rows, -1) - mean.reshape(rows, 1)) * factor
    scaled = (dout * gamma.reshape(view)).reshape(rows, -1)
    dx = _centered(scaled, normal) * factor
    axes = (0, *range(2, x.ndim))
    blame = (dout * normal.reshape(x.shape)).sum(axis=axes)
    return [dx.reshape(x.shape), blame, dout.sum(axis=axes)]


def batch_norm_grad(
    dout: Array,
    x: Array,
    scale: Array,
    mean: Array,
    variance: Array,
    _unused: Array,
    *,
    is_training: Any,
    epsilon: Any,
    data_format: Any,
) -> list[Array]:
    """Return gradients of x, scale and bias.

    In training the saved moments are those of the batch and depend on x; otherwise they are given
    and do not.
    """
    expect_channels_first({"data_format": data_format})
    factor = scale.dtype.type(1) / np.sqrt(variance + scale.dtype.type(epsilon))
    rows, blame = (one.reshape(*x.shape[:2], -1) for one in (x, dout))
    dx, dscale, dbias = np.empty_like(rows), np.zeros_like(scale), np.zeros_like(scale)
    blocks = list(together(len(x), rows[:1].size))
    for some in blocks:
        target = np.subtract(rows[some], mean[:, None], out=dx[some])
        dscale += (blame[some] * target).sum(axis=2).sum(axis=0)
        dbias += blame[some].sum(axis=2).sum(axis=0)
    dscale *= factor
    slope = (scale * factor)[:, None]
    if not is_training:
        np.multiply(blame, slope, out=dx)
        return [dx.reshape(x.shape), dscale, dbias]
    count = x.dtype.type(x.size // x.shape[1])
    for some in blocks:
        target = dx[some]
        target *= -(dscale * factor / count)[:, None]
        target += blame[some]
        target -= (dbias / count)[:, None]
        target *= slope
    return [dx.reshape(x.shape), dscale, dbias]
