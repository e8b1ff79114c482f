"""The NumPy kernel: tuned chunks that stay in the L2 cache, nothing compiled, no BLAS threads.

Every element is widened to float64; 64-bit integers to a pair of float64 whose sum is exact, so
that a difference of 1 near 2⁶⁰ survives. Dot products run in pieces of 8,192 elements, below the
size at which OpenBLAS starts threads (a second thread spins and costs more than it gives here).
``tests/compare/test_kernels.py`` holds this kernel and the compiled one against each other and
against exact arithmetic.
"""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from workbench.compare.metrics import FIVE_THOUSANDTHS, NEAR_ZERO, ONE_THOUSANDTH, Sums, moments

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

CHUNK = 16384
_PIECE = 8192
_CANCELS = 1e-3
_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_LARGEST_WHOLE = {"i": 2.0**63 - 1024, "u": 2.0**64 - 2048}


class _Workspace(threading.local):
    """Buffers of one thread, reused by every chunk."""

    def __init__(self) -> None:
        self.target = np.empty(CHUNK)
        self.golden = np.empty(CHUNK)
        self.difference = np.empty(CHUNK)
        self.spare = np.empty(CHUNK)
        self.mask = np.empty(CHUNK, np.bool_)
        self.ones = np.ones(CHUNK)


_work = _Workspace()


def _dot(a: Floats, b: Floats) -> float:
    size = a.size
    if size <= _PIECE:
        return float(np.dot(a, b))
    return sum(float(np.dot(a[i : i + _PIECE], b[i : i + _PIECE])) for i in range(0, size, _PIECE))


def widen(x: NDArray[Any], out: NDArray[Any]) -> None:
    """Put ``x`` into the floats ``out``, bool as 0 and 1, formats of ml_dtypes by their value."""
    if x.dtype == _BFLOAT16:
        bits = np.left_shift(x.view(np.uint16), 16, dtype=np.uint32)
        np.copyto(out, bits.view(np.float32))
    elif x.dtype == np.bool_:
        np.copyto(out, x.view(np.uint8) != 0)  # a file may hold bytes other than 0 and 1
    elif x.dtype.kind == "V":
        np.copyto(out, x.astype(np.float32))
    else:
        np.copyto(out, x)


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


class _Side:
    """Running description of one side."""

    __slots__ = ("count", "high", "low", "m2", "mean", "nan", "neg_inf", "pos_inf", "zero")

    def __init__(self) -> None:
        self.count = self.nan = self.pos_inf = self.neg_inf = self.zero = 0
        self.low, self.high = math.inf, -math.inf
        self.mean = self.m2 = 0.0

    def describe(self, x: NDArray[Any], wide: Floats, square: float) -> None:
        """Add finite elements: ``wide`` their float64 values, ``x`` these or the stored ones."""
        count = wide.size
        low, high = float(np.minimum.reduce(x)), float(np.maximum.reduce(x))
        if low <= 0.0 <= high:
            self.zero += count - int(np.count_nonzero(np.not_equal(x, 0)))
        self.low, self.high = min(low, self.low), max(high, self.high)
        mean = _dot(wide, _work.ones[:count]) / count
        m2 = square - count * mean * mean
        if not m2 > _CANCELS * square:
            spare = np.subtract(wide, mean, out=_work.spare[:count])
            m2 = _dot(spare, spare)
        self.mean, self.m2 = moments(self.count, self.mean, self.m2, count, mean, m2)
        self.count += count

    def sift(self, wide: Floats) -> NDArray[np.bool_]:
        """Count what is not finite, describe the rest, and return where the rest is."""
        finite = np.isfinite(wide)
        self.nan += int(np.count_nonzero(np.isnan(wide)))
        self.pos_inf += int(np.count_nonzero(wide == np.inf))
        self.neg_inf += int(np.count_nonzero(wide == -np.inf))
        rest = wide[finite]
        if rest.size:
            self.describe(rest, rest, _dot(rest, rest))
        return finite


def _plain(x: NDArray[Any], wide: Floats) -> NDArray[Any]:
    """Return the array in which NumPy finds minimum and zeros fastest."""
    return x if x.dtype.kind in "iu" or x.dtype.char in "fd" else wide


