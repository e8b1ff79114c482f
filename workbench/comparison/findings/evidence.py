"""Sentences of evidence: what was measured, what replay found, where and how often; and facts of replay."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from workbench.comparison.findings.material import blamed_operator, place_blamed
from workbench.comparison.follow.ranks import is_meeting
from workbench.comparison.follow.state import SOME_INPUT
from workbench.comparison.graphs.ge_origins import original_names
from workbench.comparison.result import times_expected
from workbench.core.dtypes import DTYPES
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from workbench.comparison.explain.origins import Origin
    from workbench.comparison.follow.state import Assessment
    from workbench.comparison.follow.trace import Trace
    from workbench.comparison.measure.measure import Measured
    from workbench.comparison.replay.own_error import OwnError
    from workbench.comparison.replay.replay import Replay
    from workbench.comparison.result import Symptom
    from workbench.core.dtypes import DType

DAMAGED = "compare/golden-damaged"
"""Says that the golden's files deny each other, where no graph would help."""


def blame_evidence(
    flow: Trace, origins: Sequence[Origin], said: Iterable[Message], *, by_replay: bool = False
) -> Iterator[Message]:
    """What speaks for one cause: ``said`` of the differences, then what the first of its origins shows.

    ``by_replay``: the finding's figures are those of replay. Only the error that they are of gets its multiple.
    """
    origin, events = origins[0], [one.event for one in origins]
    event = origin.event
    yield from said
    yield from _stands_for(flow, event)
    if event.worst is not None:
        yield _distance(flow, origin, event.worst, multiple=not by_replay)
        if origin.writer is None:
            yield Message("compare/input-difference", error=event.inherited)
        yield from _beyond_range(event.worst)
        yield from _below_range(flow, event)
    if event.replayed is not None:
        yield from own_words(event.replayed, multiple=by_replay)
    if origin.symptom is not None:
        yield symptom_words(origin.symptom)
    explained = origin.explanation.said if origin.explanation is not None else None
    if explained is not None:
        yield explained
    if event.steps is not None:
        yield event.steps.said
    yield from _integers_from(flow, event)
    yield from _ranks(flow, events)
    yield from _circumstances(event)
    places = [place_blamed(flow.pairing, one) for one in events]
    others = {(one.op_name, one.graph_id) for one in places}
    others.discard((places[0].op_name, places[0].graph_id))
    yield from further([name for name, _ in others])


def symptom_words(symptom: Symptom) -> Message:
    """Say what is certain about a wrong tensor."""
    return Message("compare/symptom", where=symptom.where, detail=symptom.detail)


def _stands_for(flow: Trace, event: Assessment) -> Iterator[Message]:
    """Operators of the network that a compiled one was made of."""
    op = blamed_operator(flow.pairing, event)
    names = original_names(op) if op is not None else ()
    if op is not None and names and names != (op.name,):
        yield Message("compare/stands-for", names=names)


def _integers_from(flow: Trace, event: Assessment) -> Iterator[Message]:
    """Kernels before a layer of int8 whose result nobody can compare, since it is int8 of an unknown scale."""
    found = flow.pairing.alignments.get(event.block.graph_key)
    if found is not None:
        ops = found.target.graph.ops
        before = found.quantised.fused_quantizers(found.target.graph, event.op)
        if before:
            yield Message("compare/integers-from", names=tuple(ops[n].name for n in before))


def _distance(flow: Trace, origin: Origin, worst: Measured, *, multiple: bool) -> Message:
    """How far apart the worst tensor of an origin is; ``multiple``: also of what number formats explain."""
    event = origin.event
    place = f"{_whose(flow, origin)}{worst.pair.io}.{worst.pair.slot}"
    if worst.divergence.mismatch:
        counts = _extremes(worst.divergence.metrics)
        return Message("compare/mismatch", where=place, count=worst.divergence.mismatch, **counts)
    if worst.exact:
        from workbench.comparison.measure.elements import first_difference

        found = first_difference(worst)
        if found is not None:
            return Message("compare/exact-differs", where=place, **found._asdict())
    if not worst.error:  # a reader of overwritten memory that took nothing of it up
        return Message("compare/error-none", where=place)
    floor = event.rounding_floor
    times = times_expected(worst.error, floor) if multiple else None
    if times is None:
        return Message("compare/error-alone", where=place, error=worst.error)
    return Message("compare/error", where=place, error=worst.error, times=times, floor=floor)


