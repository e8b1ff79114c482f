"""The divergence plot as a matplotlib `Figure` or as deterministic SVG; never through pyplot.

pyplot keeps figures in a global registry that notebook handlers on other threads corrupt; a
`Figure` of one's own and one lock around drawing do not have that problem. Import this module only
where something is drawn: it loads matplotlib.
"""

from __future__ import annotations

import base64
import io
import re
import threading
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from workbench.core.text import shorten, visible
from workbench.core.words.translate import ENGLISH
from workbench.show.plots.series import series
from workbench.show.words import STATUS_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from workbench.comparison.result import Result
    from workbench.show.plots.series import Floor, Lane, Mark, Segment, Series

STYLES: dict[str, tuple[str, str, float]] = {
    "equal": ("o", "#7b8594", 6.0),
    "pass": ("o", "#14908c", 11.0),
    "uncomparable": ("s", "#7b8594", 11.0),
    "warn": ("^", "#b87400", 19.0),
    "fail": ("X", "#d93a4a", 25.0),
}
"""Status → marker, color (3:1 or better against white and against near-black), area in points²."""

LANES: dict[Lane, str] = {
    "top": "show/lane-not-finite",
    "zero": "show/lane-zero",
    "none": "show/lane-none",
}
"""Lanes beside the log scale → codes of their labels."""

LABELLED = 3
"""So many findings carry their operator's name on the plot; the next ones only a line."""

VECTOR_STEPS = 1000
"""A noise floor of more steps than this is drawn as an image, which keeps the file small."""

STEMS = 600
"""So many points at most show where their error comes from."""

RUN = 250
"""Steps of the noise floor that are filled at once."""

COLORS = 128
"""Colors of the images in a page; as many as nobody tells from all of them, in a third of the bytes."""

INK = "#1d2530"
FAINT = "#7b8594"
_LOCK = threading.RLock()
_INCHES = (11.0, 4.2)
_SETTINGS: dict[Any, Any] = {
    "svg.hashsalt": "workbench",
    "svg.fonttype": "none",
    "font.family": ["DejaVu Sans"],
    "font.size": 8.5,
}
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


_SILENT = dict.fromkeys(("Date", "Creator", "Format", "Type"))
"""Metadata of an SVG that would differ from run to run, or say nothing."""


class ShownFigure(Figure):
    """A Figure that a notebook displays by itself; matplotlib's own is shown by pyplot only.

    Both images go into the notebook: SVG stays sharp and is preferred, but JupyterLab shows PNG
    alone as long as a notebook is not trusted.
    """

    def _repr_svg_(self) -> str:
        with _LOCK, mpl.rc_context(_SETTINGS):
            return _svg(self, dpi=144)

    def _repr_png_(self) -> bytes:
        with _LOCK, mpl.rc_context(_SETTINGS):
            out = io.BytesIO()
            self.savefig(out, format="png", dpi=100, metadata={"Software": None})
        return out.getvalue()


def shown_figure(draw: Callable[[Figure], None], size: tuple[float, float]) -> ShownFigure:
    """Return what ``draw`` makes of an empty figure of ``size`` inches."""
    with _LOCK, mpl.rc_context(_SETTINGS):
        figure = ShownFigure(figsize=size, facecolor="white", layout="constrained")
        draw(figure)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # laid out anew, every drawing would differ a little
    return figure


def divergence_figure(result: Result) -> ShownFigure:
    """Draw error against execution order.

    Errors are relative and dimensionless, on a log scale; NaN and Inf lie in a lane above it, exact
    zeros and rows without a measured error in lanes below. The shaded band is the noise floor.
    Tensors without a partner have no error and no place.
    """
    with _LOCK, mpl.rc_context(_SETTINGS):
        figure = _drawn(result)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # laid out anew, every drawing would differ a little
    return figure


