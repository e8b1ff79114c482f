"""The sentence: what a comparison found, in clauses that a person can act on; the first is the headline."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from workbench.comparison import findings as shown
from workbench.comparison.follow.judge import BETWEEN_RUNS
from workbench.comparison.follow.overflow import FLAGS
from workbench.comparison.follow.ranks import OWN_BATCH
from workbench.comparison.map_file import TOLERATED
from workbench.comparison.measure.metrics import CANCELLED
from workbench.comparison.result import UNDECIDED, times_expected
from workbench.comparison.results.gaps import gap_clause
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from workbench.comparison.result import Coverage, Finding, Row, Status, Verdict

    Clause = str | Message
    Operator = tuple[int, int, str]
    """Rank, graph id and name of an operator."""


def sentence(
    verdict: Verdict,
    rows: Sequence[Row],
    findings: Sequence[Finding],
    coverage: Coverage,
    *,
    partial: bool = False,
    absent: Sequence[Message] = (),
    reached: Collection[Operator] = (),
) -> Message:
    """One sentence of several clauses, never empty.

    ``absent`` says what was chosen and is in no dump, ``reached`` are the operators that the first defect reaches.
    """
    if absent and not rows:
        first, *more = absent
        return _said([Message("compare/nothing", why=first), *more])
    failed = verdict == "fail"
    found = _defect(rows, findings, reached) if failed else _agreement(verdict, rows, findings)
    clauses = list(found)
    if verdict == "incomplete":
        clauses = [*gap_clause(coverage, first=True), *clauses]
    elif failed:
        clauses += gap_clause(coverage, first=False)
    elif verdict in ("warn", "inconclusive"):
        clauses += _lone(coverage)
    if partial:
        clauses.append(_stopped(rows))
    return _said(clauses)


def _said(clauses: Sequence[Clause]) -> Message:
    return Message("compare/sentence", clauses=tuple(clauses))


def _lone(coverage: Coverage) -> Iterator[Message]:
    """How many tensors are unmatched, by side; nothing if none is."""
    if coverage.unmatched_target or coverage.unmatched_golden:
        yield shown.counted(coverage.unmatched_target, coverage.unmatched_golden)


def _stopped(rows: Sequence[Row]) -> Message:
    left = sum(row.reason == CANCELLED for row in rows)
    if not left:
        return Message("compare/stopped")
    return Message("compare/stopped-left", left=left, tensors=len(rows))


def _defect(
    rows: Sequence[Row], findings: Sequence[Finding], reached: Collection[Operator]
) -> Iterator[Clause]:
    finding = next((f for f in findings if f.defect), None)
    if finding is None:
        failed = sum(1 for row in rows if row.status == "fail")
        yield Message("compare/tensors-differ", failed=failed, compared=len(rows))
        yield from _undecided(rows, findings, "compare/undecided-at")
        return
    operator = _operator(rows, finding)
    if finding.kind == "ended":
        first = finding.evidence[0]
        yield Message("compare/run-ended", operator=operator)
        if isinstance(first, Message):
            yield Message("compare/last-dumped", op_name=first.values["op_name"])
        return
    if finding.kind == "rank":
        yield Message("compare/ranks-diverge", operator=operator)
        yield finding.evidence[0]
        return
    if finding.kind == "exchanged":
        yield finding.evidence[0]
    elif finding.kind == "overwritten" and finding.own_error is None:  # whoever wrote is known
        yield Message("compare/memory-overwritten", operator=operator)
        yield from finding.evidence[:2]
    else:
        yield Message("compare/divergent", operator=operator)
        yield from _cause(finding)
        yield from _size(finding)
    failing = {(row.rank, row.graph_id, row.op_name) for row in rows if row.status == "fail"}
    later = failing.intersection(reached)
    if later:
        yield Message("compare/downstream", count=len(later))


def _operator(rows: Sequence[Row], finding: Finding) -> Message:
    """The operator, and where it stands if there are several places."""
    named = Message("compare/operator-named", op_name=finding.op_name)
    if finding.op_type:
        named = Message("compare/operator", op_type=finding.op_type, op_name=finding.op_name)
    if finding.source is not None:
        file = finding.source.file.replace("\\", "/").rpartition("/")[2]
        line, code = finding.source.line, finding.source.code.strip()
        place = {"operator": named, "file": file, "line": line, "code": code}
        if finding.source.group == "candidate":
            named = Message("compare/operator-at-candidate", **place)
        else:
            named = Message("compare/operator-at", **place)
    if len({row.iteration for row in rows if row.iteration >= 0}) > 1:
        iteration = finding.iteration
        named = Message("compare/operator-iteration", operator=named, iteration=iteration)
    if len({row.rank for row in rows}) > 1:
        named = Message("compare/operator-rank", operator=named, rank=finding.rank)
    return named


_GOLDEN = frozenset(("compare/golden-error", "compare/golden-error-by", "compare/golden-unlike"))
"""Evidence that the golden is the side to look at: it comes first, and no local error of the target is told."""


def _is_golden_wrong(finding: Finding) -> bool:
    first = next(iter(finding.evidence), None)
    return isinstance(first, Message) and first.code in _GOLDEN


def _cause(finding: Finding) -> Iterator[Clause]:
    if finding.kind == "non-finite":
        yield Message("compare/first-non-finite")
    elif _is_golden_wrong(finding):
        yield finding.evidence[0]
    elif finding.kind == "own-error" and finding.own_error is not None:
        yield Message("compare/not-explained")
    else:
        yield from finding.evidence[:1]


def _size(finding: Finding) -> Iterator[Message]:
    times = times_expected(finding.own_error, finding.noise_floor)
    told = finding.kind not in ("parameter", "input") and not _is_golden_wrong(finding)
    if times is not None and told:
        yield Message("compare/local-error", times=times)


def _agreement(
    verdict: Verdict, rows: Sequence[Row], findings: Sequence[Finding]
) -> Iterator[Clause]:
    if verdict == "inconclusive":
        unsure = [*_undecided(rows, findings, "compare/undecided")]
        yield from unsure or [_nothing(rows)]
        return
    tolerated = any(row.reason_code == TOLERATED for row in rows)
    code = "compare/agreement-tolerated" if tolerated else "compare/agreement"
    code = "compare/agreement-partly" if verdict == "incomplete" else code
    yield Message(code, counts=tuple(_counts(rows)))
    yield from _left_out(rows)
    ends = next((finding for finding in findings if finding.kind == "cut-short"), None)
    if ends is not None:
        yield Message("compare/nothing-dumped", op_name=ends.op_name)
    changed = next((finding for finding in findings if finding.kind == "changed-memory"), None)
    if changed is not None:
        yield changed.evidence[0]
    overflow = next((f for f in findings if f.kind == "info" and f.op_type in FLAGS), None)
    if overflow is not None:
        yield overflow.evidence[0]
    if any(finding.kind == "precision" for finding in findings):
        yield Message("compare/formats-explain")


def _undecided(rows: Sequence[Row], findings: Sequence[Finding], code: str) -> Iterator[Clause]:
    """The first operator that is undecided, why, and what would decide it; nothing if none is."""
    unsure = next((one for one in findings if one.kind == UNDECIDED), None)
    if unsure is not None:
        why = unsure.evidence[0]
        yield Message(code, operator=_operator(rows, unsure))
        yield why
        if not (isinstance(why, Message) and why.code == shown.DAMAGED):
            yield Message("compare/undecided-supply")


def _left_out(rows: Sequence[Row]) -> Iterator[Message]:
    """How many elements of how many tensors mean nothing, and were not compared."""
    counts = [row.dont_care for row in rows if row.dont_care]
    if counts:
        yield Message("compare/left-out-clause", count=sum(counts), tensors=len(counts))


def _nothing(rows: Sequence[Row]) -> Message:
    """Why there is no verdict."""
    if any(row.reason == CANCELLED for row in rows):
        count = sum(bool(row.metrics) for row in rows)
        return (
            Message("compare/nothing-judged", count=count)
            if count
            else Message("compare/nothing-yet")
        )
    if not rows:
        why = Message("compare/nothing-common")
    elif all(row.reason == OWN_BATCH for row in rows):
        why = Message("compare/nothing-own", count=len(rows))
    else:
        why = Message("compare/nothing-usable", count=len(rows))
    return Message("compare/nothing", why=why)


def _counts(rows: Sequence[Row]) -> Iterator[Message]:
    """How many tensors have which status, and why those that decide nothing do not."""
    counts = Counter(row.status for row in rows)
    own = sum(row.reason == OWN_BATCH for row in rows)
    left = sum(row.reason == CANCELLED for row in rows)
    tolerated = sum(row.reason_code == TOLERATED for row in rows)
    between = sum(row.reason_code == BETWEEN_RUNS.code for row in rows)
    yield Message("compare/compared", count=len(rows) - counts["uncomparable"])
    yield Message("compare/count-equal", count=counts["equal"])
    counts["uncomparable"] -= own + left
    counts["warn"] -= tolerated
    counts["pass"] -= between
    statuses: tuple[Status, ...] = ("pass", "warn", "uncomparable")
    for status in statuses:
        if counts[status]:
            yield Message(f"compare/count-{status}", count=counts[status])
    if between:
        yield Message("compare/count-between-runs", count=between)
    if tolerated:
        yield Message("compare/count-tolerated", count=tolerated)
    if own:
        yield Message("compare/own-batch-rows", count=own)
