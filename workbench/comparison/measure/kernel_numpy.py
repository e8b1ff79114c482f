"""The NumPy kernel: tuned chunks that stay in the L2 cache, nothing compiled, no BLAS threads.

A chunk lies in the rows of one work matrix, so that one call serves several rows. Every element is
widened to float64; 64-bit integers to a pair of float64 whose sum is exact, so that a difference of
1 near 2⁶⁰ survives. Products of rows use BLAS, one matrix product for short rows and dot products
for long ones, both below the size at which OpenBLAS starts threads: a second thread spins, and
costs more than it gives here. ``tests/comparison/measure/test_kernels.py`` holds this kernel and the compiled
one against each other and against exact arithmetic.
"""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any, ClassVar

import ml_dtypes
import numpy as np

from workbench.comparison.measure.metrics import (
    FIVE_THOUSANDTHS,
    NEAR_ZERO,
    ONE_THOUSANDTH,
    Sums,
    moments,
)
from workbench.comparison.measure.slices import Gatherer, may_be_off

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.comparison.measure.slices import Grid

    Floats = NDArray[np.float64]

CHUNK = 16384
_SHORT = 2048
_PIECE = 8192
_CANCELS = 1e-3
_FEW = 1024
_BOUNDS = np.array([[ONE_THOUSANDTH], [FIVE_THOUSANDTHS]])
_HALF_BITS = np.int32(-0x70000001)
_HALF_BIAS = np.float32(2.0**112)
_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_LARGEST_WHOLE = {"i": 2.0**63 - 1024, "u": 2.0**64 - 2048}

# Rows of the work matrix; golden and difference become magnitudes on the way.
_ONES, _T, _G, _D, _RATIO = range(5)
_SIDES = slice(_T, _G + 1)
_ALL = slice(_T, _D + 1)
_MAGNITUDES = slice(_G, _D + 1)
_ERRORS = slice(_D, _RATIO + 1)


class _Workspace(threading.local):
    """Buffers of one thread, reused by every chunk."""

    def __init__(self) -> None:
        self.rows = np.empty((5, CHUNK))
        self.rows[_ONES] = 1.0
        self.bits = np.empty(CHUNK, np.int32)
        self.masks = np.empty((2, CHUNK), np.bool_)
        self.least = np.full(CHUNK, 2.0**-1022)  # dividing by subnormals would be slow


_work = _Workspace()


def _dot(a: Floats, b: Floats) -> float:
    if a.size <= _PIECE:
        return float(a @ b)
    return float(a[:_PIECE] @ b[:_PIECE]) + float(a[_PIECE:] @ b[_PIECE:])


def _products(rows: Floats) -> tuple[float, ...]:
    """Return t·t, g·g, d·d, t·g, the plain sums of t and g, and d·g."""
    if rows.shape[1] <= _SHORT:
        t, g, d = np.matmul(rows[_ALL], rows[: _D + 1].T).tolist()
        return t[_T], g[_G], d[_D], t[_G], t[_ONES], g[_ONES], d[_G]
    ones, t, g, d, _ = rows
    gg, dg = _dot(g, g), _dot(d, g)
    near = abs(dg) <= 0.5 * gg  # no digits are lost then, and one pass is spared
    tg = gg + dg if near else _dot(t, g)
    return _dot(t, t), gg, _dot(d, d), tg, _dot(t, ones), _dot(g, ones), dg


def _weighted_square(rows: Floats) -> float:
    """Return Σ(d·g)², what the sum of d·g scatters by; the row of relative errors is lost."""
    weighted = np.multiply(rows[_D], rows[_G], out=rows[_RATIO])
    return _dot(weighted, weighted)


def _totals(rows: Floats) -> list[float]:
    """Return the sums of absolute and relative errors."""
    if rows.shape[1] <= _SHORT:
        return np.matmul(rows[_ERRORS], rows[_ONES]).tolist()  # type: ignore[no-any-return]
    return [_dot(rows[_D], rows[_ONES]), _dot(rows[_RATIO], rows[_ONES])]


