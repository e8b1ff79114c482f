"""What the divergence plot draws, apart from how: positions, lanes, noise floor, marks.

The matplotlib figure and the explorer in the report share this module, so both show one picture.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from workbench.comparison.rows import Rows
from workbench.show import words
from workbench.show.columns import all_alone
from workbench.show.view import place_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from workbench.comparison.result import Finding, Result, Row
    from workbench.core.words import Message

    _Places = NDArray[np.int64]

Lane = Literal["scale", "top", "zero", "none"]

MAX_DECADES = 20
"""A log axis taller than this shows nothing; smaller values sit on its lower edge."""


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Matched rows as columns: place, lane and status of each.

    ``y`` is log10 of the error, ``came`` and ``own`` are those of the inherited and the own error: NaN beside the
    ``scale`` lane, for zero and for what nobody knows.
    """

    x: NDArray[np.int64]
    y: NDArray[np.float64]
    lane: NDArray[np.str_]
    status: NDArray[np.str_]
    came: NDArray[np.float64]
    own: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True, slots=True, eq=False)
class Floor:
    """Noise floor: its log10 ``y`` at places ``x``, which rise."""

    x: NDArray[np.int64]
    y: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True, slots=True)
class Segment:
    """One iteration of one rank: positions ``start`` to ``end``, both included."""

    start: int
    end: int
    label: Message


@dataclass(frozen=True, slots=True)
class Mark:
    """A finding on the plot; ``number`` is its 1-based place in the list of findings."""

    x: int
    number: int
    label: str


@dataclass(frozen=True, slots=True)
class Outline:
    """What stands around the points: the log axis from decade ``low`` to ``high``, spans, marks, places in all."""

    segments: tuple[Segment, ...]
    marks: tuple[Mark, ...]
    low: int
    high: int
    width: int


@dataclass(frozen=True, slots=True, eq=False)
class Series(Outline):
    """The whole picture."""

    points: Points
    floor: Floor


def positions(rows: Sequence[Row]) -> list[int | None]:
    """Place of every row on the x axis, ``None`` for tensors without a partner.

    Equal operators share a place; places are dense, so an iteration is as wide as it has operators.
    """
    places = _places(Rows.of(rows))
    found: list[int | None] = places.tolist()
    for number in np.flatnonzero(places == _NOWHERE).tolist():
        found[number] = None
    return found


_NOWHERE = -1
"""Place of a row that has none."""


def _places(rows: Rows) -> _Places:
    """Return `positions` as an array."""
    cells = rows.table.rows
    placed = np.flatnonzero(~np.array(all_alone(rows), np.bool_))
    times = np.stack([cells[name][placed] for name in ("rank", "iteration", "order")])
    ordered = np.lexsort(times[::-1])
    steps = (np.diff(times[:, ordered], axis=1) != 0).any(axis=0)
    found = np.full(len(rows), _NOWHERE, np.int64)
    found[placed[ordered]] = np.cumsum([0, *steps])[: len(placed)]
    return found


def outline(result: Result) -> Outline:
    """Return what stands around the points of a result; an empty result has a usable axis."""
    rows = result.columns
    places = _places(rows)
    return _outline(result, places, _floor(places, rows))


def series(result: Result) -> Series:
    """Compute the picture of a result; an empty result gives an empty picture on a usable axis."""
    rows = result.columns
    places = _places(rows)
    floor = _floor(places, rows)
    around = _outline(result, places, floor)
    return Series(
        segments=around.segments,
        marks=around.marks,
        low=around.low,
        high=around.high,
        width=around.width,
        points=_points(places, rows),
        floor=floor,
    )


def _outline(result: Result, places: _Places, floor: Floor) -> Outline:
    rows = result.columns
    low, high = _limits([*_extremes(places, rows), *floor.y.tolist()])
    return Outline(
        segments=segments(places, rows),
        marks=marks(places, result),
        low=low,
        high=high,
        width=1 + int(places.max(initial=0)),
    )


def _extremes(places: _Places, rows: Rows) -> list[float]:
    """Smallest and largest log10 of the errors that lie on the scale; none if no error does."""
    errors = rows.table.rows["error"]
    shown = rows.table.known("error") & np.isfinite(errors) & (errors != 0)
    sizes = np.abs(errors[shown & (places != _NOWHERE)])
    return [math.log10(one) for one in (sizes.min(), sizes.max())] if sizes.size else []


