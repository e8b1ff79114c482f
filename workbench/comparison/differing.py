"""Where something differs: what operators add by themselves, where errors begin, why, and what that comes to.

Loaded by need: two dumps that agree never come here (`workbench.comparison.agreeing`). Where errors begin nowhere,
nothing that explains them is loaded.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from workbench._values import NamedTuple
from workbench.comparison.bind.binding import is_npu
from workbench.comparison.findings.find import find
from workbench.comparison.findings.iterations import summarize
from workbench.comparison.findings.material import Material
from workbench.comparison.follow.judge import judge_rows, with_tolerances
from workbench.comparison.follow.walk import follow
from workbench.comparison.measure.measure import counting_elements, local_differences
from workbench.comparison.measure.metrics import CANCELLED
from workbench.comparison.one_thread import one_thread
from workbench.comparison.replay.own_error import less_spread, result_slot
from workbench.comparison.replay.replay import replay
from workbench.comparison.results.downstream import reached_by
from workbench.comparison.results.verdict import result_of
from workbench.core.long_work import Stopped
from workbench.npu.orders.known import NO_ORDERS
from workbench.ops import MOVEMENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from workbench.comparison.explain.origins import Origins
    from workbench.comparison.follow.trace import Trace
    from workbench.comparison.measure.measure import Measured
    from workbench.comparison.measure.profiles import Profile
    from workbench.comparison.pair.pairing import Pairing, Selection
    from workbench.comparison.repeats.runs import Repeats
    from workbench.comparison.replay.forecast import Forecast
    from workbench.comparison.replay.replay import Replay
    from workbench.comparison.result import Result, Row
    from workbench.comparison.stages import Stages
    from workbench.npu.orders.known import Orders


Depth = Literal["measured", "replayed", "explained"]
"""How far a comparison goes: operators are computed again from ``replayed`` on, causes are looked for last."""


class Followed(NamedTuple):
    """Where errors begin, and why; ``stopped`` before every operator was followed."""

    flow: Trace
    origins: Origins
    stopped: bool = False


@one_thread()
def follow_errors(
    pairing: Pairing,
    measured: Sequence[Measured],
    stage: Stages,
    orders: Orders | None = None,
    repeats: Repeats | None = None,
    *,
    depth: Depth = "explained",
) -> Followed:
    """Replay the target's operators, follow errors to where they begin, and explain these origins, to some depth."""
    npu = is_npu(pairing.target.dump)
    own: Replay | None = None
    if depth != "measured":
        with stage("replay"):  # what every operator adds by itself
            own = _replayed(pairing, measured, orders, repeats)
    with stage("follow"):  # where errors begin
        either = npu or is_npu(pairing.golden.dump)
        flow = follow(pairing, measured, npu=either, replayed=own)
    with stage("explain"):  # why: faults, writers
        explained = bool(flow.origins) and depth == "explained" and not stage.stopped
        origins = _explained(flow) if explained else _unexplained(flow)
    return Followed(flow, origins, stage.over())


def _replayed(
    pairing: Pairing,
    measured: Sequence[Measured],
    orders: Orders | None,
    repeats: Repeats | None,
) -> Replay:
    local, counts = local_differences(measured), counting_elements(measured)
    npu, known = is_npu(pairing.target.dump), orders or NO_ORDERS
    found = replay(pairing, npu=npu, orders=known, local=local, counts=counts)
    return found if repeats is None else without_spread(found, pairing, repeats)


def _canceled(flow: Trace, item: Measured) -> Measured:
    """Return a tensor as canceled if its operator was not followed: nothing says what of its error is explained."""
    run = item.pair.run
    if run is None:  # a Parameter file, which is judged by the coarsest format of its graph
        followed = item.pair.target.key.graph_key in flow.coarsest or not flow.pairing.target.runs
    else:
        followed = (run.block, run.op) in flow.events
    return item if followed or item.reason is not None else item._replace(reason=CANCELLED)


def without_spread(replayed: Replay, pairing: Pairing, repeats: Repeats) -> Replay:
    """Return own errors of which none is suspect that other runs of the target show, too.

    What only moves elements is left as it is: no noise comes of it.
    """
    kept = dict(replayed.own_errors)
    for (block, number), own in replayed.own_errors.items():
        run, graph = pairing.target.runs[block].get(number), pairing.target.graph(block)
        moves = graph is not None and graph.ops[number].op_type in MOVEMENT
        if not own.suspect or run is None or moves:
            continue
        spreads = {
            result_slot(io, slot): repeats.spreads[record.key]
            for (io, slot), record in run.tensors.items()
            if record.key in repeats.spreads
        }
        kept[block, number] = less_spread(own, spreads, repeats.factor)
    return replace(replayed, own_errors=MappingProxyType(kept))


def judge_differences(
    found: Followed,
    measured: Sequence[Measured],
    told: Forecast,
    selection: Selection,
    profile: Profile,
    stage: Stages,
) -> Result:
    """Return the result: rows, findings and verdict."""
    flow = found.flow
    partial = stage.stopped or found.stopped or any(item.reason == CANCELLED for item in measured)
    if found.stopped:
        measured = [_canceled(flow, item) for item in measured]
    with stage("judge"):
        rows = _judged(flow, measured, profile)
        steps = summarize(flow, measured, rows)
    with stage("find"):
        material = Material(flow, found.origins, measured, rows, steps, told, selection, profile)
        findings, odd = find(material)
    with stage("result"):
        reached = reached_by(flow, findings)
        return result_of(material, findings, odd, reached, partial=partial)


def _explained(flow: Trace) -> Origins:
    from workbench.comparison.explain.explainers import explain_origins

    try:
        return explain_origins(flow)
    except Stopped:  # an explanation that a later one would have corrected is none
        return _unexplained(flow)


def _unexplained(flow: Trace) -> Origins:
    from workbench.comparison.explain.origins import Origin, Origins

    return Origins(tuple(Origin(event) for event in flow.origins))


def _judged(flow: Trace, measured: Iterable[Measured], profile: Profile) -> list[Row]:
    rows = judge_rows(flow, measured, profile)
    return with_tolerances(rows, flow, thresholds=bool(profile.limits))
