"""Compare two dumps, stage by stage: the one way from dumps to a `Result`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.comparison.bind.binding import is_npu
from workbench.comparison.bind.borrow import bind_both
from workbench.comparison.explain.explainers import explain_origins
from workbench.comparison.explain.origins import Origin, Origins
from workbench.comparison.findings.find import find
from workbench.comparison.findings.iterations import summarize
from workbench.comparison.findings.material import Material
from workbench.comparison.follow.judge import judge_rows, with_tolerances
from workbench.comparison.follow.walk import follow
from workbench.comparison.limits import using
from workbench.comparison.measure.measure import distance_from, measure_pairs
from workbench.comparison.measure.metrics import CANCELLED
from workbench.comparison.measure.profiles import NOISE_FLOOR
from workbench.comparison.measure.profiles import profile as find_profile
from workbench.comparison.pair.pair import pair_tensors
from workbench.comparison.pair.pairing import EVERYTHING, Selection
from workbench.comparison.replay.forecast import forecast
from workbench.comparison.replay.replay import replay
from workbench.comparison.results.verdict import result_of
from workbench.core.blas import one_thread
from workbench.core.stages import Stages

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.comparison.follow.flow import Trace
    from workbench.comparison.limits import Limits
    from workbench.comparison.measure.measure import Cancelled, Measured, Progress
    from workbench.comparison.measure.profiles import Profile
    from workbench.comparison.result import Result, Row
    from workbench.dump.tree import Dump


@dataclass(frozen=True)
class Compared:
    """The result, and the walk and origins it came from (for whoever wants to look deeper)."""

    result: Result
    flow: Trace
    origins: Origins


@one_thread()
def compare_dumps(
    target: Dump,
    golden: Dump,
    *,
    selection: Selection = EVERYTHING,
    profile: str = NOISE_FLOOR,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
    limits: Limits | None = None,
) -> Compared:
    """Compare two dumps. Trouble inside them becomes anomalies and reasons, never an exception.

    Once ``cancelled()`` is true, what is not measured or replayed by then stays so, nothing is explained, and the
    result is partial. ``limits``: what to judge by (`None`: as this thread does).
    """
    with using(limits):
        return _compared(target, golden, selection, find_profile(profile), progress, cancelled)


def _compared(
    target: Dump,
    golden: Dump,
    selection: Selection,
    chosen: Profile,
    progress: Progress | None,
    cancelled: Cancelled | None,
) -> Compared:
    stage, npu = Stages(cancelled), is_npu(target)
    with stage("bind"):  # files -> operators
        ours, theirs = bind_both(target, golden)
    with stage("pair"):  # graph <-> graph, tensor <-> tensor
        pairing = pair_tensors(ours, theirs, selection)
    with stage("forecast"):  # of what only statistics are known
        told = forecast(pairing, distance_from, npu=npu, cancelled=cancelled)
    with stage("measure"):
        measures = measure_pairs(pairing, told.errors, progress=progress, cancelled=cancelled)
        pairing, measured = measures.pairing, measures.items
    with stage("replay"):  # what every operator adds by itself
        replayed = replay(pairing, npu=npu, cancelled=cancelled)
    with stage("follow"):  # where errors begin
        flow = follow(pairing, measured, npu=npu or is_npu(golden), replayed=replayed)
    with stage("explain"):  # why: faults, writers
        origins = _unexplained(flow) if stage.stopped else explain_origins(flow)
    partial = stage.stopped or any(item.reason == CANCELLED for item in measured)
    with stage("judge"):
        rows = _judged(flow, measured, chosen)
        steps = summarize(flow, measured, rows)
    with stage("find"):
        material = Material(flow, origins, measured, rows, steps, told, selection, chosen)
        findings, odd = find(material)
    with stage("result"):
        return Compared(result_of(material, findings, odd, partial=partial), flow, origins)


def _unexplained(flow: Trace) -> Origins:
    return Origins(tuple(Origin(event) for event in flow.guilty))


def _judged(flow: Trace, measured: Iterable[Measured], profile: Profile) -> list[Row]:
    rows = judge_rows(flow, measured, profile)
    return with_tolerances(rows, flow, thresholds=bool(profile.limits))
