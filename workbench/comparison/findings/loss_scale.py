"""Scaled losses: gradients that are too small for their number format, or too large, and skipped steps.

Too small a scale shows in the data: where the golden's gradients lie below the least number of the format,
the target has zeros, and no element is off by more than that. Too large a scale shows in the graph: the operator
that looks for overflow, in results (``AllFinite``) or in the device's float status, raises its flag, and
what updates parameters did not run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from workbench.comparison.finding_kinds import KINDS, NAMED
from workbench.comparison.findings.iterations import named_iterations
from workbench.comparison.follow.overflow import FLAGS, flag_of
from workbench.comparison.graphs.phases import is_backward, phases
from workbench.comparison.graphs.roles import state_name, updates
from workbench.comparison.result import Finding
from workbench.core.errors import FormatError
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from workbench.comparison.bind.binding import Binding, Execution
    from workbench.comparison.follow.flow import Flow
    from workbench.comparison.measure.measure import Measured
    from workbench.core.tensors import TensorRecord
    from workbench.graph.nodes import Graph, Op


def loss_scale_findings(findings: Iterable[Finding], flow: Flow) -> list[Finding]:
    """Return the findings, those that the loss scale explains named so; named ones come first."""
    found = [_underflow(finding, flow) for finding in findings]
    for ours, blocks in _overflows(flow).items():
        found = _overflow(found, flow, blocks, ours=ours)
    found += _both(flow)
    defects = sorted((f for f in found if f.defect), key=lambda f: (f.score < NAMED, f.order))
    return [*defects, *(f for f in found if not f.defect)]


def _event_at(finding: Finding, flow: Flow) -> tuple[Execution, int] | None:
    number, op = finding.order >> 24, finding.order & 0xFFFFFF
    blocks = flow.pairing.block_order
    if not 0 <= number < len(blocks):
        return None
    return (blocks[number], op) if (blocks[number], op) in flow.events else None


def _underflow(finding: Finding, flow: Flow) -> Finding:
    """Name an own error of a gradient whose elements are too small for the target's format."""
    place = _event_at(finding, flow)
    graph = flow.pairing.target.graph(place[0]) if place is not None else None
    if finding.kind != "own-error" or place is None or graph is None:
        return finding
    op, worst = graph.ops[place[1]], flow.events[place].worst
    if worst is None or not is_backward(op):
        return finding
    said = _too_small(op, worst)
    return finding if said is None else _renamed(finding, "underflow", (said,))


def _too_small(op: Op, item: Measured) -> Message | None:
    """Say how many elements became zero if nothing else is wrong with the tensor; else nothing."""
    metrics, least = item.divergence.metrics, _least(item.pair.target)
    counted = "TargetZero" in metrics  # statistics count no zeros
    if not counted or not least or item.divergence.mismatch:
        return None
    gained = int(metrics["TargetZero"] - metrics["GoldenZero"])
    if gained <= 0 or not metrics["MaxAbsoluteError"] <= 2 * least:
        return None
    return Message(
        "compare/flushed", op_name=op.name, zeros=int(metrics["TargetZero"]), size=item.divergence.size,
        golden=int(metrics["GoldenZero"]), least=least,
    )  # fmt: skip


def _least(record: TensorRecord) -> float:
    """Least magnitude of a tensor's format, if gradients get there; else 0."""
    try:
        spec = record.spec
    except FormatError:
        return 0.0
    return 2.0**-24 if spec.dtype == "float16" else 0.0


def _renamed(finding: Finding, kind: str, said: tuple[Message, ...]) -> Finding:
    return replace(
        finding, kind=kind, score=KINDS[kind].score, advice=KINDS[kind].advice,
        evidence=(*said, *finding.evidence),
    )  # fmt: skip


def _overflows(flow: Flow) -> dict[bool, list[Execution]]:
    """Blocks of the target in which one side alone raised its flag: the target (``True``) or the golden."""
    found: dict[bool, list[Execution]] = {}
    for block in flow.pairing.block_order:
        ours = flag_of(flow.pairing.target, block)
        theirs = flag_of(flow.pairing.golden, flow.pairing.blocks[block])
        if (ours is None) != (theirs is None):
            found.setdefault(ours is not None, []).append(block)
    return found


def _both(flow: Flow) -> Iterator[Finding]:
    """Tell of the steps in which both sides overflow: no difference between them, but no training either."""
    blocks = [block for block in flow.pairing.block_order if block in flow.overflowing]
    if not blocks:
        return
    sides = (
        flag_of(flow.pairing.target, blocks[0]),
        flag_of(flow.pairing.golden, flow.pairing.blocks[blocks[0]]),
    )
    ours, theirs = (f"{run.op_type} {run.op_name}" for run in sides if run is not None)
    steps = named_iterations(block.iteration for block in blocks)
    said = Message("compare/overflow-both", iterations=steps, target=ours)
    if ours != theirs:
        said = Message("compare/overflow-both-apart", iterations=steps, target=ours, golden=theirs)
    finding = _at_the_flag(flow, blocks[0], (said,), ours=True)
    yield replace(finding, kind="info", score=KINDS["info"].score)


