"""The rows of a result as a data frame or as CSV, under the titles that the field uses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from workbench.core.text import json_number
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
    shown = columns(result)
    head = [_field(column.title) for column in shown]
    lines = zip(*(_texts(column.cells(result.columns)) for column in shown), strict=True)
    return "".join(f"{','.join(line)}\r\n" for line in (head, *lines))


def plain_text(cell: str) -> str:
    """Return the text that a cell of `csv_text` stands for.

    >>> plain_text("'=1+1"), plain_text("'quoted'"), plain_text("Default/Add-op1")
    ('=1+1', "'quoted'", 'Default/Add-op1')
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _ordered(result: Result, order: Order) -> Rows:
    rows = result.columns
    return rows.take(worst_order(rows)) if order == "worst" else rows


def _texts(values: Sequence[Cell]) -> list[str]:
    """Return a column as it is written: finite figures in full, ``None`` as nothing."""
    kinds = {*map(type, values)}
    if str in kinds:  # many say the same
        known = {value: _text(value) for value in {*values}}
        return [known[value] for value in values]
    texts = [*map(repr, values)]
    if kinds <= {int}:
        return texts
    for number in np.flatnonzero(~np.isfinite(np.array(values, np.float64))).tolist():
        texts[number] = _text(values[number])
    return texts


def _text(value: Cell) -> str:
    if isinstance(value, str):
        return _field(f"'{value}" if _FORMULA.match(value) else value)
    return "" if value is None else str(json_number(value))


def _field(text: str) -> str:
    """Put quotes around a text that would be more than one field."""
    return f'"{text.replace(_QUOTE, 2 * _QUOTE)}"' if _SPLITS.search(text) else text


_QUOTE = '"'
_SPLITS = re.compile('[,"\r\n]')
