"""Judge: the status of every tensor, from the walk through the data flow.

``equal``         every element has the same value
``pass``          the error is below the noise floor of the number formats involved
``warn``          above it, but explained by what the inputs carried; no defect is known upstream
``fail``          neither explains it, or a defect upstream does
``uncomparable``  the figures must not decide: unreadable, distrusted, of different size
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.comparison.align.rules import PRODUCER, VALUE
from workbench.comparison.follow.overflow import OVERFLOWED
from workbench.comparison.follow.ranks import OWN_BATCH
from workbench.comparison.limits import limits
from workbench.comparison.measure.metrics import CANCELLED
from workbench.comparison.measure.noise import expected_rounding
from workbench.comparison.result import Row
from workbench.core.errors import FormatError
from workbench.core.tensors import TensorSpec
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.comparison.follow.state import Assessment
    from workbench.comparison.follow.trace import Trace
    from workbench.comparison.map_file import Overrides
    from workbench.comparison.measure.measure import Measured
    from workbench.comparison.measure.metrics import Divergence
    from workbench.comparison.measure.profiles import Profile
    from workbench.comparison.pair.pairing import Unmatched
    from workbench.comparison.result import Row, Side, Status
    from workbench.core.tensors import TensorRecord
    from workbench.graph.graph import SourceFrame


UPDATED = Message("compare/after-update")
"""Reason of an input that was dumped when the operator had overwritten it."""


BETWEEN_RUNS = Message("compare/between-runs")
"""Reason of a tensor that is off by no more than other runs of the target are."""


class Judged(NamedTuple):
    """Status of one pair, the reason if there is one, and the floor it was judged by."""

    status: Status
    reason: Message | None
    noise_floor: float | None
    inherited: float | None


def judge_rows(trace: Trace, measured: Iterable[Measured], profile: Profile) -> list[Row]:
    """Return one row for every pair, in data-flow order, then one for every tensor left alone."""
    rows = [_row(trace, item, profile) for item in measured]
    lone = [
        _lone_row(trace, lone, side)
        for side, some in trace.pairing.unmatched.named
        for lone in some
    ]
    return rows + lone


_ALONE = {side: Message(f"compare/only-{side}") for side in ("target", "golden")}
"""Reason of a tensor without a partner, by the side that it is on."""


def _lone_row(trace: Trace, lone: Unmatched, side: Side) -> Row:
    """A tensor without a partner: shown, never judged."""
    key = lone.record.key
    binding = trace.pairing.sides.of(side)
    spec, path = lone.record.label, lone.record.path
    ours = side == "target"
    return Row(
        lone.op_name if ours else "", key.op_type, key.graph_id, key.iteration, key.io, key.slot,
        "" if ours else lone.op_name, "", 0.0, "uncomparable", _ALONE[side], {},
        next(iter(binding.frames(lone.run)), None), 1 << 61, key.turn, key.rank,
        target_spec=spec if ours else None, golden_spec=None if ours else spec,
        target_path=path if ours else "", golden_path="" if ours else path,
    )  # fmt: skip


def _row(trace: Trace, item: Measured, profile: Profile) -> Row:
    pair = item.pair
    event = trace.events.get((pair.run.block, pair.run.op)) if pair.run is not None else None
    judged = _by_profile(judge(trace, item, event), item, profile)
    if judged.status == "fail" and event is not None and _overflows(trace, item, event):
        judged = judged._replace(status="uncomparable", reason=OVERFLOWED)
    key = pair.target.key
    d = item.divergence
    return Row(
        op_name=pair.op_name,
        op_type=key.op_type,
        graph_id=key.graph_id,
        iteration=key.iteration,
        io=pair.io,
        slot=pair.slot,
        golden_op_name=pair.golden_run.op_name if pair.golden_run else pair.golden.key.op_name,
        match_rule=pair.rule,
        match_score=pair.score,
        status=judged.status,
        reason=judged.reason or _left_out(item) or _stands_for(item) or "",
        metrics=d.metrics,
        source=_source(trace, item),
        order=pair.order,
        turn=pair.run.block.turn if pair.run is not None else key.turn,
        rank=key.rank,
        error=None if d.reason else item.error,
        inherited_error=judged.inherited,
        noise_floor=judged.noise_floor,
        target_spec=_spec(pair.target, d),
        golden_spec=_spec(pair.golden, d),
        target_path=pair.target.path,
        golden_path=pair.golden.path,
        own_error=replayed_error(trace, item),
        dont_care=item.left_count,
    )


def _left_out(item: Measured) -> Message | None:
    """Say which elements mean nothing, and how many."""
    if item.left_out is None:
        return None
    return Message("compare/left-out", count=item.left_count, why=item.left_out.said)


def _stands_for(item: Measured) -> Message | None:
    """Say which slots were compared, where they are not the same on both sides."""
    if item.pair.rule == PRODUCER:
        by = item.pair.golden_run
        name = by.op_name if by is not None else item.pair.golden.key.op_name
        return Message("compare/producers-value", slot=item.pair.golden.key.slot, name=name)
    if item.pair.rule != VALUE:
        return None
    ours, theirs = (f"{one.key.io}.{one.key.slot}" for one in (item.pair.target, item.pair.golden))
    return Message("compare/same-value", here=ours, there=theirs)


def _overflows(trace: Trace, item: Measured, event: Assessment) -> bool:
    """Whether a tensor differs because both runs overflow."""
    if not event.overflowed or item.pair.io == "output":
        return event.overflowed
    state = trace.input_states.get((event.block, event.op), {}).get(item.pair.slot)
    return state is not None and state.tainted


def _by_profile(judged: Judged, item: Measured, profile: Profile) -> Judged:
    """What the thresholds of a profile make of a tensor; NaN and infinity they cannot excuse."""
    measured = judged.status in ("pass", "warn", "fail") and not item.divergence.mismatch
    if not profile.limits or not measured:
        return judged
    metrics = item.divergence.metrics
    missing = next((title for limit in profile.limits if (title := limit.missing(metrics))), "")
    if missing:
        said = Message("compare/figure-missing", figure=missing, profile=profile.name)
        return judged._replace(status="uncomparable", reason=said)
    broken = tuple(str(limit) for limit in profile.limits if not limit.holds(metrics))
    reason = Message("compare/limits", limits=broken) if broken else judged.reason
    return judged._replace(status="fail" if broken else "pass", reason=reason)


def _source(trace: Trace, item: Measured) -> SourceFrame | None:
    run = item.pair.run
    if run is None:
        return None
    return trace.pairing.frame((run.block.rank, run.block.graph_id), run.op)


def _spec(record: TensorRecord, found: Divergence) -> TensorSpec:
    """What the record is known to be without opening its file again; after a stop it may never have been opened."""
    if record.source is None or found.reason == CANCELLED:
        return record.label
    try:
        spec = record.source.spec()
    except FormatError:
        return record.label
    if spec.format == "DefaultFormat":  # npy files do not say it
        return _with_format(spec, record.label.format)
    return spec


@lru_cache(maxsize=1 << 12)
def _with_format(spec: TensorSpec, name: str) -> TensorSpec:
    """Return a type in another format: one value for all tensors that have it."""
    return TensorSpec(spec.dtype, spec.shape, name)


def judge(trace: Trace, item: Measured, event: Assessment | None) -> Judged:
    """Status of one pair; ``event`` is the execution it belongs to (``None``: a Parameter file)."""
    d = item.divergence
    if item.reason or d.reason:
        return Judged("uncomparable", item.reason or d.reason, None, None)
    reason = UPDATED if item.rewritten and item.pair.io == "input" else None
    own = _own_floor(trace, item, event)
    inherited = event.inherited if event is not None else None
    if d.equal:
        return Judged("equal", reason, own, inherited)
    if d.mismatch:
        return Judged("fail", _mismatch(item), own, inherited)
    given = event is not None and item.pair.io == "output"
    factor = event.tolerance_factor if event is not None and given else limits().pass_factor
    if item.error <= factor * own and not _is_wrong_locally(item, event):
        told = BETWEEN_RUNS if given and _is_between_runs(item, event) else None
        return Judged("pass", reason or told, own, inherited)
    if trace.job is not None and _is_own(trace, item, event):
        return Judged("uncomparable", OWN_BATCH, own, inherited)
    if event is not None and _heals(trace, item, event):
        return Judged("warn", Message("compare/no-effect"), own, inherited)
    if item.within_runs and not (event is not None and event.is_origin and given):
        return Judged("pass", BETWEEN_RUNS, max(own, item.between_runs / factor), inherited)
    wrong = _is_wrong(trace, item, event)
    return Judged("fail" if wrong else "warn", reason, own, inherited)


def _is_between_runs(item: Measured, event: Assessment | None) -> bool:
    """Whether an output would be an operator's own error if runs of the target did not differ as much."""
    replayed = event.replayed if event is not None else None
    return replayed is not None and replayed.between_runs and replayed.slot == item.pair.slot


