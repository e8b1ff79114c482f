"""The columns of every table: one literal list that data frame, CSV, HTML and explorer share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import compress
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from workbench.comparison.columns import MAYBE
from workbench.comparison.measure.metrics import METRICS, ON_DEMAND, Metric
from workbench.comparison.rows import MaybeNumbers, Rows
from workbench.show import words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from workbench.comparison.result import Result, Row
    from workbench.core.tensors import TensorSpec
    from workbench.graph.graph import SourceFrame

Cell = str | int | float | None
Kind = Literal["text", "count", "number", "share"]
Alone = Literal["", "target", "golden"]

_WORSE = {"lower": 1, "higher": -1, "neither": 0}


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    ``title`` is the field's own word (data frame, CSV), ``heading`` the code
    of the one on screen, empty where it is the title. ``value`` reads one row, ``cells`` those of all rows at once.
    ``worse`` is +1 if large values are bad, -1 if small ones are, 0 if the column does not judge. ``constant``
    columns vanish from the screen while all rows agree. ``read`` reads numbers faster than their ``cells`` are made.
    """

    key: str
    title: str
    heading: str
    kind: Kind
    value: Callable[[Row], Cell]
    cells: Callable[[Rows], list[Cell]]
    worse: int = 0
    constant: bool = False
    read: Callable[[Rows], MaybeNumbers] | None = None

    def numbers(self, rows: Rows) -> MaybeNumbers:
        """Return the cells of a column that is no text as numbers."""
        return MaybeNumbers.of(self.cells(rows)) if self.read is None else self.read(rows)


def _column(
    key: str,
    title: str,
    kind: Kind,
    name: str = "",
    make: Callable[[Any], Cell] | None = None,
    *,
    heading: str = "",
    worse: int = 0,
    constant: bool = False,
) -> Column:
    """Return the column of one attribute of rows, its key if no other ``name`` is given; ``make`` makes its cells."""
    name, read = name or key, attrgetter(name or key)

    def value(row: Row) -> Cell:
        cell: Cell = read(row) if make is None else make(read(row))
        return cell

    def cells(rows: Rows) -> list[Cell]:
        return rows.column(name, make)

    def numbers(rows: Rows) -> MaybeNumbers:
        return rows.numbers(name)

    heading = heading or f"show/col-{key}"
    fast = numbers if make is None and kind != "text" else None
    return Column(key, title, heading, kind, value, cells, worse, constant, fast)


def gain(row: Row) -> float | None:
    """How many times the error that an operator reads its result has; ``None`` where it reads none or nobody knows."""
    return _gain(row.io, row.error, row.inherited_error)


def _gain(io: str, error: float | None, read: float | None) -> float | None:
    if io != "output" or error is None or not read or not math.isfinite(error):
        return None
    return error / read if math.isfinite(read) else None


def _gains(rows: Rows) -> list[Cell]:
    return [*map(_gain, *(rows.column(name) for name in ("io", "error", "inherited_error")))]


def _tensors(rows: Rows) -> list[Cell]:
    pairs = zip(rows.column("io"), rows.column("slot"), strict=True)
    return [f"{io}:{slot}" for io, slot in pairs]


def _dtype(spec: TensorSpec | None) -> str:
    return "" if spec is None else spec.dtype


def _line(source: SourceFrame | None) -> str:
    return f"{source.file}:{source.line}" if source else ""


def _code(source: SourceFrame | None) -> str:
    return source.code.strip() if source else ""


def alone(row: Row) -> Alone:
    """Side of a tensor without a partner (``target`` or ``golden``), ``""`` for a matched pair."""
    return _alone(row.match_rule, row.target_spec, row.golden_spec, row.op_name)


def all_alone(rows: Rows) -> list[Alone]:
    """Return `alone` of every row."""
    found: list[Alone] = [""] * len(rows)
    for number, side in _lonely(rows).items():
        found[number] = side
    return found


