"""Rows that everybody wants to go to first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from workbench.comparison.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from workbench.comparison.result import Finding, Row


def first_divergence(rows: Sequence[Row], findings: Sequence[Finding]) -> Row | None:
    """Return the row of the operator that the sentence names, else the first failing row; ``None`` if nothing fails.

    Its error may lie within the noise floor, if computing the operator again showed that it is its own.
    """
    columns = Rows.of(rows)
    failing = columns.table.where("status", "fail".__eq__)
    choices = [failing]
    defect = next((one for one in findings if one.defect), None)
    if defect is not None:
        here = _of_finding(columns, defect)
        slots = columns.table.rows["slot"] == defect.slot
        exact = here & slots & columns.table.where("io", defect.io.__eq__)
        choices = [exact & failing, here & failing, exact, here, failing]
    chosen = next((some for some in choices if some.any()), None)
    return None if chosen is None else rows[int(np.argmax(chosen))]


def _of_finding(columns: Rows, finding: Finding) -> NDArray[np.bool_]:
    """Which rows differ and are of the operator of a finding."""
    table, name = columns.table, finding.op_name
    here = table.where("op_name", name.__eq__) | table.where("golden_op_name", name.__eq__)
    for title in ("graph_id", "iteration", "rank"):
        here &= table.rows[title] == getattr(finding, title)
    found: NDArray[np.bool_] = here & ~table.where("status", "equal".__eq__)
    return found


def largest_jump(rows: Sequence[Row]) -> Row | None:
    """Return the result whose error exceeds what came in, and its noise floor, by the largest factor.

    Of several infinite ones it is the first; ``None`` if no result does.
    """
    columns = Rows.of(rows)
    table = columns.table
    judged = table.where("status", lambda one: one in ("warn", "fail")) & table.known("error")
    some = np.flatnonzero(judged & table.where("io", "output".__eq__)).tolist()
    figures = [
        columns.take(some).column(one) for one in ("error", "inherited_error", "noise_floor")
    ]
    beyond = zip(some, map(_excess, *figures), strict=True)
    number, most = max(beyond, key=lambda item: item[1], default=(0, 0.0))
    return rows[number] if most > 1 else None


def _excess(error: float, inherited: float | None, floor: float | None) -> float:
    """How many times the larger of inherited error and noise floor a result is off; 0 where nothing says it."""
    known = [value for value in (inherited, floor) if value is not None]
    if not known:
        return 0.0
    base = max((0.0 if math.isnan(value) else value for value in known), default=0.0)
    if not math.isfinite(error):
        return math.inf if math.isfinite(base) else 0.0
    return abs(error) / base if base else math.inf
