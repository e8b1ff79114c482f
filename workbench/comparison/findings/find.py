"""Findings: ranked statements about causes, each with evidence and the next step.

Finders read what the comparison knows and yield findings; refinements see all that was found, in
order of rank, and return it told better. What ranks before what is said in one key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.comparison.finding_kinds import KINDS
from workbench.comparison.findings.ambient import ambient, without_ambient
from workbench.comparison.findings.ended import endings
from workbench.comparison.findings.facts import precision, unblamed_settings, unmatched
from workbench.comparison.findings.iterations import divergence_onset
from workbench.comparison.findings.loss_scale import both_overflow, overflows, underflows
from workbench.comparison.findings.next_dump import with_file_name, with_next_dump
from workbench.comparison.findings.origins import (
    origins,
    tolerated,
    undecided,
    unexplained_failure,
    version_matters,
)
from workbench.comparison.findings.producers import with_producers
from workbench.comparison.findings.ranks import (
    by_design,
    golden_outlier,
    tell_of_outlier,
    tell_of_two_jobs,
)
from workbench.comparison.findings.trust import with_trust
from workbench.comparison.findings.watched import golden_damage, unread_memory, watched
from workbench.comparison.limits import limits
from workbench.comparison.result import Anomaly

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from workbench.comparison.findings.material import Found, Material
    from workbench.comparison.result import Finding, Side
    from workbench.dump.dump import Note


def find(material: Material) -> tuple[tuple[Finding, ...], tuple[Anomaly, ...]]:
    """Return all findings, best first, and what is odd about the dumps."""
    found = rank(one for finder in FINDERS for one in finder.find(material))
    for refinement in REFINEMENTS:
        found = rank(refinement.refine(found, material))
    found = with_file_name([with_trust(one, material) for one in found], material)
    golden = (*golden_outlier(material), *golden_damage(material))
    notes: list[tuple[Side, Note]] = [("golden", note) for note in golden]
    odd = (
        Anomaly(side, note.kind, note.name, note.detail)
        for side, note in (*unread_memory(material), *notes)
    )
    return tuple(one.finding for one in found), tuple(odd)


GROUPS = {
    "memory": "memory that is seen to be overwritten: the write is known, whatever differs follows from it",
    "runs": "what differs between the two runs",
    "ranks": "what differs between ranks of one run: says that one is wrong, not where it began",
}
"""Group of findings → why it stands where it does; the first comes first."""

_PLACES = {name: place for place, name in enumerate(GROUPS)}


def rank(found: Iterable[Found]) -> list[Found]:
    """Sort findings, those that rank alike as they come."""
    return sorted(found, key=_key)


def _key(one: Found) -> tuple[int, ...]:
    """What comes first.

    1. Defects, for they decide the verdict.
    2. By GROUPS.
    3. Defects that name a difference (score `score_named` or more) before unexplained errors: a name is what can be
       acted on, and explains the errors behind it.
    4. Defects in data-flow order: the earlier one is the cause of the later one rather than its consequence.
    5. A producer next to its reader.

    Facts keep the order of the finders; what was a defect by other thresholds comes before them.
    """
    group = _PLACES[one.group]
    if not one.defect:
        return 1, group
    about = one.behind or one.finding
    beside = 0 if one.behind is None else -1 if one.first else 1
    return 0, group, about.score < limits().score_named, about.order, beside


class Finder(NamedTuple):
    """A source of findings: which fields of the `Material` it reads, and why it stands where it does."""

    name: str
    find: Callable[[Material], Iterable[Found]]
    needs: tuple[str, ...]
    why: str


FINDERS = (
    Finder("origins", origins, ("flow", "origins", "rows", "measured"), "where errors begin: defects, ranked by key"),
    Finder("in common", ambient, ("flow",), "defects of several operators; `origins` has each by itself"),
    Finder("undecided", undecided, ("flow",), "first fact: what keeps the comparison from a verdict"),
    Finder("endings", endings, ("flow",), "what is missing behind it is no difference of its own"),
    Finder("formats", precision, ("flow", "rows"), "first fact: the reason that most differences have"),
    Finder("settings", unblamed_settings, ("flow", "origins"), "differences of the graphs that nothing came of"),
    Finder("versions", version_matters, ("flow",), "differences of the frameworks that nothing came of"),
    Finder("tolerated", tolerated, ("flow",), "errors that the user knows"),
    Finder("unmatched", unmatched, ("flow",), "what was not compared at all"),
    Finder("overflows of both", both_overflow, ("flow",), "no difference, but no training either"),
    Finder("own batches", by_design, ("flow", "rows"), "what was not judged, and why not"),
)  # fmt: skip
"""Where findings come from. Facts are told in this order; defects are ranked."""


def judge_by_thresholds(found: Sequence[Found], material: Material) -> list[Found]:
    """Where a profile has thresholds of its own, make defects that keep them worth knowing, no more."""
    if not material.profile.limits:
        return list(found)
    failing = {(row.graph_id, row.op_name) for row in material.pairs if row.status == "fail"}
    result = [
        one.changed(kind="info", score=KINDS["info"].score)
        if one.defect and (one.finding.graph_id, one.finding.op_name) not in failing
        else one
        for one in found
    ]
    if any(one.defect for one in result):
        return result
    return [*unexplained_failure(material), *result]


def with_watched_memory(found: Sequence[Found], material: Material) -> list[Found]:
    """Add what the target's watched memory shows."""
    return [*found, *watched(material)]


class Refinement(NamedTuple):
    """What is said better once all findings are known: its needs and place are told as a `Finder`'s."""

    name: str
    refine: Callable[[Sequence[Found], Material], list[Found]]
    needs: tuple[str, ...]
    why: str


REFINEMENTS = (
    Refinement(
        "not alone", without_ambient, ("flow",),
        "first: what is no operator's own error has no cause at that operator to be looked for",
    ),
    Refinement("underflow", underflows, ("flow",), "gives own errors a name, by which they rank"),
    Refinement("overflow", overflows, ("flow",), "behind underflow, which leaves it the errors without a name"),
    Refinement(
        "thresholds", judge_by_thresholds, ("flow", "rows", "measured", "profile"),
        "all that the two runs tell is known now; whatever follows speaks of defects",
    ),
    Refinement("onset", divergence_onset, ("flow", "steps"), "tells when, of defects alone"),
    Refinement(
        "outlier", tell_of_outlier, ("flow",),
        "adds a defect of its own if it fits none, to which no iteration belongs",
    ),
    Refinement("two jobs", tell_of_two_jobs, ("flow",), "a caution, behind all other evidence"),
    Refinement(
        "producers", with_producers, ("flow", "origins", "forecast"),
        "looks behind the first own errors that are left; theirs is no evidence of iterations or ranks",
    ),
    Refinement(
        "memory", with_watched_memory, ("flow", "rows", "selection"),
        "is proof by itself: nothing before may take it for an error between the runs",
    ),
    Refinement("next dump", with_next_dump, ("flow",), "advises of the first defects, which stand now"),
)  # fmt: skip
"""What is done to the findings, in this order; they are ranked anew after each."""
