"""Figures of one operator: distribution of its errors, golden against target, a heat map, its trend.

All of them are inline SVG with points and cells as images; import this module only where something is drawn.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np
from matplotlib.colors import ListedColormap

from workbench.core.words.translate import ENGLISH
from workbench.show import words
from workbench.show.plots.divergence import FAINT, INK, STYLES, inline_svg

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from workbench.comparison.measure.elements import Elements, ErrorKind, HeatMap
    from workbench.comparison.result import Row

_POINT = "#14908c"
_ALARM = "#d93a4a"
_SUPERSCRIPT = str.maketrans("-0123456789.", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹·")
_STUB = 0.2
"""Height of a bar that stands for one element, in decades."""

_MOST_EDGES = 64


def histogram_svg(elements: Elements, kind: ErrorKind = "absolute") -> str:
    """Draw how many elements have which error, both on log scales; zeros and errors without bound in lanes beside."""
    found = elements.histogram(kind)

    def draw(figure: Figure) -> None:
        axes = _axes(figure, _unit(kind), ENGLISH("show/axis-elements"))
        edges = found.edges or (0.0, 1.0)
        width = edges[1] - edges[0]
        bars = [
            (edge + width / 2, count, _POINT)
            for edge, count in zip(edges, found.counts, strict=False)
        ]
        low, high = edges[0] - 2.2 * width, edges[-1] + 2.2 * width
        bars += [(low, found.zero, FAINT), (high, found.unbounded, _ALARM)]
        shown = [bar for bar in bars if bar[1]]
        axes.bar(
            [x for x, _, _ in shown], [math.log10(n) + _STUB for _, n, _ in shown],
            width=width * 0.92, bottom=-_STUB, color=[color for _, _, color in shown],
        )  # fmt: skip
        most = math.log10(max([n for _, n, _ in shown], default=1))
        axes.set_ylim(-_STUB, most + 0.3)
        _log_ticks(axes, "y", 0.0, most)
        ticks = [e for e in found.edges if e.is_integer()] or [*found.edges[:1], *found.edges[-1:]]
        ticks = ticks[:: 1 + max(0, len(ticks) - 1) // 8]
        lanes = [low] * bool(found.zero) + [high] * bool(found.unbounded)
        names = ["0"] * bool(found.zero) + [ENGLISH("show/lane-not-finite")] * bool(found.unbounded)
        axes.set_xticks([*ticks, *lanes], [*(_power(tick) for tick in ticks), *names])
        left = low if found.zero else edges[0]
        axes.set_xlim(left - width, (high if found.unbounded else edges[-1]) + width)

    label = ENGLISH("show/figure-histogram", unit=_unit(kind), n=elements.size)
    return inline_svg(draw, label, (4.6, 2.9))


def scatter_svg(elements: Elements) -> str:
    """Draw target against golden; on the diagonal they agree."""
    golden, target = elements.sample()
    power = _common_power(golden, target)
    golden, target = (np.ldexp(side, -power) for side in (golden, target))
    names = [ENGLISH("show/axis-golden"), ENGLISH("show/axis-target")]
    if power:
        unit = f"2{str(power).translate(_SUPERSCRIPT)}"
        names = [ENGLISH("show/axis-scaled", side=name, unit=unit) for name in names]

    def draw(figure: Figure) -> None:
        axes = _axes(figure, *names)
        if not golden.size:
            _say_in_the_middle(axes, "show/no-finite-pair")
            return
        low, high = float(min(golden.min(), target.min())), float(max(golden.max(), target.max()))
        room = (high - low) * 0.04 or max(abs(high), 1e-300) * 0.04
        ends = [low - room, high + room]
        if all(map(math.isfinite, ends)):
            axes.plot(ends, ends, color=FAINT, linewidth=0.9, zorder=1)
            axes.set_xlim(*ends)
            axes.set_ylim(*ends)
        axes.scatter(golden, target, s=7, color=_POINT, alpha=0.75, linewidths=0, rasterized=True)
        axes.locator_params(nbins=5)

    label = ENGLISH("show/figure-scatter", n=golden.size, total=elements.total)
    return inline_svg(draw, label, (3.4, 2.9))


def heat_svg(found: HeatMap, kind: ErrorKind = "absolute", tiles: tuple[int, int] = (0, 0)) -> str:
    """Draw a plane of errors on a log scale; ``tiles`` are the elements between edges of the device's tiles."""
    values = found.values

    def draw(figure: Figure) -> None:
        rows, columns = (_axis(axis) for axis in found.axes)
        axes = _axes(figure, columns, rows)
        axes.grid(visible=False)
        if not values.size:
            _say_in_the_middle(axes, "show/no-element")
            return
        height, width = (n * step for n, step in zip(values.shape, found.step, strict=True))
        extent = (-0.5, width - 0.5, height - 0.5, -0.5)
        _draw_cells(figure, axes, values, extent, _unit(kind))
        _draw_tiles(axes, (height, width), tiles)
        axes.locator_params(integer=True, nbins=8)
        if height == 1:
            axes.set_yticks([])

    step = " × ".join(str(n) for n in found.step)
    label = ENGLISH("show/figure-map", unit=_unit(kind), cells=step)
    height, width = values.shape if values.size else (1, 1)
    tall = min(4.6, max(1.5, 0.9 + 6.0 * min(1.0, height / width)))
    return inline_svg(draw, label, (8.0, tall))


