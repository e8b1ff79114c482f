"""The rows of a result as the JSON that the explorer module reads, ready to stand in a page."""

from __future__ import annotations

import base64
import gzip
import json
from decimal import ROUND_DOWN, Context, Decimal
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from workbench._values import NamedTuple
from workbench.comparison.measure.metrics import METRICS
from workbench.comparison.results.regrade import in_floors
from workbench.comparison.rows import MaybeNumbers
from workbench.core.text import json_number
from workbench.core.words.render import table
from workbench.core.words.translate import Say
from workbench.show import words
from workbench.show.columns import IDENTITY, screen_columns, shown_statuses
from workbench.show.plots.series import outline, positions
from workbench.show.spelling import spell_figures, spell_whole
from workbench.show.view import status_meanings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from workbench.comparison.result import Result, Rows
    from workbench.core.words.translate import Language
    from workbench.show.columns import Cell, Column, Kind

SCHEMA = "workbench.explorer/1"

_ERROR = "RelativeEuclideanDistance"

PLAIN_LIMIT = 200_000
"""Bytes of JSON up to which it stands in the page as text; more is compressed."""

_ALL_DIGITS = 17

GRADED_DIGITS = 4
"""Significant digits of thresholds up to which a page grades as Python does."""

DESCRIPTION_LIMIT = 2_500
"""Rows up to which figures that describe one side (minimum, mean, …) are part of the page."""


SHOWN_DIGITS = 3
"""Significant digits of figures in tables."""


def digits(result: Result) -> int:
    """Significant digits of the figures in the page; CSV and JSON files hold all of them.

    Large results have those of tables alone, and lose nothing on screen by rounding twice.
    """
    return 5 if len(result.rows) <= DESCRIPTION_LIMIT else SHOWN_DIGITS


class ColumnFigures(NamedTuple):
    """Figures of a column as the page has them: rounded, NaN where there is none, which are there, which are whole."""

    values: NDArray[np.float64]
    known: NDArray[np.bool_]
    whole: NDArray[np.bool_]
    kind: Kind
    places: int


def as_list(figures: ColumnFigures) -> list[Cell]:
    """Return figures as values of JSON: whole ones as integers, what is not finite as a word."""
    found, cells = figures.values, figures.values.astype(object)
    cells[figures.whole] = found[figures.whole].astype(np.int64)
    for n in np.flatnonzero(~np.isfinite(found) & figures.known).tolist():
        cells[n] = json_number(float(found[n]))
    cells[~figures.known] = None
    return cast("list[Cell]", cells.tolist())


class JsonText(str):
    """Text of JSON, which stands in JSON as it is."""

    __slots__ = ()


def as_json(figures: ColumnFigures) -> JsonText:
    """Return `as_list` as text of JSON: of rounded figures few are different."""
    texts = spell_figures(figures.values, json.dumps)
    texts[figures.whole] = spell_whole(figures.values[figures.whole])
    texts[~figures.known] = "null"
    return JsonText(f"[{','.join(texts.tolist())}]")


def explorer_data(
    result: Result,
    *,
    language: Language = "en",
    exact: bool = False,
    write: Callable[[ColumnFigures], Any] = as_list,
) -> dict[str, Any]:
    """Return columns, plot positions, marks and words of a result as JSON values.

    Figures are rounded to `digits`; with ``exact`` errors and noise floors are not. Else errors, and in ``times``
    how many noise floors they are, stay on their side of every threshold of so many digits: grading by thresholds
    counts to the last row what `workbench.comparison.results.regrade` counts.

    ``write`` says what stands for the figures of a column. Text columns are a list of distinct texts and indices
    into it; -1 stands for the operator's name.
    ``x`` and ``order`` are steps from the one before; the module computes the gain from error and inherited error.
    NaN and the infinities are the strings ``NaN``, ``Infinity``, ``-Infinity``; ``null`` means that nothing was
    measured.
    """
    picture = outline(result)
    meanings = status_meanings(result) | {words.UNMATCHED: "show/means-unmatched"}
    shown = page_columns(result)
    places = dict.fromkeys((c.key for c in shown), digits(result))
    if exact:
        places |= dict.fromkeys(("error", "inherited", "floor"), _ALL_DIGITS)
    say = Say(language)
    columns = [_column(column, result.columns, places[column.key], say, write) for column in shown]
    return {
        "schema": SCHEMA,
        "rows": len(result.rows),
        "columns": columns,
        **({} if exact else _graded(columns, result, write)),
        "x": _steps(positions(result.rows)),
        "width": picture.width,
        "limits": [picture.low, picture.high],
        "segments": [[s.start, s.end, say.told(s.label)] for s in picture.segments],
        "marks": [[m.x, m.number, m.label] for m in picture.marks],
        "constants": _constants(result),
        "words": _words(say),
        "statuses": {status: say(code) for status, code in meanings.items()},
    }