def widen(x: NDArray[Any], out: NDArray[Any]) -> None:
    """Put ``x`` into the floats ``out``, bool as 0 and 1, formats of ml_dtypes by their value."""
    if x.dtype == _BFLOAT16:
        bits = np.left_shift(x.view(np.uint16), 16, dtype=np.uint32)
        np.copyto(out, bits.view(np.float32))
    elif x.dtype == np.bool_:
        np.copyto(out, x.view(np.uint8) != 0)  # a file may hold bytes other than 0 and 1
    elif x.dtype.kind == "V":
        np.copyto(out, x.astype(np.float32))
    elif x.dtype != np.float16 or not _widen_half(x, out):
        np.copyto(out, x)


def _widen_half(x: NDArray[Any], out: NDArray[Any]) -> bool:
    """Put float16 into ``out`` by integer steps, exact and twice as fast as a cast.

    Moves exponent and mantissa to their places in float32 and corrects the bias by a product.
    Returns False if that is wrong because there are NaN or Inf, or too few elements to pay.
    """
    if not _FEW < x.size <= CHUNK:
        return False
    bits = _work.bits[: x.size]
    np.copyto(bits, x.view(np.int16))
    np.left_shift(bits, 13, out=bits)
    np.bitwise_and(bits, _HALF_BITS, out=bits)
    floats = bits.view(np.float32)
    np.multiply(floats, _HALF_BIAS, out=floats)
    if np.maximum.reduce(floats) >= 65536 or np.minimum.reduce(floats) <= -65536:
        return False
    np.copyto(out, floats)
    return True


def widen_pair(target: NDArray[Any], golden: NDArray[Any], t: Floats, g: Floats, d: Floats) -> None:
    """Put both sides as float64 into ``t`` and ``g``, their difference into ``d``.

    64-bit integers are rounded, but their differences are exact to the last bit of float64.
    """
    widen(target, t)
    widen(golden, g)
    if target.dtype.itemsize < 8 and golden.dtype.itemsize < 8:
        np.subtract(t, g, out=d)
        return
    rest = _remainder(target, t) - _remainder(golden, g)
    np.subtract(t, g, out=d)
    d += rest


def _remainder(x: NDArray[Any], rounded: Floats) -> Floats | float:
    """Return what `widen` rounded away of 64-bit integers; exact."""
    if x.dtype.kind not in "iu" or x.dtype.itemsize < 8:
        return 0.0
    # the largest float64 below the type's limit keeps the cast back defined
    whole = np.minimum(rounded, _LARGEST_WHOLE[x.dtype.kind], out=rounded)
    return np.asarray((x - whole.astype(x.dtype)).view(np.int64), np.float64)


def _more(a: Floats, b: Floats, bound: float) -> int:
    """Return how many more elements of ``a`` than of ``b`` are below ``bound``."""
    return int(np.count_nonzero(a < bound)) - int(np.count_nonzero(b < bound))


def _finite_sizes(rows: Floats) -> Floats:
    """Return |g| and |d| (2, n), 0 where either side is not finite."""
    sizes = np.abs(rows[_MAGNITUDES])
    sizes[:, ~np.isfinite(sizes[1])] = 0.0
    return sizes


class _Side:
    """Running description of one side."""

    __slots__ = ("count", "high", "low", "m2", "mean", "nan", "neg_inf", "pos_inf", "zero")

    def __init__(self) -> None:
        self.count = self.nan = self.pos_inf = self.neg_inf = self.zero = 0
        self.low, self.high = math.inf, -math.inf
        self.mean = self.m2 = 0.0

    def describe(self, x: Floats, low: float, high: float, plain: float, square: float) -> None:
        """Add finite elements, given their extremes, sum and sum of squares."""
        count = x.size
        if low < self.low:
            self.low = low
        if high > self.high:
            self.high = high
        mean = plain / count
        m2 = square - count * mean * mean
        if not m2 > _CANCELS * square:
            rest = x - mean
            m2 = _dot(rest, rest)
        if self.count:
            mean, m2 = moments(self.count, self.mean, self.m2, count, mean, m2)
        self.mean, self.m2 = mean, m2
        self.count += count

    def sift(self, x: Floats) -> NDArray[np.bool_]:
        """Count what is not finite, describe the rest, and return where the rest is."""
        finite = np.isfinite(x)
        self.nan += int(np.count_nonzero(np.isnan(x)))
        self.pos_inf += int(np.count_nonzero(x == np.inf))
        self.neg_inf += int(np.count_nonzero(x == -np.inf))
        rest = x[finite]
        if rest.size:
            self.zero += int(np.count_nonzero(rest == 0.0))
            plain, square = float(np.add.reduce(rest)), _dot(rest, rest)
            self.describe(rest, float(rest.min()), float(rest.max()), plain, square)
        return finite