def _is_wrong_locally(item: Measured, event: Assessment | None) -> bool:
    """Whether a slice of an output decides: it differs, and replay or a defect upstream says why."""
    if event is None or item.pair.io != "output" or not item.differs_locally:
        return False
    own = event.replayed
    return event.tainted or (event.is_origin and own is not None and own.slices is not None)


def _own_floor(trace: Trace, item: Measured, event: Assessment | None) -> float:
    if item.exact and (event is None or event.steps is None):
        return 0.0
    if event is not None and item.pair.io == "output":
        return event.rounding_floor
    key = (item.pair.target.key.rank, item.pair.target.key.graph_id)
    coarsest = trace.coarsest.get(key, 0.0)
    if event is None:
        return expected_rounding(None, coarsest)
    return min(event.rounding_floor, expected_rounding(None, coarsest))


def _is_own(trace: Trace, item: Measured, event: Assessment | None) -> bool:
    """Whether a difference is that of the batches of two ranks, and no defect is known upstream."""
    if event is None:
        return trace.is_rank_local(item.pair.target.key.rank, item.pair.op_name)
    if item.pair.io == "output" or item.rewritten:
        return event.rank_local and not event.is_origin
    states = trace.input_states.get((event.block, event.op))
    if states is None:
        return event.rank_local
    state = states.get(item.pair.slot)
    return state is not None and state.rank_local and not state.causes


