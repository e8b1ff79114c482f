"""The rows of a result as a data frame or as CSV, under the titles that the field uses."""

from __future__ import annotations

import csv
import io
import math
import re
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from workbench.show.columns import columns, worst_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from workbench.comparison.result import Result, Rows
    from workbench.show.columns import Cell

Order = Literal["execution", "worst"]

_FORMULA = re.compile("'*[=+\\-@\t\r＝＋－＠]")
"""How a text begins that a spreadsheet would run, or one that was kept from that: each has one apostrophe more."""


def frame(result: Result, *, order: Order = "execution") -> pd.DataFrame:
    """All rows as a data frame, one column per `workbench.show.columns.columns` entry.

    ``order="worst"`` puts failing rows first and, among them, NaN and Inf before any number
    (`DataFrame.sort_values` would put NaN last).
    """
    rows = _ordered(result, order)
    return data_frame({column.title: column.cells(rows) for column in columns(result)})


def data_frame(data: Any, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Return a data frame of lists by title, or of rows under ``columns``, the same wherever it is made.

    With pyarrow installed pandas would keep texts there, which refuses names of files that are not valid UTF-8.
    """
    import pandas as pd

    with pd.option_context("mode.string_storage", "python"):
        return pd.DataFrame(data, columns=None if columns is None else [*columns])


def iteration_frame(result: Result) -> pd.DataFrame:
    """What was found in every part of every iteration as a data frame."""
    return data_frame(
        {
            title: [getattr(step, name) for step in result.iterations]
            for name, title in ITERATION_TITLES.items()
        }
    )


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


def csv_text(result: Result) -> str:
    """All rows as CSV (RFC 4180: comma, CR LF, one header line).

    Not-finite numbers are ``NaN``, ``Infinity``, ``-Infinity``; a figure that was not measured is
    empty. Text that a spreadsheet would run as a formula gets an apostrophe in front, and so does such a text that
    begins with apostrophes already, so that `plain_text` gives every text back.
    """
    out = io.StringIO()
    writer = csv.writer(out)
    shown = columns(result)
    writer.writerow([column.title for column in shown])
    writer.writerows(zip(*(_cells(c.cells(result.columns)) for c in shown), strict=True))
    return out.getvalue()


def plain_text(cell: str) -> str:
    """Return the text that a cell of `csv_text` stands for.

    >>> plain_text("'=1+1"), plain_text("'quoted'"), plain_text("Default/Add-op1")
    ('=1+1', "'quoted'", 'Default/Add-op1')
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _ordered(result: Result, order: Order) -> Rows:
    rows = result.columns
    return rows.take(worst_order(rows)) if order == "worst" else rows


def _cells(values: Sequence[Cell]) -> Sequence[Cell]:
    """Return a column as it is written: the writer spells finite figures in full and leaves ``None`` empty."""
    kinds = {*map(type, values)}
    if kinds <= {str}:  # many say the same
        texts = {value: _cell(value) for value in {*values} if value is not None}
        return [texts[value] for value in values if value is not None]
    if str in kinds:
        return [value if value is None else _cell(value) for value in values]
    written = [*values]
    for number in np.flatnonzero(~np.isfinite(np.array(values, np.float64))).tolist():
        if (value := written[number]) is not None:
            written[number] = _cell(value)
    return written


def _cell(value: str | float) -> str | float:
    if isinstance(value, str):
        return f"'{value}" if _FORMULA.match(value) else value
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
