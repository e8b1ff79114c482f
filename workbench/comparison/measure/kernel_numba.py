"""The compiled kernel: one pass, sums in float64, vectorised by LLVM; imported only when it pays.

What makes it fast, none of it obvious: minima are found on integers that order like the floats,
because LLVM vectorises integer minima but not float ones, and NaN and Inf then show up for free;
shares are counted in floats; blocks stay in the L1 cache, and one with NaN or Inf is redone with
these taken out. Both sides are widened to float32 if they fit it exactly, else to float64, so that
two versions of the code serve all pairs of types.

The definitions are those of `workbench.comparison.measure.metrics`; ``tests/comparison/measure/test_kernels.py`` holds
this kernel and NumPy's against each other and against exact arithmetic.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, ClassVar

import ml_dtypes
import numba
import numpy as np

from workbench.comparison.measure.kernel_numpy import widen_pair
from workbench.comparison.measure.metrics import FIVE_THOUSANDTHS, NEAR_ZERO, ONE_THOUSANDTH, Sums
from workbench.comparison.measure.slices import NO_MATRIX, TILE, Gatherer, may_be_off

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from workbench.comparison.measure.slices import Grid

CHUNK = 65536
_WIDE_CHUNK = 16384
_BLOCK = 8192
_STRIP = 256
_CANCELS = 1e-3
_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

# Counts and figures in the order of Sums; a side's fields repeat _STEP further on for the golden.
_STEP = 4
_SIZE, _FINITE, _INFINITE_AGREE, _NAN, _POS_INF, _NEG_INF, _ZERO = range(7)
_ONE, _FIVE, _WORST = 11, 12, 13
_MIN, _MAX, _MEAN, _M2 = range(4)
_TG, _TT, _GG, _SQUARE, _ABSOLUTE, _ABSOLUTE_MAX = range(8, 14)
_RELATIVE, _RELATIVE_MAX, _SMALL, _SMALL_MAX = range(14, 18)
_DG, _WEIGHTED = 18, 19
_CROSS = 14
_SEEN = 14
"""Two counts more than Sums has: finite elements of each side so far."""


def _jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on first call; keep the machine code on disk if there is a place for it."""
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
def _least(bits: Any) -> Any:
    least = bits[0]
    for i in range(bits.size):
        least = min(least, bits[i])
    return least


@_jit
def _extremes(bits: Any, keys: Any) -> Any:
    """Put the bits of minimum, maximum and least magnitude into ``keys``; return the zeros.

    Read as integers, floats of one sign keep their order, so that the greatest integer belongs to
    the maximum, and with the sign turned to the minimum. NaN lies beyond the infinities: one of the
    two is then NaN.
    """
    kind = bits.dtype.type
    sign = kind(-(2**31)) if bits.itemsize == 4 else kind(-(2**63))
    high, low, least, zeros = sign, sign, kind(~sign), kind(0)
    for i in range(bits.size):
        b = bits[i]
        high = kind(max(high, b))
        low = kind(max(low, kind(b ^ sign)))
        least = kind(min(least, kind(b & ~sign)))
    keys[0], keys[1], keys[2] = low ^ sign, high, least
    if keys[0] >= 0:
        keys[0] = _least(bits) if least > 0 else least
    elif high < 0:
        keys[1] = _least(bits)
    if least == 0:
        for i in range(bits.size):
            zeros = kind(zeros + kind(kind(bits[i] << kind(1)) == kind(0)))
    return np.int64(zeros)


@_jit
def _cross(t: Any, g: Any, d: Any, out: Any) -> None:
    """Fill ``out`` with the sums of finite elements, golden near 0 counted as without error."""
    tt = gg = tg = square = absolute = plain_t = plain_g = 0.0
    relative = one = five = 0.0
    dg = weighted = 0.0
    absolute_max = relative_max = np.int64(0)
    for i in range(t.size):
        x, y = np.float64(t[i]), np.float64(g[i])
        e = x - y if d is None else d[i]
        tt += x * x
        gg += y * y
        tg += x * y
        square += e * e
        along = e * y
        dg += along
        weighted += along * along
        plain_t += x
        plain_g += y
        e = abs(e)
        absolute += e
        absolute_max = max(absolute_max, np.float64(e).view(np.int64))
        y = abs(y)
        small = y <= NEAR_ZERO
        r = e / (np.inf if small else y)
        one += 1.0 if r < ONE_THOUSANDTH else 0.0
        five += 1.0 if r < FIVE_THOUSANDTHS else 0.0
        relative += r
        relative_max = max(relative_max, np.float64(r).view(np.int64))
    out[0], out[1], out[2], out[3], out[4] = tg, tt, gg, square, absolute
    out[5], out[6] = np.int64(absolute_max).view(np.float64), relative
    out[7], out[8], out[9] = np.int64(relative_max).view(np.float64), one, five
    out[10], out[11] = plain_t, plain_g
    out[12], out[13] = dg, weighted