def _words(say: Say) -> dict[str, str]:
    """Return all that the module of the page says, by code."""
    return {f"explorer/{name}": say.words(f"explorer/{name}") for name in table("explorer")}


def _graded(
    columns: Sequence[dict[str, Any]], result: Result, write: Callable[[ColumnFigures], Any]
) -> dict[str, Any]:
    """Put errors into their column, and return how many noise floors they are, both fit to be graded."""
    errors, floors = (result.columns.column(name) for name in ("error", "noise_floor"))
    places = max(digits(result), GRADED_DIGITS)
    values = _beside_thresholds(result.columns.numbers("error"), places)
    next(c for c in columns if c["key"] == "error")["values"] = write(values)
    ratios = MaybeNumbers.of([*map(in_floors, errors, floors)])
    return {"times": write(_beside_thresholds(ratios, places))}


def _constants(result: Result) -> dict[str, Cell]:
    """Values of the columns that are left out because all rows agree in them."""
    first = result.rows[:1]
    return {c.key: c.value(row) for row in first for c in IDENTITY if c.constant}


def page_columns(result: Result) -> tuple[Column, ...]:
    """Columns of the table in the page; large results leave one-sided descriptions to the files."""
    return _kept(screen_columns(result), result)


def left_out(result: Result) -> tuple[str, ...]:
    """Titles of the columns that `page_columns` leaves to the files."""
    shown = screen_columns(result)
    kept = {column.title for column in _kept(shown, result)}
    return tuple(c.title for c in shown if c.title not in kept and c.title != _ERROR)


def _kept(shown: tuple[Column, ...], result: Result) -> tuple[Column, ...]:
    if _is_said_twice(result.columns):
        shown = tuple(c for c in shown if c.title != _ERROR)  # the column Error has it already
    if len(result.rows) <= DESCRIPTION_LIMIT:
        return shown
    return tuple(c for c in shown if not _describes(c))


def _is_said_twice(rows: Rows) -> bool:
    """Whether the metric that errors are of says the same as they do, wherever it was measured."""
    error, metric = rows.numbers("error"), rows.metric_numbers(_ERROR)
    same = error.known & _are_same(error.values, metric.values)
    return bool(np.all(same | ~metric.known))


def _are_same(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.bool_]:
    alike: NDArray[np.bool_] = (a == b) & (np.signbit(a) == np.signbit(b))
    return alike | (np.isnan(a) & np.isnan(b))


def _describes(column: Column) -> bool:
    metric = METRICS.get(column.title)
    return metric is not None and metric.better == "neither"


def _column(
    column: Column, rows: Rows, places: int, say: Say, write: Callable[[ColumnFigures], Any]
) -> dict[str, Any]:
    heading = say(column.heading) if column.heading else column.title
    head = {"key": column.key, "heading": heading, "kind": column.kind}
    if column.kind == "text":
        return head | _texts(column, rows)
    if column.key == "order":
        return {**head, "worse": 0, "help": "", "values": _steps(rows.column("order"))}
    if column.key == "gain":
        return {**head, "worse": column.worse, "help": "", "values": None}
    metric = METRICS.get(column.title)
    return {
        **head,
        "worse": column.worse,
        "help": metric.formula if metric else "",
        "values": write(_figures(column.numbers(rows), column.kind, places)),
    }


def _texts(column: Column, rows: Rows) -> dict[str, Any]:
    read = shown_statuses if column.key == "status" else column.cells
    cells: list[Cell] = [*read(rows)]
    if column.key == "golden":
        pairs = zip(cells, rows.column("op_name"), strict=True)
        cells = [None if cell == name else cell for cell, name in pairs]
    texts = [text for text in dict.fromkeys(cells) if text is not None]
    index: dict[Cell, int] = {None: -1} | {text: number for number, text in enumerate(texts)}
    return {"texts": texts, "values": [*map(index.__getitem__, cells)]}


