"""What a comparison lacks, in words: the clause of its sentence, and the finding that lists the gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.comparison.result import Finding
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from workbench.comparison.result import Coverage
    from workbench.comparison.results.coverage import Gap

INCOMPLETE, _UNMATCHED = "incomplete", "unmatched"

_CODES = {
    "unmatched": "compare/gap-unmatched",
    "iteration": "compare/gap-iteration",
    "rank": "compare/gap-rank",
    "uncomparable": "compare/gap-pairs",
}
"""Reason of a gap → code of its words; every other one is a reason for which a file was left out."""

_SKIPPED = "compare/gap-skipped"


def gap_clause(coverage: Coverage, *, first: bool) -> Iterator[Message]:
    """Say what was not compared, in one clause; nothing where nothing is missing."""
    parts = [*_outputs(coverage), *(_counted(key, n) for key, n in coverage.gaps.items())]
    if parts:
        yield Message("compare/incomplete" if first else "compare/incomplete-too", gaps=parts)


def _outputs(coverage: Coverage) -> Iterator[Message]:
    if coverage.outputs:
        count = len(coverage.outputs)
        yield Message("compare/gap-outputs", count=count, names=coverage.outputs)


def _counted(key: str, count: int) -> Message:
    side, _, reason = key.partition(":")
    return Message(_CODES.get(reason, _SKIPPED), count=count, side=side, reason=reason)


def with_gaps(
    findings: Sequence[Finding], coverage: Coverage, gaps: Sequence[Gap]
) -> tuple[Finding, ...]:
    """Return the findings with one about all gaps, behind the others.

    It says more than the count of unmatched tensors, and takes its place where any of these is a gap.
    """
    if not coverage.gaps and not coverage.outputs:
        return tuple(findings)
    alone = any(key.endswith(":unmatched") for key in coverage.gaps)
    kept = [one for one in findings if not (alone and one.kind == _UNMATCHED)]
    return (*kept, _finding(coverage, gaps))


def _finding(coverage: Coverage, gaps: Sequence[Gap]) -> Finding:
    from workbench.comparison.finding_kinds import KINDS

    kind = KINDS[INCOMPLETE]
    first = gaps[0].one.row if gaps else None
    name = coverage.outputs[0] if first is None and coverage.outputs else ""
    return Finding(
        INCOMPLETE,
        name if first is None else first.op_name or first.golden_op_name,
        "" if first is None else first.op_type,
        0 if first is None else first.graph_id,
        0 if first is None else first.iteration,
        "output" if first is None else first.io,
        0 if first is None else first.slot,
        kind.score,
        None,
        None,
        None,
        tuple(_evidence(coverage, gaps)),
        kind.advice,
        () if first is None or first.source is None else (first.source,),
        rank=0 if first is None else first.rank,
    )


def _evidence(coverage: Coverage, gaps: Sequence[Gap]) -> Iterator[Message]:
    """Every kind of gap with operators that show it, and how much was compared."""
    yield from _outputs(coverage)
    for key, count in coverage.gaps.items():
        names = dict.fromkeys(_names(gap for gap in gaps if gap.reason == key))
        said = _counted(key, count)
        yield Message("compare/gap-at", gap=said, names=[*names]) if names else said
    target, golden = coverage.due
    yield Message("compare/gap-share", compared=coverage.compared, target=target, golden=golden)


def _names(gaps: Iterable[Gap]) -> Iterator[str]:
    return (gap.one.op_name for gap in gaps)
