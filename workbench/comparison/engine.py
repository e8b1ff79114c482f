"""Compare two dumps: bind, pair, measure, follow, judge. The one way from dumps to a `Result`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.comparison.bind.binding import is_npu
from workbench.comparison.bind.borrow import bind_both
from workbench.comparison.bind.watching import find_changes
from workbench.comparison.explain.origins import explain_origins
from workbench.comparison.explain.overwrites import blame_writers, infer_writers
from workbench.comparison.findings.evidence import replay_facts
from workbench.comparison.findings.find import find, unexplained_failure
from workbench.comparison.findings.iterations import divergence_onset, summarize
from workbench.comparison.findings.loss_scale import loss_scale_findings
from workbench.comparison.findings.next_dump import with_next_step
from workbench.comparison.findings.producers import with_producers
from workbench.comparison.findings.ranks import rank_findings, tell_of_batches
from workbench.comparison.findings.watched import (
    OVERWRITTEN,
    evidence,
    kind_of,
    watch_findings,
)
from workbench.comparison.follow.judge import judge_rows
from workbench.comparison.follow.tolerances import with_tolerances
from workbench.comparison.follow.walk import walk
from workbench.comparison.measure.measure import distance_from, measure_pairs
from workbench.comparison.measure.metrics import CANCELLED
from workbench.comparison.measure.profiles import NOISE_FLOOR
from workbench.comparison.measure.profiles import profile as find_profile
from workbench.comparison.pair.exclusions import override_uses
from workbench.comparison.pair.pair import pair_tensors
from workbench.comparison.pair.pairing import EVERYTHING, Pairing, Selection
from workbench.comparison.replay.forecast import forecast
from workbench.comparison.replay.replay import replay
from workbench.comparison.result import Result, SideInfo
from workbench.comparison.results.sentence import sentence
from workbench.comparison.results.verdict import (
    _under_profile,
    anomalies,
    ledger,
    verdict,
    with_own_errors,
)
from workbench.core.blas import one_thread
from workbench.core.words import Message
from workbench.dump.tree import Note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.comparison.follow.flow import Flow
    from workbench.comparison.measure.measure import Cancelled, Progress
    from workbench.comparison.result import Finding, Row
    from workbench.dump.tree import Dump


@dataclass(frozen=True)
class Compared:
    """The result, and the walk it came from (for whoever wants to look deeper)."""

    result: Result
    flow: Flow


@one_thread()
def compare_dumps(
    target: Dump,
    golden: Dump,
    *,
    selection: Selection = EVERYTHING,
    profile: str = NOISE_FLOOR,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> Compared:
    """Compare two dumps. Trouble inside them becomes anomalies and reasons, never an exception."""
    ours, theirs = bind_both(target, golden)
    pairing = pair_tensors(ours, theirs, selection)
    told = forecast(pairing, distance_from, npu=is_npu(target), cancelled=cancelled)
    measures = measure_pairs(pairing, told.errors, progress=progress, cancelled=cancelled)
    pairing, measured = measures.pairing, measures.items
    partial = any(item.reason == CANCELLED for item in measured)
    replayed = replay(pairing, npu=is_npu(target), cancelled=cancelled)
    flow = walk(pairing, measured, npu=is_npu(target) or is_npu(golden), replayed=replayed)
    blame_writers(flow)
    explain_origins(flow)
    infer_writers(flow)
    chosen = find_profile(profile)
    rows = judge_rows(flow, measured, chosen)
    rows = with_tolerances(rows, flow, thresholds=bool(chosen.limits))
    pairs = [row for row in rows if row.match_rule]
    findings = loss_scale_findings(find(flow, pairs), flow)
    if chosen.limits:
        findings = [_under_profile(finding, pairs) for finding in findings]
        if not any(finding.defect for finding in findings):
            findings = [*unexplained_failure(flow, pairs), *findings]
    steps = summarize(flow, measured, rows)
    findings = rank_findings(divergence_onset(findings, flow, steps), flow)
    findings = tell_of_batches(findings, flow, pairs)
    findings = with_producers(findings, flow, told)
    findings = with_next_step(_with_watched(findings, pairing, selection, rows), flow)
    coverage = ledger(pairing)
    decided = verdict(pairs, findings, coverage, partial=partial)
    result = Result(
        verdict=decided,
        sentence=sentence(
            decided,
            pairs,
            findings,
            coverage,
            partial=partial,
            absent=selection.absent(target, golden),
        ),
        target=SideInfo(target.path, target.layout, target.tensors),
        golden=SideInfo(golden.path, golden.layout, golden.tensors),
        coverage=coverage,
        anomalies=tuple(anomalies(pairing)),
        findings=tuple(findings),
        rows=with_own_errors(rows, findings),
        iterations=steps,
        profile=str(chosen),
        partial=partial,
        overrides=override_uses(pairing, rows),
        facts=_facts(target, golden, selection) | replay_facts(replayed) | told.facts,
    )
    return Compared(result, flow)


def _with_watched(
    findings: list[Finding], pairing: Pairing, selection: Selection, rows: Sequence[Row]
) -> list[Finding]:
    """Put damage of the target's watched memory before all else; other changes follow the defects.

    Damage on the golden side is an anomaly of it.
    """
    ours = [c for c in find_changes(pairing.target) if selection.takes(c.key, "target")]
    theirs = [c for c in find_changes(pairing.golden) if selection.takes(c.key, "golden")]
    for change in theirs:
        if kind_of(change) == OVERWRITTEN:
            name, said = change.after.name, tuple(evidence(change))
            detail = Message("compare/watched", op_name=name, evidence=said)
            pairing.notes.append(("golden", Note(OVERWRITTEN, change.owner.name, detail)))
    watched = watch_findings(ours, pairing, rows)
    others = [finding for finding in findings if not finding.defect]
    defects = [finding for finding in findings if finding.defect]
    damage = [finding for finding in watched if finding.defect]
    return [*damage, *defects, *(one for one in watched if not one.defect), *others]


def _facts(target: Dump, golden: Dump, selection: Selection) -> dict[str, str | Message]:
    facts: dict[str, str | Message] = {}
    if selection.overrides:
        facts["map file"] = selection.overrides.said
    for side, dump in (("target", target), ("golden", golden)):
        for key in ("device_target", "ms_version"):
            if key in dump.info:
                facts[f"{side} {key}"] = dump.info[key]
    return facts
