"""Gradients of what shifts and scales by means and variances."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.run.kernels.matrix import together

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]


def log_softmax(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Gradient - exp(output) · sum of the gradients along the axis."""
    out, dout = inputs
    total = dout.sum(axis=int(settings["axis"]), keepdims=True)
    return [np.asarray(dout - np.exp(out) * total)]


def _centered(scaled: Array, normal: Array) -> Array:
    """What reaches a normalized row: its own, less its mean and its share along the row."""
    count = scaled.dtype.type(scaled.shape[-1])
    along = (scaled * normal).sum(axis=-1, keepdims=True) / count
    out = normal * -along
    out += scaled
    out -= scaled.sum(axis=-1, keepdims=True) / count
    return np.asarray(out)


def layer_norm(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Return gradients of x, gamma and beta, of the moments that the forward operator found."""
    x, dout, variance, mean, gamma = inputs
    begin = int(settings["begin_norm_axis"]) % x.ndim
    first = int(settings["begin_params_axis"]) % x.ndim
    rows = math.prod(x.shape[:begin])
    factor = x.dtype.type(1) / np.sqrt(variance + x.dtype.type(settings["epsilon"]))
    normal = (x - mean) * factor
    dx = _centered((dout * gamma).reshape(rows, -1), normal.reshape(rows, -1))
    dx *= factor.reshape(rows, 1)
    axes = tuple(range(first))
    return [dx.reshape(x.shape), (dout * normal).sum(axis=axes), dout.sum(axis=axes)]


def rms_norm(inputs: Sequence[Array], _settings: Mapping[str, Any]) -> list[Array]:
    """Return gradients of x and gamma; ``rstd`` is the factor of the forward operator."""
    dout, x, rstd, gamma = inputs
    inner = tuple(range(x.ndim - gamma.ndim, x.ndim))
    normal, scaled = x * rstd, dout * gamma
    along = np.mean(scaled * normal, axis=inner, keepdims=True)
    outer = tuple(range(x.ndim - gamma.ndim))
    return [rstd * (scaled - normal * along), (dout * normal).sum(axis=outer)]


def group_norm(inputs: Sequence[Array], _settings: Mapping[str, Any]) -> list[Array]:
    """Return gradients of x, weight and bias, of mean and 1 / deviation of every group."""
    dout, x, mean, rstd, gamma = inputs
    view, rows = (1, -1, *(1,) * (x.ndim - 2)), mean.size
    factor = rstd.reshape(rows, 1)
    normal = (x.reshape(rows, -1) - mean.reshape(rows, 1)) * factor
    scaled = (dout * gamma.reshape(view)).reshape(rows, -1)
    dx = _centered(scaled, normal) * factor
    axes = (0, *range(2, x.ndim))
    blame = (dout * normal.reshape(x.shape)).sum(axis=axes)
    return [dx.reshape(x.shape), blame, dout.sum(axis=axes)]


def batch_norm(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Return gradients of x, scale and bias.

    In training the saved moments are those of the batch and depend on x; otherwise they are given
    and do not.
    """
    dout, x, scale, mean, variance, _ = inputs
    factor = scale.dtype.type(1) / np.sqrt(variance + scale.dtype.type(settings["epsilon"]))
    rows, blame = (one.reshape(*x.shape[:2], -1) for one in (x, dout))
    dx, dscale, dbias = np.empty_like(rows), np.zeros_like(scale), np.zeros_like(scale)
    blocks = list(together(len(x), rows[:1].size))
    for some in blocks:
        target = np.subtract(rows[some], mean[:, None], out=dx[some])
        dscale += (blame[some] * target).sum(axis=2).sum(axis=0)
        dbias += blame[some].sum(axis=2).sum(axis=0)
    dscale *= factor
    slope = (scale * factor)[:, None]
    if not settings["is_training"]:
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
