"""Kernels that treat every element alone."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Kernel = Callable[[Sequence[Array], Mapping[str, Any]], list[Array]]


def unary(function: Callable[[Array], Array]) -> Kernel:
    """Return the kernel that applies a function of one array."""
    return lambda inputs, _settings: [function(inputs[0])]


def binary(function: Callable[[Array, Array], Array]) -> Kernel:
    """Return the kernel that applies a function of two arrays, broadcasting."""
    return lambda inputs, _settings: [function(inputs[0], inputs[1])]


def relu(x: Array) -> Array:
    """max(x, 0); NaN stays NaN."""
    return np.asarray(np.maximum(x, x.dtype.type(0)))


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)) without overflow and with full relative accuracy on both sides."""
    small = np.exp(-np.abs(x))
    return np.asarray(np.where(x >= 0, x.dtype.type(1), small) / (1 + small))


def gelu(x: Array) -> Array:
    """x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))), the formula of MindSpore's `GeLU`."""
    kind = x.dtype.type
    inner = x * x
    inner *= kind(0.044715)
    inner += kind(1)
    inner *= x
    inner *= kind(math.sqrt(2 / math.pi))
    np.tanh(inner, out=inner)
    inner += kind(1)
    inner *= x
    inner *= kind(0.5)
    return inner


_STEP = 1 / 32  # distance of the nodes of `erf`; eight terms then reach float64's last bit
_END = 6.0  # erf is 1 in float64 from here on


@lru_cache(maxsize=1)
def _erf_terms() -> list[NDArray[np.float64]]:
    """Taylor coefficients of erf at the nodes, one array for each power.

    The derivatives follow from g = erf': g⁽ⁿ⁺¹⁾ = -2x g⁽ⁿ⁾ - 2n g⁽ⁿ⁻¹⁾.
    """
    nodes = np.arange(0, _END + 2 * _STEP, _STEP)
    terms = [np.array([math.erf(node) for node in nodes])]
    before, here = np.zeros_like(nodes), 2 / math.sqrt(math.pi) * np.exp(-nodes * nodes)
    for power in range(1, 9):
        terms.append(here / math.factorial(power))
        before, here = here, -2 * nodes * here - 2 * (power - 1) * before
    return terms


def erf(x: Array) -> Array:
    """Error function, by Taylor expansion at the nearest of equally spaced nodes."""
    size = np.minimum(np.abs(x.astype(np.float64)), _END)
    near = np.rint(size / _STEP)
    index = np.nan_to_num(near).astype(np.intp)
    rest = size - near * _STEP
    terms = _erf_terms()
    total = terms[-1][index]
    for term in terms[-2::-1]:
        total = total * rest + term[index]
    return np.copysign(total, x).astype(x.dtype)


def rsqrt(x: Array) -> Array:
    """1 / √x."""
    return np.asarray(x.dtype.type(1) / np.sqrt(x))


def bias_add(inputs: Sequence[Array], _settings: Mapping[str, Any]) -> list[Array]:
    """Add a vector along axis 1."""
    x, bias = inputs
    return [x + bias.reshape(1, -1, *(1,) * (x.ndim - 2))]


def masked_fill(inputs: Sequence[Array], _settings: Mapping[str, Any]) -> list[Array]:
    """Return the value where the mask is true, else the input."""
    x, mask, value = inputs
    return [np.where(mask, value.astype(x.dtype), x)]


def cast(inputs: Sequence[Array], _settings: Mapping[str, Any]) -> list[Array]:
    """Return the values unchanged: storing them in the output's dtype is the whole operation."""
    return [inputs[0]]