def _beyond_range(worst: Measured) -> Iterator[Message]:
    """Say that the golden's numbers are too large for the target's format, where this has infinity or its largest."""
    row, theirs = _float_row(worst), _largest(worst, "Golden")
    if row is not None and _ends_its_range(worst, row) and row.largest < theirs < math.inf:
        yield Message("compare/beyond-range", golden=theirs, dtype=row.name, limit=row.largest)


def _float_row(item: Measured) -> DType | None:
    """The target's number format of a pair, if it is one of floats."""
    row = DTYPES.get(item.pair.target.spec.dtype)
    return row if row is not None and row.is_float else None


def _ends_its_range(worst: Measured, row: DType) -> bool:
    """Whether the target has infinity or, as a device that saturates has for it, the largest number of its format."""
    metrics = worst.divergence.metrics
    return _largest(worst, "Target") >= row.largest or _extremes(metrics)["target_inf"] > 0


def _largest(worst: Measured, side: str) -> float:
    """The largest finite magnitude of a side; 0 if nobody knows."""
    metrics = worst.divergence.metrics
    return max(abs(metrics.get(f"{side}{end}", 0.0)) for end in ("Max", "Min"))


def _below_range(flow: Trace, event: Assessment) -> Iterator[Message]:
    """Say that an operator gives infinity for zeros that the golden's numbers became: the format has none so small."""
    from workbench.comparison.follow.nan_origins import POLES, count_underflows

    run = flow.pairing.target.runs[event.block].get(event.op)
    slot = POLES.get(run.op_type) if run is not None else None
    worst = event.worst
    own = _float_row(worst) if worst is not None else None
    if slot is None or worst is None or own is None or not _ends_its_range(worst, own):
        return
    read = flow.measured_input(event.block, event.op, slot)
    row = _float_row(read) if read is not None else None
    lost = count_underflows(read, row) if read is not None and row is not None else None
    if row is not None and lost is not None:
        count, most = lost
        values = {"golden": most, "dtype": row.name, "limit": row.smallest}
        yield Message("compare/below-range", count=count, **values)


def _whose(flow: Trace, origin: Origin) -> str:
    """Whose figures an origin has, if they are not those of the operator that it blames."""
    run = flow.pairing.target.runs[origin.event.block].get(origin.event.op)
    return f"{run.op_name}: " if origin.writer is not None and run is not None else ""


def _extremes(metrics: Mapping[str, float]) -> dict[str, int]:
    """How many elements of each side are NaN and infinite."""
    found = {}
    for side in ("Target", "Golden"):
        infinite = metrics.get(f"{side}PosInf", 0) + metrics.get(f"{side}NegInf", 0)
        found[f"{side.lower()}_nan"] = int(metrics.get(f"{side}NaN", 0))
        found[f"{side.lower()}_inf"] = int(infinite)
    return found


def _ranks(flow: Trace, events: Sequence[Assessment]) -> Iterator[Message]:
    """Where several ranks were compared: on which of them it is, and what other ranks have to do with it."""
    event = events[0]
    place = (event.block.iteration, event.block.graph_id, event.block.turn)
    ranks = {b.rank for b in flow.walked if (b.iteration, b.graph_id, b.turn) == place}
    mine = {one.block.rank for one in events}
    if len(ranks) > 1:
        if ranks - mine:
            yield Message("compare/ranks-some", mine=sorted(mine), others=sorted(ranks - mine))
        else:
            yield Message("compare/ranks-all", mine=sorted(mine))
    op = blamed_operator(flow.pairing, event)
    dumped = {b.rank for side in (flow.pairing.target, flow.pairing.golden) for b in side.runs}
    if op is not None and is_meeting(op) and (len(ranks) < 2 or dumped - ranks):
        yield Message("compare/ranks-needed")


