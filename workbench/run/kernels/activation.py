"""Kernels of activation functions; formulas of MindSpore 2.10's operators."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.run.kernels.elementwise import chunked, relu, sigmoid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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


def elu(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Return x where it is positive, else alpha · (exp(x) - 1)."""
    return [_elu(inputs[0], settings["alpha"], 1.0)]


def celu(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Return x where it is positive, else alpha · (exp(x / alpha) - 1)."""
    return [_elu(inputs[0], settings["alpha"], settings["alpha"])]


def selu(x: Array) -> Array:
    """ELU with the alpha that keeps mean and variance, scaled."""
    return np.asarray(_elu(x, _SELU_ALPHA, 1.0) * x.dtype.type(_SELU_SCALE))


def prelu(inputs: Sequence[Array], _settings: Mapping[str, Any]) -> list[Array]:
    """Return x where it is not negative, else weight · x, with one weight for each channel."""
    x, weight = inputs
    if x.ndim > 1:
        weight = weight.reshape(1, -1, *(1,) * (x.ndim - 2))
    return [np.where(x >= 0, x, weight * x)]


def hshrink(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Return 0 between -lambd and lambd, else x."""
    x = inputs[0]
    return [np.where(np.abs(x) <= settings["lambd"], x.dtype.type(0), x)]


def soft_shrink(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Return x moved towards 0 by lambd, or 0."""
    x = inputs[0]
    limit = x.dtype.type(settings["lambd"])
    return [np.asarray(x - np.clip(x, -limit, limit))]


def threshold(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Return x above the threshold, else the value; NaN stays NaN."""
    x = inputs[0]
    kind = x.dtype.type
    return [np.where(x <= settings["threshold"], kind(settings["value"]), x)]
