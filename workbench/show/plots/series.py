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

    from workbench.comparison.result import Finding, Result, Row, Status
    from workbench.core.words import Message

    _Places = Sequence[int | None]
    _Floor = tuple[tuple[int, float], ...]

Lane = Literal["scale", "top", "zero", "none"]

MAX_DECADES = 20
"""A log axis taller than this shows nothing; smaller values sit on its lower edge."""


@dataclass(frozen=True, slots=True)
class Point:
    """One matched row: its number in the result, its place, its lane.

    ``y`` is log10 of the error and meaningful on the ``scale`` lane alone; ``came`` and ``own`` are those of the
    inherited and the own error, ``None`` for zero and what nobody knows.
    """

    row: int
    x: int
    y: float
    lane: Lane
    status: Status
    came: float | None = None
    own: float | None = None


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


@dataclass(frozen=True, slots=True)
class Series(Outline):
    """The whole picture. ``floor`` holds ``(x, log10 of the noise floor)`` by rising x."""

    points: tuple[Point, ...]
    floor: tuple[tuple[int, float], ...]


def positions(rows: Sequence[Row]) -> list[int | None]:
    """Place of every row on the x axis, ``None`` for tensors without a partner.

    Equal operators share a place; places are dense, so an iteration is as wide as it has operators.
    """
    columns = Rows.of(rows)
    cells = columns.table.rows
    placed = np.flatnonzero(~np.array(all_alone(columns), np.bool_))
    times = np.stack([cells[name][placed] for name in ("rank", "iteration", "order")])
    ordered = np.lexsort(times[::-1])
    steps = (np.diff(times[:, ordered], axis=1) != 0).any(axis=0)
    found: list[int | None] = [None] * len(columns)
    for number, x in zip(
        placed[ordered].tolist(), np.cumsum([0, *steps])[: len(placed)].tolist(), strict=True
    ):
        found[number] = x
    return found


def outline(result: Result) -> Outline:
    """Return what stands around the points of a result; an empty result has a usable axis."""
    rows = result.columns
    places = positions(rows)
    return _outline(result, places, _floor(places, rows))


def series(result: Result) -> Series:
    """Compute the picture of a result; an empty result gives an empty picture on a usable axis."""
    rows = result.columns
    places = positions(rows)
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


def _outline(result: Result, places: _Places, floor: _Floor) -> Outline:
    rows = result.columns
    low, high = _limits([*_extremes(places, rows), *(y for _, y in floor)])
    return Outline(
        segments=segments(places, rows),
        marks=marks(places, result),
        low=low,
        high=high,
        width=1 + max((x for x in places if x is not None), default=0),
    )


def _extremes(places: _Places, rows: Rows) -> list[float]:
    """Smallest and largest log10 of the errors that lie on the scale; none if no error does."""
    errors = rows.table.rows["error"]
    shown = rows.table.known("error") & np.isfinite(errors) & (errors != 0)
    shown &= np.array([x is not None for x in places], np.bool_)
    sizes = np.abs(errors[shown])
    return [math.log10(one) for one in (sizes.min(), sizes.max())] if sizes.size else []


def _points(places: _Places, rows: Rows) -> tuple[Point, ...]:
    names = ("error", "status", "inherited_error", "own_error")
    cells = zip(places, *map(rows.column, names), strict=True)
    return tuple(_point(number, x, *one) for number, (x, *one) in enumerate(cells) if x is not None)


def _point(
    number: int, x: int, error: float | None, status: Status, came: float | None, own: float | None
) -> Point:
    if error is None:
        return Point(number, x, 0.0, "none", status)
    if not math.isfinite(error):
        return Point(number, x, 0.0, "top", status)
    if error == 0:
        return Point(number, x, 0.0, "zero", status)
    return Point(number, x, _log(error) or 0.0, "scale", status, _log(came), _log(own))


def _log(error: float | None) -> float | None:
    return math.log10(abs(error)) if error and math.isfinite(error) else None


def _floor(places: _Places, rows: Rows) -> _Floor:
    """Noise floor by place: the largest of the operator's outputs, else of its inputs."""
    best: dict[int, tuple[bool, float]] = {}
    for x, value, io in zip(places, rows.column("noise_floor"), rows.column("io"), strict=True):
        if x is None or value is None or not 0 < value < math.inf:
            continue
        best[x] = max(best.get(x, (False, 0.0)), (io == "output", value))
    return tuple((x, math.log10(value)) for x, (_, value) in sorted(best.items()))


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
    spans: dict[tuple[int, int], tuple[int, int]] = {}
    times = zip(rows.column("rank"), rows.column("iteration"), strict=True)
    for x, time in zip(places, times, strict=True):
        if x is not None:
            start, end = spans.get(time, (x, x))
            spans[time] = (min(start, x), max(end, x))
    several = len({rank for rank, _ in spans}) > 1
    return tuple(
        Segment(start, end, place_of(rank, it, several))
        for (rank, it), (start, end) in sorted(spans.items())
    )


def marks(places: _Places, result: Result) -> tuple[Mark, ...]:
    """Defects that have a place on the axis, best first."""
    index: dict[tuple[str, int, int | None], int] = {}
    wanted = {one.op_name for one in result.findings}
    numbers = np.flatnonzero(result.columns.table.where("op_name", wanted.__contains__)).tolist()
    rows = result.columns.take(numbers)
    cells = zip(*map(rows.column, ("op_name", "iteration", "rank")), strict=True)
    for number, (name, iteration, rank) in zip(numbers, cells, strict=True):
        if (x := places[number]) is not None:
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
