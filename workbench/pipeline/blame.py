"""Whether an error is born at an operator, passed on by it, or amplified, in words that give the figures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from workbench.compare.own_errors import result_slot
from workbench.compare.states import GAIN
from workbench.show import words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.compare.binding import Block
    from workbench.compare.flow import Flow
    from workbench.compare.replay.replay import Own
    from workbench.compare.result import Finding, Row
    from workbench.compare.states import Event
    from workbench.pipeline.places import Found

Kind = Literal[
    "born here", "inherited", "amplified", "within the noise", "agrees", "stands alone", "not known"
]


@dataclass(frozen=True, slots=True)
class Blame:
    """Where the error of a tensor comes from.

    ``text`` says why. Errors are relative; ``own`` is what the operator adds itself, ``explained`` what its number
    formats explain of that, ``factor`` how much it makes an inherited error grow (0: nobody can say). ``lacking`` says
    why the own error is not known.
    """

    kind: Kind
    text: str
    error: float | None = None
    own: float | None = None
    inherited: float | None = None
    explained: float | None = None
    factor: float = 0.0
    lacking: str = ""


def blame(row: Row, found: Found, flow: Flow | None, findings: Sequence[Finding]) -> Blame:
    """Say where the error of a row comes from, by replay, by the walk through the data flow, or by neither."""
    if not row.match_rule:
        return Blame("stands alone", str(row.reason) or "it has no partner")
    if flow is not None and found.run is None and row.status in ("warn", "fail"):
        text = "no operator of this execution made it; the dump keeps it as a parameter"
        return Blame("not known", text, row.error)
    place = (found.run.block, found.run.op) if found.run is not None else None
    own = flow.own_error(*place) if flow is not None and place is not None else None
    event = flow.events.get(place) if flow is not None and place is not None else None
    defect = _defect(findings, row)
    kind, text, factor = _judged(row, own, event, defect, flow)
    added, explained = _own_of(own, defect, row)
    lacking = "" if added is not None else _lacking(row, flow, place)
    return Blame(kind, text, row.error, added, row.inherited_error, explained, factor, lacking)


def _lacking(row: Row, flow: Flow | None, place: tuple[Block, int] | None) -> str:
    """Say why nobody knows what an operator adds to a tensor by itself."""
    if row.io == "input":
        return "it is read here, and made elsewhere"
    if flow is None or flow.replayed is None:
        return "nothing was computed again"
    reason = flow.replayed.reasons.get(place) if place is not None else None
    return str(reason) if reason is not None else "it was not computed again"


def _defect(findings: Sequence[Finding], row: Row) -> Finding | None:
    """Return the defect that was found at the operator of a row, if it explains this tensor."""
    return next((one for one in findings if one.defect and row.io != "input"), None)


def _own_of(own: Own | None, defect: Finding | None, row: Row) -> tuple[float | None, float | None]:
    """Own error, and what of it number formats explain."""
    if defect is not None and defect.own_error is not None:
        return defect.own_error, defect.noise_floor
    worst = own is not None and own.slot == result_slot(row.io, row.slot)
    return row.own_error, own.explained if own is not None and worst else row.noise_floor


def _judged(
    row: Row, own: Own | None, event: Event | None, defect: Finding | None, flow: Flow | None
) -> tuple[Kind, str, float]:
    if row.error is None or row.status == "uncomparable":
        return "not known", str(row.reason) or "it could not be measured", 0.0
    if row.status == "equal":
        return "agrees", "every element has the same value", 0.0
    if flow is None:
        return (
            "not known",
            "this is the result of another tool, which keeps no inherited error",
            0.0,
        )
    if row.io == "input":
        return "inherited", "it is read here; the operator that made it says where it began", 0.0
    if defect is not None:
        return "born here", _of_defect(defect), 0.0
    if own is not None and own.suspect:
        return "born here", _of_own(own), 0.0
    if row.status == "pass":
        return "within the noise", "number formats explain all of it", _growth(row)
    if event is not None and event.guilty:
        return "born here", _of_walk(row, event), 0.0
    return _passed_on(row, own, event)


def _of_defect(defect: Finding) -> str:
    own = defect.own_error
    ratio = words.times(own, defect.noise_floor)
    told = [f"own error {words.number(own)}"] if own is not None else []
    told += [f"{ratio} what number formats explain"] if ratio else []
    return "; ".join((*map(str, defect.evidence[:2]), ", ".join(told))).rstrip("; ")


def _of_own(own: Own) -> str:
    text = (
        f"computed again from the inputs that it had, its result is another by {words.number(own.error)}, "
        f"{words.times(own.error, own.explained) or 'more'} than number formats explain"
    )
    return f"{text}; assumed: {', '.join(map(str, own.assumed))}" if own.assumed else text


def _of_walk(row: Row, event: Event) -> str:
    text = (
        f"what it reads is off by {words.number(event.inherited)} at most, which explains no more than "
        f"{words.number(event.explained)}; its result is off by {words.number(row.error)}"
    )
    return (
        f"{text}; operators before it that were not dumped: {event.unseen}"
        if event.unseen
        else text
    )


def _growth(row: Row) -> float:
    """How much an inherited error grows; 0 if there is none or nobody can say."""
    if not row.inherited_error or row.error is None or not math.isfinite(row.error):
        return 0.0
    return row.error / row.inherited_error


def _passed_on(row: Row, own: Own | None, event: Event | None) -> tuple[Kind, str, float]:
    """What an operator does with an error that is not its own."""
    factor = _growth(row)
    clean = (
        f"computed again from the inputs that it had, it gives what it must (off by {words.number(own.error)})"
        if own is not None
        else "it could not be computed again, so only its inputs tell"
    )
    if event is not None and event.healed:
        return "inherited", f"{clean}; what reads it agrees again", factor
    if not row.inherited_error and not (event is not None and event.tainted):
        return "not known", f"{clean}; no error of its inputs is known", factor
    read = words.number(row.inherited_error)
    if factor >= GAIN:
        grown = words.times(row.error, row.inherited_error)
        text = f"{clean}; the error that it reads, {read}, leaves it {grown} as large"
        return "amplified", text, factor
    return "inherited", f"{clean}; it reads an error of {read}", factor
