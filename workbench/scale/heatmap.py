"""Ranks × iterations as a picture: one cell a unit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from workbench._values import NamedTuple
from workbench.core.errors import WorkbenchError
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from workbench.scale.job import JobResult
    from workbench.scale.summary import UnitSummary

STATES = ("absent", "waiting", "failed", "pass", "warn", "inconclusive", "incomplete", "fail")
"""States of a cell: that of its unit, or its verdict."""

COLORS = (
    "#ffffff00", "#d7dbe0", "#7b4fb5", "#14908c", "#b87400", "#8fa3b8", "#5a6472", "#d93a4a",
)  # fmt: skip
"""Color of each of STATES; those of verdicts are the report's."""

_COLUMN = 9.0
"""Width (inches) of the picture in a notebook, whose column is narrower than a report."""

SMALLEST = -9.0
"""Decimal logarithm of the least error that is told from none."""


class Cells(NamedTuple):
    """A value for every rank (a row each) and iteration; NaN where there is no unit or it has none."""

    ranks: tuple[int, ...]
    iterations: tuple[int, ...]
    values: NDArray[np.float64]


def state_of(one: UnitSummary) -> str:
    """State of a unit's cell."""
    return one.verdict if one.state == "done" else one.state


def _error(one: UnitSummary) -> float:
    if one.error is None:
        return math.nan
    if not math.isfinite(one.error):
        return math.inf
    return max(SMALLEST, math.log10(one.error)) if one.error > 0 else SMALLEST


def _first(one: UnitSummary) -> float:
    return math.nan if one.earliest is None else float(one.earliest.order)


VALUES: dict[str, tuple[str, Callable[[UnitSummary], float]]] = {
    "error": ("job/map-error", _error),
    "verdict": ("job/map-verdict", lambda one: float(STATES.index(state_of(one)))),
    "first": ("job/map-first", _first),
    "nonfinite": ("job/map-nonfinite", lambda one: float(one.nonfinite)),
    "missing": ("job/map-missing", lambda one: float(one.unmatched + one.uncompared)),
}
"""What a cell can show → code of its label, and its value of a unit."""


def cells(job: JobResult, value: str) -> Cells:
    """Return a value of every unit; raises WorkbenchError for one that is none of VALUES."""
    if value not in VALUES:
        raise WorkbenchError("core/choice", subject="value", got=value, known=[*VALUES])
    ranks, iterations = axes_of(job)
    rows = {rank: at for at, rank in enumerate(ranks)}
    columns = {iteration: at for at, iteration in enumerate(iterations)}
    found = np.full((len(ranks), len(iterations)), np.nan)
    read = VALUES[value][1]
    for one in job.units:
        if one.state == "done" or value == "verdict":
            found[rows[one.rank], columns[one.iteration]] = read(one)
    return Cells(ranks, iterations, found)


def axes_of(job: JobResult) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Ranks and iterations of a job, what one side lacks included."""
    places = {one.place for one in job.units} | {(one.rank, one.iteration) for one in job.missing}
    ranks, iterations = ({place[at] for place in places} for at in (0, 1))
    return tuple(sorted(ranks)), tuple(sorted(iterations))


def heatmap_figure(job: JobResult, value: str = "error") -> Figure:
    """Return the picture as a matplotlib Figure, which a notebook shows by itself and no pyplot knows."""
    from workbench.show.plots.divergence import shown_figure

    found = cells(job, value)
    scale = _COLUMN / size_of(found)[0]
    size = (_COLUMN, scale * size_of(found)[1])
    return shown_figure(lambda figure: draw(figure, found, value), size)


def size_of(found: Cells) -> tuple[float, float]:
    """Size of a picture (inches); the label of the color bar takes 3 of height."""
    return (11.0, min(7.0, max(3.0, 1.2 + 0.12 * len(found.ranks))))


def draw(figure: Figure, found: Cells, value: str) -> None:
    """Draw cells into an empty figure."""
    axes = figure.subplots()
    if not found.values.size:  # interrupted before its first unit
        axes.set_axis_off()
        return
    if value == "verdict":
        _draw_states(figure, axes, found)
    else:
        _draw_values(figure, axes, found, str(Message(VALUES[value][0])))
    axes.set_xlabel(str(Message("job/map-iteration")))
    axes.set_ylabel(str(Message("job/map-rank")))
    _ticks(axes.set_xticks, found.iterations)
    _ticks(axes.set_yticks, found.ranks)


def _draw_values(figure: Figure, axes: Axes, found: Cells, label: str) -> None:
    finite = np.where(np.isposinf(found.values), np.nan, found.values)
    image = axes.imshow(finite, aspect="auto", interpolation="nearest", cmap="cividis")
    figure.colorbar(image, ax=axes, label=label)
    for row, column in np.argwhere(np.isposinf(found.values)):
        axes.plot(column, row, "x", color=COLORS[-1], markersize=4)


def _draw_states(figure: Figure, axes: Axes, found: Cells) -> None:
    from matplotlib.colors import BoundaryNorm, ListedColormap

    count = len(STATES)
    norm = BoundaryNorm([at - 0.5 for at in range(count + 1)], count)
    filled = np.nan_to_num(found.values, nan=0.0)
    image = axes.imshow(
        filled, aspect="auto", interpolation="nearest", cmap=ListedColormap(COLORS), norm=norm
    )
    bar = figure.colorbar(image, ax=axes, ticks=range(count))
    bar.ax.set_yticklabels(STATES)


def _ticks(put: Callable[..., object], numbers: Sequence[int], most: int = 12) -> None:
    """Put at most some labels at an axis, each at the cell that it names."""
    step = max(1, -(-len(numbers) // most))
    places = range(0, len(numbers), step)
    put([*places], [str(numbers[at]) for at in places])
