"""Which rows a filter leaves: the same rule as the explorer's, for Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.errors import WorkbenchError
from workbench.show.columns import CONTEXT, IDENTITY, shown_status
from workbench.show.series import positions as places_of
from workbench.show.words import STATUSES, UNMATCHED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from workbench.compare.result import Row
    from workbench.show.columns import Cell

SEARCHED = ("op_name", "golden", "op_type", "dtype", "golden_dtype", "reason", "rule", "source", "code")  # fmt: skip
"""Columns whose words a query looks through."""

CHOICES: dict[str, Callable[[Row, Cell], bool]] = {
    "op_type": lambda row, value: row.op_type == value,
    "io": lambda row, value: row.io == value,
    "iteration": lambda row, value: row.iteration == value,
    "rank": lambda row, value: row.rank == value,
    "rule": lambda row, value: row.match_rule == value,
    "file": lambda row, value: (row.source.file if row.source else "") == value,
    "scope": lambda row, value: (row.op_name or row.golden_op_name).startswith(str(value)),
}
"""Key → whether a row has a value of it; a scope is the beginning of the operator's name."""

_TEXTS = [column.value for column in (*IDENTITY, *CONTEXT) if column.key in SEARCHED]


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
    terms = query.lower().split()
    places = places_of(rows) if positions else [0] * len(rows)
    low, high = positions or (0, 0)

    def fits(row: Row, place: int | None) -> bool:
        return (
            (not wanted or shown_status(row) in wanted)
            and all(CHOICES[key](row, value) for key, value in chosen.items())
            and (place is not None and low <= place <= high)
            and all(any(term in str(text(row)).lower() for text in _TEXTS) for term in terms)
        )

    return [n for n, (row, place) in enumerate(zip(rows, places, strict=True)) if fits(row, place)]


def _known(name: str, given: Iterable[str], known: Iterable[str]) -> frozenset[str]:
    found = frozenset(given)
    if unknown := sorted(found - frozenset(known)):
        raise WorkbenchError(f"{name} must be some of {list(known)}, got {unknown}")
    return found
