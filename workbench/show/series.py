"""What the divergence plot draws, apart from how: positions, lanes, noise floor, marks.

The matplotlib figure and the explorer in the report share this module, so both show one picture.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from workbench.comparison.rows import Rows
from workbench.show import words
from workbench.show.columns import all_alone
from workbench.show.view import place_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workbench.comparison.result import Finding, Result, Row, Status
    from workbench.core.words import Message

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
class Series:
    """The whole picture. ``floor`` holds ``(x, log10 of the noise floor)`` by rising x."""

    points: tuple[Point, ...]
    floor: tuple[tuple[int, float], ...]
    segments: tuple[Segment, ...]
    marks: tuple[Mark, ...]
    low: int
    high: int
    width: int


def positions(rows: Sequence[Row]) -> list[int | None]:
    """Place of every row on the x axis, ``None`` for tensors without a partner.

    Equal operators share a place; places are dense, so an iteration is as wide as it has operators.
    """
    columns = Rows.of(rows)
    times = zip(*(columns.column(name) for name in ("rank", "iteration", "order")), strict=True)
    steps = [
        None if lonely else time for lonely, time in zip(all_alone(columns), times, strict=True)
    ]
    place = {step: x for x, step in enumerate(sorted({*filter(None, steps)}))}
    return [None if step is None else place[step] for step in steps]


def series(result: Result) -> Series:
    """Compute the picture of a result; an empty result gives an empty picture on a usable axis."""
    rows = result.columns.views()
    places = positions(rows)
    points = tuple(
        _point(number, x, row)
        for number, (x, row) in enumerate(zip(places, rows, strict=True))
        if x is not None
    )
    floor = _floor(places, rows)
    low, high = _limits([p.y for p in points if p.lane == "scale"], [y for _, y in floor])
    return Series(
        points=points,
        floor=floor,
        segments=segments(places, rows),
        marks=marks(places, result),
        low=low,
        high=high,
        width=1 + max((p.x for p in points), default=0),
    )


def _point(number: int, x: int, row: Row) -> Point:
    error = row.error
    if error is None:
        return Point(number, x, 0.0, "none", row.status)
    if not math.isfinite(error):
        return Point(number, x, 0.0, "top", row.status)
    if error == 0:
        return Point(number, x, 0.0, "zero", row.status)
    y, came, own = _log(error), _log(row.inherited_error), _log(row.own_error)
    return Point(number, x, y or 0.0, "scale", row.status, came, own)


def _log(error: float | None) -> float | None:
    return math.log10(abs(error)) if error and math.isfinite(error) else None


def _floor(places: Sequence[int | None], rows: Sequence[Row]) -> tuple[tuple[int, float], ...]:
    """Noise floor by place: the largest of the operator's outputs, else of its inputs."""
    best: dict[int, tuple[bool, float]] = {}
    for x, row in zip(places, rows, strict=True):
        value = row.noise_floor
        if x is None or value is None or not 0 < value < math.inf:
            continue
        best[x] = max(best.get(x, (False, 0.0)), (row.io == "output", value))
    return tuple((x, math.log10(value)) for x, (_, value) in sorted(best.items()))


def _limits(errors: Sequence[float], floors: Sequence[float]) -> tuple[int, int]:
    """Whole decades around the values: at least three of them, at most MAX_DECADES."""
    values = [*errors, *floors]
    if not values:
        return (-8, 0)
    low, high = math.floor(min(values)), math.ceil(max(values))
    high = max(high, low + 1)
    while high - low < 3:
        low, high = low - 1, high if high - low == 2 else high + 1
    return (max(low, high - MAX_DECADES), high)


def segments(places: Sequence[int | None], rows: Sequence[Row]) -> tuple[Segment, ...]:
    """Return iterations (and ranks, if there are several) as spans of the x axis."""
    spans: dict[tuple[int, int], tuple[int, int]] = {}
    for x, row in zip(places, rows, strict=True):
        if x is not None:
            start, end = spans.get((row.rank, row.iteration), (x, x))
            spans[row.rank, row.iteration] = (min(start, x), max(end, x))
    several = len({rank for rank, _ in spans}) > 1
    return tuple(
        Segment(start, end, place_of(rank, it, several))
        for (rank, it), (start, end) in sorted(spans.items())
    )


def marks(places: Sequence[int | None], result: Result) -> tuple[Mark, ...]:
    """Defects that have a place on the axis, best first."""
    index: dict[tuple[str, int, int | None], int] = {}
    for x, row in zip(places, result.rows, strict=True):
        if x is not None:
            index.setdefault((row.op_name, row.iteration, row.rank), x)
            index.setdefault((row.op_name, row.iteration, None), x)
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
