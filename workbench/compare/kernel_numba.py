"""The compiled kernel: one pass, sums in float64, vectorised by LLVM; imported only when it pays.

What makes it fast, none of it obvious: floats are compared through integers that keep their order,
because LLVM vectorises integer minima but not float ones, and NaN and Inf show up for free; a share
is counted in floats; blocks stay in the L1 cache; a block with NaN or Inf is redone element by
element. Everything is widened to float32 if both sides fit it exactly, else to float64, so that two
versions of the code serve all pairs of types. The definitions are those of
`workbench.compare.metrics`; ``tests/compare/test_kernels.py`` holds both kernels together.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numba
import numpy as np

from workbench.compare.kernel_numpy import NumpyKernel, exact_difference
from workbench.compare.metrics import FIVE_THOUSANDTHS, NEAR_ZERO, ONE_THOUSANDTH, Sums

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

CHUNK = 65536
_BLOCK = 4096
_CANCELS = 1e-3
_FIT_FLOAT32 = frozenset("?bBhHef")
_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

(
    _SIZE,
    _FINITE,
    _INFINITE_AGREE,
    _NAN_BOTH,
    _NAN,
    _POS_INF,
    _NEG_INF,
    _ZERO,
) = range(8)
_WITHIN_ONE, _WITHIN_FIVE, _WORST = 12, 13, 14
_COUNTS = 15
_SIDE = 4
"""Distance between a field of the target and the golden's, in counts and in figures."""

_MIN, _MAX, _MEAN, _M2 = range(4)
(
    _TG,
    _TT,
    _GG,
    _SQUARE,
    _ABSOLUTE,
    _ABSOLUTE_MAX,
    _RELATIVE,
    _RELATIVE_MAX,
    _SMALL,
    _SMALL_MAX,
) = range(8, 18)
_FIGURES = 18


def _jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on first call; keep the machine code on disk if there is a place to write to."""
    options: dict[str, Any] = {
        "nogil": True,
        "error_model": "numpy",
        "fastmath": {"nsz", "reassoc", "contract"},  # NaN and Inf keep their meaning
    }
    try:
        compiled: Callable[..., Any] = numba.njit(cache=True, **options)(function)
    except RuntimeError:
        compiled = numba.njit(**options)(function)
    return compiled


@_jit
def _extremes(bits, keys):
    """Put minimum and maximum into ``keys``, as bits again, and return the number of zeros.

    Bits are turned into integers that order like the floats, with NaN beyond the infinities; so a
    NaN ends up as minimum or as maximum.
    """
    kind = bits.dtype.type
    mask = kind(2**31 - 1) if bits.itemsize == 4 else kind(2**63 - 1)
    low, high, zeros = mask, kind(~mask), kind(0)
    for i in range(bits.size):
        b = bits[i]
        zeros = kind(zeros + kind(kind(b << kind(1)) == kind(0)))
        key = kind(b ^ mask) if b < kind(0) else b
        low = kind(min(low, key))
        high = kind(max(high, key))
    keys[0] = low ^ mask if low < 0 else low
    keys[1] = high ^ mask if high < 0 else high
    return np.int64(zeros)


@_jit
def _cross(t, g, d, sums):
    """Fill ``sums`` with what both sides give together; all elements are finite."""
    tt = gg = tg = square = absolute = plain_t = plain_g = relative = 0.0
    absolute_max = relative_max = np.int64(0)
    one = five = near = 0.0
    for i in range(t.size):
        x = np.float64(t[i])
        y = np.float64(g[i])
        if d is None:
            e = x - y
        else:
            e = d[i]
        tt += x * x
        gg += y * y
        tg += x * y
        square += e * e
        plain_t += x
        plain_g += y
        e = abs(e)
        absolute += e
        absolute_max = max(absolute_max, np.float64(e).view(np.int64))
        q = abs(y)
        small = q <= NEAR_ZERO
        near += 1.0 if small else 0.0
        r = e / (np.inf if small else q)
        one += 1.0 if r < ONE_THOUSANDTH else 0.0
        five += 1.0 if r < FIVE_THOUSANDTHS else 0.0
        relative += r
        relative_max = max(relative_max, np.float64(r).view(np.int64))
    sums[0], sums[1], sums[2], sums[3], sums[4] = tt, gg, tg, square, absolute
    sums[5], sums[6] = plain_t, plain_g
    sums[7], sums[8] = np.int64(absolute_max).view(np.float64), relative
    sums[9], sums[10], sums[11] = np.int64(relative_max).view(np.float64), one, five
    sums[12] = near


@_jit
def _near_zero(t, g, d, counts, figures):
    """Redo the elements whose golden has no relative error of its own; `_cross` took them as 0."""
    for i in range(t.size):
        y = abs(np.float64(g[i]))
        if y <= NEAR_ZERO:
            if d is None:
                e = abs(np.float64(t[i]) - np.float64(g[i]))
            else:
                e = abs(d[i])
            figures[_SMALL] += e
            figures[_SMALL_MAX] = max(figures[_SMALL_MAX], e)
            counts[_WITHIN_ONE] -= e >= ONE_THOUSANDTH * y and e > 0.0
            counts[_WITHIN_FIVE] -= e >= FIVE_THOUSANDTHS * y and e > 0.0


@_jit
def _describe(x, low, high, zeros, plain, square, side, counts, figures, before):
    """Add the finite elements ``x`` of one side; ``before`` of its elements were added earlier."""
    size = x.size
    counts[side + _ZERO] += zeros
    at = _COUNTS_FREE + side
    figures[at + _MIN] = min(figures[at + _MIN], low)
    figures[at + _MAX] = max(figures[at + _MAX], high)
    mean = plain / size
    m2 = square - size * mean * mean
    if not m2 > _CANCELS * square:
        m2 = 0.0
        for i in range(size):
            e = np.float64(x[i]) - mean
            m2 += e * e
    share = size / (before + size)
    delta = mean - figures[at + _MEAN]
    figures[at + _MEAN] += delta * share
    figures[at + _M2] += m2 + delta * delta * before * share