def _circumstances(event: Assessment) -> Iterator[Message]:
    """What makes a place special, or doubtful."""
    if event.block.turn:
        yield Message("compare/turn", turn=event.block.turn)
    if event.op < 0:
        yield Message("compare/time-order")
    if event.unobserved_count:
        yield Message("compare/unseen", count=event.unobserved_count)
    if any(one.kind != "precision" for one in event.differences):
        return  # what differs by name needs no error from before
    if event.open_inputs == SOME_INPUT:
        yield Message("compare/undecided-inputs-unknown")
    elif event.open_inputs:
        slots = [Message("compare/input-name", slot=slot) for slot in event.open_inputs]
        yield Message("compare/from-before", inputs=slots)


def further(names: Collection[str]) -> Iterator[Message]:
    """The other operators that one cause or setting reaches."""
    if names:
        yield Message("compare/further", count=len(names), names=sorted(names))


def counted(target: int, golden: int) -> Message:
    """Say how many tensors are unmatched; there is at least one."""
    if target and golden:
        return Message("compare/unmatched", target=target, golden=golden)
    if target:
        return Message("compare/unmatched-target", count=target)
    return Message("compare/unmatched-golden", count=golden)


def named_iterations(found: Iterable[int]) -> Message:
    """Iterations by their numbers: one, a range, or the first of several."""
    numbers = sorted(set(found))
    if len(numbers) == 1:
        return Message("compare/iteration", number=numbers[0])
    first, last = numbers[0], numbers[-1]
    if last - first == len(numbers) - 1 and len(numbers) > 2:
        return Message("compare/iterations-range", first=first, last=last)
    return Message("compare/iterations", numbers=numbers)


def own_words(own: OwnError, *, multiple: bool = True) -> Iterator[Message]:
    """Say what an operator adds by itself, and what explains it; ``multiple``: how many times that it is."""
    place = Message("compare/place-output", slot=own.slot)
    if own.slot < 0:
        place = Message("compare/place-updated", slot=-1 - own.slot)
    yield _measured(own, place, multiple=multiple)
    yield from own.assumed


def _measured(own: OwnError, place: Message, *, multiple: bool) -> Message:
    error = own.error
    if not own.suspect and not error:
        return Message("compare/replay-exact", where=place)
    if not own.suspect:
        reason = own.floor.reason
        return Message("compare/replay-matches", where=place, error=error, reason=reason)
    if own.slices is not None:
        return Message("compare/replay-local", where=place, **own.slices.said)
    if not math.isfinite(error):
        return Message("compare/replay-non-finite", where=place)
    if own.is_outlier:
        return Message("compare/replay-outlier", where=place, error=error, elements=_elements(own))
    if not own.floor.largest:
        return Message("compare/replay-not-exact", where=place, error=error)
    times = times_expected(error, own.explained) if multiple else None
    said = {"where": place, "error": error, "elements": _elements(own)}
    if times is None:
        return Message("compare/replay-differs-alone", **said)
    return Message("compare/replay-differs", times=times, **said)


def _elements(own: OwnError) -> Message:
    """How many elements differ."""
    if own.share_unequal == 1.0:
        return Message("compare/all-elements")
    return Message("compare/some-elements", percent=100 * own.share_unequal)


def replay_facts(found: Replay) -> dict[str, Message]:
    """Say how many operators were replayed, as on which device, and why others were not."""
    done, whole = len(found.own_errors), len(found.own_errors) + len(found.reasons)
    if not whole:
        return {}
    counts = {"done": done, "whole": whole, "share": found.coverage}
    left = tuple(
        Message("compare/replayed-left", count=count, why=why) for why, count in found.why_not()[:3]
    )
    said = Message("compare/replayed", **counts)
    if left:
        said = Message("compare/replayed-not", left=left, **counts)
    facts = {"replayed": said}
    if found.titles:
        facts["replayed as on"] = Message("compare/models", models=found.titles)
    return facts
