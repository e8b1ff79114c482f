"""What a job's result says: its sentence, and the lines of a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.comparison.result import times_expected
from workbench.core.words import Message
from workbench.scale.units import spans

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from workbench.scale.job import JobResult
    from workbench.scale.layouts.ledger import LedgerLine, RankFinding
    from workbench.scale.merge import Disagreement, Group

_SHOWN = 4
"""Groups that the sentence names."""

_FOUND = 1
"""Findings of ranks that it names: what follows mostly came of the first."""

_LISTED = 8
"""Findings of ranks that a terminal lists."""


def ranks_said(ranks: Iterable[int], node: int = 0) -> Message:
    """Write ranks; with ``node`` ranks a node, and all of one node, which one.

    >>> str(ranks_said([3])), str(ranks_said(range(8, 16), 8))
    ('rank 3', 'ranks 8-15 (all of node 1)')
    """
    ranks = sorted(ranks)
    said = {"word": "rank" if len(ranks) == 1 else "ranks", "ranks": spans(ranks)}
    if node and len(ranks) == node and {rank // node for rank in ranks} == {ranks[0] // node}:
        return Message("job/ranks-node", **said, node=ranks[0] // node)
    return Message("job/ranks", **said)


def sentence(job: JobResult) -> Message:
    """Return what was found, in one sentence: where the job parts first, then who follows."""
    return Message("job/said", clauses=[*_clauses(job)])


def _clauses(job: JobResult) -> Iterator[Message]:
    first, found = job.first, sorted(job.found, key=lambda one: not one.defect)
    rest = [one for one in job.groups if one is not first]
    yield from map(finding_said, found[:_FOUND])
    if len(found) > _FOUND:
        yield Message("job/said-more-findings", count=len(found) - _FOUND)
    if first is not None:
        yield from _first(first, job.node)
    yield from (_apart(one) for one in job.apart[:1])
    yield from (_later(one, job.node) for one in rest[:_SHOWN])
    if len(rest) > _SHOWN:
        yield Message("job/said-more", count=len(rest) - _SHOWN)
    if first is None and not job.apart and not found:
        iterations = spans({one.iteration for one in job.units})
        ranks, done = ranks_said({one.rank for one in job.units}), job.units
        known = [one for one in done if one.state == "done"]
        said = {"units": len(known), "iterations": iterations}
        if job.axes is not None:
            axes = {"target": job.axes.target, "golden": job.axes.golden}
            yield Message("job/said-none-joined", **said, **axes)
        elif not rest:
            yield Message("job/said-none", ranks=ranks, **said)
    yield from _gaps(job)


def finding_said(one: RankFinding) -> Message:
    """Say what is wrong with ranks that were joined, and where."""
    return Message(
        "job/said-finding", side=one.side, iteration=one.iteration, op_name=one.op_name,
        op_type=one.op_type, io=one.io, slot=one.slot, found=one.message,
    )  # fmt: skip


def _first(group: Group, node: int) -> Iterator[Message]:
    one, ranks = group.divergence, ranks_said(group.ranks, node)
    said = {"ranks": ranks, "iteration": group.iteration}
    said |= {"op_type": one.op_type, "op_name": one.op_name}
    if group.role == "communication":
        yield Message("job/said-communication", **said)
    elif one.source:
        yield Message("job/said-first-source", **said, source=one.source)
    else:
        yield Message("job/said-first", **said)
    times = times_expected(one.error, one.floor)
    if times is not None:
        yield Message("job/said-times", error=one.error, times=times)
    elif one.error is not None:
        yield Message("job/said-error", error=one.error)


_LATER = {
    "received": "job/said-received",
    "carried": "job/said-carried",
    "open": "job/said-open",
    "origin": "job/said-origin",
    "communication": "job/said-communication",
}
"""Role of a group → what is said of it behind the first."""


def _later(group: Group, node: int) -> Message:
    one = group.divergence
    values = {"ranks": ranks_said(group.ranks, node), "iteration": group.iteration}
    values |= {"op_type": one.op_type, "op_name": one.op_name}
    return Message(_LATER[group.role], **values)


def _apart(one: Disagreement) -> Message:
    said = {"op_name": one.op_name, "iteration": one.iteration}
    if not one.others:
        return Message("job/said-apart-all", **said)
    ranks, others = ranks_said(one.ranks), ranks_said(one.others)
    return Message("job/said-apart", ranks=ranks, others=others, **said)


def _gaps(job: JobResult) -> Iterator[Message]:
    """What was not compared."""
    failed = [one for one in job.units if one.state == "failed"]
    if job.partial:
        done = sum(one.state == "done" for one in job.units)
        yield Message("job/said-waiting", done=done, units=len(job.units))
    if failed:
        one = failed[0]
        yield Message(
            "job/said-failed", count=len(failed), rank=ranks_said([one.rank]),
            iteration=one.iteration, reason=one.reason,
        )  # fmt: skip
    if job.missing:
        side, rank, iteration = job.missing[0]
        yield Message(
            "job/said-missing", count=len(job.missing), side=side, rank=rank, iteration=iteration
        )


def lines(job: JobResult) -> Iterator[Message | str]:
    """Return what is said of a job on a terminal; verdict and sentence last."""
    yield from _joined_lines(job)
    for number, group in enumerate(job.groups, 1):
        one = group.divergence
        yield Message(
            "job/group", number=number, role=group.role, ranks=ranks_said(group.ranks, job.node),
            iteration=group.iteration, op_type=one.op_type, op_name=one.op_name,
        )  # fmt: skip
        if one.source:
            yield f"     {one.source}"
        if group.fed_by:
            yield f"     {Message('job/group-fed', ranks=ranks_said(group.fed_by, job.node))}"
        for told in job.diagnoses:
            if (told.rank, told.iteration) == (group.ranks[0], group.iteration):
                yield from (f"     {text}" for text in told.evidence)
                yield f"     {Message('cli/next', advice=told.advice)}"
    counts = [
        Message("job/count", count=count, verdict=verdict)
        for verdict, count in sorted(job.counts.items())
    ]
    yield Message("job/units", units=len(job.units), counts=counts)
    yield Message("cli/verdict", verdict=job.verdict, sentence=job.sentence)


def _joined_lines(job: JobResult) -> Iterator[Message | str]:
    """How ranks were joined, and what is wrong with them."""
    if job.axes is None:
        return
    yield Message("job/axes", **job.axes._asdict())
    for one in job.ledger:
        yield f"     {ledger_said(one)}"
    for finding in job.found[:_LISTED]:
        yield finding_said(finding)
    if len(job.found) > _LISTED:
        yield Message("job/said-more-findings", count=len(job.found) - _LISTED)


def ledger_said(one: LedgerLine) -> Message:
    """Say with how many tensors of a side a step was done."""
    return Message("job/ledger", side=one.side, tensors=one.tensors, step=one.message)
