"""What an operator adds to the error by itself, as a figure of the rows of its results."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from workbench.comparison.follow.flow import Flow
    from workbench.comparison.measure.measure import Measured
    from workbench.comparison.result import Finding, Row


def replayed_error(flow: Flow, item: Measured) -> float | None:
    """Own error that computing an operator again gave for one of its results; ``None`` for what it reads.

    An input that it overwrites is a result. ``None`` too where the operator was not computed again.
    """
    pair = item.pair
    own = flow.own_error(pair.run.block, pair.run.op) if pair.run is not None else None
    return None if own is None else dict(own.errors).get(result_slot(pair.io, pair.slot))


def result_slot(io: str, slot: int) -> int:
    """Slot of a result as replay counts them: overwritten input ``s`` is ``-1 - s``."""
    return slot if io == "output" else -1 - slot


def with_own_errors(rows: Iterable[Row], findings: Sequence[Finding]) -> tuple[Row, ...]:
    """Return the rows with the own errors of the defects that were found at them, first ones first."""
    known: dict[tuple[object, ...], float] = {}
    for one in findings:
        if one.defect and one.op_name and one.own_error is not None:
            known.setdefault(_place(one), one.own_error)
    return tuple(
        replace(row, own_error=known[_place(row)])
        if row.match_rule and _place(row) in known
        else row
        for row in rows
    )


def _place(item: Row | Finding) -> tuple[object, ...]:
    return item.rank, item.graph_id, item.iteration, item.op_name, item.io, item.slot
