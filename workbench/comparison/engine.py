"""Compare two dumps: bind, pair, measure, follow, judge. The one way from dumps to a `Result`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from workbench.comparison.bind.anomalies import MISLABELLED, UNUSED, UNWRITTEN
from workbench.comparison.bind.bind import bind
from workbench.comparison.bind.binding import Binding
from workbench.comparison.bind.watching import find_changes
from workbench.comparison.explain.origins import tell
from workbench.comparison.explain.overwrites import blame_writers, infer_writers
from workbench.comparison.findings.evidence import replay_facts
from workbench.comparison.findings.find import find, first_failure
from workbench.comparison.findings.iterations import summarize, tell_when
from workbench.comparison.findings.loss_scale import name_scaling
from workbench.comparison.findings.next_dump import with_next_step
from workbench.comparison.findings.producers import with_producers
from workbench.comparison.findings.ranks import tell_of_batches, with_outlier
from workbench.comparison.findings.watched import (
    CHANGED,
    OVERWRITTEN,
    evidence,
    kind_of,
    watch_findings,
)
from workbench.comparison.follow.judge import judge_rows
from workbench.comparison.follow.own_batches import OWN_BATCH
from workbench.comparison.follow.walk import walk
from workbench.comparison.graphs.joining import joined
from workbench.comparison.graphs.source_network import network_of
from workbench.comparison.measure.measure import distance_from, measure_pairs, with_forecast
from workbench.comparison.measure.metrics import CANCELLED
from workbench.comparison.measure.profiles import NOISE_FLOOR
from workbench.comparison.measure.profiles import profile as find_profile
from workbench.comparison.pair.exclusions import override_uses, with_tolerances
from workbench.comparison.pair.kernels import EXPECTED
from workbench.comparison.pair.pair import pair_tensors
from workbench.comparison.pair.pairing import EVERYTHING, Pairing, Selection
from workbench.comparison.replay.forecast import forecast
from workbench.comparison.replay.own_error import with_own_errors
from workbench.comparison.replay.replay import replay
from workbench.comparison.result import Anomaly, Coverage, Result, SideInfo
from workbench.comparison.results.sentence import sentence
from workbench.core.blas import one_thread
from workbench.core.words import Message
from workbench.dump.names.mindspore import sanitize
from workbench.dump.tree import Note

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from workbench.comparison.follow.flow import Flow
    from workbench.comparison.measure.measure import Cancelled, Progress
    from workbench.comparison.result import Finding, Row, Side, Verdict
    from workbench.dump.tree import Dump
    from workbench.graph.nodes import Graph


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
    measured = measure_pairs(pairing, progress=progress, cancelled=cancelled)
    partial = any(item.reason == CANCELLED for item in measured)
    told = forecast(pairing, distance_from, npu=is_npu(target), cancelled=cancelled)
    with_forecast(measured, told.errors)
    replayed = replay(pairing, npu=is_npu(target), cancelled=cancelled)
    flow = walk(pairing, measured, npu=is_npu(target) or is_npu(golden), replayed=replayed)
    blame_writers(flow)
    tell(flow)
    infer_writers(flow)
    chosen = find_profile(profile)
    rows = judge_rows(flow, measured, chosen)
    rows = with_tolerances(rows, flow, thresholds=bool(chosen.limits))
    pairs = [row for row in rows if row.match_rule]
    findings = name_scaling(find(flow, pairs), flow)
    if chosen.limits:
        findings = [_under_profile(finding, pairs) for finding in findings]
        if not any(finding.defect for finding in findings):
            findings = [*first_failure(flow, pairs), *findings]
    steps = summarize(flow, measured, rows)
    findings = with_outlier(tell_when(findings, flow, steps), flow)
    findings = tell_of_batches(findings, flow, pairs)
    findings = with_producers(findings, flow, told)
    findings = with_next_step(_with_watched(findings, pairing, selection, rows), flow)
    coverage = ledger(pairing)
    verdict = decide(pairs, findings, coverage, partial=partial)
    result = Result(
        verdict=verdict,
        sentence=sentence(
            verdict,
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
        overrides=override_uses(pairing),
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


def bind_both(target: Dump, golden: Dump) -> tuple[Binding, Binding]:
    """Bind both dumps; where a side has no graph that fits, it borrows the other's."""
    ours, theirs = bind(joined(target, golden)), bind(joined(golden, target))
    return _complete(ours, theirs), _complete(theirs, ours)


def _complete(binding: Binding, other: Binding) -> Binding:
    """Bind again with graphs of the other side where there are none.

    Data of another framework has the names of the network that the other side's graph came from.
    """
    dumped = {(record.key.rank, record.key.graph_id) for record in binding.dump.records}
    ranks = {rank for rank, _ in dumped}
    others = {record.key.rank for record in other.dump.records}
    swap = dict(zip(ranks, others, strict=True)) if len(ranks) == len(others) == 1 else {}
    names = {(record.key.op_type, record.key.op_name) for record in binding.dump.records}
    borrowed = {
        (rank, graph_id): _lent(other.graphs[swap.get(rank, rank), graph_id], names)
        for rank, graph_id in dumped - binding.graphs.keys()
        if (swap.get(rank, rank), graph_id) in other.graphs
    }
    if not borrowed:
        return binding
    again = bind(binding.dump, {**binding.graphs, **borrowed})
    mismatches = [note for note in binding.notes if note.kind == "graph-mismatch"]
    again.notes[:0] = [note for note in mismatches if note not in again.notes]
    return again


