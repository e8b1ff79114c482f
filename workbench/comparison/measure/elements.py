"""The elements of one pair of tensors: errors one by one, the worst, their distribution, and where they lie.

Measuring reads a pair once and keeps sums; whoever looks at an operator wants its elements. They are read up to a
limit, and what was not read is said.
"""

from __future__ import annotations

import math
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal

import ml_dtypes
import numpy as np

from workbench._values import NamedTuple, dataclass
from workbench.comparison.measure.measure import lay_over
from workbench.comparison.measure.metrics import NEAR_ZERO, SIZES
from workbench.comparison.measure.reading import OpenPair
from workbench.core.dtypes import DTYPES
from workbench.core.errors import FormatError, WorkbenchError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from workbench.comparison.measure.measure import Measured
    from workbench.core.tensors import Source

    Array = NDArray[Any]
    Shape = tuple[int, ...]

ErrorKind = Literal["absolute", "relative", "ulp"]

KINDS: dict[ErrorKind, str] = {
    "absolute": "|target − golden|",
    "relative": "|target − golden| / |golden|",
    "ulp": "units in the last place of the coarser of the two formats",
}
"""Error of one element → its definition. NaN on any side, or another infinity, is an error without bound."""

MOST = 10_000
"""Worst elements that can be asked for."""

LIMIT = 1 << 24
"""Elements of each side that are read at most."""

_STEP = 1 << 20
_UNITS: tuple[ErrorKind, ErrorKind] = ("relative", "ulp")


@dataclass(frozen=True, slots=True)
class Element:
    """One element: its index, both values, and how far they are apart (``ulp`` is NaN where there are none)."""

    index: Shape
    target: Any
    golden: Any
    absolute: float
    relative: float
    ulp: float


class Histogram(NamedTuple):
    """How many elements have which error.

    ``edges`` are exponents of ten, one more than ``counts``; beside them exact zeros and errors without bound.
    """

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    zero: int
    unbounded: int


class HeatMap(NamedTuple):
    """Largest error in every cell of a plane: ``values`` (rows, columns), NaN where nothing is.

    ``axes`` are those of rows and columns (-1: there is none), ``step`` the elements along each in one cell,
    ``at`` the index of the plane in every axis.
    """

    values: NDArray[np.float64]
    axes: tuple[int, int]
    step: tuple[int, int]
    at: Shape


