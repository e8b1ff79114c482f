"""The rows of a result as a data frame or as CSV, under the titles that the field uses."""

from __future__ import annotations

import csv
import io
import math
import re
from typing import TYPE_CHECKING, Literal

from workbench.show.columns import columns, worst_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from workbench.comparison.result import Result, Row
    from workbench.show.columns import Cell

Order = Literal["execution", "worst"]

_FORMULA = re.compile("'*[=+\\-@\t\r＝＋－＠]")
"""How a text begins that a spreadsheet would run, or one that was kept from that: each has one apostrophe more."""


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
    writer.writerows(
        zip(*(_cells([c.value(row) for row in result.rows]) for c in shown), strict=True)
    )
    return out.getvalue()


def plain_text(cell: str) -> str:
    """Return the text that a cell of `csv_text` stands for.

    >>> plain_text("'=1+1"), plain_text("'quoted'"), plain_text("Default/Add-op1")
    ('=1+1', "'quoted'", 'Default/Add-op1')
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _ordered(result: Result, order: Order) -> Sequence[Row]:
    return worst_first(result.rows) if order == "worst" else result.rows


def _cells(values: list[Cell]) -> list[Cell]:
    """Return a column as it is written: the writer spells finite figures in full and leaves ``None`` empty."""
    return [
        value
        if value is None or (not isinstance(value, str) and math.isfinite(value))
        else _cell(value)
        for value in values
    ]


def _cell(value: str | float) -> str:
    if isinstance(value, str):
        return f"'{value}" if _FORMULA.match(value) else value
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
