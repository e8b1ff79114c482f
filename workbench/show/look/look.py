"""What somebody looks at in a comparison: the selected row, filters, order. One state for widget, table and plot."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import traitlets as T

from workbench.comparison.measure.elements import KINDS
from workbench.core.errors import WorkbenchError
from workbench.core.text import call_text
from workbench.core.words import Message
from workbench.show.look.checked import TEXT, Checked, a, one_of, some_of, whole
from workbench.show.look.narrow import CHOICES
from workbench.show.words import STATUSES, UNMATCHED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


_STATUSES: Final = (*STATUSES, UNMATCHED)
_SOME: Final = Message("show/expected-some", known=_STATUSES)
_CHOICES: Final = Message("show/expected-choices", known=tuple(CHOICES))
_THRESHOLD: Final = Message("show/expected-number")


def _numbers(value: Any) -> bool:
    return value is None or (isinstance(value, tuple) and all(map(a(int), value)))


def _two_numbers(value: Any) -> bool:
    return value is None or (_numbers(value) and len(value) == 2)


def _are_choices(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() <= CHOICES.keys()
        and all(map(a(str, int), value.values()))
    )


def _is_order(value: Any) -> bool:
    return isinstance(value, tuple) and [type(one) for one in value] == [str, bool]


def _is_threshold(value: Any) -> bool:
    return value is None or (a(int, float)(value) and math.isfinite(value) and value >= 0)


class Look(T.HasTraits):
    """State of one view of a comparison; ``observe`` it, or set it from a cell.

    ``rows`` and ``keys`` of its columns, given, are what else can be neither selected nor sorted by.

    Parameters
    ----------
    selected : int
        Index into the rows of the result, -1 for none.
    query : str
        Words that must occur in a row, in any case.
    statuses : tuple of str
        Statuses that are shown; empty for all.
    choices : dict
        Key of CHOICES → the only value that is shown.
    positions : (int, int), optional
        First and last place in execution order that are shown.
    sort : (str, bool)
        Key of a column, or empty for execution order, and whether large values stand on top.
    factor, limit : float, optional
        Thresholds that statuses are graded by instead of those of the comparison.
    figure : str
        Key of the column that the plot draws.
    element_error : {"absolute", "relative", "ulp"}
        Error of single elements that is drawn and listed of the selected tensor.
    worst : int
        Elements that are listed, from 1 to 10000.
    axes, plane : tuple of int, optional
        Axes that the heat map has for rows and columns, and the index of the plane in all of them; by default the
        most telling ones, through the worst element.
    """

    selected: Any = Checked(Message("show/expected-row"), a(int), -1)
    query: Any = Checked(TEXT, a(str), "")
    statuses: Any = Checked(_SOME, some_of(_STATUSES), ())
    choices: Any = Checked(_CHOICES, _are_choices, {})
    positions: Any = Checked(Message("show/expected-range"), _two_numbers)
    sort: Any = Checked(Message("show/expected-order"), _is_order, ("", False))
    factor: Any = Checked(_THRESHOLD, _is_threshold)
    limit: Any = Checked(_THRESHOLD, _is_threshold)
    figure: Any = Checked(TEXT, a(str), "error")
    element_error: Any = Checked(KINDS, one_of(KINDS), "absolute")
    worst: Any = whole(1, 10_000, 20)
    axes: Any = Checked(Message("show/expected-axes"), _two_numbers)
    plane: Any = Checked(Message("show/expected-plane"), _numbers)

    def __init__(self, rows: int | None = None, keys: Iterable[str] = (), **values: Any) -> None:
        self._rows, self._keys = rows, tuple(keys)
        super().__init__(**values)

    @T.validate("selected")
    def _is_there(self, proposal: Any) -> Any:
        number, last = proposal["value"], None if self._rows is None else self._rows - 1
        if number >= -1 and (last is None or number <= last):
            return number
        expected = Message("show/expected-last-row", last=last)
        raise WorkbenchError("show/setting", name="selected", expected=expected, got=number)

    @T.validate("sort", "figure")
    def _is_column(self, proposal: Any) -> Any:
        name, value = proposal["trait"].name, proposal["value"]
        key = value[0] if name == "sort" else value
        if not self._keys or key in self._keys or value == ("", False):
            return value
        expected = Message("show/expected-column", known=list(self._keys))
        raise WorkbenchError("show/setting", name=name, expected=expected, got=key)

    def take(self, values: Mapping[str, Any]) -> None:
        """Change several traits, all before anybody hears; raises WorkbenchError and changes none if one is wrong."""
        tried = Look(self._rows, self._keys, **values)
        with self.hold_trait_notifications():
            for name in values:
                setattr(self, name, getattr(tried, name))


_CHOSEN: Final = ("op_type", "dtype", "io", "iteration", "rank", "rule", "file", "scope")


EXPLORED: Final = (
    "selected", "query", "statuses", "choices", "positions", "sort", "factor", "limit", "figure",
)  # fmt: skip
"""Traits that the explorer shows and changes."""


def look_data(look: Look) -> dict[str, Any]:
    """Return the traits of the explorer as JSON values."""
    values = {name: getattr(look, name) for name in EXPLORED}
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in values.items()
    }


def look_code(look: Look) -> str:
    """Return an expression over ``comparison`` that gives the rows that are shown, in their order."""
    grades = {name: getattr(look, name) for name in ("factor", "limit")}
    given = {
        "status": look.statuses,
        **{name: look.choices.get(name) for name in _CHOSEN},
        "query": look.query.strip(),
        "positions": look.positions,
    }
    key, falling = look.sort
    calls = [
        call_text("regrade", {name: value for name, value in grades.items() if value is not None}),
        call_text("filter", {name: v for name, v in given.items() if v not in (None, (), "") or name in look.choices}),
        f".sort({key!r}, falling={falling!r})" if key else "",
    ]  # fmt: skip
    return f"comparison{''.join(calls)}"


def look_lines(look: Look) -> list[str]:
    """Return lines that set the look of ``comparison`` alike, except for what is selected."""
    plain = Look()
    given = {name: getattr(look, name) for name in EXPLORED if name != "selected"}
    return [
        f"comparison.look.{name} = {value!r}"
        for name, value in given.items()
        if value != getattr(plain, name)
    ]
