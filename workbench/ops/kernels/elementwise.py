"""Kernels that treat every element alone."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.ops.kernels.window import is_channels_last

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[Any]


def bias_add_grad(dout: Array, *, data_format: Any) -> Array:
    """Sum over every axis but that of the channels."""
    channels = dout.ndim - 1 if is_channels_last(data_format) else 1
    axes = tuple(axis for axis in range(dout.ndim) if axis != channels)
    return np.asarray(dout.sum(axis=axes))


def sqrt_grad(y: Array, dout: Array) -> Array:
    """Gradient / 2y, of the output."""
    return np.asarray(dout / (y.dtype.type(2) * y))


def rsqrt_grad(y: Array, dout: Array) -> Array:
    """-y³ / 2 times the gradient, of the output."""
    return np.asarray(y.dtype.type(-0.5) * dout * y * y * y)


CHUNK = 32768  # elements; a few scratch arrays of them stay in the second-level cache


def chunked(x: Array, step: Callable[[Array, Array], object]) -> Array:
    """Apply ``step(source, target)`` to pieces that fit the cache."""
    source = np.ascontiguousarray(x).reshape(-1)
    target = np.empty_like(source)
    for start in range(0, source.size, CHUNK):
        step(source[start : start + CHUNK], target[start : start + CHUNK])
    return target.reshape(x.shape)


def kept(values: Array, mask: Array) -> Array:
    """Values where a mask of the same shape is true, else 0.

    Done on bits: a mask without order makes ``np.where`` three times slower, and a product would
    turn infinities into NaN.
    """
    bits = np.ascontiguousarray(values).reshape(-1).view(f"i{values.itemsize}")
    out = np.empty_like(bits)
    for start in range(0, bits.size, CHUNK):
        piece = slice(start, start + CHUNK)
        whole = mask.reshape(-1)[piece].astype(bits.dtype)
        np.negative(whole, out=whole)
        np.bitwise_and(bits[piece], whole, out=out[piece])
    return out.view(values.dtype).reshape(values.shape)


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


_ERF_ABOVE = (2.29050658e-4, 3.40829091e-3, 5.09556957e-2, 0.185208322, 1.12837914)


_ERF_BELOW = (
    -1.17916029e-7,
    2.35479664e-5,
    1.01796253e-3,
    1.40704702e-2,
    0.110985056,
    0.497469272,
    1.0,
)


_ERF_END = np.float32(3.74392116)


def _erf_single(source: Array, target: Array) -> None:
    """Quotient of two polynomials in x² times x: within six units of float32's last place."""
    x = np.clip(source, -_ERF_END, _ERF_END)
    square = x * x
    above, below = (np.full_like(x, terms[0]) for terms in (_ERF_ABOVE, _ERF_BELOW))
    for total, terms in ((above, _ERF_ABOVE), (below, _ERF_BELOW)):
        for term in terms[1:]:
            total *= square
            total += np.float32(term)
    above *= x
    np.divide(above, below, out=target)


def erf(x: Array) -> Array:
    """Error function; in float64 by Taylor expansion at the nearest of equally spaced nodes."""
    if x.dtype == np.float32:
        return chunked(x, _erf_single)
    terms = _erf_terms()

    def step(source: Array, target: Array) -> None:
        size = np.minimum(np.abs(source.astype(np.float64)), _END)
        near = np.rint(size / _STEP)
        index = np.nan_to_num(near).astype(np.intp)
        rest = size - near * _STEP
        total = terms[-1][index]
        for term in terms[-2::-1]:
            total *= rest
            total += term[index]
        target[:] = np.copysign(total, source)

    return chunked(x, step)


def reciprocal(x: Array) -> Array:
    """1 / x."""
    return np.asarray(x.dtype.type(1) / x)


def rsqrt(x: Array) -> Array:
    """1 / √x."""
    return np.asarray(x.dtype.type(1) / np.sqrt(x))


def bias_add(x: Array, bias: Array, *, data_format: Any) -> Array:
    """Add a vector along the axis of the channels."""
    return x + (bias if is_channels_last(data_format) else bias.reshape(-1, *(1,) * (x.ndim - 2)))


def masked_fill(x: Array, mask: Array, value: Array) -> Array:
    """Return the value where the mask is true, else the input."""
    return np.where(mask, value.astype(x.dtype), x)


def cast(x: Array) -> Array:
    """Return the values unchanged: storing them in the output's dtype is the whole operation."""
    return x


def truncated_division(x: Array, y: Array) -> Array:
    """Quotient without its fraction; for integers without a detour over floats."""
    if x.dtype.kind == "f":
        return np.asarray(np.trunc(x / y))
    floor = np.floor_divide(x, y)
    return np.asarray(floor + ((floor < 0) & (np.remainder(x, y) != 0)))


def add_n(first: Array, *others: Array) -> Array:
    """Sum of any number of arrays, from the left."""
    total = first.copy()
    for other in others:
        total += other
    return total


def select(condition: Array, x: Array, y: Array) -> Array:
    """Return the first value where the condition is true, else the second."""
    return np.where(condition, x, y)


def clamp(x: Array, **settings: Any) -> Array:
    """min(max(x, min), max); a bound that is ``None`` does not bind."""
    low, high = (None if settings[k] is None else x.dtype.type(settings[k]) for k in ("min", "max"))
    return x.copy() if low is None and high is None else np.asarray(np.clip(x, low, high))


def round_to(x: Array, *, decimals: Any) -> Array:
    """Nearest multiple of 10^-decimals, ties to even."""
    return np.asarray(np.round(x, int(decimals)))
