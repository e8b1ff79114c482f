"""Rows that everybody wants to go to first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from workbench.comparison.result import Finding, Row


def first_divergence(rows: Sequence[Row], findings: Sequence[Finding]) -> Row | None:
    """Return the row of the operator that the sentence names, else the first failing row; ``None`` if nothing fails.

    Its error may lie within the noise floor, if computing the operator again showed that it is its own.
    """
    failing = [row for row in rows if row.status == "fail"]
    defect = next((one for one in findings if one.defect), None)
    if defect is None:
        return failing[0] if failing else None
    here = [row for row in rows if _is_of(defect, row)]
    exact = [row for row in here if (row.io, row.slot) == (defect.io, defect.slot)]
    bad, worse = ([row for row in some if row.status == "fail"] for some in (here, exact))
    return next(iter(worse or bad or exact or here or failing), None)


def _is_of(finding: Finding, row: Row) -> bool:
    """Whether a row differs and is of the operator of a finding."""
    place = finding.graph_id, finding.iteration, finding.rank
    named = finding.op_name in (row.op_name, row.golden_op_name)
    here = named and (row.graph_id, row.iteration, row.rank) == place
    return here and row.status != "equal"


def largest_jump(rows: Iterable[Row]) -> Row | None:
    """Return the result whose error exceeds what came in, and its noise floor, by the largest factor.

    Of several infinite ones it is the first; ``None`` if no result does.
    """
    beyond = [(row, _excess(row)) for row in rows if row.io == "output"]
    row, most = max(beyond, key=lambda item: item[1], default=(None, 0.0))
    return row if most > 1 else None


def _excess(row: Row) -> float:
    """How many times the larger of inherited error and noise floor a result is off; 0 where nothing says it."""
    if row.status not in ("warn", "fail") or (error := row.error) is None:
        return 0.0
    known = [value for value in (row.inherited_error, row.noise_floor) if value is not None]
    if not known:
        return 0.0
    base = max((0.0 if math.isnan(value) else value for value in known), default=0.0)
    if not math.isfinite(error):
        return math.inf if math.isfinite(base) else 0.0
    return abs(error) / base if base else math.inf
