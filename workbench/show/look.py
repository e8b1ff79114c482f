"""What somebody looks at in a comparison: the selected row, filters, order. One state for widget, table and plot."""

from __future__ import annotations

from typing import Any

import traitlets as T


class Look(T.HasTraits):
    """State of one view of a comparison; ``observe`` it, or set it from a cell.

    ``selected`` is an index into the rows of the result, -1 for none; the other traits are those of the
    explorer: words that must occur, statuses, choices of columns by key, positions, and (key, falling).
    """

    selected = T.Int(-1)
    query = T.Unicode("")
    statuses: Any = T.Tuple()
    choices: Any = T.Dict()
    positions: Any = T.Tuple(default_value=None, allow_none=True)
    sort: Any = T.Tuple(default_value=("", False))
