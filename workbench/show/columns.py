"""The columns of every table: one literal list that data frame, CSV, HTML and explorer share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from workbench.comparison.measure.metrics import METRICS, ON_DEMAND, Metric
from workbench.show import words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from workbench.comparison.result import Result, Row

Cell = str | int | float | None
Kind = Literal["text", "count", "number", "share"]

_WORSE = {"lower": 1, "higher": -1, "neither": 0}


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    ``title`` is the field's own word (data frame, CSV), ``heading`` the code
    of the one on screen, empty where it is the title. ``worse`` is
    +1 if large values are bad, -1 if small ones are, 0 if the column does not judge. ``constant``
    columns vanish from the screen while all rows agree.
    """

    key: str
    title: str
    heading: str
    kind: Kind
    value: Callable[[Row], Cell]
    worse: int = 0
    constant: bool = False


def gain(row: Row) -> float | None:
    """How many times the error that an operator reads its result has; ``None`` where it reads none or nobody knows."""
    error, read = row.error, row.inherited_error
    if row.io != "output" or error is None or not read or not math.isfinite(error):
        return None
    return error / read if math.isfinite(read) else None


def _line(row: Row) -> str:
    return f"{row.source.file}:{row.source.line}" if row.source else ""


IDENTITY: tuple[Column, ...] = (
    Column("order", "Order", "show/col-order", "count", lambda r: r.order),
    Column("op_name", "NPUDump", "show/col-operator", "text", lambda r: r.op_name),
    Column("op_type", "OpType", "show/col-type", "text", lambda r: r.op_type),
    Column("tensor", "TensorIndex", "show/col-tensor", "text", lambda r: f"{r.io}:{r.slot}"),
    Column("rank", "Rank", "show/col-rank", "count", lambda r: r.rank, constant=True),
    Column("graph_id", "GraphId", "show/col-graph", "count", lambda r: r.graph_id, constant=True),
    Column(
        "iteration",
        "Iteration",
        "show/col-iteration",
        "count",
        lambda r: r.iteration,
        constant=True,
    ),
    Column("turn", "Turn", "show/col-turn", "count", lambda r: r.turn, constant=True),
    Column("status", "Status", "show/col-status", "text", lambda r: r.status),
    Column("error", "Error", "show/col-error", "number", lambda r: r.error, worse=1),
    Column("own", "OwnError", "show/col-own", "number", lambda r: r.own_error, worse=1),
    Column(
        "inherited",
        "InheritedError",
        "show/col-inherited",
        "number",
        lambda r: r.inherited_error,
        1,
    ),
    Column("floor", "NoiseFloor", "show/col-floor", "number", lambda r: r.noise_floor),
    Column("gain", "Gain", "show/col-gain", "number", gain, worse=1),
)
"""Columns that stand before the metrics."""

CONTEXT: tuple[Column, ...] = (
    Column(
        "dtype", "DataType", "show/col-dtype", "text", lambda r: getattr(r.target_spec, "dtype", "")
    ),
    Column(
        "golden_dtype",
        "GroundTruthDataType",
        "show/col-golden-dtype",
        "text",
        lambda r: getattr(r.golden_spec, "dtype", ""),
    ),
    Column("shape", "Shape", "show/col-shape", "text", lambda r: words.shape(r.target_spec)),
    Column(
        "golden_shape",
        "GroundTruthShape",
        "show/col-golden-shape",
        "text",
        lambda r: words.shape(r.golden_spec),
    ),
    Column("golden", "GroundTruth", "show/col-golden", "text", lambda r: r.golden_op_name),
    Column("rule", "MatchRule", "show/col-rule", "text", lambda r: r.match_rule),
    Column("score", "MatchScore", "show/col-score", "number", lambda r: r.match_score),
    Column("reason", "Reason", "show/col-reason", "text", lambda r: str(r.reason)),
    Column("source", "Source", "show/col-source", "text", _line),
    Column(
        "code",
        "SourceCode",
        "show/col-code",
        "text",
        lambda r: r.source.code.strip() if r.source else "",
    ),
)
"""Columns that stand after the metrics."""

FILES: tuple[Column, ...] = (
    Column("target_path", "NPUDumpFile", "show/col-target-file", "text", lambda r: r.target_path),
    Column(
        "golden_path", "GroundTruthFile", "show/col-golden-file", "text", lambda r: r.golden_path
    ),
)
"""Columns of the data frame and the CSV alone."""


def metric_titles(rows: Iterable[Row]) -> tuple[str, ...]:
    """Every metric that some row holds, in order of first appearance."""
    seen: dict[str, None] = {}
    for row in rows:
        seen.update(dict.fromkeys(row.metrics))
    return tuple(seen)


def metric_column(title: str, rows: Iterable[Row]) -> Column:
    """Return the column of one metric; it counts something if all its figures are whole numbers."""
    known = METRICS.get(title) or ON_DEMAND.get(title) or Metric("", "neither")
    values = np.array([row.metrics.get(title) for row in rows], np.float64)  # None becomes NaN
    whole = bool(np.all((values == np.rint(values)) | ~np.isfinite(values)))
    kind: Kind = "share" if known.better == "higher" else "count" if whole else "number"
    worse = _WORSE[known.better]
    return Column(title, title, "", kind, lambda row: row.metrics.get(title), worse)


def columns(result: Result) -> tuple[Column, ...]:
    """All columns of a result, in the order of the CSV."""
    metrics = tuple(metric_column(title, result.rows) for title in metric_titles(result.rows))
    return IDENTITY + metrics + CONTEXT + FILES


def screen_columns(result: Result) -> tuple[Column, ...]:
    """Columns worth a place on screen: without files and without columns that never vary or hold nothing."""
    shown = columns(result)[: -len(FILES)]
    return tuple(c for c in shown if _worth(c, result.rows))


def _worth(column: Column, rows: Sequence[Row]) -> bool:
    if column.key in _RARE:
        return any(column.value(row) is not None for row in rows)
    return not column.constant or len({column.value(row) for row in rows}) > 1


_RARE = frozenset(("own", "gain"))
"""Columns that dumps of a kind cannot fill."""


def alone(row: Row) -> str:
    """Side of a tensor without a partner (``target`` or ``golden``), ``""`` for a matched pair."""
    if row.match_rule:
        return ""
    golden_only = row.target_spec is None and (row.golden_spec is not None or not row.op_name)
    return "golden" if golden_only else "target"


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


def shown_status(row: Row) -> str:
    """Status as the screen says it: a tensor without a partner is ``unmatched``."""
    return words.UNMATCHED if alone(row) else row.status


_SEVERITY = {status: place for place, status in enumerate(reversed(words.STATUSES))}


def worst_first(rows: Iterable[Row]) -> list[Row]:
    """Pairs by status, then by error with NaN and Inf on top, then in execution order.

    Tensors without a partner come last: nothing was measured of them.
    """
    kept = sorted(rows, key=lambda row: (row.rank, row.iteration, row.order))
    kept.sort(key=lambda row: (_SEVERITY[row.status], badness(row.error)), reverse=True)
    return sorted(kept, key=lambda row: bool(alone(row)))
