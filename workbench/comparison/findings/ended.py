"""Where a run ended before its time: nothing of the last execution was dumped from one operator on.

A list of operators to dump may leave the same tree. It is ruled out by an earlier execution that was dumped to
its end, by the record of a failure, or by how long that list would be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.comparison.finding_kinds import KINDS
from workbench.comparison.findings.material import finding, place_in
from workbench.comparison.limits import limits
from workbench.comparison.result import Cause
from workbench.core.words import Message
from workbench.dump.formats.mindspore_name import sanitize
from workbench.graph_files.ge.silent_ops import why_no_dump
from workbench.ops import MOVEMENT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from workbench.comparison.align.alignment import Alignment
    from workbench.comparison.bind.binding import Execution, OperatorRun
    from workbench.comparison.findings.material import Found, Material
    from workbench.comparison.pair.pairing import Pairing
    from workbench.dump.dump import Failure

ENDED, CUT_SHORT = "ended", "cut-short"


class _End(NamedTuple):
    """Numbers of the operators of a target's graph: dumped ones, the first and all that are missing behind them."""

    dumped: tuple[int, ...]
    first: int
    missing: tuple[int, ...]


def endings(material: Material) -> Iterator[Found]:
    """For every rank at most one finding: its run ended, or its dump at least, and at which operator.

    `ENDED` is a defect, `CUT_SHORT` says that the form of the dump may have asked for no more.
    """
    pairing = material.pairing
    last = {block.rank: block for block in pairing.block_order}
    alone = {id(one.record) for one in pairing.only_golden}
    for block in last.values():
        end = _end(pairing, block, alone)
        if end is not None:
            yield _found(pairing, block, end)


def _end(pairing: Pairing, block: Execution, alone: set[int]) -> _End | None:
    """Where an execution stops being dumped; ``None`` if something behind the first gap is there."""
    aligned = pairing.alignments.get(block.graph_key)
    if aligned is None or block not in pairing.blocks:
        return None
    ours = pairing.target.runs.get(block, {})
    theirs = pairing.golden.runs.get(pairing.blocks[block], {})
    dumped = tuple(sorted(number for number in ours if number >= 0))
    missing = tuple(sorted(_missing(aligned, ours, theirs, alone)))
    if not dumped or not missing or dumped[-1] > missing[0]:
        return None
    return _End(dumped, _first(aligned, ours, dumped[-1], missing[0]), missing)


def _missing(
    aligned: Alignment,
    ours: Mapping[int, OperatorRun],
    theirs: Mapping[int, OperatorRun],
    alone: set[int],
) -> Iterator[int]:
    """Operators of the target that left nothing, while their counterparts' tensors have no partner.

    What only moves data may have no kernel: it counts if others of its type were dumped.
    """
    ops = aligned.target.graph.ops
    known = {ops[number].op_type for number in ours if number >= 0}
    for number in (*aligned.match_of, *aligned.fused):
        kind = ops[number].op_type
        if number in ours or why_no_dump(ops[number]) or (kind in MOVEMENT and kind not in known):
            continue
        fusion = aligned.fused.get(number)
        members = fusion.golden if fusion is not None else (aligned.match_of[number],)
        records = [one for g in members if g in theirs for one in theirs[g].tensors.values()]
        if any(id(one) in alone for one in records):
            yield number


def _first(aligned: Alignment, ours: Mapping[int, OperatorRun], last: int, missing: int) -> int:
    """The first operator behind the last one: an inserted one, too, if others of its type were dumped."""
    ops = aligned.target.graph.ops
    known = {ops[number].op_type for number in ours if number >= 0}
    between = range(last + 1, missing)
    return next((n for n in between if ops[n].op_type in known and ops[n].outputs), missing)


def _found(pairing: Pairing, block: Execution, end: _End) -> Found:
    place = place_in(pairing, block, end.first)
    failure = next((one for one in pairing.target.dump.failures if one.rank == block.rank), None)
    told = failure is not None and sanitize(failure.op_name) == sanitize(place.op_name)
    sure = _proof(pairing, block, end, failure)
    kind = ENDED if sure else CUT_SHORT
    before = place_in(pairing, block, end.dumped[-1]).op_name
    evidence = (
        Message(f"compare/{kind}", op_name=before),
        Message("compare/golden-goes-on", count=len(end.missing)),
        sure or Message("compare/end-unknown"),
    )
    causes = (Cause("aicore-exception", KINDS[kind].score),) if told else ()
    return finding(kind, place, evidence, causes=causes)


def _proof(
    pairing: Pairing, block: Execution, end: _End, failure: Failure | None
) -> Message | None:
    """What shows that more was asked for than was dumped; ``None`` if nothing does."""
    if failure is not None and failure.scene == "norm":
        return Message("compare/exception-dump-of", op_name=failure.op_name)
    if failure is not None:
        return Message("compare/exception-dump")
    for other in pairing.block_order:
        same = other.graph_key == block.graph_key
        runs = pairing.target.runs[other]
        if same and other != block and any(number in runs for number in end.missing):
            return Message("compare/dumped-beyond", iteration=other.iteration, turn=other.turn)
    if block.graph_key in pairing.target.borrowed:
        return None  # the other program's list of operators proves nothing of this one's
    names = [op.name for op in pairing.target.graphs[block.graph_key].ops]
    dumped, missing = ([names[n] for n in numbers] for numbers in (end.dumped, end.missing))
    listed = _listed(dumped, {scope for name in missing for scope in _scopes(name)})
    if listed < limits().listed_enough:
        return None
    return Message("compare/long-list", count=len(dumped), listed=listed)


def _scopes(name: str) -> Iterator[str]:
    """The scopes that an operator lies in, the widest first."""
    parts = name.split("/")[:-1]
    return ("/".join(parts[:count]) for count in range(1, len(parts) + 1))


def _listed(dumped: Sequence[str], shared: set[str]) -> int:
    """How many names and scopes a list needs for these operators and none of those in ``shared`` scopes."""
    return len({next((s for s in _scopes(name) if s not in shared), name) for name in dumped})
