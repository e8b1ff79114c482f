"""The sentence: what a comparison found, in words that a person can act on."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from workbench.compare.flags import FLAGS
from workbench.compare.measuring import CANCELLED
from workbench.compare.overrides import TOLERATED
from workbench.compare.own_batches import OWN_BATCH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.compare.result import Coverage, Finding, Row, Status, Verdict


def sentence(
    verdict: Verdict,
    rows: Sequence[Row],
    findings: Sequence[Finding],
    coverage: Coverage,
    *,
    partial: bool = False,
    absent: str = "",
) -> str:
    """One sentence, without a full stop inside an operator's name and never empty.

    ``absent`` says what was chosen and is in no dump.
    """
    text = _defect(rows, findings) if verdict == "fail" else _agreement(verdict, rows, findings)
    if absent and not rows:
        return f"Nothing could be compared: {absent}."
    if verdict in ("warn", "inconclusive"):
        text += _lone(coverage)
    if partial:
        left = sum(row.reason == CANCELLED for row in rows)
        text += "; the comparison was stopped before its end"
        text += f", {left} of {len(rows)} tensors were not reached" if left else ""
    return text + "."


def _lone(coverage: Coverage) -> str:
    """How many tensors have no partner, by side; nothing if every one has."""
    sides = (("target", coverage.unmatched_target), ("golden", coverage.unmatched_golden))
    parts = [
        f"{count} tensor{'s exist' if count > 1 else ' exists'} only in the {side}"
        for side, count in sides
        if count
    ]
    return f"; {' and '.join(parts)}" if parts else ""


def _defect(rows: Sequence[Row], findings: Sequence[Finding]) -> str:
    finding = next((f for f in findings if f.defect), None)
    if finding is None:
        failed = sum(1 for row in rows if row.status == "fail")
        return f"{failed} of {len(rows)} compared tensors differ"
    named = f"{finding.op_type} {finding.op_name}".lstrip()
    if finding.source is not None:
        file = finding.source.file.replace("\\", "/").rpartition("/")[2]
        named += f" ({file}:{finding.source.line}  {finding.source.code.strip()})"
    if len({row.iteration for row in rows if row.iteration >= 0}) > 1:
        named += f" in iteration {finding.iteration}"
    if len({row.rank for row in rows}) > 1:
        named += f" on rank {finding.rank}"
    if finding.kind == "ended":
        return f"The run ended at {named}; {finding.evidence[0].partition(': ')[2]}"
    if finding.kind == "rank":
        return f"At {named} {finding.evidence[0]}"
    if finding.kind == "overwritten" and finding.own_error is None:  # whoever wrote is known
        parts = [f"{named} {'; '.join(finding.evidence[:2])}"]
    else:
        parts = [f"The first operator that adds error is {named}", _cause(finding), _size(finding)]
    later = _inheritors(rows, finding)
    if later:
        parts.append(
            f"{later} later operator{'s' if later > 1 else ''} only inherit{'' if later > 1 else 's'} it"
        )
    return "; ".join(part for part in parts if part)


def _cause(finding: Finding) -> str:
    if finding.kind == "non-finite":
        return "NaN or infinity appears here first"
    if finding.kind == "own-error" and finding.own_error is not None:
        return "neither its inputs nor its settings explain it"
    return finding.evidence[0] if finding.evidence else ""


def _size(finding: Finding) -> str:
    own, base = finding.own_error, finding.noise_floor
    if own is None or not base or not math.isfinite(own) or finding.kind in ("parameter", "input"):
        return ""
    return f"its own error is {own / base:.3g} times what its number formats explain"


def _inheritors(rows: Sequence[Row], finding: Finding) -> int:
    """Operators behind the finding that fail too."""
    seen = {
        (row.graph_id, row.op_name)
        for row in rows
        if row.status == "fail" and row.order > finding.order and row.op_type != "Parameter"
    }
    seen.discard((finding.graph_id, finding.op_name))
    return len(seen)


def _agreement(verdict: Verdict, rows: Sequence[Row], findings: Sequence[Finding]) -> str:
    counts = Counter(row.status for row in rows)
    compared = len(rows) - counts["uncomparable"]
    own = sum(row.reason == OWN_BATCH for row in rows)
    left = sum(row.reason == CANCELLED for row in rows)
    if verdict == "inconclusive":
        if not rows:
            return "Nothing could be compared: the two dumps have no tensor in common"
        if left:
            return "Nothing could be compared so far"
        if own == len(rows):
            return f"Nothing could be compared: all {own} common tensors come of the ranks' own batches"
        return f"Nothing could be compared: all {len(rows)} common tensors are unreadable or distrusted"
    tolerated = sum(row.reason.startswith(TOLERATED) for row in rows)
    what = "more error than the map file tolerates" if tolerated else "error of its own"
    text = f"No operator adds {what}: {compared} tensors compared, {counts['equal']} equal"
    counts["uncomparable"] -= own + left
    counts["warn"] -= tolerated
    rest = [f"{counts[s]} {word}" for s, word in _WORDS.items() if counts[s]]
    if tolerated:
        rest.append(f"{tolerated} tolerated by it")
    if own:
        rest.append(f"{own} tensors of the ranks' own batches not judged")
    text += "".join(f", {part}" for part in rest)
    ends = next((finding for finding in findings if finding.kind == "cut-short"), None)
    if ends is not None:
        text += f"; nothing was dumped from {ends.op_name} on"
    changed = next((finding for finding in findings if finding.kind == "changed-memory"), None)
    if changed is not None:
        text += f"; {changed.evidence[0]}"
    overflow = next((f for f in findings if f.kind == "info" and f.op_type in FLAGS), None)
    if overflow is not None:
        text += f"; {overflow.evidence[0]}"
    if any(finding.kind == "precision" for finding in findings):
        text += (
            "; the runs use different number formats, and their rounding explains the differences"
        )
    return text


_WORDS: dict[Status, str] = {
    "pass": "within the noise floor of their number formats",
    "warn": "above it but explained by their inputs",
    "uncomparable": "not comparable",
}