class NumpyKernel:
    """Gathers `Sums` of equally long pieces of target and golden."""

    def __init__(self) -> None:
        self._target, self._golden = _Side(), _Side()
        self._size = self._finite = self._infinite_agree = self._nan_both = 0
        self._within_one = self._within_five = 0
        self._worst = -1
        self._tg = self._tt = self._gg = self._square = self._absolute = 0.0
        self._absolute_max = self._relative = self._relative_max = 0.0
        self._small = self._small_max = 0.0

    def add(self, target: NDArray[Any], golden: NDArray[Any], start: int) -> None:
        """Add real 1-D pieces whose first element has the flat index ``start``."""
        size = target.size
        if 0 < size <= CHUNK:
            self._chunk(target, golden, start)
            return
        for at in range(0, size, CHUNK):
            self._chunk(target[at : at + CHUNK], golden[at : at + CHUNK], start + at)

    def _chunk(self, target: NDArray[Any], golden: NDArray[Any], start: int) -> None:
        size = target.size
        t, g, d = _work.target[:size], _work.golden[:size], _work.difference[:size]
        widen_pair(target, golden, t, g, d)
        tt, gg, square = _dot(t, t), _dot(g, g), _dot(d, d)
        self._size += size
        if math.isfinite(tt + gg + square):
            self._target.describe(_plain(target, t), t, tt)
            self._golden.describe(_plain(golden, g), g, gg)
            self._compare(t, g, d, (tt, gg, square), start)
        else:
            self._sift(t, g, d, start)

    def _sift(self, t: Floats, g: Floats, d: Floats, start: int) -> None:
        """Handle a chunk with values that are not finite, or with squares that overflow."""
        both = self._target.sift(t) & self._golden.sift(g)
        self._infinite_agree += int(np.count_nonzero(np.isinf(t) & (t == g)))
        self._nan_both += int(np.count_nonzero(np.isnan(t) & np.isnan(g)))
        if both.any():
            t, g, d = t[both], g[both], d[both]
            squares = (_dot(t, t), _dot(g, g), _dot(d, d))
            self._compare(t, g, d, squares, start, np.flatnonzero(both))

    def _compare(
        self,
        t: Floats,
        g: Floats,
        d: Floats,
        squares: tuple[float, float, float],
        start: int,
        places: NDArray[np.intp] | None = None,
    ) -> None:
        """Add jointly finite elements; ``places`` are their indices, if some were left out."""
        size = t.size
        self._finite += size
        self._tt += squares[0]
        self._gg += squares[1]
        self._square += squares[2]
        self._tg += _dot(t, g)
        np.abs(d, out=d)
        self._absolute += _dot(d, _work.ones[:size])
        most = float(np.maximum.reduce(d))
        if most > self._absolute_max:
            self._absolute_max = most
            at = int(d.argmax())
            self._worst = start + (at if places is None else int(places[at]))
        if most == 0.0:
            self._within_one += size
            self._within_five += size
        else:
            self._relate(d, np.abs(g, out=g))

    def _relate(self, d: Floats, g: Floats) -> None:
        """Add relative errors; both are magnitudes. Overwrites ``g``."""
        size = d.size
        mask = _work.mask[:size]
        least = float(np.minimum.reduce(g))
        ratio = np.divide(d, g, out=_work.spare[:size])
        self._within_one += int(np.count_nonzero(np.less(ratio, ONE_THOUSANDTH, out=mask)))
        self._within_five += int(np.count_nonzero(np.less(ratio, FIVE_THOUSANDTHS, out=mask)))
        if least <= NEAR_ZERO:
            np.less_equal(g, NEAR_ZERO, out=mask)
            np.copyto(ratio, 0.0, where=mask)
            self._near_zero(d[mask], g[mask])
        self._relative += _dot(ratio, _work.ones[:size])
        self._relative_max = max(self._relative_max, float(np.maximum.reduce(ratio)))

    def _near_zero(self, d: Floats, g: Floats) -> None:
        """Add elements whose golden is too near to 0 for a relative error of their own."""
        equal = int(np.count_nonzero((d == 0.0) & (g == 0.0)))
        self._within_one += equal
        self._within_five += equal
        self._small += float(np.add.reduce(d))
        self._small_max = max(self._small_max, float(np.maximum.reduce(d)))

    def sums(self) -> Sums:
        """Everything gathered so far."""
        t, g = self._target, self._golden
        return Sums(
            self._size,
            self._finite,
            self._infinite_agree,
            self._nan_both,
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
        )
