"""Gradients of what treats every element alone; formulas of MindSpore 2.10's operators."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.run.kernels.elementwise import kept
from workbench.run.kernels.elementwise import sigmoid as forward_sigmoid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]

_CHUNK = 8192  # elements; what is made on the way stays in the cache


def bias_add(inputs: Sequence[Array], _settings: Mapping[str, Any]) -> list[Array]:
    """Sum over every axis but axis 1."""
    dout = inputs[0]
    axes = tuple(axis for axis in range(dout.ndim) if axis != 1)
    return [np.asarray(dout.sum(axis=axes))]


def relu(dout: Array, x: Array) -> Array:
    """Return the gradient where x (or the output) is above 0."""
    return kept(dout, x > 0)


def sigmoid(y: Array, dout: Array) -> Array:
    """Gradient · y · (1 - y), of the output."""
    return np.asarray(dout * y * (y.dtype.type(1) - y))


def tanh(y: Array, dout: Array) -> Array:
    """Gradient · (1 - y²), of the output."""
    return np.asarray(dout * (y.dtype.type(1) - y * y))


def relu6(dout: Array, x: Array) -> Array:
    """Return the gradient where x is above 0 and at most 6."""
    return kept(dout, (x > 0) & (x <= 6))


def elu(dout: Array, out: Array) -> Array:
    """Gradient, times 1 + out where the output is not positive (alpha is 1)."""
    kind = dout.dtype.type
    return np.asarray(dout * np.where(out > 0, kind(1), out + kind(1)))


def silu(dout: Array, x: Array) -> Array:
    """Gradient · s · (1 + x · (1 - s)), s = sigmoid(x)."""
    share, one = forward_sigmoid(x), x.dtype.type(1)
    return np.asarray(dout * share * (one + x * (one - share)))


def hswish(dout: Array, x: Array) -> Array:
    """Gradient, times (2x + 3) / 6 from -3 to 3, and nothing below."""
    kind = x.dtype.type
    slope = np.where(x < -3, kind(0), (kind(2) * x + kind(3)) / kind(6))
    return np.asarray(dout * np.where(x > 3, kind(1), slope))


def hsigmoid(dout: Array, x: Array) -> Array:
    """Gradient / 6 between -3 and 3."""
    kind = x.dtype.type
    return np.asarray(np.where((x > -3) & (x < 3), dout / kind(6), kind(0)))


def gelu(inputs: Sequence[Array], _settings: Mapping[str, Any]) -> list[Array]:
    """Gradient of the formula with the hyperbolic tangent; the output is not read."""
    dout, x = (np.ascontiguousarray(array).reshape(-1) for array in inputs[:2])
    out = np.empty_like(dout)
    for start in range(0, out.size, _CHUNK):
        piece = slice(start, start + _CHUNK)
        np.multiply(dout[piece], _gelu_slope(x[piece]), out=out[piece])
    return [out.reshape(inputs[0].shape)]


def _gelu_slope(x: Array) -> Array:
    """(1 + t + x · (1 - t²) · u') / 2, t = tanh(u), u = √(2/π) · (x + 0.044715 x³)."""
    kind = x.dtype.type
    scale = kind(math.sqrt(2 / math.pi))
    slope = x * x
    bent = kind(0.044715) * slope
    bent += kind(1)
    bent *= x
    bent *= scale
    np.tanh(bent, out=bent)
    slope *= scale * kind(3 * 0.044715)
    slope += scale
    slope *= x
    slope *= kind(1) - bent * bent
    slope += bent
    slope += kind(1)
    slope *= kind(0.5)
    return slope


def softplus(dout: Array, x: Array) -> Array:
    """Gradient · sigmoid(x)."""
    return np.asarray(dout * forward_sigmoid(x))


def prelu(inputs: Sequence[Array], _settings: Mapping[str, Any]) -> list[Array]:
    """Gradients of x and of the weight, of which every channel has one or all the same."""
    dout, x, weight = inputs
    slope = weight.reshape(1, -1, *(1,) * (x.ndim - 2)) if x.ndim > 1 else weight
    dx = np.where(x > 0, dout, slope * dout)
    below = np.where(x > 0, x.dtype.type(0), x * dout)
    axes = tuple(axis for axis in range(x.ndim) if axis != 1 or weight.size == 1)
    return [dx, np.asarray(below.sum(axis=axes)).reshape(weight.shape)]


def sqrt(y: Array, dout: Array) -> Array:
    """Gradient / 2y, of the output."""
    return np.asarray(dout / (y.dtype.type(2) * y))


def rsqrt(y: Array, dout: Array) -> Array:
    """-y³ / 2 times the gradient, of the output."""
    return np.asarray(y.dtype.type(-0.5) * dout * y * y * y)