@dataclass(frozen=True, repr=False)
class Elements:
    """Both sides of a pair, flat, as far as they were read.

    ``shape`` is that of what was read, ``whole`` that of the tensor; they differ in a tensor that is too large,
    of which the first elements are here. ``dtypes`` are the formats of target and golden.
    """

    target: Array
    golden: Array
    shape: Shape
    whole: Shape
    dtypes: tuple[str, str]
    _known: dict[str, Array] = field(default_factory=dict, compare=False)

    @property
    def size(self) -> int:
        """Number of elements read."""
        return int(self.target.size)

    @property
    def total(self) -> int:
        """Number of elements of the tensor."""
        return math.prod(self.whole)

    @property
    def kinds(self) -> tuple[ErrorKind, ...]:
        """Errors that these formats have; integers and complex numbers know no ULP."""
        return ("absolute", "relative", "ulp") if self._unit else ("absolute", "relative")

    def errors(self, kind: ErrorKind = "absolute") -> Array:
        """Error of every element, flat; infinite where finite and non-finite values meet, NaN agrees with nothing."""
        if kind not in KINDS:
            raise WorkbenchError("core/choice", subject="error", got=kind, known=list(KINDS))
        if kind not in self._known:
            self._known.clear()  # one kind at a time is kept
            self._known[kind] = self._measured(kind)
        return self._known[kind]

    def worst(self, count: int = 20, kind: ErrorKind = "absolute") -> list[Element]:
        """Return the elements that differ most, the worst first; equal ones are none of them."""
        if not 1 <= count <= MOST:
            raise WorkbenchError("compare/count", got=count, limit=MOST)
        errors = self.errors(kind)
        found = np.arange(errors.size)
        if errors.size > count:
            found = np.argpartition(errors, errors.size - count)[-count:]
        found = found[errors[found] > 0]
        return self._places(found[np.lexsort((found, -errors[found]))])

    @property
    def differing(self) -> int:
        """Number of elements that are not the same."""
        known = next(iter(self._known.values())) if self._known else self.errors()
        return int(np.count_nonzero(known))  # of every kind the same ones are zero

    def beyond(self, limits: tuple[float, float]) -> tuple[int, int]:
        """Count finite elements of target and golden whose magnitude reaches a limit; none at a limit of 0."""
        found = [0, 0]
        for *sides, _ in self._pieces():
            for n, (side, limit) in enumerate(zip(sides, limits, strict=True)):
                if limit:
                    size = np.abs(side)
                    found[n] += int(np.count_nonzero(np.isfinite(size) & (size >= limit)))
        return found[0], found[1]

    def histogram(self, kind: ErrorKind = "absolute", per_decade: int = 2) -> Histogram:
        """Return how many elements have which error."""
        errors = self.errors(kind)
        bounded = errors[np.isfinite(errors) & (errors > 0)]
        unbounded = int(np.count_nonzero(np.isinf(errors)))
        zero = int(errors.size - bounded.size - unbounded)
        if not bounded.size:
            return Histogram((), (), zero, unbounded)
        logs = np.log10(bounded, dtype=np.float64)
        low = math.floor(float(logs.min()) * per_decade)
        high = max(math.ceil(float(logs.max()) * per_decade), low + 1)
        edges = np.arange(low, high + 1) / per_decade
        counts, _ = np.histogram(logs, edges)
        return Histogram(tuple(edges.tolist()), tuple(counts.tolist()), zero, unbounded)

    def sample(self, count: int = 6000) -> tuple[Array, Array]:
        """Golden and target of finite elements: the worst and, evenly spread, some of the others, as float64."""
        chosen = np.arange(self.size)
        if self.size > count:
            errors = self.errors()
            worst = np.argpartition(errors, self.size - count // 4)[-(count // 4) :]
            chosen = np.union1d(worst, np.linspace(0, self.size - 1, count).astype(np.int64))
        golden, target = (_wide(side[chosen]) for side in (self.golden, self.target))
        if golden.dtype.kind == "c" or target.dtype.kind == "c":
            golden, target = np.abs(golden), np.abs(target)
        finite = np.isfinite(golden) & np.isfinite(target)
        return golden[finite], target[finite]

    def most_varying_axes(self, kind: ErrorKind = "absolute") -> tuple[int, int]:
        """Return the two axes along which the mean error varies most; -1 for one that the tensor does not have."""
        axes = [axis for axis, size in enumerate(self.shape) if size > 1]
        if len(axes) <= 2:
            return _two(axes)
        errors = self._capped(kind).reshape(self.shape)
        spread = {
            axis: float(np.std(errors.mean(tuple(a for a in range(errors.ndim) if a != axis), np.float64)))
            for axis in axes
        }  # fmt: skip
        return _two(sorted(sorted(axes, key=lambda axis: (-spread[axis], axis))[:2]))

    def worst_index(self, kind: ErrorKind = "absolute") -> Shape:
        """Index of the element with the largest error; zeros in an empty tensor."""
        if not self.size:
            return (0,) * len(self.shape)
        return self._index(int(np.argmax(self.errors(kind))))

    def heat_map(
        self,
        axes: tuple[int, int] | None = None,
        at: Sequence[int] | None = None,
        kind: ErrorKind = "absolute",
        cells: int = 256,
    ) -> HeatMap:
        """Return the errors in a plane of the tensor, the largest of each cell.

        ``axes`` are by default the most telling two; ``at`` says where the plane lies in the others, by default
        where the worst element is.
        """
        rows, columns = self.most_varying_axes(kind) if axes is None else self._checked(axes)
        place = self._plane(at, kind)
        if not self.size:
            return HeatMap(np.full((0, 0), np.nan), (rows, columns), (1, 1), place)
        cut = tuple(
            slice(None) if axis in (rows, columns) else place[axis]
            for axis in range(len(self.shape))
        )
        plane = self.errors(kind).reshape(self.shape)[cut].astype(np.float64)
        if rows > columns >= 0:
            plane = plane.T
        plane = plane.reshape(self._length(rows), self._length(columns))
        steps = tuple(max(1, -(-size // cells)) for size in plane.shape)
        return HeatMap(_reduced(plane, *steps), (rows, columns), (steps[0], steps[1]), place)

    def _length(self, axis: int) -> int:
        return self.shape[axis] if axis >= 0 else 1

    def _checked(self, axes: tuple[int, int]) -> tuple[int, int]:
        known = range(len(self.shape))
        if len(set(axes)) != 2 or not all(axis in known for axis in axes if axis != -1):
            raise WorkbenchError("compare/axes", known=[*known], got=axes)
        return axes

    def _plane(self, at: Sequence[int] | None, kind: ErrorKind) -> Shape:
        if at is None:
            return self.worst_index(kind)
        inside = len(at) == len(self.shape) and all(
            0 <= index < max(size, 1) for index, size in zip(at, self.shape, strict=True)
        )
        if not inside:
            raise WorkbenchError("compare/index", shape=self.shape, got=tuple(at))
        return tuple(int(index) for index in at)

    def _capped(self, kind: ErrorKind) -> Array:
        """Errors with those without bound made ten times the largest other one, so that they have a mean."""
        errors = self.errors(kind)
        finite = np.isfinite(errors)
        if finite.all():
            return errors
        most = float(errors[finite].max(initial=0.0))
        return np.where(finite, errors, np.float64(10 * most or 1.0))

    @property
    def _unit(self) -> tuple[int, float] | None:
        """Stored bits of the mantissa and smallest distance of the coarser format; ``None`` without ULPs."""
        rows = [DTYPES.get(name) for name in self.dtypes]
        floats = [row for row in rows if row is not None and row.is_float and not row.is_complex]
        if len(floats) < 2:
            return None
        row = min(floats, key=lambda one: one.mantissa)
        return row.mantissa, float(ml_dtypes.finfo(row.storage).smallest_subnormal)  # type: ignore[no-untyped-call]

    @property
    def _scale(self) -> float:
        """What elements near zero are held against: the largest finite magnitude of the golden."""
        most = 0.0
        for _, golden, _ in self._pieces():
            sizes = np.abs(golden)
            most = max(most, float(sizes[np.isfinite(sizes)].max(initial=0.0)))
        return most or 1.0

    def _pieces(self) -> Iterator[tuple[Array, Array, slice]]:
        for start in range(0, self.size, _STEP):
            part = slice(start, start + _STEP)
            yield _wide(self.target[part]), _wide(self.golden[part]), part

    def _measured(self, kind: ErrorKind) -> Array:
        wide = any(side.dtype.itemsize >= 8 for side in (self.target, self.golden))
        form = np.float64 if wide or kind == "ulp" else np.float32
        out: Array = np.empty(self.size, form)
        most = np.finfo(form).max
        scale = self._scale if kind == "relative" else 1.0
        exact = self.target.dtype.kind in "iub" and self.golden.dtype.kind in "iub"
        with np.errstate(all="ignore"):
            for target, golden, part in self._pieces():
                off = _distance(target, golden)
                if exact:  # float64 cannot tell all integers of 64 bits apart
                    unequal = self.target[part] != self.golden[part]
                    off = np.where(unequal, np.maximum(off, 1.0), 0.0)
                found = self._in_units(off, golden, kind, scale)
                out[part] = np.where(np.isinf(off), np.inf, np.minimum(found, most))
        return out

    def _in_units(self, off: Array, golden: Array, kind: ErrorKind, scale: float) -> Array:
        """Say absolute errors in the units of a kind."""
        size = np.abs(golden)
        if kind == "relative":
            units = np.where(size > NEAR_ZERO, size, scale)
        elif kind == "ulp":
            if self._unit is None:
                return np.full(off.shape, np.nan)
            bits, least = self._unit
            exponents = np.where(size > 0, np.frexp(size)[1] - 1 - bits, -2000)
            units = np.maximum(np.ldexp(1.0, exponents), least)
        else:
            return off
        found = np.where(off == 0, 0.0, np.minimum(off / units, np.finfo(np.float64).max))
        return np.where(np.isinf(off), np.inf, found)

    def _index(self, flat: int) -> Shape:
        return tuple(int(i) for i in np.unravel_index(flat, self.shape)) if self.shape else ()

    def _places(self, chosen: Array) -> list[Element]:
        """Tell all about some elements."""
        t, g = self.target[chosen], self.golden[chosen]
        few = Elements(t, g, t.shape, t.shape, self.dtypes)
        golden, off = _wide(g), few.errors("absolute").astype(np.float64)
        scale = self._scale if (np.abs(golden) <= NEAR_ZERO).any() else 1.0
        with np.errstate(all="ignore"):
            relative, ulp = (self._in_units(off, golden, kind, scale) for kind in _UNITS)
        figures = zip(off.tolist(), relative.tolist(), ulp.tolist(), strict=True)
        values = zip(_plain(t), _plain(g), strict=True)
        return [
            Element(self._index(int(flat)), *both, *told)
            for flat, both, told in zip(chosen, values, figures, strict=True)
        ]

    def __repr__(self) -> str:
        return f"<Elements {self.size:,} of {self.total:,}, {'×'.join(map(str, self.whole)) or 'scalar'}>"


def read_elements(
    target: Source, golden: Source, dtypes: tuple[str, str], *, limit: int = LIMIT
) -> Elements:
    """Read both sides of a pair, ``limit`` elements of each at most.

    Raises
    ------
    FormatError
        A side cannot be read, or they have no elements in common: says why.
    """
    laid = lay_over(target, golden)
    if laid.mismatch:
        raise FormatError(laid.mismatch.code, **laid.mismatch.values)
    with OpenPair(laid.target, laid.golden) as pair:
        ours, theirs = pair.target, pair.golden
        if ours.size != theirs.size:
            raise FormatError(SIZES, target=ours.size, golden=theirs.size)
        whole = tuple(ours.shape if len(ours.shape) >= len(theirs.shape) else theirs.shape)
        shape = _leading(whole, limit)
        size = math.prod(shape)
        sides = np.empty(size, ours.dtype), np.empty(size, theirs.dtype)
        at = 0
        while at < size:
            count = min(ours.available(), theirs.available(), size - at)
            assert count, (size, at)  # a source has read what it states, or has raised
            sides[0][at : at + count] = ours.read(count)
            sides[1][at : at + count] = theirs.read(count)
            at += count
    return Elements(*sides, shape, whole, dtypes)


def _leading(whole: Shape, limit: int) -> Shape:
    """Shape of the first elements of a tensor, as many whole slices of the first axes as the limit allows."""
    if math.prod(whole) <= limit:
        return whole
    for axis in range(len(whole)):
        inner = math.prod(whole[axis + 1 :])
        if inner <= limit:
            return (*(1,) * axis, limit // inner, *whole[axis + 1 :])
    raise AssertionError(whole)


def _wide(side: Array) -> Array:
    """Return elements as float64 or complex128."""
    return side.astype(np.complex128 if side.dtype.kind == "c" else np.float64)


def _distance(target: Array, golden: Array) -> Array:
    """Absolute errors; the same infinity on both sides agrees."""
    off = np.abs(target - golden)
    off = np.where(target == golden, 0.0, off)
    return np.where(
        np.isnan(off) | ~(np.isfinite(target) & np.isfinite(golden)) & (off != 0), np.inf, off
    )


def _reduced(plane: Array, down: int, across: int) -> NDArray[np.float64]:
    """Largest value of every cell of ``down`` by ``across`` elements; the last ones may be smaller."""
    rows = np.maximum.reduceat(plane, np.arange(0, plane.shape[0], down), axis=0)
    found: NDArray[np.float64] = np.maximum.reduceat(
        rows, np.arange(0, plane.shape[1], across), axis=1
    )
    return found


def _two(axes: Sequence[int]) -> tuple[int, int]:
    """Rows and columns; a lone axis runs across."""
    rows, columns = ((-1, -1), (-1, *axes), tuple(axes))[len(axes)]
    return rows, columns


def _plain(side: Array) -> list[Any]:
    """Return elements as Python numbers, exactly."""
    if side.dtype.kind in "biufc":
        return list(side.tolist())
    return list(side.astype(np.int64 if "int" in side.dtype.name else np.float64).tolist())


# --- integers and truth values -------------------------------------------------------------------

COUNTED = 1 << 26
"""Elements of the largest tensor of integers that is read once more, to be counted."""


class ExactDifference(NamedTuple):
    """``unequal`` of ``size`` elements differ; the first in C order stands at ``at`` and holds what either side has."""

    unequal: int
    size: int
    at: list[int]
    target: int
    golden: int


def first_difference(item: Measured) -> ExactDifference | None:
    """Return where two tensors of integers differ; ``None`` where they do not lie alike, or are too large."""
    ours, theirs = item.pair.target.source, item.pair.golden.source
    if ours is None or theirs is None or item.divergence.size > COUNTED:
        return None
    try:
        target, golden = ours.array(), theirs.array()
    except FormatError:  # unreadable by now; the ledger tells so
        return None
    if target.shape != golden.shape:
        return None
    differs = np.flatnonzero(target != golden)
    if not differs.size:
        return None
    place = np.unravel_index(differs[0], target.shape)
    held = (int(array[place]) for array in (target, golden))
    return ExactDifference(len(differs), target.size, [int(axis) for axis in place], *held)
