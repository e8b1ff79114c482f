"""The worst slice of a tensor: how far its worst channel, row or tile is off, against that slice's own scale.

One norm over a tensor hides what is local: beside a channel of 300, a thousand channels of 0.05 may be zero and the
norm does not show it. So the sums Σ|d| and Σ|g| are gathered of every slice, too, in the one pass that a kernel makes.

A tensor is seen as rows of ``width`` elements, its last axes. The sums of the rows and of the columns give those of
the slices along every axis; bands of 16 rows give the tiles of 16 x 16 over the last two axes. Positions at which
either side is not finite count in no slice, integers and vectors have none.

Kernels add to a `Gatherer`; what it gives, `SliceSums`, is merged in any order. No slice is off by more than its worst
element is, so a kernel may leave out the elements in front of the first that is off by something worth it, and say
which (``skipped``): where there is none in the whole tensor no slice is worth looking at, else they are read once more.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from workbench._values import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Sums32 = NDArray[np.float32]
    Sums64 = NDArray[np.float64]

TILE = 16
"""Rows and columns of a tile."""

LEAST = 32
"""Elements of the smallest slice: the error of fewer is that of single elements, which rounding may make anything."""

_FEWEST = 1024
_NARROWEST, _TILED, _WIDEST = 64, 64, 1 << 17
_MOST_ROWS = 1 << 20
NO_MATRIX = 1 << 62
"""Rows of the matrix of a tensor without tiles: all that there may be."""


class Slice(NamedTuple):
    """A slice of a tensor: index ``number`` along ``axis``, or a tile (``axis`` is -1), counted in C order."""

    axis: int
    number: int


class Grid(NamedTuple):
    """A tensor as rows of ``width`` elements: the axes from ``split`` on.

    ``matrix`` is the number of rows of a matrix that tiles lie in, 0 for a tensor without tiles.
    """

    shape: tuple[int, ...]
    split: int
    width: int
    matrix: int

    @property
    def rows(self) -> int:
        """Number of rows."""
        return math.prod(self.shape) // self.width

    @property
    def segments(self) -> int:
        """Tiles beside each other."""
        return -(-self.width // TILE) if self.matrix else 0

    @property
    def bands(self) -> int:
        """Tiles below each other in one matrix."""
        return -(-(self.matrix or NO_MATRIX) // TILE)

    def band(self, row: int) -> int:
        """Number of the band of tiles that a row lies in."""
        matrix = self.matrix or NO_MATRIX
        return row // matrix * self.bands + row % matrix // TILE


@lru_cache(maxsize=1 << 10)
def grid_of(shape: tuple[int, ...]) -> Grid | None:
    """Return how a tensor is cut into rows; ``None`` if it has no slices to speak of, or too many.

    >>> grid_of((8, 128, 1024))
    Grid(shape=(8, 128, 1024), split=2, width=1024, matrix=128)
    """
    size = math.prod(shape)
    if len(shape) < 2 or size < _FEWEST:
        return None
    width = 1
    for split in reversed(range(1, len(shape))):
        width *= shape[split]
        rows = size // width
        if width >= _NARROWEST and rows <= _MOST_ROWS:
            tiled = split == len(shape) - 1 and width >= _TILED and shape[-2] >= LEAST // TILE
            return (
                Grid(shape, split, width, shape[-2] if tiled else 0) if width <= _WIDEST else None
            )
    return None


class SliceSums(NamedTuple):
    """Σ|g| and Σ|d| of what was seen of a tensor's rows, columns and tiles.

    ``columns`` (2, width); ``rows`` and ``tiles`` are parts with the number of the first: (2, rows) and (2, bands,
    segments). ``skipped`` are the elements that are not in them, from the first to before the last, by flat index.
    """

    grid: Grid
    columns: Sums64
    rows: tuple[tuple[int, Sums64], ...]
    tiles: tuple[tuple[int, Sums64], ...]
    skipped: tuple[tuple[int, int], ...] = ()


def merge_slices(a: SliceSums | None, b: SliceSums | None) -> SliceSums | None:
    """Return the sums of both parts together."""
    if a is None or b is None:
        return a or b
    return SliceSums(
        a.grid, a.columns + b.columns, a.rows + b.rows, a.tiles + b.tiles, a.skipped + b.skipped
    )


def may_be_off(relative_max: float, small_max: float, least: float) -> bool:
    """Whether a slice may be off by more than ``least``: no slice is by more than its worst element.

    ``relative_max`` is the largest |d|/|g|, ``small_max`` the largest |d| beside a golden too near to 0 for one.
    """
    return small_max > 0.0 or relative_max > least


class Gatherer:
    """Gathers the sums of the slices of one part of a tensor, front to back."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.columns = np.zeros((2, grid.width))
        self._rows = _Growing(grid.rows, ())
        self._tile_begins = np.arange(0, grid.width, TILE)
        self._bands_at: dict[tuple[int, int], Sums32] = {}
        self._tiles = _Growing(grid.band(grid.rows - 1) + 1, (grid.segments,))
        self._skipped: tuple[int, int] | None = None

    def skip(self, start: int, count: int) -> None:
        """Leave out ``count`` elements from ``start`` on, which follow those that were left out before."""
        first = start if self._skipped is None else self._skipped[0]
        self._skipped = first, start + count

    def room(self, start: int, count: int) -> tuple[Sums64, Sums64]:
        """Return the sums of the rows and of the bands of tiles that ``count`` elements from ``start`` on lie in."""
        first, last = start // self.grid.width, (start + count - 1) // self.grid.width
        rows = self._rows.part(first, last)
        if not self.grid.matrix:
            return rows, _NO_TILES
        return rows, self._tiles.part(self.grid.band(first), self.grid.band(last))

    def add(self, sizes: Sums64, start: int) -> None:
        """Add |g| and |d| (2, n), both finite, of elements from the flat index ``start`` on."""
        width, count = self.grid.width, sizes.shape[1]
        first, before = divmod(start, width)
        rows, tiles = self.room(start, count)
        whole = self._whole_rows(sizes, before)
        with np.errstate(over="ignore", invalid="ignore"):  # beyond float32 a slice tells nothing
            rows += np.matmul(whole, np.ones(width, np.float32))
            bands = np.matmul(self._bands(first, whole.shape[1]), whole)
        self.columns += np.add.reduce(bands, axis=1)
        if self.grid.matrix:
            tiles += np.add.reduceat(bands, self._tile_begins, axis=2)

    def _whole_rows(self, sizes: Sums64, before: int) -> Sums32:
        """Return whole rows (2, rows, width), 0 where nothing is given: ``before`` elements at the beginning."""
        width, count = self.grid.width, sizes.shape[1]
        end = before + count
        whole = np.empty((2, -(-end // width) * width), np.float32)
        whole[:, :before] = 0.0
        whole[:, end:] = 0.0
        with np.errstate(all="ignore"):
            whole[:, before:end] = sizes
        return whole.reshape(2, -1, width)

    def _bands(self, first: int, count: int) -> Sums32:
        """Return for every band (bands, rows) which of ``count`` rows from ``first`` on lie in it."""
        place = first % self.grid.matrix if self.grid.matrix else 0, count
        found = self._bands_at.get(place)
        if found is None:
            numbers = [self.grid.band(first + row) for row in range(count)]
            found = np.equal.outer(sorted(set(numbers)), numbers).astype(np.float32)
            self._bands_at = {place: found, **dict(list(self._bands_at.items())[:64])}
        return found

    def sums(self) -> SliceSums:
        """Everything gathered so far."""
        tiles = self._tiles.seen() if self.grid.matrix else ()
        skipped = () if self._skipped is None else (self._skipped,)
        return SliceSums(self.grid, self.columns, self._rows.seen(), tiles, skipped)


_NO_TILES = np.zeros((2, 1, 0))


class _Growing:
    """Sums by number, of which some in a row were seen."""

    def __init__(self, most: int, rest: tuple[int, ...]) -> None:
        self._first, self._end, self._most = -1, 0, most
        self._held = np.zeros((2, 0, *rest))

    def part(self, first: int, last: int) -> Sums64:
        """Return the sums from ``first`` to ``last``, to be added to."""
        if self._first < 0:
            self._first = first
        need, has = last + 1 - self._first, self._held.shape[1]
        if need > has:
            more = np.zeros(
                (2, min(max(need, 2 * has), self._most - self._first), *self._held.shape[2:])
            )
            more[:, :has] = self._held
            self._held = more
        self._end = max(self._end, need)
        return self._held[:, first - self._first : need]

    def seen(self) -> tuple[tuple[int, Sums64], ...]:
        """What was seen, with the number of the first."""
        return ((self._first, self._held[:, : self._end]),) if self._end else ()


# --- what they give ----------------------------------------------------------------------------


def worst_slice(sums: SliceSums | None) -> tuple[float, Slice] | None:
    """Return the largest Σ|d| / Σ|g| of a slice, and the first slice that has it; ``None``: there are no slices."""
    worst: tuple[float, Slice] | None = None
    for axis, own, off in slice_sums(sums):
        errors = relative(own, off)
        index = int(np.argmax(errors)) if errors.size else -1
        if index >= 0 and (worst is None or errors[index] > worst[0]):
            worst = float(errors[index]), Slice(axis, index)
    return worst


def relative(own: Sums64, off: Sums64) -> Sums64:
    """Return the errors of slices; infinite where only the golden is zero, 0 where sums have left their range."""
    with np.errstate(all="ignore"):
        errors = np.where(off > 0.0, off / own, 0.0)
    return np.where(np.isfinite(off) & np.isfinite(own), errors, 0.0)


def slice_sums(sums: SliceSums | None) -> Iterator[tuple[int, Sums64, Sums64]]:
    """Yield Σ|g| and Σ|d| of all slices along every axis, then of the tiles as axis -1."""
    if sums is None:
        return
    grid = sums.grid
    rows = _together(sums.rows, np.zeros((2, grid.rows)))
    for axis, length in enumerate(grid.shape):
        if length < 2 or math.prod(grid.shape) // length < LEAST:
            continue
        lead = axis < grid.split
        held, shape = (
            (rows, grid.shape[: grid.split]) if lead else (sums.columns, grid.shape[grid.split :])
        )
        place = axis if lead else axis - grid.split
        others = tuple(n + 1 for n in range(len(shape)) if n != place)
        yield axis, *held.reshape(2, *shape).sum(axis=others)
    if grid.matrix:
        bands = grid.band(grid.rows - 1) + 1
        tiles = _together(sums.tiles, np.zeros((2, bands, grid.segments)))
        yield -1, *_large_enough(tiles, grid).reshape(2, -1)


def _together(parts: tuple[tuple[int, Sums64], ...], whole: Sums64) -> Sums64:
    for first, part in parts:
        whole[:, first : first + part.shape[1]] += part
    return whole


def _large_enough(tiles: Sums64, grid: Grid) -> Sums64:
    """Leave out tiles at the edges that have too few elements."""
    high = np.minimum(TILE, grid.matrix - TILE * (np.arange(tiles.shape[1]) % grid.bands))
    wide = np.minimum(TILE, grid.width - TILE * np.arange(tiles.shape[2]))
    return np.where(np.multiply.outer(high, wide) >= LEAST, tiles, 0.0)


def begin_of(one: Slice, grid: Grid) -> tuple[int, ...]:
    """Return the index of the first element of a tile; empty for other slices.

    >>> begin_of(Slice(-1, 1), grid_of((64, 64)))
    (0, 16)
    """
    if one.axis >= 0 or one.number < 0:
        return ()
    band, segment = divmod(one.number, grid.segments)
    matrix, band = divmod(band, grid.bands)
    lead = np.unravel_index(matrix, grid.shape[:-2]) if len(grid.shape) > 2 else ()
    return (*map(int, lead), TILE * band, TILE * segment)
