"""What a comparison comes to: the ledger of tensors, what is odd about the dumps, and the verdict."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.comparison.bind.anomalies import MISLABELLED, UNUSED, UNWRITTEN
from workbench.comparison.findings.watched import (
    CHANGED,
)
from workbench.comparison.follow.ranks import OWN_BATCH
from workbench.comparison.pair.kernels import EXPECTED
from workbench.comparison.pair.pairing import Pairing
from workbench.comparison.result import Anomaly, Coverage
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from workbench.comparison.result import Finding, Row, Verdict


def with_own_errors(rows: Iterable[Row], findings: Sequence[Finding]) -> tuple[Row, ...]:
    """Return the rows with the own errors of the defects that were found at them, first ones first."""
    known: dict[tuple[object, ...], float] = {}
    for one in findings:
        if one.defect and one.op_name and one.own_error is not None:
            known.setdefault(_place(one), one.own_error)
    return tuple(
        replace(row, own_error=known[_place(row)])
        if row.match_rule and _place(row) in known
        else row
        for row in rows
    )


def _place(item: Row | Finding) -> tuple[object, ...]:
    return item.rank, item.graph_id, item.iteration, item.op_name, item.io, item.slot


def ledger(pairing: Pairing) -> Coverage:
    """Count every tensor of both sides once; raises AssertionError if one is missing."""
    skips = pairing.skips
    skipped = Counter(f"{side}:{item.reason}" for side, some in skips.named for item in some)
    coverage = Coverage(
        matched=len(pairing.pairs),
        unmatched_target=len(pairing.unmatched.target),
        unmatched_golden=len(pairing.unmatched.golden),
        skipped=dict(sorted(skipped.items())),
    )
    for side, binding in pairing.sides.named:
        left = len(pairing.unmatched.of(side)) + len(skips.of(side))
        if coverage.matched + left != binding.dump.tensors:
            raise AssertionError(side, binding.dump.tensors, coverage)
    return coverage


def anomalies(pairing: Pairing) -> list[Anomaly]:
    """Everything about the dumps that is not what it says, in order of side and kind."""
    found: list[Anomaly] = []
    for side, binding in pairing.sides.named:
        for note in (*binding.dump.notes, *binding.notes):
            found.append(Anomaly(side, note.kind, note.name, note.detail))  # noqa: PERF401
        found += [
            Anomaly(side, item.reason, item.name, item.detail)
            for item in pairing.skips.of(side)
            if item.reason not in EXPECTED
        ]
        found += [
            Anomaly(side, note.kind, note.name, note.detail)
            for owner, note in pairing.notes
            if owner == side
        ]
    return sorted(found, key=lambda a: (a.side != "target", a.kind))


def verdict(
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
