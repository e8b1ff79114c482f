"""The rows of a result as a data frame or as CSV, under the titles that the field uses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from workbench.core.text import json_number
from workbench.show.columns import columns, worst_order
from workbench.show.spelling import AT_ONCE, spell_figures

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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


def csv_pieces(result: Result) -> Iterator[str]:
    """Yield all rows as CSV (RFC 4180: comma, CR LF, one header line) piece by piece, the header first.

    Not-finite numbers are ``NaN``, ``Infinity``, ``-Infinity``; a figure that was not measured is
    empty. Text that a spreadsheet would run as a formula gets an apostrophe in front, and so does such a text that
    begins with apostrophes already, so that `plain_text` gives every text back.
    """
    shown, rows = columns(result), result.columns
    yield _lines([_field(column.title)] for column in shown)
    for first in range(0, len(rows), AT_ONCE):
        some = rows.take(range(first, min(first + AT_ONCE, len(rows))))
        yield _lines(_texts([column.cells(some) for column in shown]))


def _lines(fields: Iterable[Sequence[str]]) -> str:
    """Return the lines of columns of fields."""
    return "".join(f"{','.join(line)}\r\n" for line in zip(*fields, strict=True))


def plain_text(cell: str) -> str:
    """Return the text that a cell of `csv_pieces` stands for.

    >>> plain_text("'=1+1"), plain_text("'quoted'"), plain_text("Default/Add-op1")
    ('=1+1', "'quoted'", 'Default/Add-op1')
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _ordered(result: Result, order: Order) -> Rows:
    rows = result.columns
    return rows.take(worst_order(rows)) if order == "worst" else rows


def _texts(columns: Sequence[Sequence[Cell]]) -> Iterator[Sequence[str]]:
    """Yield columns as they are written: finite figures in full, ``None`` as nothing."""
    kinds = [{*map(type, values)} for values in columns]
    figures = [n for n, found in enumerate(kinds) if float in found and str not in found]
    spelled = iter(spell_figures(np.array([columns[n] for n in figures], np.float64), str))
    for n, values in enumerate(columns):
        if n not in figures:
            yield _some_texts(values, kinds[n])
            continue
        texts = next(spelled)
        if len(kinds[n]) > 1:
            others = [at for at, value in enumerate(values) if type(value) is not float]
            texts[others] = [_text(values[at]) for at in others]
        yield texts.tolist()


def _some_texts(values: Sequence[Cell], kinds: set[type]) -> Sequence[str]:
    """Return a column that is no figures as it is written; many cells say the same."""
    if kinds <= {int}:
        return [*map(str, values)]
    different = {*values}
    if kinds == {str} and _are_plain(cast("Iterable[str]", different)):
        return cast("Sequence[str]", values)
    known = {value: _text(value) for value in different}
    return [known[value] for value in values]


def _are_plain(texts: Iterable[str]) -> bool:
    """Whether all texts are written as they are; all at once, as nearly always they are."""
    joined = "\0".join(("", *texts))
    return not (_SPLITS.search(joined) or _RUNS.search(joined))


def _text(value: Cell) -> str:
    if isinstance(value, str):
        return _field(f"'{value}" if _FORMULA.match(value) else value)
    return "" if value is None else str(json_number(value))


def _field(text: str) -> str:
    """Put quotes around a text that would be more than one field."""
    return f'"{text.replace(_QUOTE, 2 * _QUOTE)}"' if _SPLITS.search(text) else text


_QUOTE = '"'
_SPLITS = re.compile('[,"\r\n]')
_RUNS = re.compile(f"\0{_FORMULA.pattern}")
