"""A look by names instead of indices: what can be had again at another comparison of the same dumps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from workbench.core.words import Message
from workbench.show.columns import columns
from workbench.show.look.narrow import CHOICES
from workbench.show.plots.series import positions
from workbench.show.words import STATUSES, UNMATCHED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workbench.comparison.result import Result, Row
    from workbench.show.look.look import Look

NAMED: Final = (
    *("op_name", "golden_op_name", "io", "slot"),
    *("iteration", "rank", "turn", "graph_id"),
)
"""Fields of a row that find it again, the names of its operator first."""

SETTINGS: Final = (
    *("query", "statuses", "choices", "positions", "sort"),
    *("factor", "limit", "figure", "element_error", "worst"),
)
"""Traits of a look that are kept as they are."""


def kept_look(look: Look, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the look as JSON values: ``selected`` by the fields NAMED or ``None``, and the SETTINGS."""
    row = rows[look.selected] if 0 <= look.selected < len(rows) else None
    values = {name: getattr(look, name) for name in SETTINGS}
    return {
        "selected": None if row is None else {name: getattr(row, name) for name in NAMED},
        **{name: [*v] if isinstance(v, tuple) else v for name, v in values.items()},
    }


def look_again(look: Look, kept: Mapping[str, Any], result: Result) -> tuple[Message, ...]:
    """Set a look to one that was kept; return what this comparison has no more, which stays as it was.

    Of an operator that is still there, the row that agrees in most fields is selected.
    """
    values = {name: kept[name] for name in SETTINGS}
    lost = [
        *_without_unknown(values, result),
        *_without_columns(values, {column.key for column in columns(result)}),
    ]
    wanted = kept["selected"]
    number = -1 if wanted is None else _found(wanted, result.rows)
    if wanted is not None and number < 0:
        name = wanted["op_name"] or wanted["golden_op_name"]
        lost.append(Message("show/lost-selected", value=name))
    else:
        values["selected"] = number
    with look.hold_trait_notifications():
        for name, value in values.items():
            setattr(look, name, tuple(value) if isinstance(value, list) else value)
    return tuple(lost)


def _found(wanted: Mapping[str, Any], rows: Sequence[Row]) -> int:
    """Index of the row of the same operator that agrees in most fields, -1 if there is no such operator."""
    names = [name for name in NAMED[:2] if wanted[name]][:1]
    best, most = -1, 0
    for number, row in enumerate(rows):
        if names and all(getattr(row, name) == wanted[name] for name in names):
            agreed = sum(getattr(row, name) == wanted[name] for name in NAMED)
            best, most = (number, agreed) if agreed > most else (best, most)
    return best


def _without_unknown(values: dict[str, Any], result: Result) -> list[Message]:
    """Take filters away that no row can fit, and say which."""
    rows, lost = result.rows, []
    choices = {
        key: value
        for key, value in values["choices"].items()
        if key in CHOICES and any(CHOICES[key](row, value) for row in rows)
    }
    statuses = [status for status in values["statuses"] if status in (*STATUSES, UNMATCHED)]
    known: dict[str, Any] = {"choices": choices, "statuses": statuses}
    span = values["positions"]
    if span is not None and span[0] > max((p for p in positions(rows) if p is not None), default=0):
        known["positions"] = None
    for name, value in known.items():
        if value != values[name]:
            gone = [item for item in values[name] if value is None or item not in value]
            lost.append(Message("show/lost-filter", value=_listed(values[name], gone)))
    values |= known
    return lost


def _listed(given: Any, gone: Sequence[Any]) -> str:
    return ", ".join(
        f"{item} {given[item]}" if isinstance(given, dict) else str(item) for item in gone
    )


def _without_columns(values: dict[str, Any], known: set[str]) -> list[Message]:
    """Take order and figure away if there is no such column, and say so."""
    lost = []
    for name, key in (("sort", values["sort"][0]), ("figure", values["figure"])):
        if key and key not in known:
            del values[name]
            lost.append(Message("show/lost-column", value=key))
    return lost