def _overflow(
    findings: list[Finding], flow: Flow, blocks: list[Execution], *, ours: bool
) -> list[Finding]:
    """Name the first finding of the first overflow by it, or tell of the flag alone."""
    first = blocks[0]
    said = tuple(_overflow_said(flow, blocks, ours=ours))
    # devices that saturate ask for their status where others look at results: no cause of its own
    findings = [f for f in findings if f.kind != "structure" or f.op_type not in FLAGS]
    for place, finding in enumerate(findings if ours else ()):
        at = _event_at(finding, flow)
        if finding.kind in ("non-finite", "own-error") and at is not None and at[0] == first:
            named = _renamed(finding, "overflow", said)
            return [*findings[:place], named, *findings[place + 1 :]]
    if not ours and any(finding.defect for finding in findings):
        return findings
    return [*findings, _at_the_flag(flow, first, said, ours=ours)]


def _at_the_flag(flow: Flow, block: Execution, said: tuple[Message, ...], *, ours: bool) -> Finding:
    pairing = flow.pairing
    run = flag_of(
        pairing.target if ours else pairing.golden, block if ours else pairing.blocks[block]
    )
    number = run.op if run is not None and ours else -1
    order = (pairing.block_order.index(block) << 24) + max(number, 0)
    name, kind = (run.op_name, run.op_type) if run is not None else ("", "")
    return Finding(
        "overflow", name, kind, block.graph_id, block.iteration, "output", 0, KINDS["overflow"].score,
        None, None, None, said, KINDS["overflow"].advice,
        pairing.frame(block.graph_key, number), order, block.rank,
    )  # fmt: skip


def _overflow_said(flow: Flow, blocks: list[Execution], *, ours: bool) -> Iterator[Message]:
    pairing, first = flow.pairing, blocks[0]
    side = "target" if ours else "golden"
    run = flag_of(getattr(pairing, side), first if ours else pairing.blocks[first])
    assert run is not None  # it was found raised
    steps = named_iterations(block.iteration for block in blocks)
    flag = f"{run.op_type} {run.op_name}"
    yield Message("compare/overflow", flag=flag, iterations=steps, side=side)
    if ours:
        yield from _skipped(flow, first)


def _skipped(flow: Flow, block: Execution) -> Iterator[Message]:
    """Whether the step was skipped: updates that did not run, and parameters that stay as they were."""
    graph = flow.pairing.target.graph(block)
    if graph is None:
        return
    missing = list(_left_out(flow, block))
    if not missing:
        return
    unchanged, known = _unchanged(flow, block, graph, set().union(*missing))
    if not known:
        yield Message("compare/step-skipped", count=len(missing))
        return
    code = "compare/step-skipped-unchanged"
    yield Message(code, count=len(missing), unchanged=unchanged, known=known)


def _left_out(flow: Flow, block: Execution) -> Iterator[set[str]]:
    """Parameters of every operator of the optimizer that ran in the golden alone.

    MindSpore runs an optimizer that may be left out in a graph of its own.
    """
    pairing = flow.pairing
    for (rank, graph_id), graph in pairing.target.graphs.items():
        found = pairing.alignments.get((rank, graph_id))
        if rank != block.rank or found is None or not (graph_id == block.graph_id or graph.inner):
            continue
        ours = pairing.target.runs.get(block._replace(graph_id=graph_id), {})
        partner = pairing.blocks[block]._replace(graph_id=found.golden.graph.graph_id)
        theirs = pairing.golden.runs.get(partner, {})
        parts = phases(graph)
        for number, op in enumerate(graph.ops):
            names = {name for _, name in updates(graph, op)}
            left_out = number not in ours and found.counterpart(number) in theirs
            if parts[number] == "optimizer" and names and left_out:
                yield names


def _unchanged(flow: Flow, block: Execution, graph: Graph, names: set[str]) -> tuple[int, int]:
    """How many of the parameters are the same when the next iteration reads them, of how many."""
    following = block._replace(iteration=block.iteration + 1)
    now, then = (_readings(flow.pairing.target, b, graph, names) for b in (block, following))
    both = now.keys() & then.keys()
    return sum(_same(now[name], then[name]) for name in both), len(both)


def _readings(
    binding: Binding, block: Execution, graph: Graph, names: set[str]
) -> dict[str, TensorRecord]:
    """What operators read of parameters in an execution, by name."""
    result: dict[str, TensorRecord] = {}
    for number, run in binding.runs.get(block, {}).items():
        for slot, operand in enumerate(graph.ops[number].flat_inputs() if number >= 0 else ()):
            name, record = state_name(graph, operand), run.tensors.get(("input", slot))
            if name in names and record is not None and record.source is not None:
                result.setdefault(name, record)
    return result


def _same(a: TensorRecord, b: TensorRecord) -> bool:
    if a.source is None or b.source is None:
        return False
    try:
        return np.array_equal(a.source.array(), b.source.array())
    except FormatError:
        return False