def _drawn(result: Result) -> ShownFigure:
    figure = ShownFigure(figsize=_INCHES, facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    picture = series(result)
    lanes = _lanes(picture)
    _draw_frame(axes, picture, lanes)
    _draw_segments(axes, picture.segments)
    _draw_floor(axes, picture)
    _draw_ways(axes, picture)
    _draw_points(axes, picture, lanes)
    rows = _draw_marks(axes, picture.marks, picture.width)
    _draw_title(axes, _headline(picture), rows)
    return figure


def divergence_svg(result: Result) -> str:
    """Return the figure as an ``<svg>`` element: the same result always gives the same text.

    Points are an embedded image, so 20,000 of them stay small. Text and axes take ``currentColor``
    and the background is empty, so that the drawing follows the theme of the page around it.
    """
    with _LOCK, mpl.rc_context(_SETTINGS):
        figure = _drawn(result)
        dpi = 120 if len(result.rows) <= 5_000 else 100
        return _few_colors(
            _inline(_svg(figure, dpi, transparent=True), ENGLISH("show/figure-divergence"))
        )


def inline_svg(draw: Callable[[Figure], None], label: str, size: tuple[float, float]) -> str:
    """Return what ``draw`` makes of an empty figure of ``size`` inches as an ``<svg>`` element of the page's ink.

    ``label`` is what screen readers say, in letters and signs that need no escaping.
    """
    with _LOCK, mpl.rc_context(_SETTINGS):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        body = _inline(_svg(figure, dpi=110, transparent=True), label)
    return re.sub(r' id="[A-Za-z]+[0-9a-z]*_\d+"', "", body)  # several figures stand in one page


def _svg(figure: Figure, dpi: int, *, transparent: bool = False) -> str:
    """Return a figure as an ``<svg>`` element in the font of the place where it is shown."""
    _lay_out(figure)
    out = io.StringIO()
    figure.savefig(out, format="svg", dpi=dpi, transparent=transparent, metadata=_SILENT)
    text = out.getvalue()
    body = text[text.index("<svg") :].strip()
    return re.sub(r"'DejaVu Sans'(, [^;\"]*)?", "system-ui, sans-serif", body)


def _lay_out(figure: Figure) -> None:
    """Place what a figure holds as it will be drawn; matplotlib would draw it all once for that."""
    engine = figure.get_layout_engine()
    if engine is not None:
        canvas = FigureCanvasSVG(figure)
        figure.dpi = canvas.fixed_dpi
        engine.execute(figure)
        figure.set_layout_engine("none")


def _few_colors(body: str) -> str:
    """Give the images of a drawing a palette."""
    from PIL import Image  # matplotlib needs it as well

    def painted(found: re.Match[str]) -> str:
        image = Image.open(io.BytesIO(base64.b64decode(found[1]))).convert("RGBA")
        out = io.BytesIO()
        image.quantize(COLORS, Image.Quantize.FASTOCTREE).save(out, "png", optimize=True)
        return f'data:image/png;base64,{base64.b64encode(out.getvalue()).decode("ascii")}"'

    return re.sub(r'data:image/png;base64,([^"]*)"', painted, body)


def _inline(body: str, label: str) -> str:
    """Drop the size in points, and take the ink of the page."""
    body = re.sub(r"(<svg [^>]*?)width=\"[^\"]*pt\" height=\"[^\"]*pt\"", r"\1", body, count=1)
    said = f'role="img" aria-label="{label}"'
    return body.replace(INK, "currentColor").replace("<svg ", f"<svg {said} ", 1)


def _lanes(picture: Series) -> dict[Lane, float]:
    """Heights of the lanes in decades; rows without a figure get a lane only if there are any."""
    step = max(0.5, (picture.high - picture.low) * 0.085)
    lanes: dict[Lane, float] = {"top": picture.high + step, "zero": picture.low - step}
    if (picture.points.lane == "none").any():
        lanes["none"] = picture.low - 2 * step
    return lanes


def _draw_frame(axes: Axes, picture: Series, lanes: dict[Lane, float]) -> None:
    half = (lanes["top"] - picture.high) / 2
    margin = 0.5 + 0.012 * picture.width
    axes.set_xlim(-margin, picture.width - 1 + margin)
    axes.set_ylim(min(lanes.values()) - half, lanes["top"] + half)
    ticks = _decades(picture.low, picture.high)
    names = [f"10{str(tick).translate(_SUPERSCRIPT)}" for tick in ticks]
    axes.set_yticks([*ticks, *lanes.values()], [*names, *(ENGLISH(LANES[lane]) for lane in lanes)])
    axes.locator_params(axis="x", integer=True, nbins=min(10, picture.width))
    if picture.width < 4:
        axes.set_xticks(range(picture.width if len(picture.points) else 0))
    axes.xaxis.set_major_formatter(lambda place, _: f"{place:,.0f}")
    axes.hlines(ticks, *axes.get_xlim(), color=FAINT, alpha=0.2, linewidth=0.6, zorder=0)
    edges = [picture.high + half, picture.low - half]
    axes.hlines(edges, *axes.get_xlim(), color=FAINT, linewidth=0.6)
    axes.tick_params(colors=INK, length=0)
    below = 18 if len(picture.segments) > 1 else 6
    axes.set_xlabel(ENGLISH("show/axis-position"), color=INK, loc="left", labelpad=below)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _decades(low: int, high: int) -> list[int]:
    step = 1 + (high - low - 1) // 8
    return list(range(high, low - 1, -step))


def _draw_segments(axes: Axes, segments: Sequence[Segment]) -> None:
    """Separate iterations by a line; name as many below the axis as there is room for."""
    if len(segments) < 2:
        return
    stride = 1 + (len(segments) - 1) // 8
    for number, segment in enumerate(segments):
        if number:
            axes.axvline(segment.start - 0.5, color=FAINT, linewidth=0.8, alpha=0.7, zorder=1)
        if number % stride == 0:
            axes.annotate(
                ENGLISH.told(segment.label), (segment.start - 0.5, 0), xycoords=("data", "axes fraction"),
                xytext=(2, -17), textcoords="offset points", va="top", color=INK,
            )  # fmt: skip


def _draw_floor(axes: Axes, picture: Series) -> None:
    """Shade the noise floor: one flat step per operator, from the bottom of the scale upward."""
    outlines = []
    for x, y in _runs(picture.floor):
        held = np.clip(y, picture.low, picture.high)
        above = np.stack(
            [np.stack([x - 0.5, x + 0.5], axis=1), np.stack([held, held], axis=1)], axis=2
        )
        below = [(x[-1] + 0.5, picture.low), (x[0] - 0.5, picture.low)]
        outlines.append(np.concatenate([above.reshape(-1, 2), below]))
    image = len(picture.floor) > VECTOR_STEPS
    shade = PolyCollection(
        outlines, facecolors=FAINT, alpha=0.22, linewidth=0, zorder=1, rasterized=image
    )
    axes.add_collection(shade, autolim=False)


def _runs(floor: Floor) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Split at gaps: an operator without a floor must not seem to have one.

    Long runs are split as well: what it takes to fill an outline grows with the square of its corners.
    """
    gaps = np.flatnonzero(np.diff(floor.x) != 1) + 1
    for first, end in pairwise((0, *gaps.tolist(), len(floor))):
        for start in range(first, end, RUN):
            some = slice(start, min(start + RUN, end))
            yield floor.x[some], floor.y[some]


def _draw_points(axes: Axes, picture: Series, lanes: dict[Lane, float]) -> None:
    """Draw every point; many points are drawn smaller, so that a crowd keeps its outline."""
    points, heights = picture.points, _heights(picture, lanes)
    size = min(1.0, max(0.25, 1200 / (1 + len(points))))
    handles = []
    for status, (marker, _, area) in STYLES.items():
        of_status = points.status == status
        if not (count := int(of_status.sum())):
            continue
        axes.scatter(
            points.x[of_status], heights[of_status],
            s=area * size, marker=marker, zorder=3, rasterized=True, **_paint(status),
        )  # fmt: skip
        label = ENGLISH("show/status-count", n=count, status=ENGLISH(STATUS_WORDS[status]))
        handles.append(axes.scatter([], [], s=25, marker=marker, label=label, **_paint(status)))
    if handles:
        axes.legend(
            handles=handles[::-1], loc="upper right", bbox_to_anchor=(1.0, 0.0), frameon=False,
            ncols=len(handles), handletextpad=0.1, columnspacing=1.4, borderpad=0,
            borderaxespad=3.4, labelcolor=INK,
        )  # fmt: skip


def _draw_ways(axes: Axes, picture: Series) -> None:
    """Draw where errors come from while there is room: a line from the inherited one, a diamond at the own one."""
    points = picture.points
    on_scale = points.lane == "scale"
    if on_scale.sum() > STEMS:
        return

    came = on_scale & ~np.isnan(points.came)
    if came.any():
        low, high = (
            np.clip(values[came], picture.low, picture.high) for values in (points.came, points.y)
        )
        axes.vlines(points.x[came], low, high, color=FAINT, linewidth=0.8, alpha=0.7, zorder=2)
    own = on_scale & (points.own >= picture.low)
    if own.any():
        axes.scatter(
            points.x[own], np.minimum(points.own[own], picture.high), s=22, marker="D",
            facecolors="none", edgecolors=INK, linewidths=0.7, zorder=2.5, rasterized=True,
        )  # fmt: skip


def _paint(status: str) -> dict[str, Any]:
    """Fill every marker but that of equal tensors, which stays hollow."""
    color = STYLES[status][1]
    if status == "equal":
        return {"facecolors": "none", "edgecolors": color, "linewidths": 0.8}
    return {"facecolors": color, "edgecolors": "none", "linewidths": 0}


def _heights(picture: Series, lanes: dict[Lane, float]) -> NDArray[np.float64]:
    """Heights of all points in decades."""
    points = picture.points
    beside = [points.lane == lane for lane in lanes]
    found: NDArray[np.float64] = np.select(
        beside, [*lanes.values()], np.maximum(points.y, picture.low)
    )
    return found


def _draw_marks(axes: Axes, marks: Sequence[Mark], width: int) -> int:
    """Mark findings by a line, the best ones by name above the plot; return rows of names used."""
    ends: list[float] = []
    for place, mark in enumerate(marks[:9]):
        color = STYLES["fail"][1]
        strong = 1.3 if place == 0 else 0.7
        axes.axvline(mark.x, color=color, linewidth=strong, alpha=0.9, zorder=2)
        if place >= LABELLED:
            continue
        text = f"{mark.number}  {_drawable(shorten(visible(mark.label), 40))}"
        space = width * 0.0085 * (len(text) + 2)
        late = mark.x + space > width
        start = mark.x - space if late else mark.x
        row = next((k for k, end in enumerate(ends) if end <= start), len(ends))
        ends[row : row + 1] = [start + space]
        label = axes.annotate(
            text, (mark.x, 1.0), xycoords=("data", "axes fraction"),
            xytext=(3 if late else -3, 4 + 12 * row), textcoords="offset points",
            ha="right" if late else "left", va="bottom", color=INK,
            fontweight="bold" if place == 0 else "normal",
        )  # fmt: skip
        label.set_parse_math(False)
    return len(ends)


def _draw_title(axes: Axes, text: str, rows: int) -> None:
    title = axes.set_title(text, loc="left", color=INK, fontsize=10, pad=10 + 12 * rows)
    title.set_parse_math(False)


def _headline(picture: Series) -> str:
    if not len(picture.points):
        return ENGLISH("show/figure-empty")
    legend = ["show/legend-shade"] * (len(picture.floor) > 0)
    if len(picture.points) <= STEMS:
        legend += ["show/legend-lines"] * (not np.isnan(picture.points.came).all())
        legend += ["show/legend-diamonds"] * (not np.isnan(picture.points.own).all())
    shown = "".join(map(ENGLISH, legend))
    return ENGLISH("show/figure-title", n=len(picture.points), legend=shown)


def _drawable(text: str) -> str:
    """Replace what the measuring font lacks (it would warn)."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    font = get_font(findfont(FontProperties(family=["DejaVu Sans"])))
    return "".join(c if c.isprintable() and font.get_char_index(ord(c)) else "�" for c in text)