def _steps(values: Sequence[int | None]) -> list[int | None]:
    """Differences of neighbors, which compress to almost nothing; ``None`` stays and is skipped."""
    steps: list[int | None] = []
    last = 0
    for value in values:
        steps.append(None if value is None else value - last)
        last = last if value is None else value
    return steps


def _figures(numbers: MaybeNumbers, kind: Kind, places: int) -> ColumnFigures:
    """Round figures to so many significant digits; what is whole stays as it is."""
    found, known = numbers
    whole = (found == np.rint(found)) & (np.abs(found) < 2.0**53)
    if places < _ALL_DIGITS:
        found = np.where(whole, found, _rounded(found, kind, places))
    return ColumnFigures(found, known, whole, kind, places)


def _beside_thresholds(numbers: MaybeNumbers, places: int) -> ColumnFigures:
    """Cut values to so many significant digits; a 5 behind them stands for what was cut off.

    So each stays above, at or below every number of so many digits.
    """
    found = numbers.values
    power = _POWERS[np.clip(places - 1 - _decade(found), 0, _EXACT)]
    with np.errstate(over="ignore", invalid="ignore"):
        whole = np.floor(found * power)
        rest = found * power - whole
    cut = (whole + 0.5) / power
    sure = (rest > 1e-6) & (rest < 1 - 1e-6) & (whole >= 10 ** (places - 1)) & (whole < 10**places)
    for n in np.flatnonzero(~sure & np.isfinite(found)).tolist():
        cut[n] = _cut(float(found[n]), places)
    cut = np.where(np.isfinite(found), cut, found)
    return _figures(MaybeNumbers(cut, numbers.known), "number", _ALL_DIGITS)


def _cut(value: float, places: int) -> float:
    shortest = Decimal(repr(value))
    head = Context(prec=places, rounding=ROUND_DOWN).plus(shortest)
    if head == shortest:
        return value
    return float(head + Decimal((0, (5,), head.adjusted() - places)))


def _rounded(found: NDArray[np.float64], kind: Kind, places: int) -> NDArray[np.float64]:
    digits = places - 1 - _decade(np.abs(found))
    if kind == "share":  # the distance from 1 keeps three digits
        near = (found >= 0.1) & (found < 1)
        digits = np.where(near, np.clip(2 - _decade(1 - found), 3, 7), digits)
    fine = (digits >= 0) & (digits <= _EXACT)
    power = _POWERS[np.where(fine, digits, 0)]
    rounded: NDArray[np.float64] = np.rint(found * power) / power
    for n in np.flatnonzero(~fine & np.isfinite(found)).tolist():
        rounded[n] = float(f"{found[n]:.{places}g}")
    return np.where(np.isinf(rounded), found, rounded)  # nothing is larger than the largest


_EXACT = 22
"""Powers of ten up to this one are exact in float64."""

_POWERS = np.array([float(10**n) for n in range(_EXACT + 1)])


def _decade(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Exponent of the first digit: -3 for 0.001; 0 for what is not finite or zero."""
    usable = np.isfinite(values) & (values > 0)
    return np.floor(np.log10(np.where(usable, values, 1.0))).astype(np.int64)


def json_bytes(data: dict[str, Any]) -> bytes:
    """Return values of JSON as UTF-8, without spaces."""
    text = _json(data)
    return text.encode("utf-8", errors="backslashreplace")  # lone surrogates: JSON spells them so


def _json(value: Any) -> str:
    """Return the text of a value; a `JsonText` may stand anywhere in objects and lists of objects."""
    if isinstance(value, JsonText):
        return value
    if isinstance(value, dict):
        return f"{{{','.join(f'{_json(key)}:{_json(one)}' for key, one in value.items())}}}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return f"[{','.join(map(_json, value))}]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def embed(data: dict[str, Any]) -> tuple[str, str]:
    """Return text that is safe inside ``<script>``, and its encoding: ``json`` or ``gzip``.

    ``<`` and its like are escaped, so no name from a dump can end the element; above PLAIN_LIMIT
    the text is base64 of gzip, without a time stamp.
    """
    raw = json_bytes(data)
    if len(raw) > PLAIN_LIMIT:
        return base64.b64encode(gzip.compress(raw, 6, mtime=0)).decode("ascii"), "gzip"
    text = raw.decode()
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text, "json"
