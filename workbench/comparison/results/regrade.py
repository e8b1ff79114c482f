"""Statuses by thresholds of one's own, from what was measured; nothing is computed again."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from workbench.comparison.rows import Rows
from workbench.core.errors import WorkbenchError
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.comparison.result import Row, Status


def regrade(rows: Iterable[Row], factor: float | None = None, limit: float | None = None) -> Rows:
    """Return the rows with the status that thresholds give them.

    A row fails if its error is above ``factor`` times its noise floor or above ``limit``, or is no finite
    number; else it warns if it is above its noise floor, and passes. What is equal, what could not be compared
    and what no given threshold can judge keeps its status. Raises WorkbenchError for a negative threshold.
    """
    for name, value in (("factor", factor), ("limit", limit)):
        if value is not None and not (value >= 0 and math.isfinite(value)):
            raise WorkbenchError("compare/threshold", subject=name, got=value)
    columns = Rows.of(rows)
    read = zip(*(columns.column(name) for name in ("status", "error", "noise_floor")), strict=True)
    return columns.with_column("status", [_status(one, factor, limit) for one in read])


def in_floors(error: float | None, floor: float | None) -> float | None:
    """How many noise floors an error is; without a floor infinitely many, and none if there is no error either."""
    if error is None or floor is None:
        return None
    if floor == 0:
        return math.inf if error else 0.0
    return error / floor


def _status(
    read: tuple[Status, float | None, float | None], factor: float | None, limit: float | None
) -> Status:
    status, error, floor = read
    times = in_floors(error, floor)
    judged = limit is not None or (factor is not None and times is not None)
    if error is None or not judged or status in ("equal", "uncomparable"):
        return status
    above = limit is not None and error > limit
    many = factor is not None and times is not None and times > factor
    if not math.isfinite(error) or above or many:
        return "fail"
    return "warn" if times is not None and times > 1 else "pass"


def grade_words(factor: float | None, limit: float | None) -> Message | None:
    """Say by what rows are graded; ``None`` if by nothing.

    >>> str(grade_words(4.0, 1e-3))
    'fail if error > 4 × expected rounding error or > 0.001'
    """
    limits = [Message("compare/grade-factor", limit=factor)] if factor is not None else []
    limits += [Message("compare/grade-error", limit=limit)] if limit is not None else []
    return Message("compare/grade", limits=limits) if limits else None
