"""What somebody looks at in a comparison: the selected row, filters, order. One state for widget, table and plot."""

from __future__ import annotations

import math
from typing import Any, Final

import traitlets as T

from workbench.compare.elements import KINDS
from workbench.core.errors import WorkbenchError


class Look(T.HasTraits):
    """State of one view of a comparison; ``observe`` it, or set it from a cell.

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

    selected: Any = T.Int(-1)
    query: Any = T.Unicode("")
    statuses: Any = T.Tuple()
    choices: Any = T.Dict()
    positions: Any = T.Tuple(default_value=None, allow_none=True)
    sort: Any = T.Tuple(default_value=("", False))
    factor: Any = T.Float(None, allow_none=True)
    limit: Any = T.Float(None, allow_none=True)
    figure: Any = T.Unicode("error")
    element_error: Any = T.Enum(tuple(KINDS), "absolute")
    worst: Any = T.Int(20)
    axes: Any = T.Tuple(default_value=None, allow_none=True)
    plane: Any = T.Tuple(default_value=None, allow_none=True)

    @T.validate("worst")
    def _few(self, proposal: Any) -> Any:
        if 1 <= proposal["value"] <= 10_000:
            return proposal["value"]
        raise WorkbenchError(f"worst must be from 1 to 10000, got {proposal['value']!r}")

    @T.validate("factor", "limit")
    def _threshold(self, proposal: Any) -> Any:
        name, value = proposal["trait"].name, proposal["value"]
        if value is None or (math.isfinite(value) and value >= 0):
            return value
        raise WorkbenchError(f"{name} must be a number from 0, got {value!r}")


_CHOSEN: Final = ("op_type", "io", "iteration", "rank", "rule", "file", "scope")


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
        _call("regrade", {name: value for name, value in grades.items() if value is not None}),
        _call("filter", {name: v for name, v in given.items() if v not in (None, (), "") or name in look.choices}),
        f".sort({key!r}, falling={falling!r})" if key else "",
    ]  # fmt: skip
    return f"comparison{''.join(calls)}"


def _call(name: str, options: dict[str, Any]) -> str:
    return (
        f".{name}({', '.join(f'{key}={value!r}' for key, value in options.items())})"
        if options
        else ""
    )
