"""What the user's map file tolerates: errors that blame nobody, and rows that warn instead of failing."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.comparison.follow.judge import UPDATED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.comparison.follow.flow import Flow
    from workbench.comparison.follow.states import Assessment
    from workbench.comparison.map_file import Overrides
    from workbench.comparison.result import Row


def excuse(flow: Flow, event: Assessment) -> bool:
    """Whether the map file tolerates the error of an operator that would be blamed.

    Its error then counts as known: what reads it may carry it.
    """
    tolerances = flow.pairing.overrides.tolerances
    measured = event.worst if event.worst is not None else event.replayed
    if not tolerances or measured is None or not math.isfinite(measured.error):
        return False
    overrides = flow.pairing.overrides
    asked = (overrides.tolerated(*named, measured.error) for named in _who(flow, event))
    found = next((tolerance for tolerance in asked if tolerance is not None), None)
    if found is not None:
        flow.excused.append((event, found))
    return found is not None


def _who(flow: Flow, event: Assessment) -> Iterator[tuple[str, str]]:
    """Names and types of the operator that would be blamed and of the one whose output shows it."""
    graph = flow.pairing.target.graph(event.block)
    if graph is not None and event.blamed >= 0:
        op = graph.ops[event.blamed]
        yield op.name, op.op_type
    run = flow.pairing.target.runs[event.block].get(event.op)
    if run is not None:
        yield run.op_name, run.op_type


def with_tolerances(rows: list[Row], flow: Flow, *, thresholds: bool) -> list[Row]:
    """Turn failing and noisy outputs that the map file tolerates into warnings that say why.

    What a defect upstream has spoiled stays as it is, unless ``thresholds`` of a profile judged it.
    """
    if not flow.pairing.overrides.tolerances:
        return rows
    tainted = {event.order for event in flow.events.values() if event.tainted}
    return [
        row
        if (row.order in tainted or not _own(row)) and not thresholds
        else _tolerated(row, flow.pairing.overrides)
        for row in rows
    ]


def _own(row: Row) -> bool:
    """Whether a row shows what its operator gave: an output, or an input that it has overwritten."""
    return row.io == "output" or row.reason == UPDATED


def _tolerated(row: Row, overrides: Overrides) -> Row:
    judged = row.status in ("warn", "fail") and row.match_rule
    if not judged or row.error is None or not math.isfinite(row.error):
        return row
    found = overrides.tolerated(row.op_name, row.op_type, row.error)
    return row if found is None else replace(row, status="warn", reason=found.said)
