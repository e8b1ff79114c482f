"""Views as HTML, the same for the panel, the report and plain notebook output: operator, match, source."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from workbench.core.dtypes import DTYPES
from workbench.core.errors import WorkbenchError
from workbench.core.words.translate import ENGLISH, Say
from workbench.show.plots.graph_picture import HIGH, WIDE, drawn
from workbench.show.templates import OPERATOR_STYLES, render
from workbench.show.words import ELEMENT_ERRORS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from workbench.comparison.measure.elements import Element, ErrorKind, HeatMap
    from workbench.views.index import RowIndex
    from workbench.views.match import MatchView
    from workbench.views.operator import OperatorView
    from workbench.views.source_map import SourceMap

SECTIONS = (
    "head", "source", "tensors", "values", "elements", "heat", "worst", "trend", "neighbours", "attributes", "ir",
)  # fmt: skip
"""Pieces, in the order of reading."""

MOST_LINES = 800
"""Lines of one file that a page holds, the worst of them; all are in the DataFrame."""

MOST_OPERATORS = 100
"""Operators of one line that a page holds."""

DECADES = 6.0
"""Own errors this many powers of ten above what is explained, and larger ones, have the longest bar."""

_DRAWN = frozenset(("elements", "heat", "worst"))


@dataclass(frozen=True, slots=True)
class _Figures:
    """What is drawn and listed of the elements."""

    kind_code: str
    histogram: str = ""
    scatter: str = ""
    heat: str = ""
    heat_words: str = ""
    worst: Sequence[Element] = ()
    differing: int = 0
    digits: tuple[int, ...] = ()


def operator_html(
    view: OperatorView,
    *,
    sections: Iterable[str] = SECTIONS,
    kind: ErrorKind = "absolute",
    count: int = 20,
    heat: HeatMap | None = None,
    say: Say = ENGLISH,
    clickable: bool = False,
    standalone: bool = False,
) -> str:
    """Return an operator as an HTML fragment; everything from the dumps is escaped.

    Parameters
    ----------
    sections : iterable of str
        Some of SECTIONS, in any order.
    kind : {"absolute", "relative", "ulp"}
        Error that figures and the list of the worst elements are made of.
    count : int
        Worst elements that are listed.
    heat : HeatMap, optional
        The plane that is drawn, by default the most telling one.
    say : Say
        Words of the screen in the reader's language.
    clickable : bool
        What carries a ``data-row`` can be reached by keyboard; whoever shows it takes the click.
    standalone : bool
        Carry the style sheets.
    """
    wanted = tuple(sections)
    unknown = sorted(set(wanted) - set(SECTIONS))
    if unknown:
        raise WorkbenchError("views/sections", known=list(SECTIONS), got=unknown)
    return render(
        "operator.html.j2",
        view=view,
        sections=wanted,
        figures=_figures(view, wanted, kind, count, heat, say),
        picture=drawn(view.neighbours) if "neighbours" in wanted else None,
        wide=WIDE,
        high=HIGH,
        trend_figure=_trend(view) if "trend" in wanted else "",
        styles=OPERATOR_STYLES if standalone else (),
        within=within(view.compared.row_index),
        say=say,
        clickable=clickable,
    )


def within(row_index: RowIndex) -> Callable[[str], str]:
    """Return what writes a path as it stands in its tree, whose own place the head of every report tells."""
    flow = row_index.flow
    sides = (flow.pairing.target, flow.pairing.golden) if flow is not None else ()
    roots = [f"{side.dump.path.rstrip('/')}/" for side in sides]

    def inside(path: str) -> str:
        return next((path.removeprefix(root) for root in roots if path.startswith(root)), path)

    return inside


def _figures(
    view: OperatorView,
    sections: Sequence[str],
    kind: ErrorKind,
    count: int,
    heat: HeatMap | None,
    say: Say,
) -> _Figures | None:
    """Draw what the sections need; ``None`` if there is nothing to draw."""
    if not _DRAWN.intersection(sections) or view.elements is None:
        return None
    from workbench.show.plots.operator import heat_svg, histogram_svg, scatter_svg

    elements = view.elements
    if kind not in elements.kinds:
        kind = "absolute"
    both = "elements" in sections
    drawn = "heat" in sections and elements.differing
    plane = (heat or view.heat_map(kind=kind)) if drawn else None
    listed = "worst" in sections
    return _Figures(
        kind_code=ELEMENT_ERRORS[kind][1],
        histogram=Markup(histogram_svg(elements, kind)) if both else "",
        scatter=Markup(scatter_svg(elements)) if both else "",
        heat=Markup(heat_svg(plane, kind, _edges(view, plane))) if plane else "",
        heat_words=_heat_words(view, plane, say) if plane else "",
        worst=elements.worst(count, kind) if listed else (),
        differing=elements.differing if listed else 0,
        digits=tuple(map(_digits, elements.dtypes)),
    )


def _edges(view: OperatorView, plane: HeatMap) -> tuple[int, int]:
    """Elements of a tile of the device along rows and columns of a plane; 0: none."""
    rows, columns = (view.tiles[axis] if axis >= 0 else 0 for axis in plane.axes)
    return rows, columns


def _digits(name: str) -> int:
    """Decimal digits that tell two numbers of a format apart."""
    row = DTYPES.get(name)
    return math.ceil((row.mantissa + 1) * math.log10(2)) + 1 if row and row.is_float else 17


def _heat_words(view: OperatorView, plane: HeatMap, say: Say) -> str:
    """Say which plane is drawn, and what one cell is."""
    shape = view.elements.shape if view.elements is not None else ()
    fixed = [
        say("show/map-axis", axis=axis, index=index)
        for axis, index in enumerate(plane.at)
        if axis not in plane.axes and shape[axis] > 1
    ]
    told = [say("show/error-map")]
    if fixed:
        told = [say("show/map-plane", title=told[0], axes=fixed)]
    if any(_edges(view, plane)):
        told.append(say("show/map-tiles", format=view.device_format))
    if plane.step != (1, 1):
        told.append(say("show/map-cells", rows=plane.step[0], columns=plane.step[1]))
    return "; ".join(told)


def _trend(view: OperatorView) -> str:
    rows = [view.compared.rows[index] for index in view.trend]
    if len(rows) < 2:
        return ""
    from workbench.show.plots.operator import trend_svg

    return Markup(trend_svg(rows, len({row.rank for row in rows}) > 1))


def context_html(
    view: MatchView,
    *,
    say: Say = ENGLISH,
    clickable: bool = False,
    standalone: bool = False,
) -> str:
    """Return what stands around a match as an HTML fragment; everything from the dumps is escaped.

    Parameters
    ----------
    say : Say
        Words of the screen in the reader's language.
    clickable : bool
        What carries a ``data-row`` can be reached by keyboard; whoever shows it takes the click.
    standalone : bool
        Carry the style sheets.
    """
    return render(
        "context.html.j2",
        view=view,
        pictures={side: drawn(around.found) for side, around in view.sides.items()},
        links={
            side: {node.key: view.link(side, node) for node in around.found.nodes}
            for side, around in view.sides.items()
        },
        wide=WIDE,
        high=HIGH,
        styles=OPERATOR_STYLES if standalone else (),
        within=within(view.compared.row_index),
        say=say,
        clickable=clickable,
    )


def source_html(
    found: SourceMap,
    *,
    selected: Collection[int] = (),
    say: Say = ENGLISH,
    clickable: bool = False,
    standalone: bool = False,
) -> str:
    """Return the heat map as an HTML fragment; everything from the dumps is escaped.

    Parameters
    ----------
    selected : collection of int
        Rows of the operator that is looked at.
    say : Say
        Words of the screen in the reader's language.
    clickable : bool
        What carries a ``data-row`` can be reached by keyboard; whoever shows it takes the click.
    standalone : bool
        Carry the style sheets.
    """
    return render(
        "source.html.j2",
        files=found.files,
        without_line=found.without_line,
        selected=frozenset(selected),
        decades=DECADES,
        most=MOST_LINES,
        listed=MOST_OPERATORS,
        styles=OPERATOR_STYLES if standalone else (),
        say=say,
        clickable=clickable,
    )