def _heals(trace: Trace, item: Measured, event: Assessment) -> bool:
    """Whether a difference was found to have no effect."""
    if event.masked:
        return True
    states = trace.input_states.get((event.block, event.op), {})
    state = states.get(item.pair.slot) if item.pair.io == "input" else None
    quiet = not event.is_origin and not event.tainted
    return quiet and state is not None and bool(state.causes)


def _is_wrong(trace: Trace, item: Measured, event: Assessment | None) -> bool:
    """Whether a defect explains an error above the floor."""
    if event is None:
        name = item.pair.op_name
        key = item.pair.target.key
        if key.graph_key not in trace.pairing.target.graphs:
            return bool(trace.origins)  # nobody can say whether the run updates it
        return trace.is_tainted(item.pair.target.key.rank, name) or not trace.is_updated(name)
    if item.pair.io == "output" or item.rewritten:
        return event.is_origin or event.tainted
    states = trace.input_states.get((event.block, event.op))
    if states is None:  # without a graph nothing says whose output the input is
        return event.tainted
    state = states.get(item.pair.slot)
    return state is not None and (state.tainted or bool(state.causes))


def _mismatch(item: Measured) -> Message:
    m = item.divergence.metrics
    counts = tuple(
        Message("compare/non-finite-count", count=int(m[title]), kind=kind, side=side.lower())
        for side in ("Target", "Golden")
        for title, kind in (
            (f"{side}NaN", "NaN"),
            (f"{side}PosInf", "+Inf"),
            (f"{side}NegInf", "-Inf"),
        )
        if m.get(title, 0)
    )
    if not counts:
        return Message("compare/non-finite-apart")
    alike = m.get("TargetNaN", 0) and math.isclose(m["TargetNaN"], m.get("GoldenNaN", 0))
    return Message("compare/non-finite-both" if alike else "compare/non-finite", counts=counts)


def replayed_error(trace: Trace, item: Measured) -> float | None:
    """Own error that computing an operator again gave for one of its results; ``None`` for what it reads.

    An input that it overwrites is a result. ``None`` too where the operator was not computed again.
    """
    pair = item.pair
    own = trace.own_error(pair.run.block, pair.run.op) if pair.run is not None else None
    if own is None:
        return None
    from workbench.comparison.replay.own_error import result_slot

    return dict(own.errors).get(result_slot(pair.io, pair.slot))


# --- what the map file tolerates ----------------------------------------------------------------


def with_tolerances(rows: list[Row], trace: Trace, *, thresholds: bool) -> list[Row]:
    """Turn failing and noisy outputs that the map file tolerates into warnings that say why.

    What a defect upstream has spoiled stays as it is, unless ``thresholds`` of a profile judged it.
    """
    if not trace.pairing.overrides.tolerances:
        return rows
    tainted = {event.order for event in trace.events.values() if event.tainted}
    return [
        row
        if (row.order in tainted or not _own(row)) and not thresholds
        else _tolerated(row, trace.pairing.overrides)
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