def trend_svg(rows: Sequence[Row], ranks: bool) -> str:
    """Draw error, inherited error and noise floor of one tensor over its iterations, a line for each rank."""

    def draw(figure: Figure) -> None:
        axes = _axes(figure, ENGLISH("show/axis-iteration"), ENGLISH("show/axis-relative"))
        for rank in sorted({row.rank for row in rows}):
            own = [row for row in rows if row.rank == rank]
            steps = [row.iteration for row in own]
            for name, style, color in (
                ("noise_floor", ":", FAINT), ("inherited_error", "--", FAINT), ("error", "-", _POINT)
            ):  # fmt: skip
                axes.plot(
                    steps,
                    [_drawable(getattr(row, name)) for row in own],
                    style,
                    color=color,
                    linewidth=1.1,
                )
            for status, (marker, color, area) in STYLES.items():
                chosen = [row for row in own if row.status == status]
                axes.scatter(
                    [row.iteration for row in chosen], [_drawable(row.error) for row in chosen],
                    marker=marker, s=area, color=color, zorder=3, linewidths=0,
                )  # fmt: skip
            if ranks:
                axes.annotate(
                    ENGLISH("show/rank-of", rank=rank),
                    (steps[-1], _drawable(own[-1].error)),
                    color=INK,
                )
        kept = [y for row in rows for y in map(_drawable, _figures(row)) if math.isfinite(y)]
        _log_ticks(axes, "y", min(kept, default=0.0), max(kept, default=0.0))
        axes.locator_params(axis="x", integer=True, nbins=8)

    label = ENGLISH("show/figure-trend", n=len({row.iteration for row in rows}))
    return inline_svg(draw, label, (6.4, 2.4))


def _axes(figure: Figure, across: str, up: str) -> Axes:
    axes = figure.add_subplot()
    axes.set_xlabel(across, color=INK)
    axes.set_ylabel(up, color=INK)
    axes.tick_params(colors=INK, length=2)
    axes.set_axisbelow(True)
    axes.grid(color=FAINT, alpha=0.25, linewidth=0.6)
    for name, spine in axes.spines.items():
        spine.set_visible(name in ("left", "bottom"))
        spine.set_color(FAINT)
    return axes


def _draw_cells(
    figure: Figure,
    axes: Axes,
    values: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    extent: tuple[float, float, float, float],
    unit: str,
) -> None:
    """Draw cells: zeros pale, numbers by a log scale, errors without bound in one color of their own."""
    some = np.isfinite(values) & (values > 0)
    usual = np.full(values.shape, np.nan)
    usual[some] = np.log10(values[some])
    shape = {"extent": extent, "interpolation": "nearest", "aspect": "auto"}
    axes.imshow(np.zeros((1, 1)), cmap=ListedColormap([(0.5, 0.5, 0.5, 0.13)]), **shape)  # type: ignore[arg-type]
    if some.any():
        low, high = float(np.nanmin(usual)), float(np.nanmax(usual))
        image = axes.imshow(usual, vmin=low, vmax=max(high, low + 1e-9), cmap="viridis", **shape)  # type: ignore[arg-type]
        bar = figure.colorbar(image, ax=axes, pad=0.015, fraction=0.05)
        bar.set_label(unit, color=INK)
        _log_ticks(bar.ax, "y", low, high)
        bar.ax.tick_params(colors=INK, length=2)
        bar.outline.set_visible(False)
    if np.isinf(values).any():
        odd = np.where(np.isinf(values), 1.0, np.nan)
        axes.imshow(odd, cmap=ListedColormap([_ALARM]), **shape)  # type: ignore[arg-type]


def _draw_tiles(axes: Axes, size: tuple[int, int], tiles: tuple[int, int]) -> None:
    for length, tile, line in zip(size, tiles, (axes.axhline, axes.axvline), strict=True):
        if tile and length / tile <= _MOST_EDGES:
            for edge in range(tile, length, tile):
                line(edge - 0.5, color="white", linewidth=0.7, alpha=0.8)


def _axis(axis: int) -> str:
    return ENGLISH("show/axis-axis", axis=axis) if axis >= 0 else ""


def _unit(kind: ErrorKind) -> str:
    return ENGLISH(words.ELEMENT_ERRORS[kind][0])


def _say_in_the_middle(axes: Axes, code: str) -> None:
    axes.text(0.5, 0.5, ENGLISH(code), ha="center", color=INK, transform=axes.transAxes)


def _common_power(*sides: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> int:
    """Power of two that brings numbers near the ends of float64 where they can be drawn; 0 for usual ones."""
    most = max(float(np.abs(side).max(initial=0.0)) for side in sides)
    return 0 if not most or 1e-100 < most < 1e100 else math.frexp(most)[1]


def _figures(row: Row) -> tuple[float | None, ...]:
    return row.error, row.inherited_error, row.noise_floor


def _drawable(value: float | None) -> float:
    return math.log10(value) if value and math.isfinite(value) else math.nan


def _log_ticks(axes: Axes, which: Literal["x", "y"], low: float, high: float) -> None:
    """Label an axis that holds decimal logarithms: whole decades if there are two, else its ends."""
    decades = list(range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1))
    places: list[float] = [*decades[:: 1 + max(0, len(decades) - 1) // 6]]
    names = [_power(place) for place in places]
    if len(places) < 2:
        places = [low, high] if high > low else [low]
        names = [words.number(10.0**place, 2) for place in places]
    if which == "x":
        axes.set_xticks(places, names)
    else:
        axes.set_yticks(places, names)


def _power(exponent: float) -> str:
    return f"10{f'{exponent:g}'.translate(_SUPERSCRIPT)}"