class NumpyKernel:
    """Gathers `Sums` of equally long pieces of target and golden."""

    parallel: ClassVar[bool] = False

    def __init__(self, grid: Grid | None = None, least: float = -1.0) -> None:
        self._least = least
        self._slices = Gatherer(grid) if grid is not None else None
        self._target, self._golden = _Side(), _Side()
        self._size = self._finite = self._infinite_agree = 0
        self._within_one = self._within_five = 0
        self._worst = -1
        self._tg = self._tt = self._gg = self._square = self._absolute = 0.0
        self._absolute_max = self._relative = self._relative_max = 0.0
        self._small = self._small_max = 0.0
        self._dg = self._weighted_square = 0.0

    def add(self, target: NDArray[Any], golden: NDArray[Any], start: int) -> None:
        """Add real 1-D pieces whose first element has the flat index ``start``."""
        with np.errstate(all="ignore"):
            for at in range(0, target.size, CHUNK):
                self._chunk(target[at : at + CHUNK], golden[at : at + CHUNK], start + at)

    def add_slices(self, target: NDArray[Any], golden: NDArray[Any], start: int) -> None:
        """Add real 1-D pieces to the slices alone."""
        assert self._slices is not None
        with np.errstate(all="ignore"):
            for at in range(0, target.size, CHUNK):
                part = slice(at, at + CHUNK)
                rows = _work.rows[:, : target[part].size]
                widen_pair(target[part], golden[part], rows[_T], rows[_G], rows[_D])
                self._slices.add(_finite_sizes(rows), start + at)

    def _chunk(self, target: NDArray[Any], golden: NDArray[Any], start: int) -> None:
        size = target.size
        self._size += size
        rows = _work.rows[:, :size]
        t, g = rows[_T], rows[_G]
        widen_pair(target, golden, t, g, rows[_D])
        products = _products(rows)
        tt, gg, square, _, plain_t, plain_g, _ = products
        if not math.isfinite(tt + gg + square):
            self._sift(rows, start)
            return
        low_t, low_g = np.minimum.reduce(rows[_SIDES], axis=1).tolist()
        high_t, high_g = np.maximum.reduce(rows[_SIDES], axis=1).tolist()
        if low_t <= 0.0 <= high_t or low_g <= 0.0 <= high_g:
            zeros = np.equal(rows[_SIDES], 0.0, out=_work.masks[:, :size])
            self._target.zero += int(np.count_nonzero(zeros[0]))
            self._golden.zero += int(np.count_nonzero(zeros[1]))
        self._target.describe(t, low_t, high_t, plain_t, tt)
        self._golden.describe(g, low_g, high_g, plain_g, gg)
        self._compare(rows, products, start)
        self._add_slices(rows[_MAGNITUDES], start)  # comparing leaves magnitudes

    def _add_slices(self, sizes: Floats, start: int) -> None:
        """Add |g| and |d|, which were compared, to the slices, unless none can be off by enough."""
        if self._slices is None:
            return
        if may_be_off(self._relative_max, self._small_max, self._least):
            self._slices.add(sizes, start)
        else:
            self._slices.skip(start, sizes.shape[1])

    def _sift(self, rows: Floats, start: int) -> None:
        """Handle a chunk with values that are not finite, or with squares that overflow."""
        sizes = _finite_sizes(rows)
        t, g = rows[_T], rows[_G]
        both = self._target.sift(t) & self._golden.sift(g)
        self._infinite_agree += int(np.count_nonzero(np.isinf(t) & (t == g)))
        kept = rows[_ALL, both]
        if kept.size:
            rest = _work.rows[:, : kept.shape[1]]
            rest[_ALL] = kept
            self._compare(rest, _products(rest), start, np.flatnonzero(both))
        self._add_slices(sizes, start)

    def _compare(
        self,
        rows: Floats,
        products: tuple[float, ...],
        start: int,
        places: NDArray[np.intp] | None = None,
    ) -> None:
        """Add jointly finite elements; ``places`` are their indices, if some were left out."""
        size = rows.shape[1]
        self._finite += size
        self._tt += products[0]
        self._gg += products[1]
        self._square += products[2]
        self._tg += products[3]
        if products[2] == 0.0 and not rows[_D].any():
            np.abs(rows[_G], out=rows[_G])
            self._within_one += size
            self._within_five += size
            return
        self._dg += products[6]
        self._weighted_square += _weighted_square(rows)
        np.abs(rows[_MAGNITUDES], out=rows[_MAGNITUDES])
        self._relate(rows)
        most, relative_max = np.maximum.reduce(rows[_ERRORS], axis=1).tolist()
        absolute, relative = _totals(rows)
        self._absolute += absolute
        self._relative += relative
        self._relative_max = max(self._relative_max, relative_max)
        if most > self._absolute_max:
            self._absolute_max = most
            at = int(rows[_D].argmax())
            self._worst = start + (at if places is None else int(places[at]))

    def _relate(self, rows: Floats) -> None:
        """Fill the row of relative errors and count the small ones."""
        g, d, ratio = rows[_G], rows[_D], rows[_RATIO]
        masks = _work.masks[:, : g.size]
        near = bool(np.minimum.reduce(g) <= NEAR_ZERO)
        if near:  # makes 0/0 agreement; `_near_zero` puts the others right
            np.divide(d, np.maximum(g, _work.least[: g.size], out=ratio), out=ratio)
        else:
            np.divide(d, g, out=ratio)
        np.less(ratio, _BOUNDS, out=masks)
        self._within_one += int(np.count_nonzero(masks[0]))
        self._within_five += int(np.count_nonzero(masks[1]))
        if near:
            self._near_zero(g, d, ratio)

    def _near_zero(self, g: Floats, d: Floats, ratio: Floats) -> None:
        """Move errors whose golden is too near to 0 from the relative ones to the small ones.

        Mostly there are none, as both sides are 0 behind a ReLU.
        """
        wrong, other = _work.masks[:, : g.size]
        np.less_equal(g, NEAR_ZERO, out=wrong)
        wrong &= np.not_equal(d, 0.0, out=other)
        if wrong.any():
            errors, divisors, wide = d[wrong], g[wrong], ratio[wrong]
            true = errors / divisors
            self._within_one += _more(true, wide, ONE_THOUSANDTH)
            self._within_five += _more(true, wide, FIVE_THOUSANDTHS)
            self._small += float(np.add.reduce(errors))
            self._small_max = max(self._small_max, float(np.maximum.reduce(errors)))
            ratio[wrong] = 0.0

    def sums(self) -> Sums:
        """Everything gathered so far."""
        t, g = self._target, self._golden
        return Sums(
            self._size,
            self._finite,
            self._infinite_agree,
            t.nan,
            t.pos_inf,
            t.neg_inf,
            t.zero,
            g.nan,
            g.pos_inf,
            g.neg_inf,
            g.zero,
            self._within_one,
            self._within_five,
            self._worst,
            t.low,
            t.high,
            t.mean,
            t.m2,
            g.low,
            g.high,
            g.mean,
            g.m2,
            self._tg,
            self._tt,
            self._gg,
            self._square,
            self._absolute,
            self._absolute_max,
            self._relative,
            self._relative_max,
            self._small,
            self._small_max,
            self._dg,
            self._weighted_square,
            self._slices.sums() if self._slices is not None else None,
        )