@_jit
def _near_zero(t: Any, g: Any, d: Any, counts: Any, figures: Any) -> None:
    """Put right what `_cross` took for exact: elements whose golden is near 0.

    Mostly both are 0, behind a ReLU; so look for others first, a few cache lines at a time.
    """
    for at in range(0, t.size, _STRIP):
        end = min(at + _STRIP, t.size)
        if d is None:
            if _differ_near_zero(t[at:end], g[at:end], None):
                _add_near_zero(t[at:end], g[at:end], None, counts, figures)
        elif _differ_near_zero(t[at:end], g[at:end], d[at:end]):
            _add_near_zero(t[at:end], g[at:end], d[at:end], counts, figures)


@_jit
def _differ_near_zero(t: Any, g: Any, d: Any) -> Any:
    """Return whether any element whose golden is near 0 differs from it."""
    kind = g.dtype.type
    bound, found = kind(NEAR_ZERO), kind(0)
    for i in range(t.size):
        e = abs(t[i] - g[i]) if d is None else abs(d[i])
        found += e if abs(g[i]) <= bound else kind(0)
    return found != 0


@_jit
def _add_near_zero(t: Any, g: Any, d: Any, counts: Any, figures: Any) -> None:
    small = one = five = 0.0
    small_max = np.int64(0)
    for i in range(t.size):
        y = abs(np.float64(g[i]))
        e = abs(np.float64(t[i]) - np.float64(g[i])) if d is None else abs(d[i])
        e = e if y <= NEAR_ZERO else 0.0
        small += e
        small_max = max(small_max, np.float64(e).view(np.int64))
        r = e / y  # 0/0 is NaN and counts as agreement
        one += 1.0 if r >= ONE_THOUSANDTH else 0.0
        five += 1.0 if r >= FIVE_THOUSANDTHS else 0.0
    figures[_SMALL] += small
    figures[_SMALL_MAX] = max(figures[_SMALL_MAX], np.int64(small_max).view(np.float64))
    counts[_ONE] -= np.int64(one)
    counts[_FIVE] -= np.int64(five)


@_jit
def _describe(
    x: Any, values: Any, plain: Any, square: Any, side: Any, counts: Any, figures: Any
) -> None:
    """Add finite elements of one side, given their extremes, sum and sum of squares."""
    size, before = x.size, counts[_SEEN + side]
    counts[_SEEN + side] += size
    at = side * _STEP
    figures[at + _MIN] = min(figures[at + _MIN], np.float64(values[0]))
    figures[at + _MAX] = max(figures[at + _MAX], np.float64(values[1]))
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


@_jit
def _join(t: Any, g: Any, d: Any, least: Any, out: Any, counts: Any, figures: Any) -> Any:
    """Add the sums that `_cross` gathered; return where the difference sets a record, or -1."""
    counts[_FINITE] += t.size
    counts[_ONE] += np.int64(out[8])
    counts[_FIVE] += np.int64(out[9])
    for i in range(5):
        figures[_TG + i] += out[i]
    figures[_DG] += out[12]
    figures[_WEIGHTED] += out[13]
    figures[_RELATIVE] += out[6]
    figures[_RELATIVE_MAX] = max(figures[_RELATIVE_MAX], out[7])
    if least <= NEAR_ZERO:
        _near_zero(t, g, d, counts, figures)
    if not out[5] > figures[_ABSOLUTE_MAX]:
        return -1
    figures[_ABSOLUTE_MAX] = out[5]
    for i in range(t.size):
        e = np.float64(t[i]) - np.float64(g[i]) if d is None else d[i]
        if abs(e) == out[5]:
            return i
    return -1


@_jit
def _sift(x: Any, kept: Any, side: Any, counts: Any) -> Any:
    """Copy the finite elements of one side to ``kept``, count the others, return how many."""
    at, size = side * _STEP, 0
    for i in range(x.size):
        if np.isfinite(x[i]):
            kept[size] = x[i]
            size += 1
        elif np.isnan(x[i]):
            counts[at + _NAN] += 1
        elif x[i] > 0:
            counts[at + _POS_INF] += 1
        else:
            counts[at + _NEG_INF] += 1
    return size


