"""Findings: ranked statements about causes, from the guilty operators of the walk.

A named difference (attribute, parameter, feed, constant, structure) ranks above an unexplained one;
among equals the earlier operator in data-flow order comes first. One cause is told once, however
many operators, iterations or turns it reaches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypedDict

from workbench.compare.cause import Difference, format_differences, setting_differences
from workbench.compare.graph_view import Origin
from workbench.compare.meeting import is_meeting
from workbench.compare.noise import PASS_FACTOR
from workbench.compare.originals import original_names
from workbench.compare.replay.words import own_words
from workbench.compare.result import Finding
from workbench.compare.telling import BY_NAME, has_few_wrong
from workbench.dump.names.mindspore import sanitize
from workbench.dump.tree import CONSTANT_ITERATION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from workbench.compare.align import Alignment
    from workbench.compare.flow import Flow
    from workbench.compare.pairs import Pairing
    from workbench.compare.result import Row
    from workbench.compare.states import Event
    from workbench.graph.nodes import Op

CERTAINTY = {
    "attribute": 0.98,
    "parameter": 0.95,
    "input": 0.95,
    "constant": 0.95,
    "overwritten": 0.95,
    "structure": 0.9,
    "shape": 0.9,
    "overflow": 0.9,
    "underflow": 0.9,
    "rank": 0.8,
    "non-finite": 0.65,
    "own-error": 0.5,
    "precision": 0.3,
    "changed-memory": 0.25,
    "info": 0.2,
    "unmatched": 0.1,
}
"""Kind → score of a finding with full evidence. An own error gains with its size, up to 0.69."""

ADVICE = {
    "attribute": "make the setting the same on both sides and run the target again",
    "parameter": "give both sides the same checkpoint and hyper-parameters and compare again",
    "input": "feed both runs the same data and compare again",
    "constant": "compare how the two programs build this constant",
    "structure": "compare the two programs at this source line",
    "shape": "compare the operator's attributes and input shapes at this source line",
    "overwritten": "look at what this operator writes beyond its output, and at the sizes it was compiled for",
    "changed-memory": "dump the graph, too (DUMP_GE_GRAPH), or name it: memory that nobody needs is used again",
    "overflow": "lower the loss scale, or let it follow overflows",
    "underflow": "raise the loss scale",
    "non-finite": "look at the operator's inputs for values outside the range of its number format",
    "rank": "compare this rank with a golden run; look at its device and its links",
    "own-error": "run this operator alone with the target's inputs, in higher precision",
    "precision": "expected when the runs use different number formats; no action",
    "unmatched": "dump the same operators on both sides to compare them too",
    "info": "no action unless the operator's outputs are in doubt",
}


@dataclass(frozen=True, slots=True)
class _Blame:
    """A guilty event with its kind decided."""

    event: Event
    kind: str
    subject: str
    texts: tuple[str, ...]
    trust: float = 1.0


def find(flow: Flow, rows: Sequence[Row]) -> list[Finding]:
    """Return all findings, best first."""
    blames = [_decide(event) for event in flow.guilty]
    if not blames:
        # The error came in before anything was compared: what differs by name is the better answer.
        blames = [replace(_decide(event), trust=0.75) for event in flow.tainted_named]
        blames += _began_before(flow, alone=not blames)
    defects = _merge(flow, blames) or list(first_failure(flow, rows))
    facts = [*_precision(flow, rows), *_settings(flow), *_version_matters(flow)]
    facts += [*_excused(flow), *_unmatched(flow.pairing)]
    return sorted(defects, key=lambda f: (f.score < NAMED, f.order)) + facts


def _excused(flow: Flow) -> list[Finding]:
    """What would be defects if the map file did not tolerate them."""
    blames = []
    for event, tolerance in flow.excused:
        text = f"tolerated up to {tolerance.relative_error:g} by the map file: {tolerance.reason}"
        blames.append(_Blame(event, "info", str(tolerance), (text, *_decide(event).texts)))
    return _merge(flow, blames)


def _began_before(flow: Flow, *, alone: bool) -> list[_Blame]:
    """Parameters that differed when the first compared iteration began, as one cause.

    The largest difference speaks for all; if something is named besides, it is what they follow from.
    """
    events = sorted(flow.before, key=lambda e: -(e.worst.error if e.worst is not None else 0.0))
    if not events or not alone:
        return []
    first = _decide(events[0])
    texts = tuple(text for event in events for text in _decide(event).texts[:1])
    shown = (*first.texts, *texts[1:4])
    return [replace(first, trust=0.5, texts=shown)]


def _version_matters(flow: Flow) -> list[Finding]:
    """What the two versions of the framework are known to do differently, told once."""
    text = "the two versions estimate the moving statistics of BatchNorm differently"
    return _merge(flow, [_Blame(event, "info", text, (text,)) for event in flow.version_matters])


NAMED = 0.7
"""Findings from this score on name a difference; they come before unexplained errors."""


def _decide(event: Event) -> _Blame:
    """Choose the kind of a guilty event from its differences, the surest first."""
    named: list[Difference] = [d for d in event.differences if d.kind != "precision"]
    named.sort(key=lambda d: -CERTAINTY[d.kind])
    texts = tuple(d.text for d in named)
    if named:
        return _Blame(event, named[0].kind, named[0].subject, texts)
    if event.worst is not None and event.worst.divergence.mismatch:
        return _Blame(event, "non-finite", "", texts)
    unequal = [
        m.divergence.reason
        for m in event.measured.values()
        if m.pair.io == "output" and m.sizes_differ
    ]
    if unequal:
        return _Blame(event, "shape", "", tuple(unequal))
    return _Blame(event, "own-error", "", texts)


def _merge(flow: Flow, blames: Iterable[_Blame]) -> list[Finding]:
    """One finding a cause: the first operator it reaches, the others counted in its evidence."""
    groups: dict[tuple[object, ...], list[_Blame]] = {}
    for blame in blames:
        groups.setdefault(_key(flow, blame), []).append(blame)
    return [_finding(flow, group) for group in groups.values()]


def _key(flow: Flow, blame: _Blame) -> tuple[object, ...]:
    block = blame.event.block
    if blame.kind in ("parameter", "input", "constant", "attribute", "info"):
        return blame.kind, blame.subject, blame.texts[:1] if blame.kind == "attribute" else ""
    if blame.kind == "structure":
        # the same replacement everywhere is one cause; wiring is told operator by operator
        wiring = blame.subject.startswith("input.")
        return blame.kind, blame.texts[:1] if wiring else blame.subject
    return blame.kind, block.graph_id, _name(flow, blame.event)


def _name(flow: Flow, event: Event) -> str:
    op = _operator(flow, event)
    if op is not None:
        return op.name
    run = flow.pairing.target.runs[event.block].get(event.op)
    return run.op_name if run is not None else ""


def _operator(flow: Flow, event: Event) -> Op | None:
    graph = flow.pairing.target.graph(event.block)
    return graph.ops[event.blamed] if graph is not None and event.blamed >= 0 else None


def _finding(flow: Flow, group: list[_Blame]) -> Finding:
    first = group[0]
    event = first.event
    op = _operator(flow, event)
    worst, own = event.worst, event.replayed
    slot = worst.pair.slot if worst is not None else 0
    error = worst.error if worst is not None else None
    if own is not None and first.kind in ("own-error", "non-finite"):
        error = own.error
    run = flow.pairing.target.runs[event.block].get(event.op)
    return Finding(
        kind=first.kind,
        op_name=_name(flow, event),
        op_type=op.op_type if op is not None else run.op_type if run is not None else "",
        graph_id=event.block.graph_id,
        iteration=event.block.iteration,
        io=worst.pair.io if worst is not None else "output",
        slot=slot,
        score=_score(first, error),
        own_error=error,
        inherited_error=event.inherited,
        noise_floor=event.own_floor,
        evidence=tuple(_evidence(flow, group)),
        advice=ADVICE[first.kind],
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
    found = blame.event.explained_by
    if found is not None:
        return {"fault": found.kind, "probability": found.probability}
    if blame.kind == "parameter" and has_few_wrong(flow, blame.event):
        return {"fault": "wrong-weight-element", "probability": 0.95}
    fault = BY_NAME.get(blame.kind, "")
    return {"fault": fault, "probability": CERTAINTY[blame.kind] if fault else 0.0}


def _score(blame: _Blame, error: float | None) -> float:
    base = round(CERTAINTY[blame.kind] * blame.trust, 3)
    if blame.kind != "own-error" or not error:
        return base
    explained = blame.event.factor * blame.event.explained
    decades = math.log10(error / explained) if explained and math.isfinite(error) else 2.5
    return round(min(0.69, base + 0.04 * max(0.0, decades)), 3)


def _evidence(flow: Flow, group: list[_Blame]) -> Iterator[str]:
    event = group[0].event
    yield from group[0].texts
    op = _operator(flow, event)
    names = original_names(op) if op is not None else None
    if names and names != (op.name if op is not None else "",):
        yield f"it stands for {', '.join(names)}"
    worst = event.worst
    if worst is not None:
        where = f"{worst.pair.io}.{worst.pair.slot}"
        if worst.divergence.mismatch:
            count, shown = worst.divergence.mismatch, _extremes(worst.divergence.metrics)
            yield f"{where}: {count} positions differ in NaN or infinity; {shown}"
        else:
            factor = worst.error / event.own_floor if event.own_floor else math.inf
            base = f"{factor:.3g} times the noise floor {event.own_floor:.2g}"
            yield f"{where} has relative error {worst.error:.3g}, {base}"
        yield f"its produced inputs differ by at most {event.inherited:.2g}"
    if event.replayed is not None:
        yield from own_words(event.replayed)
    if event.explained_by is not None:
        kind, chance = event.explained_by.kind, event.explained_by.probability
        yield f"it looks like {kind} ({chance:.0%}): {event.explained_by.text}"
    if event.steps is not None:
        yield str(event.steps)
    yield from _ranks(flow, group)
    if event.block.turn:
        yield f"its graph runs several times in the iteration: this is turn {event.block.turn}, the first is 0"
    if event.op < 0:
        yield "no graph: the order of time stands in for the data flow, so this may be a consequence"
    if event.unseen:
        yield f"{event.unseen} operators before it were not dumped on both sides"
    others = {(_name(flow, b.event), b.event.block.graph_id) for b in group[1:]}
    others.discard((_name(flow, event), event.block.graph_id))
    if others:
        shown = ", ".join(sorted(name for name, _ in others)[:3])
        yield f"the same at {len(others)} further operators: {shown}{' …' if len(others) > 3 else ''}"


def _ranks(flow: Flow, group: list[_Blame]) -> Iterator[str]:
    """Where several ranks were compared: on which of them it is, and what other ranks have to do with it."""
    event = group[0].event
    place = (event.block.iteration, event.block.graph_id, event.block.turn)
    ranks = {b.rank for b in flow.walked if (b.iteration, b.graph_id, b.turn) == place}
    mine = {b.event.block.rank for b in group}
    if len(ranks) > 1:
        others = ", ".join(map(str, sorted(ranks - mine)))
        shown = ", ".join(map(str, sorted(mine)))
        rest = f", not on {others}" if others else ", which are all"
        yield f"it is on rank{'s' if len(mine) > 1 else ''} {shown}{rest}"
    op = _operator(flow, event)
    dumped = {b.rank for side in (flow.pairing.target, flow.pairing.golden) for b in side.runs}
    if op is not None and is_meeting(op) and (len(ranks) < 2 or dumped - ranks):
        yield "it needs the tensors of other ranks, which were not compared: the error may be theirs"


def _extremes(metrics: object) -> str:
    values = metrics if isinstance(metrics, dict) else {}
    parts = [
        f"{side.lower()} has {int(values.get(side + 'NaN', 0))} NaN, "
        f"{int(values.get(side + 'PosInf', 0) + values.get(side + 'NegInf', 0))} Inf"
        for side in ("Target", "Golden")
    ]
    return "; ".join(parts)


def first_failure(flow: Flow, rows: Sequence[Row]) -> Iterator[Finding]:
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
    evidence = (f"{row.op_name} differs: relative difference {error:.3g}", row.reason)
    yield Finding(
        kind, name, op_type, row.graph_id, row.iteration, row.io, row.slot, 0.5, error,
        row.inherited_error, row.noise_floor, tuple(filter(None, evidence)), ADVICE[kind], source,
        row.order, row.rank,
    )  # fmt: skip


def _first_reader(flow: Flow, row: Row) -> tuple[str, Op | None]:
    """What a Parameter file holds, a weight or data, and the first computing operator that reads it."""
    graph = flow.pairing.target.graphs.get((row.rank, row.graph_id))
    found = flow.pairing.alignments.get((row.rank, row.graph_id))
    if graph is None or found is None:
        return "parameter", None
    for index, parameter in enumerate(graph.parameters):
        if row.op_name in (parameter.name, sanitize(parameter.name)):
            readers = found.target.readers(Origin("param", index))
            kind = "parameter" if parameter.is_weight else "input"
            return kind, graph.ops[readers[0][0]] if readers else None
    return "parameter", None


def _counterparts(found: Alignment) -> Iterator[tuple[int, int]]:
    """Operators of the target, and the golden ones that do their work."""
    for number in (*found.partner, *found.fused):
        other = found.counterpart(number)
        if other is not None:
            yield number, other


def _precision(flow: Flow, rows: Sequence[Row]) -> Iterator[Finding]:
    """The two runs compute in different number formats: said once, at the first such operator."""
    count, first = 0, None
    for (rank, graph_id), found in flow.pairing.alignments.items():
        for t, g in sorted(_counterparts(found)):
            op, golden = found.target.graph.ops[t], found.golden.graph.ops[g]
            texts = list(format_differences(op, golden))
            if texts:
                count += 1
                first = first or (rank, graph_id, t, texts[0])
    if first is None:
        return
    rank, graph_id, t, text = first
    op = flow.pairing.alignments[rank, graph_id].target.graph.ops[t]
    errors = [r.error for r in rows if r.error is not None and math.isfinite(r.error)]
    evidence = (text, f"{count} operators compute in another number format",
                f"largest relative error of a compared tensor {max(errors, default=0.0):.2g}",
                *_steps(flow))  # fmt: skip
    yield Finding(
        "precision", op.name, op.op_type, graph_id, 0, "output", 0, CERTAINTY["precision"], None,
        None, None, evidence, ADVICE["precision"], flow.pairing.frame((rank, graph_id), t), rank=rank,
    )  # fmt: skip


def _steps(flow: Flow) -> Iterator[str]:
    """What rounding to int8 explains, by the layer that it costs most."""
    events = [event for event in flow.events.values() if event.steps is not None]
    worst = max(events, key=lambda e: e.steps.error if e.steps is not None else 0.0, default=None)
    if worst is not None:
        yield f"layers in int8: {len(events)}; in {_name(flow, worst)} {worst.steps}"


def _settings(flow: Flow) -> Iterator[Finding]:
    """Settings that differ at operators nobody blames: worth knowing."""
    blamed = {(e.block.rank, e.block.graph_id, e.blamed) for e in flow.guilty}
    for (rank, graph_id), found in flow.pairing.alignments.items():
        for t, g in sorted(_counterparts(found)):
            if (rank, graph_id, t) in blamed:
                continue
            op = found.target.graph.ops[t]
            tolerance = PASS_FACTOR * flow.coarsest.get((rank, graph_id), 1e-6)
            differences = setting_differences(op, found.golden.graph.ops[g], tolerance)
            if differences:
                yield Finding(
                    "info", op.name, op.op_type, graph_id, 0, "output", 0, CERTAINTY["info"], None,
                    None, None, (*(d.text for d in differences), _seen(flow, rank, graph_id, t)),
                    ADVICE["info"], flow.pairing.frame((rank, graph_id), t), rank=rank,
                )  # fmt: skip


def _seen(flow: Flow, rank: int, graph_id: int, op: int) -> str:
    events = [
        e for (b, n), e in flow.events.items() if (b.rank, b.graph_id, n) == (rank, graph_id, op)
    ]
    if not any(event.worst is not None for event in events):
        return "its outputs are not in both dumps"
    if any(event.tainted for event in events):
        return "its inputs already carry a defect, so its own share is not known"
    return "its outputs agree"


def _unmatched(pairing: Pairing) -> Iterator[Finding]:
    """Tensors without a partner, told once, operators before Parameter files."""
    everyone = [*pairing.only_target, *pairing.only_golden]
    if not everyone:
        return
    ours, theirs = len(pairing.only_target), len(pairing.only_golden)
    lone = next((one for one in everyone if one.run is not None), everyone[0])
    key = lone.record.key
    mine = any(one is lone for one in pairing.only_target)
    op = (pairing.target if mine else pairing.golden).operator(lone.run) if lone.run else None
    evidence = [f"{ours} tensors only in the target, {theirs} only in the golden"]
    advice = ADVICE["unmatched"]
    if all(one.record.key.op_type == "Parameter" for one in everyone):
        constants = [one.record.key.iteration == CONSTANT_ITERATION for one in everyone]
        kinds = (
            "constants" if all(constants) else "Parameter files" + " and constants" * any(constants)
        )
        evidence.append(f"all are {kinds}, which not every device and release writes")
        advice = "expected when the two runs differ in device or MindSpore release; no action"
    yield Finding(
        "unmatched", lone.op_name, key.op_type, key.graph_id, key.iteration, key.io, key.slot,
        CERTAINTY["unmatched"], None, None, None, tuple(evidence), advice,
        op.frame if op is not None else None, rank=key.rank,
    )  # fmt: skip
