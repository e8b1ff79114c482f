"""What a finding rests on, said where that is weaker than graphs of both runs' own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.comparison.result import UNDECIDED
from workbench.comparison.trust import Trust, may_say
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.comparison.findings.material import Found, Material
    from workbench.comparison.follow.trace import Trace


def with_trust(found: Found, material: Material) -> Found:
    """Return a finding with what it rests on, and what that means in words."""
    trust = _trust(found, material)
    told = found.changed(trust=trust)
    grounded = found.defect or found.finding.kind == UNDECIDED
    if not grounded or found.group != "runs":
        return told
    return told.told(*_grounds(found, material.flow, trust))


def _trust(found: Found, material: Material) -> Trust:
    """The ground of the execution that a finding is about; that of its graph where it is about no execution."""
    pairing, place = material.pairing, found.place
    if place.execution is not None:
        return material.flow.trust(place.execution)
    key = place.rank, place.graph_id
    return next(
        (material.flow.trust(block) for block in pairing.block_order if block.graph_key == key),
        Trust(),
    )


def _grounds(found: Found, flow: Trace, trust: Trust) -> Iterator[Message]:
    yield from trust.said
    if not may_say("source", trust):
        yield from _golden_line(found, flow)
    event = found.event
    if event is not None and event.worst is not None and event.worst.pair.target.source is None:
        yield Message("compare/trust-statistics")


def _golden_line(found: Found, flow: Trace) -> Iterator[Message]:
    """The line of the golden's program, told as the golden's."""
    place = found.place
    key = (place.rank, place.graph_id)
    graph = flow.pairing.target.graphs.get(key)
    frame = graph.ops[place.op].frame if graph is not None and place.op >= 0 else None
    if frame is not None and key in flow.pairing.target.borrowed:
        code = frame.code.strip()
        yield Message("compare/golden-line", file=frame.file, line=frame.line, code=code)
