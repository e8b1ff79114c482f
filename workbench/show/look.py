"""What somebody looks at in a comparison: the selected row, filters, order. One state for widget, table and plot."""

from __future__ import annotations

import math
from typing import Any

import traitlets as T

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

    @T.validate("factor", "limit")
    def _threshold(self, proposal: Any) -> Any:
        name, value = proposal["trait"].name, proposal["value"]
        if value is None or (math.isfinite(value) and value >= 0):
            return value
        raise WorkbenchError(f"{name} must be a number from 0, got {value!r}")
