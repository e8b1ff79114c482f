"""Which rows a filter leaves, and in which order: the rules of the explorer, for Python."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from workbench.comparison.rows import Rows
from workbench.core.errors import WorkbenchError
from workbench.show.columns import CONTEXT, IDENTITY, columns, shown_statuses
from workbench.show.plots.series import positions as places_of
from workbench.show.words import STATUSES, UNMATCHED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from workbench.comparison.result import Result, Row
    from workbench.show.columns import Cell, Column

SEARCHED = ("op_name", "golden", "op_type", "dtype", "golden_dtype", "reason", "rule", "source", "code")  # fmt: skip
"""Columns whose words a query looks through."""

CHOICES: dict[str, Callable[[Row, Cell], bool]] = {
    "op_type": lambda row, value: row.op_type == value,
    "dtype": lambda row, value: getattr(row.target_spec, "dtype", "") == value,
    "io": lambda row, value: row.io == value,
    "iteration": lambda row, value: row.iteration == value,
    "rank": lambda row, value: row.rank == value,
    "rule": lambda row, value: row.match_rule == value,
    "file": lambda row, value: (row.source.file if row.source else "") == value,
    "scope": lambda row, value: (row.op_name or row.golden_op_name).startswith(str(value)),
}
"""Key → whether a row has a value of it; a scope is the beginning of the operator's name."""

_SEVERITY = ("fail", "warn", "uncomparable", UNMATCHED, "pass", "equal")

_TEXTS = [column.cells for column in (*IDENTITY, *CONTEXT) if column.key in SEARCHED]


def narrowed(
    rows: Sequence[Row],
    *,
    query: str = "",
    statuses: Iterable[str] = (),
    choices: Mapping[str, Cell] | None = None,
    positions: tuple[int, int] | None = None,
) -> list[int]:
    """Return the indices of the rows that fit every condition; see `Look` for what they mean."""
    wanted = _known("statuses", statuses, (*STATUSES, UNMATCHED))
    chosen = dict(choices or {})
    _known("choices", chosen, CHOICES)
    columns = Rows.of(rows)
    left: Iterable[int] = range(len(columns))
    if wanted:
        shown = shown_statuses(columns)
        left = [n for n in left if shown[n] in wanted]
    if chosen:
        views = columns.views()
        left = [n for n in left if all(CHOICES[k](views[n], v) for k, v in chosen.items())]
    if positions is not None:
        low, high = positions
        places = places_of(columns)
        left = [n for n in left if (place := places[n]) is not None and low <= place <= high]
    if terms := query.lower().split():
        texts = [*zip(*([str(c).lower() for c in cells(columns)] for cells in _TEXTS), strict=True)]
        left = [n for n in left if all(any(term in one for one in texts[n]) for term in terms)]
    return [*left]


def ordered(result: Result, key: str, *, falling: bool = False) -> Rows:
    """Return the rows in the order of a column.

    Text goes by the numbers in it (2 before 10), a status by how bad it is. Beyond all numbers stand infinities, then
    NaN, on the side of what is worse; rows without a figure come last either way.
    """
    known = {column.key: column for column in columns(result)}
    if key not in known:
        raise WorkbenchError("core/choice", subject="column", got=key, known=list(known))
    rows = result.columns
    places = _places(known[key], rows, -1 if falling else 1)
    falling = falling and known[key].kind == "text"
    return rows.take(sorted(range(len(rows)), key=places.__getitem__, reverse=falling))


def _places(column: Column, rows: Rows, sign: int) -> list[Any]:
    """Return a key for every row, by which it is sorted."""
    if column.key == "status":
        return [-_SEVERITY.index(status) for status in shown_statuses(rows)]
    if column.kind == "text":
        return [_natural(str(cell)) for cell in column.cells(rows)]
    side = -sign if column.worse < 0 else sign

    def place(value: Cell) -> tuple[bool, int, float]:
        if value is None or isinstance(value, str):
            return (True, 0, 0.0)
        if math.isfinite(value):
            return (False, 0, sign * value)
        return (False, side * (2 if math.isnan(value) else 1), 0.0)

    return [*map(place, column.cells(rows))]


def _natural(text: str) -> list[tuple[int, str]]:
    """Key of a text that puts its numbers in their order: of digits the longer is the larger."""
    parts = re.split(r"([0-9]+)", text.casefold())
    return [
        (len(digits := part.lstrip("0")), digits) if n % 2 else (0, part)
        for n, part in enumerate(parts)
    ]


def _known(name: str, given: Iterable[str], known: Iterable[str]) -> frozenset[str]:
    found = frozenset(given)
    if unknown := sorted(found - frozenset(known)):
        raise WorkbenchError("show/some", subject=name, got=unknown, known=list(known))
    return found
