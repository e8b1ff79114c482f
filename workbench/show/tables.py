"""The rows of a result as a data frame or as CSV, under the titles that the field uses."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from workbench.show.columns import columns, worst_first

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import pandas as pd

    from workbench.compare.result import Result, Row
    from workbench.show.columns import Cell

Order = Literal["execution", "worst"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def frame(result: Result, *, order: Order = "execution") -> pd.DataFrame:
    """All rows as a data frame, one column per `workbench.show.columns.columns` entry.

    ``order="worst"`` puts failing rows first and, among them, NaN and Inf before any number
    (`DataFrame.sort_values` would put NaN last).
    """
    import pandas as pd

    rows = _ordered(result, order)
    data = {column.title: [column.value(row) for row in rows] for column in columns(result)}
    return pd.DataFrame(data)


def iteration_frame(result: Result) -> pd.DataFrame:
    """What was found in every part of every iteration as a data frame."""
    import pandas as pd

    data = {
        title: [getattr(step, name) for step in result.iterations]
        for name, title in ITERATION_TITLES.items()
    }
    return pd.DataFrame(data)


ITERATION_TITLES = {
    "rank": "Rank",
    "iteration": "Iteration",
    "part": "Part",
    "tensors": "Tensors",
    "equal": "Equal",
    "warned": "Warned",
    "failed": "Failed",
    "status": "Status",
    "error": "Error",
    "inherited_error": "InheritedError",
    "noise_floor": "NoiseFloor",
    "op_name": "Operator",
}
"""Field of an `IterationRow` → title of its column."""


def csv_text(result: Result, *, order: Order = "execution") -> str:
    """All rows as CSV (RFC 4180: comma, CR LF, one header line).

    Not-finite numbers are ``NaN``, ``Infinity``, ``-Infinity``; a figure that was not measured is
    empty. Text that a spreadsheet would run as a formula gets an apostrophe in front.
    """
    out = io.StringIO()
    writer = csv.writer(out)
    shown = columns(result)
    writer.writerow([column.title for column in shown])
    for row in _ordered(result, order):
        writer.writerow([_cell(column.value(row)) for column in shown])
    return out.getvalue()


def write_csv(result: Result, path: str | os.PathLike[str], *, order: Order = "execution") -> Path:
    """Write `csv_text` to ``path`` as UTF-8 and return the path."""
    target = Path(path)
    text = csv_text(result, order=order)
    target.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")
    return target


def _ordered(result: Result, order: Order) -> Sequence[Row]:
    return worst_first(result.rows) if order == "worst" else result.rows


def _cell(value: Cell) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    if math.isfinite(value):
        return repr(value) if isinstance(value, int) else repr(float(value))
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
