"""Defects where errors begin, by the origins of the walk: one cause is told once, however far it reaches.

What is one cause is decided by values: a parameter by name, a setting by its two values at a source
line, a replacement by what is replaced. The first operator that it reaches speaks for all.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.comparison.align.differences import WIRING
from workbench.comparison.bind.memory import find_overwrites
from workbench.comparison.explain.exchanged import EXCHANGED
from workbench.comparison.explain.origins import Origin, has_few_wrong
from workbench.comparison.finding_kinds import KINDS, advice_for
from workbench.comparison.findings.evidence import DAMAGED, blame_evidence, further
from workbench.comparison.findings.material import (
    NO_FIGURES,
    Figures,
    finding,
    place_blamed,
    place_of_row,
)
from workbench.comparison.graphs import view
from workbench.comparison.limits import limits
from workbench.comparison.result import UNDECIDED, Cause
from workbench.core.words import Message
from workbench.dump.formats.mindspore_name import sanitize
from workbench.graph.source_lines import user_frames

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from workbench.comparison.align.differences import Difference
    from workbench.comparison.findings.material import Found, Material, Place
    from workbench.comparison.follow.state import Assessment
    from workbench.comparison.follow.trace import Trace
    from workbench.comparison.pair.pairing import Pair, Pairing
    from workbench.comparison.result import Row
    from workbench.graph.graph import Graph

    SharedCause = tuple[object, ...]

_GIVEN = frozenset(("parameter", "input", "constant"))
"""Kinds of which the name is the cause, whoever reads it."""


class _Blame(NamedTuple):
    """An origin with its kind decided; ``cause`` is what it shares with others of the same cause."""

    origin: Origin
    kind: str
    cause: SharedCause
    said: tuple[Message, ...] = ()
    trust: float = 1.0

    @property
    def event(self) -> Assessment:
        """What the walk knows there."""
        return self.origin.event


def origins(material: Material) -> Iterator[Found]:
    """Where errors begin; a failing tensor that nobody was blamed for if there is no such place."""
    flow = material.flow
    blames = [_decide(flow.pairing, one) for one in material.origins.origins]
    if not blames:
        # The error came in before anything was compared: what differs by name is the better answer.
        doubtful = (_decide(flow.pairing, Origin(event)) for event in flow.downstream_differences)
        blames = [one._replace(trust=limits().trust_tainted) for one in doubtful]
    if not blames:
        blames = list(_began_before(flow))
    if blames:
        yield from _merged(flow, blames)
    elif not flow.undecided:  # else the failure may be theirs, and naming another would be a guess
        yield from unexplained_failure(material)


def tolerated(material: Material) -> Iterator[Found]:
    """What would be defects if the map file did not tolerate them."""
    flow = material.flow
    blames = []
    for event, tolerance in flow.tolerated:
        said = (tolerance.said, *_decide(flow.pairing, Origin(event)).said)
        blames.append(_Blame(Origin(event), "info", (str(tolerance),), said))
    return _merged(flow, blames)


def undecided(material: Material) -> Iterator[Found]:
    """Errors that may be rounding or not for all that is known, told once, at the first of them."""
    events = material.flow.undecided
    if not events:
        return
    first, pairing = events[0], material.flow.pairing
    place = place_blamed(pairing, first)
    error = first.worst.error if first.worst is not None else None
    figures = Figures(error, first.inherited, first.rounding_floor)
    said = [Message(f"compare/undecided-{first.undecided}")]
    others = {place_blamed(pairing, one).op_name for one in events[1:]} - {place.op_name}
    evidence = (*blame_evidence(material.flow, [Origin(first)], said), *further(others))
    yield finding(UNDECIDED, place, evidence, figures, event=first)


def version_matters(material: Material) -> Iterator[Found]:
    """What the two versions of the framework are known to do differently, told once."""
    flow, said = material.flow, (Message("compare/version"),)
    return _merged(
        flow, [_Blame(Origin(event), "info", (), said) for event in flow.version_matters]
    )


def _began_before(flow: Trace) -> Iterator[_Blame]:
    """Parameters that differed when the first compared iteration began, as one cause.

    The largest difference speaks for all.
    """
    worst = [
        (event.worst.error if event.worst is not None else 0.0, event)
        for event in flow.initial_differences
    ]
    blames = [
        _decide(flow.pairing, Origin(event)) for _, event in sorted(worst, key=lambda one: -one[0])
    ]
    if blames:
        others = [said for one in blames[1:4] for said in one.said[:1]]
        yield blames[0]._replace(trust=limits().trust_before, said=(*blames[0].said, *others))


def _decide(pairing: Pairing, origin: Origin) -> _Blame:
    """Choose the kind of an origin from its differences, the surest first."""
    event = origin.event
    named = [one for one in event.differences if one.kind != "precision"]
    named.sort(key=lambda one: -KINDS[one.kind].score)
    here = (event.block.graph_id, place_blamed(pairing, event).op_name)
    if named:
        said = tuple(one.said for one in named)
        return _Blame(origin, named[0].kind, _cause(pairing, event, named[0]) or here, said)
    if event.worst is not None and event.worst.divergence.mismatch:
        return _Blame(origin, "non-finite", here)
    unequal = [
        item.divergence.reason
        for item in event.measured.values()
        if item.pair.io == "output" and item.sizes_differ and item.divergence.reason is not None
    ]
    return _Blame(origin, "shape" if unequal else "own-error", here, tuple(unequal))


def _cause(pairing: Pairing, event: Assessment, one: Difference) -> SharedCause:
    """What a difference shares with others of the same cause; empty: it is its operator's own.

    A setting reaches several operators under several names: a layer and its gradient, the terms of a loss. The
    same replacement everywhere is one cause; wiring is told operator by operator.
    """
    if one.kind in _GIVEN or one.kind == EXCHANGED:
        return (one.subject,)
    if one.kind == "structure":
        return (one.said if one.said.code == WIRING else one.subject,)
    if one.kind != "attribute":
        return ()
    frame = pairing.frame(event.block.graph_key, event.origin_op)
    if not one.values or frame is None:
        return one.subject, one.said
    return frame.file, frame.line, *one.values


def _merged(flow: Trace, blames: Iterable[_Blame]) -> Iterator[Found]:
    """One finding a cause: the first operator it reaches, the others counted in its evidence."""
    groups: dict[tuple[str, SharedCause], list[_Blame]] = {}
    for blame in blames:
        groups.setdefault((blame.kind, blame.cause), []).append(blame)
    return (_found(flow, group) for group in groups.values())


def _found(flow: Trace, group: list[_Blame]) -> Found:
    first, event = group[0], group[0].event
    writer = first.origin.writer is not None
    place = place_blamed(flow.pairing, event, writer=writer)
    error = event.worst.error if event.worst is not None else None
    floor, own = event.rounding_floor, event.replayed
    by_replay = own is not None and own.suspect and first.kind in ("own-error", "non-finite")
    if own is not None and by_replay:
        worst = own.slices
        error, floor = (own.error, own.explained) if worst is None else (worst.error, worst.floor)
    # a writer's figures would be those of the operator that reads what it wrote over
    figures = Figures(error, event.inherited, floor) if not writer else NO_FIGURES
    found, said = [one.origin for one in group], _with_change(flow, first)
    causes = _causes(flow, first)
    evidence = blame_evidence(flow, found, said, by_replay=bool(by_replay))
    born = any(one.said.code == "compare/born-non-finite" for one in event.differences)
    correct = own is not None and not own.suspect and not own.assumed and not born
    fault = causes[0].kind if causes else ""
    return finding(
        first.kind, place, evidence, figures, score=_score(first, error),
        advice=advice_for(first.kind, fault, kernel_correct=correct),
        symptom=first.origin.symptom, causes=causes, event=event,
    )  # fmt: skip


def _with_change(flow: Trace, blame: _Blame) -> Iterator[Message]:
    """What differs, and of a weight how it was changed."""
    yield from blame.said
    if blame.kind == "parameter" and blame.cause:
        from workbench.comparison.explain.changes import change_of_parameter

        change = change_of_parameter(flow, blame.event, str(blame.cause[0]))
        if change is not None:
            yield change


def _causes(flow: Trace, blame: _Blame) -> tuple[Cause, ...]:
    """The kind of fault that it looks like, if that may be said."""
    found, writer = blame.origin.explanation, blame.origin.writer
    if writer is not None:
        # the chance is of this writer among others; that any wrote there is as sure as the kind
        return (Cause("overrun", writer.chance * KINDS[blame.kind].score, blame.said[:1]),)
    if found is not None:
        return (found.cause,) if found.cause is not None else ()
    if blame.kind == "parameter" and has_few_wrong(flow, blame.event):
        return (Cause("wrong-weight-element", 0.95, blame.said[:1]),)
    row = KINDS[blame.kind]
    return (Cause(row.fault, row.score, blame.said[:1]),) if row.fault else ()


def _score(blame: _Blame, error: float | None) -> float:
    """Score of the kind by trust; an own error gains with its size."""
    base = round(KINDS[blame.kind].score * blame.trust, 3)
    if blame.kind != "own-error" or not error:
        return base
    explained = blame.event.tolerance_factor * blame.event.expected_error
    decades = math.log10(error / explained) if explained and math.isfinite(error) else 2.5
    return round(min(0.69, base + 0.04 * max(0.0, decades)), 3)


def unexplained_failure(material: Material) -> Iterator[Found]:
    """Failing tensors nobody was blamed for: name the first, so that no failure goes unnamed."""
    failing = (n for n, row in enumerate(material.rows) if row.status == "fail" and row.match_rule)
    number = next(failing, None)
    if number is None:
        return
    row, run = material.rows[number], material.measured[number].pair.run
    damage = _damage_of_golden(material.pairing, material.measured[number].pair)
    if damage is not None:
        yield finding(
            UNDECIDED, place_of_row(row), (damage, row.reason) if row.reason else (damage,)
        )
        return
    kind, place, event = "own-error", place_of_row(row), None
    if run is not None:
        frames = material.pairing.frames(run.block.graph_key, run.op)
        place = place._replace(execution=run.block, op=run.op, frames=frames)
        event = material.flow.events.get((run.block, run.op))
    if row.op_type == "Parameter":
        kind, place = _first_reader(material.flow, row, place)
    error = row.error if row.error is not None else math.inf
    evidence = [Message("compare/given", name=row.op_name, error=error), row.reason]
    figures = Figures(error, row.inherited_error, row.noise_floor)
    yield finding(kind, place, filter(None, evidence), figures, score=0.5, event=event)


def _damage_of_golden(pairing: Pairing, pair: Pair) -> Message | None:
    """Say that the golden's file of an input is not what its own producer gave; ``None`` if nothing shows it.

    Then the golden tells nothing of the operator that reads it.
    """
    run = pair.golden_run
    if pair.io != "input" or run is None:
        return None
    graph = pairing.golden.graph(run.block)
    for one in find_overwrites(pairing.golden, run.block, {run.op}):
        if graph is not None and one.reader.slot == pair.golden.key.slot:
            producer = graph.ops[one.value.op].name
            return Message(DAMAGED, slot=one.reader.slot, producer=producer)
    return None


def _first_reader(flow: Trace, row: Row, place: Place) -> tuple[str, Place]:
    """What a Parameter file holds, a weight or data, and the first computing operator that reads it."""
    graph = flow.pairing.target.graphs.get(row.graph_key)
    found = flow.pairing.alignments.get(row.graph_key)
    if graph is None or found is None:
        return "parameter", place
    for index, parameter in enumerate(graph.parameters):
        if row.op_name in (parameter.name, sanitize(parameter.name)):
            kind = "parameter" if parameter.is_weight else "input"
            readers = found.target.readers(view.Origin("param", index))
            return kind, _moved(place, graph, readers[0][0]) if readers else place
    return "parameter", place


def _moved(place: Place, graph: Graph, op: int) -> Place:
    """The same place by the name of another operator."""
    known, frames = graph.ops[op], user_frames(graph, op)
    return place._replace(op_name=known.name, op_type=known.op_type, frames=frames, op=op)