@_jit
def _alone(x: Any, side: Any, keys: Any, counts: Any, figures: Any) -> None:
    """Describe one side of a block with elements that are not finite."""
    kept = np.empty_like(x)
    size = _sift(x, kept, side, counts)
    if size:
        kept = kept[:size]
        counts[side * _STEP + _ZERO] += _extremes(kept.view(keys.dtype), keys)
        plain = square = 0.0
        for i in range(size):
            e = np.float64(kept[i])
            plain += e
            square += e * e
        _describe(kept, keys.view(x.dtype), plain, square, side, counts, figures)


@_jit
def _add_mixed(t: Any, g: Any, d: Any, start: Any, keys: Any, counts: Any, figures: Any) -> None:
    """Add one block with elements that are not finite; compiled only where such occur."""
    counts[_SIZE] += t.size
    for side in range(2):
        _alone(t if side == 0 else g, side, keys, counts, figures)
    a, b, c, out = np.empty_like(t), np.empty_like(g), np.empty(t.size), np.empty(_CROSS)
    places = np.empty(t.size, np.int64)
    size = 0
    for i in range(t.size):
        if np.isfinite(t[i]) and np.isfinite(g[i]):
            a[size], b[size], places[size] = t[i], g[i], i
            if d is not None:
                c[size] = d[i]
            size += 1
        else:
            counts[_INFINITE_AGREE] += t[i] == g[i]
    if size == 0:
        return
    a, b = a[:size], b[:size]
    if d is None:
        _cross(a, b, None, out)
        place = _join(a, b, None, 0.0, out, counts, figures)
    else:
        _cross(a, b, c[:size], out)
        place = _join(a, b, c[:size], 0.0, out, counts, figures)
    if place >= 0:
        counts[_WORST] = start + places[place]


@_jit
def _add(t: Any, g: Any, d: Any, start: Any, keys: Any, counts: Any, figures: Any) -> Any:
    """Add equally long pieces up to the first block with NaN or Inf; return how many elements.

    ``d`` is their difference or None, ``keys`` room for twice three integers as wide as the floats.
    """
    bits, values = keys.dtype, keys.view(t.dtype)
    zeros, out = np.empty(2, np.int64), np.empty(_CROSS)
    for at in range(0, t.size, _BLOCK):
        end = min(at + _BLOCK, t.size)
        a, b = t[at:end], g[at:end]
        for side in range(2):
            zeros[side] = _extremes((a if side == 0 else b).view(bits), keys[3 * side :])
        if not (abs(values[0]) < np.inf and abs(values[1]) < np.inf):
            return at
        if not (abs(values[3]) < np.inf and abs(values[4]) < np.inf):
            return at
        c = None if d is None else d[at:end]
        _cross(a, b, c, out)
        counts[_SIZE] += a.size
        for side in range(2):
            counts[side * _STEP + _ZERO] += zeros[side]
            x, low = a if side == 0 else b, values[3 * side :]
            _describe(x, low, out[10 + side], out[1 + side], side, counts, figures)
        place = _join(a, b, c, np.float64(values[5]), out, counts, figures)
        if place >= 0:
            counts[_WORST] = start + at + place
    return t.size


@_jit
def _row_sums(t: Any, g: Any, own: Any, off: Any, rows: Any) -> None:
    """Add |g| and |d| of finite elements of a row to its columns ``own`` and ``off``, and their sums to ``rows``."""
    kind = t.dtype.type
    whole_own, whole_off, infinite = kind(0), kind(0), kind(np.inf)
    for i in range(t.size):
        d = abs(t[i] - g[i])
        finite = d < infinite
        d = d if finite else kind(0)
        size = abs(g[i]) if finite else kind(0)
        own[i] += size
        off[i] += d
        whole_own += size
        whole_off += d
    rows[0] += whole_own
    rows[1] += whole_off


@_jit
def _two_rows(t: Any, g: Any, own: Any, off: Any, rows: Any) -> None:
    """Do the same for two rows behind each other, which spares half of the way to the columns."""
    kind, width = t.dtype.type, own.size
    own_0, own_1, off_0, off_1 = kind(0), kind(0), kind(0), kind(0)
    infinite = kind(np.inf)
    t_0, t_1, g_0, g_1 = t[:width], t[width:], g[:width], g[width:]
    for i in range(width):
        d_0, d_1 = abs(t_0[i] - g_0[i]), abs(t_1[i] - g_1[i])
        is_0, is_1 = d_0 < infinite, d_1 < infinite
        d_0, d_1 = d_0 if is_0 else kind(0), d_1 if is_1 else kind(0)
        size_0, size_1 = abs(g_0[i]) if is_0 else kind(0), abs(g_1[i]) if is_1 else kind(0)
        own[i] += size_0 + size_1
        off[i] += d_0 + d_1
        own_0 += size_0
        own_1 += size_1
        off_0 += d_0
        off_1 += d_1
    rows[0, 0] += own_0
    rows[0, 1] += own_1
    rows[1, 0] += off_0
    rows[1, 1] += off_1


