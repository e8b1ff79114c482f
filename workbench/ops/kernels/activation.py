"""Kernels of activation functions and their gradients; formulas of MindSpore 2.10's operators."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.ops.kernels.elementwise import CHUNK, chunked, kept

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


_SELU_ALPHA = 1.6732632423543772848170429916717


_SELU_SCALE = 1.0507009873554804934193349852946


def gelu(x: Array) -> Array:
    """x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))), the formula of MindSpore's `GeLU`."""
    kind = x.dtype.type

    def step(source: Array, target: Array) -> None:
        np.multiply(source, source, out=target)
        target *= kind(0.044715)
        target += kind(1)
        target *= source
        target *= kind(math.sqrt(2 / math.pi))
        np.tanh(target, out=target)
        target += kind(1)
        target *= source
        target *= kind(0.5)

    return chunked(x, step)


def relu6(x: Array) -> Array:
    """min(max(x, 0), 6)."""
    kind = x.dtype.type
    return np.asarray(np.minimum(relu(x), kind(6)))


def silu(x: Array) -> Array:
    """X · sigmoid(x)."""
    return np.asarray(x * sigmoid(x))


def hsigmoid(x: Array) -> Array:
    """ReLU6(x + 3) / 6."""
    kind = x.dtype.type
    return np.asarray(relu6(x + kind(3)) / kind(6))


def hswish(x: Array) -> Array:
    """X · ReLU6(x + 3) / 6."""
    kind = x.dtype.type
    return np.asarray(x * relu6(x + kind(3)) / kind(6))


def softplus(x: Array) -> Array:
    """log(1 + exp(x)), without overflow."""
    return np.asarray(np.logaddexp(x.dtype.type(0), x))


def softsign(x: Array) -> Array:
    """X / (1 + |x|)."""
    return np.asarray(x / (x.dtype.type(1) + np.abs(x)))


def mish(x: Array) -> Array:
    """X · tanh(softplus(x))."""
    return np.asarray(x * np.tanh(softplus(x)))


def _elu(x: Array, alpha: float, slope: float) -> Array:
    kind = x.dtype.type
    bent = np.expm1(np.minimum(x, kind(0)) / kind(slope))
    return np.where(x > 0, x, kind(alpha) * bent)


def elu(x: Array, *, alpha: Any) -> Array:
    """Return x where it is positive, else alpha · (exp(x) - 1)."""
    return _elu(x, alpha, 1.0)


def celu(x: Array, *, alpha: Any) -> Array:
    """Return x where it is positive, else alpha · (exp(x / alpha) - 1)."""
    return _elu(x, alpha, alpha)


def selu(x: Array) -> Array:
    """ELU with the alpha that keeps mean and variance, scaled."""
    return np.asarray(_elu(x, _SELU_ALPHA, 1.0) * x.dtype.type(_SELU_SCALE))


def prelu(x: Array, weight: Array) -> Array:
    """Return x where it is not negative, else weight · x, with one weight for each channel."""
    return np.where(x >= 0, x, _by_channel(weight, x) * x)


def _by_channel(weight: Array, x: Array) -> Array:
    """One weight for each channel, or one for all, as it stands beside x."""
    return weight.reshape((1, -1, *(1,) * (x.ndim - 2)) if x.ndim > 1 else ())


def hshrink(x: Array, *, lambd: Any) -> Array:
    """Return 0 between -lambd and lambd, else x."""
    return np.where(np.abs(x) <= lambd, x.dtype.type(0), x)


def soft_shrink(x: Array, *, lambd: Any) -> Array:
    """Return x moved towards 0 by lambd, or 0."""
    limit = x.dtype.type(lambd)
    return np.asarray(x - np.clip(x, -limit, limit))


def threshold(x: Array, *, threshold: Any, value: Any) -> Array:
    """Return x above the threshold, else the value; NaN stays NaN."""
    kind = x.dtype.type
    return np.where(x <= threshold, kind(value), x)


_CHUNK = 8192  # elements; what is made on the way stays in the cache


def relu_grad(dout: Array, x: Array) -> Array:
    """Return the gradient where x (or the output) is above 0."""
    return kept(dout, x > 0)


def sigmoid_grad(y: Array, dout: Array) -> Array:
    """Gradient · y · (1 - y), of the output."""
    return np.asarray(dout * y * (y.dtype.type(1) - y))


def tanh_grad(y: Array, dout: Array) -> Array:
    """Gradient · (1 - y²), of the output."""
    return np.asarray(dout * (y.dtype.type(1) - y * y))


def relu6_grad(dout: Array, x: Array) -> Array:
    """Return the gradient where x is above 0 and at most 6."""
    return kept(dout, (x > 0) & (x <= 6))


def elu_grad(dout: Array, out: Array) -> Array:
    """Gradient, times 1 + out where the output is not positive (alpha is 1)."""
    kind = dout.dtype.type
    return np.asarray(dout * np.where(out > 0, kind(1), out + kind(1)))


def silu_grad(dout: Array, x: Array) -> Array:
    """Gradient · s · (1 + x · (1 - s)), s = sigmoid(x)."""
    share, one = sigmoid(x), x.dtype.type(1)
    return np.asarray(dout * share * (one + x * (one - share)))


def hswish_grad(dout: Array, x: Array) -> Array:
    """Gradient, times (2x + 3) / 6 from -3 to 3, and nothing below."""
    kind = x.dtype.type
    slope = np.where(x < -3, kind(0), (kind(2) * x + kind(3)) / kind(6))
    return np.asarray(dout * np.where(x > 3, kind(1), slope))


def hsigmoid_grad(dout: Array, x: Array) -> Array:
    """Gradient / 6 between -3 and 3."""
    kind = x.dtype.type
    return np.asarray(np.where((x > -3) & (x < 3), dout / kind(6), kind(0)))


def gelu_grad(dy: Array, x: Array, _y: Array) -> Array:
    """Gradient of the formula with the hyperbolic tangent; the output is not read."""
    dout, flat = (np.ascontiguousarray(array).reshape(-1) for array in (dy, x))
    out = np.empty_like(dout)
    for start in range(0, out.size, _CHUNK):
        piece = slice(start, start + _CHUNK)
        np.multiply(dout[piece], _gelu_slope(flat[piece]), out=out[piece])
    return out.reshape(dy.shape)


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


def softplus_grad(dout: Array, x: Array) -> Array:
    """Gradient · sigmoid(x)."""
    return np.asarray(dout * sigmoid(x))


def prelu_grad(dout: Array, x: Array, weight: Array) -> list[Array]:
    """Gradients of x and of the weight, of which every channel has one or all the same."""
    dx = np.where(x > 0, dout, _by_channel(weight, x) * dout)
    below = np.where(x > 0, x.dtype.type(0), x * dout)
    axes = tuple(axis for axis in range(x.ndim) if axis != 1 or weight.size == 1)
    return [dx, np.asarray(below.sum(axis=axes)).reshape(weight.shape)]


def relu(x: Array) -> Array:
    """max(x, 0); NaN stays NaN."""
    zeros = np.zeros(min(x.size, CHUNK), x.dtype)  # NumPy is three times slower with a scalar
    return chunked(x, lambda source, target: np.maximum(source, zeros[: source.size], out=target))


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)) without overflow and with full relative accuracy on both sides."""
    one, zero = x.dtype.type(1), x.dtype.type(0)

    def step(source: Array, target: Array) -> None:
        below = np.exp(-np.abs(source))
        below += one
        np.minimum(source, zero, out=target)
        np.exp(target, out=target)
        target /= below

    return chunked(x, step)