def _points(places: _Places, rows: Rows) -> Points:
    shown = places != _NOWHERE
    error, known = rows.numbers("error")
    beside = [~known, ~np.isfinite(error), error == 0]
    lane = np.select(beside, ["none", "top", "zero"], "scale")[shown]

    def on_scale(name: str) -> NDArray[np.float64]:
        return np.where(lane == "scale", _logs(rows.numbers(name).values[shown]), math.nan)

    return Points(
        x=places[shown],
        y=on_scale("error"),
        lane=lane,
        status=np.array(rows.column("status"), np.str_)[shown],
        came=on_scale("inherited_error"),
        own=on_scale("own_error"),
    )


def _logs(errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log10 of the sizes of errors, NaN for zero and what is not finite.

    It is Python's: NumPy's differs from one processor to another in the last bit, and pictures must not.
    """
    found = np.full(len(errors), math.nan)
    usual = np.isfinite(errors) & (errors != 0)
    found[usual] = [*map(math.log10, np.abs(errors[usual]).tolist())]
    return found


def _floor(places: _Places, rows: Rows) -> Floor:
    """Noise floor by place: the largest of the operator's outputs, else of its inputs."""
    value = rows.numbers("noise_floor").values
    usable = np.flatnonzero((places != _NOWHERE) & (value > 0) & (value < math.inf))
    output = rows.table.where("io", "output".__eq__)
    ordered = usable[np.lexsort((value[usable], output[usable], places[usable]))]
    x = places[ordered]
    last = np.flatnonzero(np.diff(x, append=len(rows)))
    return Floor(x[last], _logs(value[ordered[last]]))


def _limits(values: Sequence[float]) -> tuple[int, int]:
    """Whole decades around the values: at least three of them, at most MAX_DECADES."""
    if not values:
        return (-8, 0)
    low, high = math.floor(min(values)), math.ceil(max(values))
    high = max(high, low + 1)
    while high - low < 3:
        low, high = low - 1, high if high - low == 2 else high + 1
    return (max(low, high - MAX_DECADES), high)


def segments(places: _Places, rows: Rows) -> tuple[Segment, ...]:
    """Return iterations (and ranks, if there are several) as spans of the x axis."""
    placed = np.flatnonzero(places != _NOWHERE)
    ordered = placed[np.argsort(places[placed], kind="stable")]
    times = np.stack([rows.table.rows[name][ordered] for name in ("rank", "iteration")])
    changes = (np.diff(times, axis=1) != 0).any(axis=0)
    starts = np.flatnonzero(np.append(True, changes)[: len(ordered)])
    ends = np.append(starts, len(ordered))[1:] - 1
    several = len(np.unique(times[0])) > 1
    x = places[ordered]
    spans = zip(x[starts].tolist(), x[ends].tolist(), times[:, starts].T.tolist(), strict=True)
    return tuple(
        Segment(start, end, place_of(rank, iteration, several))
        for start, end, (rank, iteration) in spans
    )


def marks(places: _Places, result: Result) -> tuple[Mark, ...]:
    """Defects that have a place on the axis, best first."""
    index: dict[tuple[str, int, int | None], int] = {}
    wanted = {one.op_name for one in result.findings}
    numbers = np.flatnonzero(result.columns.table.where("op_name", wanted.__contains__)).tolist()
    rows = result.columns.take(numbers)
    cells = zip(*map(rows.column, ("op_name", "iteration", "rank")), strict=True)
    for number, (name, iteration, rank) in zip(numbers, cells, strict=True):
        if (x := int(places[number])) != _NOWHERE:
            index.setdefault((name, iteration, rank), x)
            index.setdefault((name, iteration, None), x)
    found = [(number, one, _place(one, index)) for number, one in enumerate(result.findings, 1)]
    return tuple(
        Mark(x, number, words.leaf(one.op_name))
        for number, one, x in found
        if one.defect and x is not None
    )


def _place(finding: Finding, index: Mapping[tuple[str, int, int | None], int]) -> int | None:
    """Place of a finding: on its own rank, or on that which was compared with it."""
    name, iteration = finding.op_name, finding.iteration
    return index.get((name, iteration, finding.rank), index.get((name, iteration, None)))