@_jit
def _flush(band: Any, columns: Any, tiles: Any, begin: Any, end: Any) -> None:
    """Add a band of rows to the columns and to its tiles, from column ``begin`` to ``end``, and empty it."""
    for side in range(2):
        held, into = band[side, begin:end], columns[side, begin:end]
        for i in range(held.size):
            into[i] += held[i]
        if tiles.shape[1]:
            for segment in range(begin // TILE, -(-end // TILE)):
                part = band[side, segment * TILE : min(segment * TILE + TILE, end)]
                whole = band.dtype.type(0)
                if part.size == TILE:
                    for i in range(TILE):
                        whole += part[i]
                else:
                    for i in range(part.size):
                        whole += part[i]
                tiles[side, segment] += whole
        held[:] = 0


@_jit
def _slices(t: Any, g: Any, start: Any, matrix: Any, sums: Any, band: Any) -> None:
    """Add the slices of elements from the flat index ``start`` on; ``matrix`` rows are cut into bands together.

    ``sums`` are those of columns (2, width), rows (2, n) and tiles (2, bands, segments), the last two from those on
    that the first element lies in; ``band`` is an empty one (2, width) of the data's type.
    """
    columns, rows, tiles = sums
    width = columns.shape[1]
    first, bands = start // width, -(-matrix // TILE)
    band_0 = held = first // matrix * bands + first % matrix // TILE
    at, begin, end = 0, width, 0
    while at < t.size:
        row = (start + at) // width
        column = start + at - row * width
        count = min(width - column, t.size - at)
        number = row // matrix * bands + row % matrix // TILE
        if number != held:
            _flush(band, columns, tiles[:, held - band_0 if tiles.shape[2] else 0], begin, end)
            held, begin, end = number, width, 0
        begin, end = min(begin, column), max(end, column + count)
        own, off = band[0, column : column + count], band[1, column : column + count]
        into = rows[:, row - first :]
        last = row % matrix + 1 == matrix or row % matrix % TILE == TILE - 1
        if count == width and not last and at + 2 * width <= t.size:
            _two_rows(t[at : at + 2 * width], g[at : at + 2 * width], own, off, into)
            at += 2 * width
        else:
            _row_sums(t[at : at + count], g[at : at + count], own, off, into[:, 0])
            at += count
    _flush(band, columns, tiles[:, held - band_0 if tiles.shape[2] else 0], begin, end)


@_jit
def _widen_half(x: Any, out: Any) -> None:
    """Put float16 bits as float32 bits into ``out``, by integer steps alone; exact."""
    for i in range(x.size):
        magnitude = np.uint32(np.uint32(x[i] & np.uint16(0x7FFF)) << np.uint32(13))
        scaled = np.uint32(magnitude).view(np.float32) * np.float32(2.0**112)
        bits = np.uint32(np.float32(scaled).view(np.uint32))
        bits = np.uint32(bits | np.uint32(0x7F800000)) if x[i] & 0x7C00 == 0x7C00 else bits
        out[i] = np.uint32(bits | np.uint32(np.uint32(x[i] & np.uint16(0x8000)) << 16))


@_jit
def _widen_brain(x: Any, out: Any) -> None:
    """Put bfloat16 bits as float32 bits into ``out``."""
    for i in range(x.size):
        out[i] = np.uint32(np.uint32(x[i]) << np.uint32(16))


@_jit
def _widen_bool(x: Any, out: Any) -> None:
    for i in range(x.size):
        out[i] = np.float32(x[i] != 0)


@_jit
def _widen_whole(x: Any, out: Any) -> None:
    for i in range(x.size):
        out[i] = np.float32(x[i])


class _Thread(threading.local):
    """Buffers of one thread, reused by every chunk."""

    def __init__(self) -> None:
        self.keys, self.wide_keys = np.zeros(6, np.int32), np.zeros(6, np.int64)
        self.target, self.golden = np.empty(CHUNK, np.float32), np.empty(CHUNK, np.float32)
        self.wide = tuple(np.empty(_WIDE_CHUNK) for _ in range(3))


_thread = _Thread()
_NO_COUNTS = np.array([*Sums()[:_SEEN], 0, 0], np.int64)
_NO_FIGURES = np.array(Sums()[_SEEN:-1])


def _fits_float32(x: NDArray[Any]) -> bool:
    return x.dtype.char in "?bBhHef" or x.dtype.kind == "V"


def _narrow(x: NDArray[Any], buffer: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return ``x`` as a float32 array that the compiled code can take."""
    if not x.flags.carray:
        x = x.copy()
    if x.dtype == np.float32:
        return x
    out = buffer[: x.size]
    if x.dtype == np.float16:
        _widen_half(x.view(np.uint16), out.view(np.uint32))
    elif x.dtype == _BFLOAT16:
        _widen_brain(x.view(np.uint16), out.view(np.uint32))
    elif x.dtype == np.bool_:
        _widen_bool(x.view(np.uint8), out)
    elif x.dtype.kind == "V":
        with np.errstate(all="ignore"):  # signalling NaNs
            np.copyto(out, x.astype(np.float32))
    else:
        _widen_whole(x, out)
    return out


def _widened(
    target: NDArray[Any], golden: NDArray[Any], start: int
) -> Iterator[tuple[NDArray[Any], NDArray[Any], NDArray[np.float64] | None, int]]:
    """Yield chunks of both sides as float32, or as float64 with their difference, and where they begin."""
    here = _thread
    narrow = _fits_float32(target) and _fits_float32(golden)
    step = CHUNK if narrow else _WIDE_CHUNK
    for at in range(0, target.size, step):
        ours, theirs = target[at : at + step], golden[at : at + step]
        if narrow:
            yield _narrow(ours, here.target), _narrow(theirs, here.golden), None, start + at
            continue
        t, g, d = (buffer[: ours.size] for buffer in here.wide)
        with np.errstate(all="ignore"):
            widen_pair(ours, theirs, t, g, d)
        yield t, g, d, start + at


class NumbaKernel:
    """Gathers `Sums` of equally long pieces of target and golden."""

    parallel: ClassVar[bool] = True

    def __init__(self, grid: Grid | None = None, least: float = -1.0) -> None:
        self._least = least
        self._counts, self._figures = _NO_COUNTS.copy(), _NO_FIGURES.copy()
        self._slices = Gatherer(grid) if grid is not None else None
        self._band: NDArray[Any] | None = None

    def add(self, target: NDArray[Any], golden: NDArray[Any], start: int) -> None:
        """Add real 1-D pieces whose first element has the flat index ``start``."""
        for t, g, d, at in _widened(target, golden, start):
            self._add(t, g, d, at, _thread.keys if d is None else _thread.wide_keys)

    def add_slices(self, target: NDArray[Any], golden: NDArray[Any], start: int) -> None:
        """Add real 1-D pieces to the slices alone."""
        assert self._slices is not None
        for t, g, _, at in _widened(target, golden, start):
            self._add_slices(self._slices, t, g, at)

    def _add(
        self,
        t: NDArray[Any],
        g: NDArray[Any],
        d: NDArray[np.float64] | None,
        start: int,
        keys: NDArray[Any],
    ) -> None:
        """Add floats of one width; the block at which the fast code stops is added by the other."""
        state = keys, self._counts, self._figures
        at = _add(t, g, d, start, *state)
        while at < t.size:
            block = slice(at, at + _BLOCK)
            _add_mixed(t[block], g[block], None if d is None else d[block], start + at, *state)
            rest = slice(at + _BLOCK, None)
            at += _BLOCK
            at += _add(t[rest], g[rest], None if d is None else d[rest], start + at, *state)
        if self._slices is None:
            return
        if may_be_off(self._figures[_RELATIVE_MAX], self._figures[_SMALL_MAX], self._least):
            self._add_slices(self._slices, t, g, start)
        else:
            self._slices.skip(start, t.size)

    def _add_slices(self, slices: Gatherer, t: NDArray[Any], g: NDArray[Any], start: int) -> None:
        if self._band is None or self._band.dtype != t.dtype:
            self._band = np.zeros((2, slices.grid.width), t.dtype)
        rows, tiles = slices.room(start, t.size)
        matrix = slices.grid.matrix or NO_MATRIX
        _slices(t, g, start, matrix, (slices.columns, rows, tiles), self._band)

    def sums(self) -> Sums:
        """Everything gathered so far."""
        slices = self._slices.sums() if self._slices is not None else None
        return Sums._make([*self._counts[:_SEEN].tolist(), *self._figures.tolist(), slices])
