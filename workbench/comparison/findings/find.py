"""Findings: ranked statements about causes, from the origins of errors.

A named difference (attribute, parameter, feed, constant, structure) ranks above an unexplained one;
among equals the earlier operator in data-flow order comes first. One cause is told once, however
many operators, iterations or turns it reaches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypedDict

from workbench.comparison.align.differences import WIRING, Difference
from workbench.comparison.explain.origins import BY_NAME, Origin, has_few_wrong
from workbench.comparison.finding_kinds import KINDS, NAMED
from workbench.comparison.findings.ended import endings
from workbench.comparison.findings.evidence import own_words
from workbench.comparison.findings.facts import (
    blamed_name,
    blamed_operator,
    further,
    precision,
    unblamed_settings,
    unmatched,
)
from workbench.comparison.follow.ranks import is_meeting
from workbench.comparison.graphs import view
from workbench.comparison.graphs.ge_origins import original_names
from workbench.comparison.result import Finding
from workbench.core.words import Message
from workbench.dump.names.mindspore import sanitize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from workbench.comparison.explain.origins import Origins
    from workbench.comparison.follow.flow import Flow
    from workbench.comparison.follow.states import Assessment
    from workbench.comparison.measure.measure import Measured
    from workbench.comparison.result import Row
    from workbench.graph.nodes import Op


@dataclass(frozen=True, slots=True)
class _Blame:
    """An origin with its kind decided; ``values`` are those of the first difference."""

    origin: Origin
    kind: str
    subject: str
    said: tuple[Message, ...]
    values: tuple[object, ...] = ()
    trust: float = 1.0

    @property
    def event(self) -> Assessment:
        return self.origin.event


def find(flow: Flow, origins: Origins, rows: Sequence[Row]) -> list[Finding]:
    """Return all findings, best first."""
    blames = [_decide(one) for one in origins.origins]
    if not blames:
        # The error came in before anything was compared: what differs by name is the better answer.
        blames = [replace(_decide(Origin(event)), trust=0.75) for event in flow.tainted_named]
        blames += _began_before(flow, alone=not blames)
    defects = _merge(flow, blames) or list(unexplained_failure(flow, rows))
    ends = endings(flow.pairing)
    defects += [one for one in ends if one.defect]
    facts = [one for one in ends if not one.defect]
    facts += [*precision(flow, rows), *unblamed_settings(flow, origins), *_version_matters(flow)]
    facts += [*_excused(flow), *unmatched(flow.pairing)]
    return sorted(defects, key=lambda f: (f.score < NAMED, f.order)) + facts


def _excused(flow: Flow) -> list[Finding]:
    """What would be defects if the map file did not tolerate them."""
    blames = []
    for event, tolerance in flow.excused:
        said = (tolerance.said, *_decide(Origin(event)).said)
        blames.append(_Blame(Origin(event), "info", str(tolerance), said))
    return _merge(flow, blames)


def _began_before(flow: Flow, *, alone: bool) -> list[_Blame]:
    """Parameters that differed when the first compared iteration began, as one cause.

    The largest difference speaks for all; if something is named besides, it is what they follow from.
    """
    events = sorted(flow.before, key=lambda e: -(e.worst.error if e.worst is not None else 0.0))
    if not events or not alone:
        return []
    first = _decide(Origin(events[0]))
    said = tuple(one for event in events for one in _decide(Origin(event)).said[:1])
    return [replace(first, trust=0.5, said=(*first.said, *said[1:4]))]


def _version_matters(flow: Flow) -> list[Finding]:
    """What the two versions of the framework are known to do differently, told once."""
    said = (Message("compare/version"),)
    return _merge(
        flow, [_Blame(Origin(event), "info", "version", said) for event in flow.version_matters]
    )


def _decide(origin: Origin) -> _Blame:
    """Choose the kind of an origin from its differences, the surest first."""
    event = origin.event
    named: list[Difference] = [d for d in event.differences if d.kind != "precision"]
    named.sort(key=lambda d: -KINDS[d.kind].score)
    if named:
        said = tuple(d.said for d in named)
        return _Blame(origin, named[0].kind, named[0].subject, said, named[0].values)
    if event.worst is not None and event.worst.divergence.mismatch:
        return _Blame(origin, "non-finite", "", ())
    unequal = [
        m.divergence.reason
        for m in event.measured.values()
        if m.pair.io == "output" and m.sizes_differ and m.divergence.reason is not None
    ]
    if unequal:
        return _Blame(origin, "shape", "", tuple(unequal))
    return _Blame(origin, "own-error", "", ())


def _merge(flow: Flow, blames: Iterable[_Blame]) -> list[Finding]:
    """One finding a cause: the first operator it reaches, the others counted in its evidence."""
    groups: dict[tuple[object, ...], list[_Blame]] = {}
    for blame in blames:
        groups.setdefault(_key(flow, blame), []).append(blame)
    return [_finding(flow, group) for group in groups.values()]


def _key(flow: Flow, blame: _Blame) -> tuple[object, ...]:
    block = blame.event.block
    if blame.kind in ("parameter", "input", "constant", "attribute", "info"):
        return blame.kind, *_subject(flow, blame)
    if blame.kind == "structure":
        # the same replacement everywhere is one cause; wiring is told operator by operator
        wiring = blame.said[0].code == WIRING
        return blame.kind, blame.said[:1] if wiring else blame.subject
    return blame.kind, block.graph_id, blamed_name(flow, blame.event)


def _subject(flow: Flow, blame: _Blame) -> tuple[object, ...]:
    """What is one cause: a parameter by name, a setting by its two values at a source line.

    A setting reaches several operators under several names: a layer and its gradient, the terms of a loss.
    """
    if blame.kind != "attribute":
        return (blame.subject,)
    event = blame.event
    frame = flow.pairing.frame((event.block.rank, event.block.graph_id), event.blamed)
    if not blame.values or frame is None:
        return blame.subject, blame.said[:1]
    return frame.file, frame.line, *blame.values


def _finding(flow: Flow, group: list[_Blame]) -> Finding:
    first = group[0]
    event = first.event
    op = blamed_operator(flow, event)
    worst, own = event.worst, event.replayed
    slot = worst.pair.slot if worst is not None else 0
    error = worst.error if worst is not None else None
    floor = event.own_floor
    if own is not None and own.suspect and first.kind in ("own-error", "non-finite"):
        error, floor = own.error, own.explained
    run = flow.pairing.target.runs[event.block].get(event.op)
    reader = first.origin.writer is None
    told = worst if reader else None  # the figures are the reader's, not the writer's
    return Finding(
        kind=first.kind,
        op_name=blamed_name(flow, event),
        op_type=op.op_type if op is not None else run.op_type if run is not None else "",
        graph_id=event.block.graph_id,
        iteration=event.block.iteration,
        io=told.pair.io if told is not None else "output",
        slot=slot if told is not None else 0,
        score=_score(first, error),
        own_error=error if reader else None,
        inherited_error=event.inherited if reader else None,
        noise_floor=floor if reader else None,
        evidence=tuple(_evidence(flow, group)),
        advice=KINDS[first.kind].advice,
        source=flow.pairing.frame((event.block.rank, event.block.graph_id), event.blamed),
        order=event.order,
        rank=event.block.rank,
        **_fault(flow, first),
    )


class _Fault(TypedDict):
    fault: str
    probability: float


def _fault(flow: Flow, blame: _Blame) -> _Fault:
    """What kind of fault it looks like, and how likely that is."""
    found, writer = blame.origin.explanation, blame.origin.writer
    if writer is not None:
        return {"fault": "overrun", "probability": writer.chance}
    if found is not None:
        return {"fault": found.kind, "probability": found.probability}
    if blame.kind == "parameter" and has_few_wrong(flow, blame.event):
        return {"fault": "wrong-weight-element", "probability": 0.95}
    fault = BY_NAME.get(blame.kind, "")
    return {"fault": fault, "probability": KINDS[blame.kind].score if fault else 0.0}


def _score(blame: _Blame, error: float | None) -> float:
    base = round(KINDS[blame.kind].score * blame.trust, 3)
    if blame.kind != "own-error" or not error:
        return base
    explained = blame.event.factor * blame.event.explained
    decades = math.log10(error / explained) if explained and math.isfinite(error) else 2.5
    return round(min(0.69, base + 0.04 * max(0.0, decades)), 3)


def _evidence(flow: Flow, group: list[_Blame]) -> Iterator[Message]:
    origin, event = group[0].origin, group[0].event
    yield from group[0].said
    op = blamed_operator(flow, event)
    names = original_names(op) if op is not None else None
    if names and names != (op.name if op is not None else "",):
        yield Message("compare/stands-for", names=names)
    if event.worst is not None:
        yield _measured(flow, origin, event.worst)
        if origin.writer is None:
            yield Message("compare/input-difference", error=event.inherited)
    if event.replayed is not None:
        yield from own_words(event.replayed)
    explained = origin.explanation.said if origin.explanation is not None else None
    if explained is not None:
        yield explained
    if event.steps is not None:
        yield event.steps.said
    yield from _ranks(flow, group)
    yield from _circumstances(event)
    others = {(blamed_name(flow, b.event), b.event.block.graph_id) for b in group[1:]}
    others.discard((blamed_name(flow, event), event.block.graph_id))
    yield from further([name for name, _ in others])


def _measured(flow: Flow, origin: Origin, worst: Measured) -> Message:
    """How far apart the worst tensor of an origin is."""
    event = origin.event
    place = f"{_whose(flow, origin)}{worst.pair.io}.{worst.pair.slot}"
    if worst.divergence.mismatch:
        counts = _extremes(worst.divergence.metrics)
        return Message("compare/mismatch", where=place, count=worst.divergence.mismatch, **counts)
    times, floor = worst.error / event.own_floor, event.own_floor
    return Message("compare/error", where=place, error=worst.error, times=times, floor=floor)


def _circumstances(event: Assessment) -> Iterator[Message]:
    """What makes a place special, or doubtful."""
    if event.block.turn:
        yield Message("compare/turn", turn=event.block.turn)
    if event.op < 0:
        yield Message("compare/time-order")
    if event.unseen:
        yield Message("compare/unseen", count=event.unseen)


def _whose(flow: Flow, origin: Origin) -> str:
    """Whose figures an origin has, if they are not those of the operator that it blames."""
    run = flow.pairing.target.runs[origin.event.block].get(origin.event.op)
    return f"{run.op_name}: " if origin.writer is not None and run is not None else ""


def _ranks(flow: Flow, group: list[_Blame]) -> Iterator[Message]:
    """Where several ranks were compared: on which of them it is, and what other ranks have to do with it."""
    event = group[0].event
    place = (event.block.iteration, event.block.graph_id, event.block.turn)
    ranks = {b.rank for b in flow.walked if (b.iteration, b.graph_id, b.turn) == place}
    mine = {b.event.block.rank for b in group}
    if len(ranks) > 1:
        if ranks - mine:
            yield Message("compare/ranks-some", mine=sorted(mine), others=sorted(ranks - mine))
        else:
            yield Message("compare/ranks-all", mine=sorted(mine))
    op = blamed_operator(flow, event)
    dumped = {b.rank for side in (flow.pairing.target, flow.pairing.golden) for b in side.runs}
    if op is not None and is_meeting(op) and (len(ranks) < 2 or dumped - ranks):
        yield Message("compare/ranks-needed")


def _extremes(metrics: Mapping[str, float]) -> dict[str, int]:
    """How many elements of each side are NaN and infinite."""
    found = {}
    for side in ("Target", "Golden"):
        infinite = metrics.get(f"{side}PosInf", 0) + metrics.get(f"{side}NegInf", 0)
        found[f"{side.lower()}_nan"] = int(metrics.get(f"{side}NaN", 0))
        found[f"{side.lower()}_inf"] = int(infinite)
    return found


def unexplained_failure(flow: Flow, rows: Sequence[Row]) -> Iterator[Finding]:
    """Failing tensors nobody was blamed for: name the first, so that no failure goes unnamed."""
    row = next((r for r in rows if r.status == "fail"), None)
    if row is None:
        return
    kind, name, op_type, source = "own-error", row.op_name, row.op_type, row.source
    if row.op_type == "Parameter":
        kind, reader = _first_reader(flow, row)
        if reader is not None:
            name, op_type, source = reader.name, reader.op_type, reader.frame
    error = row.error if row.error is not None else math.inf
    evidence = (Message("compare/given", name=row.op_name, error=error), row.reason)
    yield Finding(
        kind, name, op_type, row.graph_id, row.iteration, row.io, row.slot, 0.5, error,
        row.inherited_error, row.noise_floor, tuple(filter(None, evidence)), KINDS[kind].advice, source,
        row.order, row.rank,
    )  # fmt: skip


def _first_reader(flow: Flow, row: Row) -> tuple[str, Op | None]:
    """What a Parameter file holds, a weight or data, and the first computing operator that reads it."""
    graph = flow.pairing.target.graphs.get(row.graph_key)
    found = flow.pairing.alignments.get(row.graph_key)
    if graph is None or found is None:
        return "parameter", None
    for index, parameter in enumerate(graph.parameters):
        if row.op_name in (parameter.name, sanitize(parameter.name)):
            readers = found.target.readers(view.Origin("param", index))
            kind = "parameter" if parameter.is_weight else "input"
            return kind, graph.ops[readers[0][0]] if readers else None
    return "parameter", None
