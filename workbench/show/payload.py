"""The rows of a result as the JSON that the explorer module reads, ready to stand in a page."""

from __future__ import annotations

import base64
import gzip
import json
import math
from typing import TYPE_CHECKING, Any

from workbench.compare.metrics import METRICS
from workbench.show import words
from workbench.show.columns import IDENTITY, screen_columns, shown_status
from workbench.show.explorer_words import EXPLORER
from workbench.show.series import positions, series
from workbench.show.view import status_meanings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.compare.result import Result, Row
    from workbench.show.columns import Cell, Column, Kind
    from workbench.show.labels import Language

SCHEMA = "workbench.explorer/1"

_ALONE = "without a partner on the other side"
_ERROR = "RelativeEuclideanDistance"

PLAIN_LIMIT = 200_000
"""Bytes of JSON up to which it stands in the page as text; more is compressed."""

_ALL_DIGITS = 17

DESCRIPTION_LIMIT = 5_000
"""Rows up to which figures that describe one side (minimum, mean, …) are part of the page."""


def digits(result: Result) -> int:
    """Significant digits of the figures in the page; CSV and JSON files hold all of them.

    Three are as many as tables show, so large results lose nothing on screen by rounding twice.
    """
    return 5 if len(result.rows) <= DESCRIPTION_LIMIT else 3


def explorer_data(
    result: Result, *, language: Language = "en", exact: bool = False
) -> dict[str, Any]:
    """Return columns, plot positions, marks and words of a result as JSON values.

    Figures are rounded to `digits`; with ``exact`` errors and noise floors are not, so that grading by thresholds
    counts to the last row what `workbench.compare.regrade` counts.

    Text columns are a list of distinct texts and indices into it; -1 stands for the operator's name.
    ``x`` and ``order`` are steps from the one before. NaN and the infinities are the strings
    ``NaN``, ``Infinity``, ``-Infinity``; ``null`` means that nothing was measured.
    """
    picture = series(result)
    shown = page_columns(result)
    places = dict.fromkeys((c.key for c in shown), digits(result))
    if exact:
        places |= dict.fromkeys(("error", "inherited", "floor"), _ALL_DIGITS)
    return {
        "schema": SCHEMA,
        "rows": len(result.rows),
        "columns": [_column(column, result.rows, places[column.key]) for column in shown],
        "x": _steps(positions(result.rows)),
        "width": picture.width,
        "limits": [picture.low, picture.high],
        "segments": [[s.start, s.end, s.label] for s in picture.segments],
        "marks": [[m.x, m.number, m.label] for m in picture.marks],
        "constants": _constants(result),
        "words": EXPLORER if language == "zh" else {},
        "statuses": status_meanings(result) | {words.UNMATCHED: _ALONE},
    }


def _constants(result: Result) -> dict[str, Cell]:
    """Values of the columns that are left out because all rows agree in them."""
    row = next(iter(result.rows), None)
    return {c.key: c.value(row) for c in IDENTITY if c.constant and row is not None}


def page_columns(result: Result) -> tuple[Column, ...]:
    """Columns of the table in the page; large results leave one-sided descriptions to the files."""
    return _kept(screen_columns(result), result)


def left_out(result: Result) -> tuple[str, ...]:
    """Titles of the columns that `page_columns` leaves to the files."""
    shown = screen_columns(result)
    kept = {column.title for column in _kept(shown, result)}
    return tuple(c.title for c in shown if c.title not in kept and c.title != _ERROR)


def _kept(shown: tuple[Column, ...], result: Result) -> tuple[Column, ...]:
    if all(repr(row.metrics.get(_ERROR, row.error)) == repr(row.error) for row in result.rows):
        shown = tuple(c for c in shown if c.title != _ERROR)  # the column Error has it already
    if len(result.rows) <= DESCRIPTION_LIMIT:
        return shown
    return tuple(c for c in shown if not _describes(c))


def _describes(column: Column) -> bool:
    metric = METRICS.get(column.title)
    return metric is not None and metric.better == "neither"


def _column(column: Column, rows: Sequence[Row], places: int) -> dict[str, Any]:
    value = shown_status if column.key == "status" else column.value
    cells = [value(row) for row in rows]
    head = {"key": column.key, "heading": column.heading, "kind": column.kind}
    if column.kind == "text":
        same = {
            n for n, row in enumerate(rows) if column.key == "golden" and cells[n] == row.op_name
        }
        texts = dict.fromkeys(cell for n, cell in enumerate(cells) if n not in same)
        index = {text: number for number, text in enumerate(texts)}
        values = [-1 if n in same else index[cell] for n, cell in enumerate(cells)]
        return {**head, "texts": list(texts), "values": values}
    if column.key == "order":
        return {**head, "worse": 0, "help": "", "values": _steps([row.order for row in rows])}
    metric = METRICS.get(column.title)
    return {
        **head,
        "worse": column.worse,
        "help": metric.formula if metric else "",
        "values": [_figure(cell, column.kind, places) for cell in cells],
    }


def _steps(values: Sequence[int | None]) -> list[int | None]:
    """Differences of neighbors, which compress to almost nothing; ``None`` stays and is skipped."""
    steps: list[int | None] = []
    last = 0
    for value in values:
        steps.append(None if value is None else value - last)
        last = last if value is None else value
    return steps


def _figure(value: Cell, kind: Kind, places: int) -> Cell:
    if value is None or isinstance(value, str):
        return value
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if float(value).is_integer() and abs(value) < 2**53:
        return int(value)
    if kind == "share" and 0.1 <= value < 1:  # the distance from 1 keeps three digits
        return round(value, min(7, max(3, 2 - math.floor(math.log10(1 - value)))))
    return float(f"{value:.{places}g}")


def compressed(result: Result, language: Language = "en") -> bytes:
    """Return `explorer_data` with exact errors as gzip of JSON, for a widget."""
    return gzip.compress(_json(explorer_data(result, language=language, exact=True)), 3, mtime=0)


def _json(data: dict[str, Any]) -> bytes:
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", errors="replace")  # file names may hold lone surrogates


def embed(data: dict[str, Any]) -> tuple[str, str]:
    """Return text that is safe inside ``<script>``, and its encoding: ``json`` or ``gzip``.

    ``<`` and its like are escaped, so no name from a dump can end the element; above PLAIN_LIMIT
    the text is base64 of gzip, without a time stamp.
    """
    raw = _json(data)
    if len(raw) > PLAIN_LIMIT:
        return base64.b64encode(gzip.compress(raw, 6, mtime=0)).decode("ascii"), "gzip"
    text = raw.decode()
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text, "json"
