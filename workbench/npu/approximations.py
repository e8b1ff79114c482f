"""Fast implementations of vector operators, by the modes of ``op_precision_mode``.

``high_precision`` is the kernel itself, rounded once. ``high_performance`` costs less and keeps a
float16 result within about its last bit, which is the vendor's definition; ``super_performance``
takes the estimates of the hardware as they are. Formulas are ours unless a source is given, bounds
are checked over all float16 numbers by `tests/npu/test_approximations.py`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[Any]
    F32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Approximation:
    """A fast implementation: its function of arrays, its largest error, where it comes from.

    ``bound`` is relative to the exact result, or absolute if it says so.
    """

    compute: Callable[..., F32]
    bound: float
    source: str = "ours"
    absolute: bool = False


_CHUNK = 32768  # elements; what is made on the way stays in the second-level cache


def _in_pieces(function: Callable[[F32], F32]) -> Callable[[Array], F32]:
    """Return the function of an array that computes it piece by piece."""

    def whole(x: Array) -> F32:
        source = np.ascontiguousarray(x, np.float32).reshape(-1)
        target = np.empty_like(source)
        for start in range(0, source.size, _CHUNK):
            piece = slice(start, start + _CHUNK)
            target[piece] = function(source[piece])
        return target.reshape(x.shape)

    return whole


def _single(x: Array) -> F32:
    return x.astype(np.float32, copy=False)


def _segment_end(x: F32) -> F32:
    """Upper end of the segment that a table of eight mantissa bits puts a number into."""
    filled = (x.view(np.uint32) | np.uint32(0x7FFF)).view(np.float32)
    return np.where(np.isfinite(x) & (x != 0), filled, x)


def reciprocal_estimate(x: Array) -> F32:
    """1/x from a table of eight bits: up to 2^-8 too small."""
    return np.asarray(np.float32(1) / _segment_end(_single(x)))


def rsqrt_estimate(x: Array) -> F32:
    """1/√x from a table of eight bits: up to 2^-9 too small, 0.998 for 1."""
    return np.asarray(np.float32(1) / np.sqrt(_segment_end(_single(x))))


def _usable(guess: F32) -> NDArray[np.bool_]:
    """Whether a Newton step can improve a guess."""
    return np.asarray(np.isfinite(guess) & (guess != 0))


def reciprocal(x: Array) -> F32:
    """1/x: the estimate after one Newton step."""
    guess = reciprocal_estimate(x)
    better = guess * (np.float32(2) - _single(x) * guess)
    return np.where(_usable(guess), better, guess)


def rsqrt(x: Array) -> F32:
    """1/√x: the estimate after one Newton step."""
    guess = rsqrt_estimate(x)
    better = guess * (np.float32(1.5) - np.float32(0.5) * _single(x) * guess * guess)
    return np.where(_usable(guess), better, guess)


def _power(x: Array, *coefficients: float) -> F32:
    """e^x as 2^k · p(f): k the nearest integer of x / ln 2, f what is left of it."""
    scaled = _single(x) * np.float32(1 / math.log(2))
    whole = np.clip(np.rint(scaled), np.float32(-160), np.float32(160))
    scaled -= whole
    rest = np.clip(scaled, np.float32(-0.5), np.float32(0.5), out=scaled)  # of infinities
    total = rest * np.float32(coefficients[0])
    for coefficient in coefficients[1:-1]:
        total += np.float32(coefficient)
        total *= rest
    total += np.float32(coefficients[-1])
    exponent = whole.astype(np.int32)  # of NaN anything
    first = np.clip(exponent, -126, 127)
    total *= _two_to(first)
    exponent -= first
    total *= _two_to(np.clip(exponent, -126, 127))
    return total


def _two_to(exponent: NDArray[np.int32]) -> F32:
    """2^k, by the bits of float32; k from -126 to 127."""
    return ((exponent + np.int32(127)) << np.int32(23)).view(np.float32)


def exp(x: Array) -> F32:
    """e^x with a polynomial of third degree between the powers of two."""
    return _power(x, 0.0551717, 0.2426112, 0.693261, 0.9999281)


def exp_quadratic(x: Array) -> F32:
    """e^x with a parabola between the powers of two."""
    return _power(x, 0.2384289, 0.7034482, 1.0004432)


def tanh(x: Array) -> F32:
    """Seventh convergent of tanh's continued fraction, cut at 1."""
    x = _single(x)
    near = np.clip(x, -5.5, 5.5)
    square = near * near
    top = near * (135135 + square * (17325 + square * (378 + square)))
    low = 135135 + square * (62370 + square * (3150 + square * 28))
    return np.asarray(np.clip(top / low, -1, 1))


def tanh_cubic(x: Array) -> F32:
    """Third convergent of tanh's continued fraction, x (27 + x²) / (27 + 9x²), cut at 1."""
    near = np.clip(_single(x), -3, 3)
    square = near * near
    return np.asarray(near * (27 + square) / (27 + 9 * square))


def gelu(x: Array) -> F32:
    """X / (1 + e^(-2u)), u = √(2/π) (x + 0.044715 x³), of the fast exponential and reciprocal."""
    x = _single(x)
    inner = np.float32(-2 * math.sqrt(2 / math.pi)) * x * (1 + np.float32(0.044715) * x * x)
    return np.where(np.isneginf(x), np.float32(0), x * reciprocal(1 + exp(inner)))


def gelu_sigmoid(x: Array) -> F32:
    """X / (1 + e^(-1.702 x)), the formula of the operator FastGelu."""
    x = _single(x)
    bell = np.exp(np.float32(-1.702) * x)
    return np.where(np.isneginf(x), np.float32(0), x / (1 + bell))


_TIK = "TIK's vec_rec and vec_rsqrt, whose documents print 0.998 for 1 and deny 0.1 % in float16"

EXP = {
    "high_performance": Approximation(_in_pieces(exp), 2.0**-13),
    "super_performance": Approximation(_in_pieces(exp_quadratic), 2.0**-9),
}
GELU = {
    "high_performance": Approximation(_in_pieces(gelu), 2.0**-12),
    "super_performance": Approximation(
        _in_pieces(gelu_sigmoid), 0.0207, "CANN's FastGelu", absolute=True
    ),
}
TANH = {
    "high_performance": Approximation(_in_pieces(tanh), 2.0**-13),
    "super_performance": Approximation(_in_pieces(tanh_cubic), 2.0**-5),
}
RSQRT = {
    "high_performance": Approximation(_in_pieces(rsqrt), 2.0**-15),
    "super_performance": Approximation(_in_pieces(rsqrt_estimate), 2.0**-9, _TIK),
}
DIV = {
    "high_performance": Approximation(lambda x, y: _single(x) * reciprocal(y), 2.0**-15),
    "super_performance": Approximation(
        lambda x, y: _single(x) * reciprocal_estimate(y), 2.0**-8, _TIK
    ),
}
"""Fast implementations of an operator, by mode; `workbench.npu.ops_info` says which operator has which."""