def _lent(graph: Graph, dumped: Collection[tuple[str, str]]) -> Graph:
    """Return a graph to lend: of GE's the network if it names more of what the borrower dumped."""
    if graph.dialect != "ge":
        return graph
    network = network_of(graph)
    named = [{(op.op_type, sanitize(op.name)) for op in one.ops} for one in (graph, network)]
    own, plain = (sum(name in known for name in dumped) for known in named)
    foreign = not any(kind for kind, _ in dumped)
    return network if foreign or plain > own else graph


def is_npu(dump: Dump) -> bool:
    """Whether an Ascend device (or one that behaves like it) wrote the dump."""
    return dump.info.get("device_target", dump.info.get("writer", "")).lower() == "ascend"


def ledger(pairing: Pairing) -> Coverage:
    """Count every tensor of both sides once; raises AssertionError if one is missing."""
    skipped: Counter[str] = Counter()
    for side in ("target", "golden"):
        for item in getattr(pairing, f"skipped_{side}"):
            skipped[f"{side}:{item.reason}"] += 1
    coverage = Coverage(
        matched=len(pairing.pairs),
        unmatched_target=len(pairing.only_target),
        unmatched_golden=len(pairing.only_golden),
        skipped=dict(sorted(skipped.items())),
    )
    for side in ("target", "golden"):
        left = getattr(coverage, f"unmatched_{side}") + len(getattr(pairing, f"skipped_{side}"))
        tensors = getattr(pairing, side).dump.tensors
        if coverage.matched + left != tensors:
            raise AssertionError(side, tensors, coverage)
    return coverage


def anomalies(pairing: Pairing) -> list[Anomaly]:
    """Everything about the dumps that is not what it says, in order of side and kind."""
    found: list[Anomaly] = []
    sides: tuple[tuple[Side, Binding], ...] = (
        ("target", pairing.target),
        ("golden", pairing.golden),
    )
    for side, binding in sides:
        for note in (*binding.dump.notes, *binding.notes):
            found.append(Anomaly(side, note.kind, note.name, note.detail))  # noqa: PERF401
        skipped = pairing.skipped_target if side == "target" else pairing.skipped_golden
        found += [
            Anomaly(side, item.reason, item.name, item.detail)
            for item in skipped
            if item.reason not in EXPECTED
        ]
        found += [
            Anomaly(side, note.kind, note.name, note.detail)
            for owner, note in pairing.notes
            if owner == side
        ]
    return sorted(found, key=lambda a: (a.side != "target", a.kind))


def decide(
    rows: Sequence[Row], findings: Sequence[Finding], coverage: Coverage, *, partial: bool
) -> Verdict:
    """Verdict of the whole comparison."""
    if any(finding.defect for finding in findings) or any(row.status == "fail" for row in rows):
        return "fail"
    if all(row.status == "uncomparable" for row in rows):
        return "inconclusive"
    warned = any(row.status in ("warn", "uncomparable") and not _expected(row) for row in rows)
    warned = warned or any(finding.kind == CHANGED for finding in findings)
    if warned or partial or coverage.unmatched_target or coverage.unmatched_golden:
        return "warn"
    return "pass"


def _expected(row: Row) -> bool:
    """Uncomparable rows that say nothing against agreement.

    Memory that nobody reads, other batches, and what both sides mislabel alike and hold the same half of.
    """
    if row.status != "uncomparable":
        return False
    if not isinstance(row.reason, Message):
        return False
    kinds = [kind for side in ("target", "golden") if (kind := row.reason.values.get(side))]
    if kinds == [MISLABELLED, MISLABELLED] and row.error == 0.0:
        return True
    return row.reason == OWN_BATCH or kinds[-1:] in ([UNUSED], [UNWRITTEN])


def _under_profile(finding: Finding, rows: Sequence[Row]) -> Finding:
    """A defect whose operator keeps the chosen thresholds is worth knowing, no more."""
    if not finding.defect:
        return finding
    own = [r for r in rows if (r.graph_id, r.op_name) == (finding.graph_id, finding.op_name)]
    if any(row.status == "fail" for row in own):
        return finding
    return replace(finding, kind="info", score=0.2)


def _facts(target: Dump, golden: Dump, selection: Selection) -> dict[str, str | Message]:
    facts: dict[str, str | Message] = {}
    if selection.overrides:
        facts["map file"] = selection.overrides.said
    for side, dump in (("target", target), ("golden", golden)):
        for key in ("device_target", "ms_version"):
            if key in dump.info:
                facts[f"{side} {key}"] = dump.info[key]
    return facts