def _lonely(rows: Rows) -> dict[int, Alone]:
    """Side of each tensor without a partner, by its number."""
    numbers = np.flatnonzero(~rows.table.where("match_rule", bool)).tolist()
    lonely = rows.take(numbers)
    names = ("match_rule", "target_spec", "golden_spec", "op_name")
    return dict(zip(numbers, map(_alone, *map(lonely.column, names)), strict=True))


def _alone(rule: str, target: object, golden: object, op_name: str) -> Alone:
    if rule:
        return ""
    return "golden" if target is None and (golden is not None or not op_name) else "target"


def shown_status(row: Row) -> str:
    """Status as the screen says it: a tensor without a partner is ``unmatched``."""
    return words.UNMATCHED if alone(row) else row.status


def shown_statuses(rows: Rows) -> list[str]:
    """Return `shown_status` of every row."""
    found: list[str] = rows.column("status")
    for number in _lonely(rows):
        found[number] = words.UNMATCHED
    return found


IDENTITY: tuple[Column, ...] = (
    _column("order", "Order", "count"),
    _column("op_name", "NPUDump", "text", heading="show/col-operator"),
    _column("op_type", "OpType", "text", heading="show/col-type"),
    Column(
        "tensor", "TensorIndex", "show/col-tensor", "text", lambda r: f"{r.io}:{r.slot}", _tensors
    ),
    _column("rank", "Rank", "count", constant=True),
    _column("graph_id", "GraphId", "count", heading="show/col-graph", constant=True),
    _column("iteration", "Iteration", "count", constant=True),
    _column("turn", "Turn", "count", constant=True),
    Column(
        "status",
        "Status",
        "show/col-status",
        "text",
        shown_status,
        lambda rows: [*shown_statuses(rows)],
    ),
    _column("error", "Error", "number", worse=1),
    _column("own", "OwnError", "number", "own_error", worse=1),
    _column("inherited", "InheritedError", "number", "inherited_error", worse=1),
    _column("floor", "NoiseFloor", "number", "noise_floor"),
    Column("gain", "Gain", "show/col-gain", "number", gain, _gains, worse=1),
)
"""Columns that stand before the metrics."""

ASKED: tuple[Column, ...] = (
    _column("envelope", "Envelope", "number", worse=1),
    _column("envelope_slice", "EnvelopeSlice", "number", worse=1),
    _column("between_runs", "BetweenRuns", "number"),
    _column("dont_care", "DontCare", "count"),
)
"""Columns behind these, where something fills them: somebody asked for it, or elements were left out."""

CONTEXT: tuple[Column, ...] = (
    _column("dtype", "DataType", "text", "target_spec", _dtype),
    _column("golden_dtype", "GroundTruthDataType", "text", "golden_spec", _dtype,
            heading="show/col-golden-dtype"),
    _column("shape", "Shape", "text", "target_spec", words.shape),
    _column("golden_shape", "GroundTruthShape", "text", "golden_spec", words.shape,
            heading="show/col-golden-shape"),
    _column("golden", "GroundTruth", "text", "golden_op_name"),
    _column("rule", "MatchRule", "text", "match_rule"),
    _column("score", "MatchScore", "number", "match_score"),
    _column("reason", "Reason", "text", make=str),
    _column("source", "Source", "text", make=_line),
    _column("code", "SourceCode", "text", "source", _code),
)  # fmt: skip
"""Columns that stand after the metrics."""

FILES: tuple[Column, ...] = (
    _column("target_path", "NPUDumpFile", "text", heading="show/col-target-file"),
    _column("golden_path", "GroundTruthFile", "text", heading="show/col-golden-file"),
)
"""Columns of the data frame and the CSV alone."""


