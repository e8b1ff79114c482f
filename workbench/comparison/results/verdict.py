"""What a comparison comes to: the ledger of tensors, what is odd about the dumps, the verdict, and the result."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.comparison import findings as shown
from workbench.comparison.limits import limits
from workbench.comparison.pair.exclusions import override_uses
from workbench.comparison.pair.kernels import EXPECTED
from workbench.comparison.result import CHANGED, UNDECIDED, Anomaly, Result, SideInfo
from workbench.comparison.results.coverage import Judged, covered, is_incomplete
from workbench.comparison.results.gaps import with_gaps
from workbench.comparison.results.sentence import sentence

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from workbench.comparison.findings.material import Material
    from workbench.comparison.measure.profiles import Profile
    from workbench.comparison.pair.pairing import Pairing, Selection
    from workbench.comparison.result import Coverage, Finding, IterationRow, Row, Verdict
    from workbench.core.words import Message


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


def anomalies(pairing: Pairing, odd: Sequence[Anomaly] = ()) -> tuple[Anomaly, ...]:
    """Everything about the dumps that is not what it says, in order of side and kind.

    ``odd`` is what was seen of the dumps when causes were looked for.
    """
    found: list[Anomaly] = []
    for side, binding in pairing.sides.named:
        own = [note for owner, note in pairing.notes if owner == side]
        notes = (*binding.dump.notes, *binding.notes)
        found += [Anomaly(side, note.kind, note.name, note.detail) for note in notes]
        found += [
            Anomaly(side, item.reason, item.name, item.detail)
            for item in pairing.skips.of(side)
            if item.reason not in EXPECTED
        ]
        found += [Anomaly(side, note.kind, note.name, note.detail) for note in own]
    return tuple(sorted((*found, *odd), key=lambda one: (one.side != "target", one.kind)))


def verdict(
    rows: Sequence[Row], findings: Sequence[Finding], coverage: Coverage, *, partial: bool
) -> Verdict:
    """Verdict of the whole comparison. A defect wins over a gap, and a gap over agreement."""
    if any(finding.defect for finding in findings) or any(row.status == "fail" for row in rows):
        return "fail"
    if all(row.status == "uncomparable" for row in rows):
        return "inconclusive"
    if any(finding.kind == UNDECIDED for finding in findings):
        return "inconclusive"
    if is_incomplete(coverage) and not partial:
        return "incomplete"
    warned = any(row.status == "warn" for row in rows)
    warned = warned or any(finding.kind == CHANGED for finding in findings)
    told = coverage.explained.keys() - _SILENT
    return "warn" if warned or partial or told or coverage.gaps else "pass"


_SILENT = frozenset(("pair:unused", "pair:own-batch", "pair:mislabelled-alike"))
"""Explanations that say nothing against agreement: both dumps are alike there."""


class Said(NamedTuple):
    """What the stages behind measuring say besides rows; nothing where nothing differs."""

    steps: Sequence[IterationRow] = ()
    findings: Sequence[Finding] = ()
    odd: Sequence[Anomaly] = ()
    facts: Mapping[str, str | Message] = MappingProxyType({})
    reached: frozenset[tuple[int, int, str]] = frozenset()


def result_of(
    material: Material,
    findings: Sequence[Finding],
    odd: Sequence[Anomaly],
    reached: frozenset[tuple[int, int, str]],
    *,
    partial: bool,
) -> Result:
    """Return the result of a comparison, from its findings and what was seen to be odd with them.

    ``reached`` are the operators that the first defect reaches: rank, graph id and name.
    """
    replayed = material.flow.replayed
    replays = shown.replay_facts(replayed) if replayed is not None else {}
    facts = replays | material.forecast.facts
    said = Said(material.steps, findings, odd, facts, reached)
    rows, selection, profile = material.rows, material.selection, material.profile
    judged = Judged(material.pairing, material.measured, rows)
    return made_result(judged, selection, profile, said, partial=partial)


def made_result(
    judged: Judged,
    selection: Selection,
    profile: Profile,
    said: Said,
    *,
    partial: bool = False,
) -> Result:
    """Return the result that rows and whatever is said of them come to."""
    pairing, rows, findings = judged.pairing, judged.rows, said.findings
    pairs = [row for row in rows if row.match_rule]
    target, golden = pairing.target.dump, pairing.golden.dump
    (coverage, gaps), absent = covered(judged), selection.absent(target, golden)
    decided = verdict(pairs, findings, coverage, partial=partial)
    findings = with_gaps(findings, coverage, gaps)
    return Result(
        verdict=decided,
        sentence=sentence(
            decided, pairs, findings, coverage, partial=partial, absent=absent, reached=said.reached
        ),
        target=SideInfo(target.path, target.layout, target.tensors),
        golden=SideInfo(golden.path, golden.layout, golden.tensors),
        coverage=coverage,
        anomalies=anomalies(pairing, said.odd),
        findings=tuple(findings),
        rows=with_own_errors(rows, findings),
        iterations=tuple(said.steps),
        profile=str(profile),
        partial=partial,
        overrides=override_uses(pairing, rows),
        facts={**_facts(pairing, selection), **said.facts},
        limits=limits().changed,
    )


def _facts(pairing: Pairing, selection: Selection) -> dict[str, str | Message]:
    """What was compared, and how."""
    facts: dict[str, str | Message] = {}
    if selection.overrides:
        facts["map file"] = selection.overrides.said
    for side, binding in pairing.sides.named:
        for key in ("device_target", "ms_version"):
            if key in binding.dump.info:
                facts[f"{side} {key}"] = binding.dump.info[key]
    changed = [f"{name} = {value:g}" for name, value in limits().changed.items()]
    if changed:
        facts["limits"] = ", ".join(changed)
    return facts
