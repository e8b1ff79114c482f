"""Whether an error originates at an operator, is propagated or amplified by it, with the figures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from workbench.comparison.follow.state import VERSION_MATTER
from workbench.comparison.limits import limits
from workbench.comparison.replay.own_error import result_slot
from workbench.comparison.result import times_expected
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.follow.state import Assessment
    from workbench.comparison.follow.trace import Trace
    from workbench.comparison.replay.own_error import OwnError
    from workbench.comparison.result import Finding, Row
    from workbench.views.index import RowRecords

Kind = Literal["origin", "propagated", "amplified", "expected", "equal", "unmatched", "unknown"]


@dataclass(frozen=True, slots=True)
class ErrorOrigin:
    """Where the error of a tensor comes from.

    ``text`` says why. Errors are relative; ``expected_error`` is the rounding error to expect, ``factor`` how much a
    propagated error grows (0: unknown). ``lacking`` says why the local error is unknown.
    """

    kind: Kind
    text: Message
    error: float | None = None
    local_error: float | None = None
    propagated_error: float | None = None
    expected_error: float | None = None
    factor: float = 0.0
    lacking: Message | None = None

    @property
    def title(self) -> Message:
        """The kind in words."""
        return Message(f"views/origin-{self.kind}")


def error_origin(
    row: Row, found: RowRecords, flow: Trace | None, findings: Sequence[Finding]
) -> ErrorOrigin:
    """Say where the error of a row comes from, by replay, by the walk through the data flow, or by neither."""
    if not row.match_rule:
        return ErrorOrigin("unmatched", _reason(row, "views/unmatched"))
    if flow is not None and found.run is None and row.status in ("warn", "fail"):
        return ErrorOrigin("unknown", Message("views/parameter-kept"), row.error)
    place = (found.run.block, found.run.op) if found.run is not None else None
    own = flow.own_error(*place) if flow is not None and place is not None else None
    event = flow.events.get(place) if flow is not None and place is not None else None
    defect = _defect(findings, row)
    kind, text, factor = _judged(row, own, event, defect, flow)
    added, explained = _own_of(own, defect, row)
    lacking = None if added is not None else _lacking(row, flow, place)
    return ErrorOrigin(
        kind, text, row.error, added, row.inherited_error, explained, factor, lacking
    )


def conclusion(event: Assessment) -> tuple[Message, ...]:
    """Say which rule decided about an operator, and what became of it."""
    said = [Message(f"compare/conclusion-{event.conclusion}")]
    if event.tolerated is not None:
        said.append(event.tolerated.said)
    if event.masked and event.conclusion != VERSION_MATTER:
        said.append(Message("compare/no-effect"))
    return tuple(said)


def _reason(row: Row, otherwise: str) -> Message:
    return Message("views/stated", reason=row.reason) if row.reason else Message(otherwise)


def _lacking(row: Row, flow: Trace | None, place: tuple[Execution, int] | None) -> Message:
    """Say why the local error of an operator is unknown."""
    if row.io == "input":
        return Message("views/read-here")
    if flow is None or flow.replayed is None:
        return Message("views/no-replay")
    reason = flow.replayed.reasons.get(place) if place is not None else None
    if reason:
        return Message("views/stated", reason=reason)
    return Message("views/operator-not-replayed")


def _defect(findings: Sequence[Finding], row: Row) -> Finding | None:
    """Return the defect that was found at the operator of a row, if it explains this tensor."""
    return next((one for one in findings if one.defect and row.io != "input"), None)


def _own_of(
    own: OwnError | None, defect: Finding | None, row: Row
) -> tuple[float | None, float | None]:
    """Own error, and what of it number formats explain."""
    if defect is not None and defect.own_error is not None:
        return defect.own_error, defect.noise_floor
    if own is None:
        return row.own_error, row.noise_floor
    slot = result_slot(row.io, row.slot)
    # of dumps that agree no row has it: the comparison stopped before, and the walk was made for this view
    added = row.own_error if row.own_error is not None else dict(own.errors).get(slot)
    return added, own.explained if own.slot == slot else row.noise_floor


def _judged(
    row: Row,
    own: OwnError | None,
    event: Assessment | None,
    defect: Finding | None,
    flow: Trace | None,
) -> tuple[Kind, Message, float]:
    if row.error is None or row.status == "uncomparable":
        return "unknown", _reason(row, "views/not-measured"), 0.0
    if row.status == "equal":
        return "equal", Message("views/all-equal"), 0.0
    if flow is None:
        return "unknown", Message("views/foreign-result"), 0.0
    if row.io == "input":
        return "propagated", Message("views/read-here"), 0.0
    if defect is not None:
        return "origin", _of_defect(defect), 0.0
    if own is not None and own.suspect:
        return "origin", _of_own(own), 0.0
    if row.status == "pass":
        return "expected", Message("views/rounding"), _growth(row)
    if event is not None and event.is_origin:
        return "origin", _of_walk(row, event), 0.0
    return _passed_on(row, own, event)


def _times(error: float | None, expected: float | None) -> Message:
    """How many times the expected rounding error a local error is, where that can be said."""
    times = times_expected(error, expected)
    if times is None:
        return Message("views/no-times")
    return Message("views/times-expected", times=times)


def _of_defect(defect: Finding) -> Message:
    evidence = defect.evidence[:2]
    if defect.own_error is None:
        return Message("views/defect-evidence", evidence=evidence)
    times = _times(defect.own_error, defect.noise_floor)
    return Message("views/defect-figures", evidence=evidence, own=defect.own_error, times=times)


def _of_own(own: OwnError) -> Message:
    times = _times(own.error, own.explained)
    said = Message("views/replay-differs", own=own.error, times=times)
    if not own.assumed:
        return said
    return Message("views/replay-assumed", said=said, assumed=own.assumed)


def _of_walk(row: Row, event: Assessment) -> Message:
    said = Message(
        "views/walk-origin",
        inherited=event.inherited,
        explained=event.expected_error,
        error=row.error,
    )
    if not event.unobserved_count:
        return said
    return Message("views/walk-unobserved", said=said, count=event.unobserved_count)


def _growth(row: Row) -> float:
    """How much an inherited error grows; 0 if there is none or nobody can say."""
    if not row.inherited_error or row.error is None or not math.isfinite(row.error):
        return 0.0
    return row.error / row.inherited_error


def _passed_on(
    row: Row, own: OwnError | None, event: Assessment | None
) -> tuple[Kind, Message, float]:
    """What an operator does with an error that is not its own."""
    factor = _growth(row)
    said = Message("views/not-replayed")
    if own is not None:
        said = Message("views/replay-matches", own=own.error)
    if event is not None and event.masked:
        return "propagated", Message("views/masked", said=said), factor
    read = row.inherited_error
    if not read and not (event is not None and event.tainted):
        return "unknown", Message("views/inputs-unknown", said=said), factor
    if factor >= limits().amplification:
        text = Message("views/amplified", said=said, inherited=read, factor=factor)
        return "amplified", text, factor
    return "propagated", Message("views/propagated", said=said, inherited=read), factor