def metric_column(title: str, whole: bool) -> Column:
    """Return the column of one metric; it counts something if all its figures are ``whole`` numbers."""
    known = METRICS.get(title) or ON_DEMAND.get(title) or Metric("", "neither")
    kind: Kind = "share" if known.better == "higher" else "count" if whole else "number"

    def value(row: Row) -> Cell:
        return row.metrics.get(title)

    def cells(rows: Rows) -> list[Cell]:
        return [*rows.metric(title)]

    def numbers(rows: Rows) -> MaybeNumbers:
        return rows.metric_numbers(title)

    return Column(title, title, "", kind, value, cells, _WORSE[known.better], read=numbers)


def columns(result: Result) -> tuple[Column, ...]:
    """All columns of a result, in the order of the CSV."""
    rows = result.columns
    fractional = _fractional_titles(rows)
    metrics = tuple(metric_column(title, title not in fractional) for title in rows.titles)
    asked = tuple(one for one in ASKED if _is_filled(rows, one.key))
    return IDENTITY + asked + metrics + CONTEXT + FILES


def _fractional_titles(rows: Rows) -> frozenset[str]:
    """Metrics of which some figure is finite and no whole number."""
    found = set[str]()
    for kind, at in rows.kinds():
        block = rows.figures_of(kind, at)
        broken = ((block != np.rint(block)) & np.isfinite(block)).any(axis=0).tolist()
        found.update(compress(kind.places, broken))
    return frozenset(found)


def _is_filled(rows: Rows, name: str) -> bool:
    """Whether any row has a number there; of counts one above 0."""
    maybe = rows.table.declared.formats[name] == MAYBE
    return bool((rows.table.known(name) if maybe else rows.table.rows[name]).any())


def screen_columns(result: Result) -> tuple[Column, ...]:
    """Columns worth a place on screen: without files and without columns that never vary or hold nothing."""
    shown = columns(result)[: -len(FILES)]
    return tuple(c for c in shown if _worth(c, result.columns))


def _worth(column: Column, rows: Rows) -> bool:
    if column.key in _RARE:
        return bool(column.numbers(rows).known.any())
    return not column.constant or len({*column.cells(rows)}) > 1


_RARE = frozenset(("own", "gain"))
"""Columns that dumps of a kind cannot fill."""


def badness(value: float | None) -> tuple[int, float]:
    """Sort key of an error: nothing measured, numbers, infinities, NaN; the last is the worst.

    >>> sorted([float("nan"), 1.0, float("-inf"), None, 2.0], key=badness)
    [None, 1.0, 2.0, -inf, nan]
    """
    if value is None:
        return (0, 0.0)
    if math.isnan(value):
        return (3, 0.0)
    return (2, 0.0) if math.isinf(value) else (1, value)


_SEVERITY = {status: place for place, status in enumerate(reversed(words.STATUSES))}


def worst_first(rows: Iterable[Row]) -> list[Row]:
    """Pairs by status, then by error with NaN and Inf on top, then in execution order.

    Tensors without a partner come last: nothing was measured of them.
    """
    kept = sorted(rows, key=lambda row: (row.rank, row.iteration, row.order))
    kept.sort(key=lambda row: (_SEVERITY[row.status], badness(row.error)), reverse=True)
    return sorted(kept, key=lambda row: bool(alone(row)))


def worst_order(rows: Rows) -> list[int]:
    """Return the numbers of rows in the order of `worst_first`."""
    cells, error = rows.table.rows, rows.table.rows["error"]
    odd = np.where(np.isnan(error), 3, np.where(np.isinf(error), 2, 1))
    kind = np.where(rows.table.known("error"), odd, 0)
    severity = np.array([_SEVERITY[status] for status in rows.column("status")], np.int64)
    lonely = np.zeros(len(rows), np.bool_)
    lonely[[*_lonely(rows)]] = True
    times = (cells["order"], cells["iteration"], cells["rank"])
    found: list[int] = np.lexsort(
        (*times, np.where(kind == 1, -error, 0.0), -kind, -severity, lonely)
    ).tolist()
    return found
