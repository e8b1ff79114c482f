"""Statuses by thresholds of one's own, from what was measured; nothing is computed again."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.core.errors import WorkbenchError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.compare.result import Row, Status


def regraded(
    rows: Iterable[Row], factor: float | None = None, limit: float | None = None
) -> tuple[Row, ...]:
    """Return the rows with the status that thresholds give them.

    A row fails if its error is above ``factor`` times its noise floor or above ``limit``, or is no finite
    number; else it warns if it is above its noise floor, and passes. What is equal, what could not be compared
    and what no given threshold can judge keeps its status. Raises WorkbenchError for a negative threshold.
    """
    for name, value in (("factor", factor), ("limit", limit)):
        if value is not None and not (value >= 0 and math.isfinite(value)):
            raise WorkbenchError(f"{name} must be a number from 0, got {value!r}")
    return tuple(replace(row, status=_status(row, factor, limit)) for row in rows)


def _status(row: Row, factor: float | None, limit: float | None) -> Status:
    error, floor = row.error, row.noise_floor
    bounds = [] if limit is None else [limit]
    if factor is not None and floor is not None:
        bounds.append(factor * floor)
    if error is None or not bounds or row.status in ("equal", "uncomparable"):
        return row.status
    if not math.isfinite(error) or error > min(bounds):
        return "fail"
    return "warn" if floor is not None and error > floor else "pass"


def grade_words(factor: float | None, limit: float | None) -> str:
    """Say by what rows are graded.

    >>> grade_words(4.0, 1e-3)
    'fails above 4 × the noise floor or above an error of 0.001'
    """
    parts = [] if factor is None else [f"above {factor:g} × the noise floor"]
    parts += [] if limit is None else [f"above an error of {limit:g}"]
    return f"fails {' or '.join(parts)}" if parts else ""
