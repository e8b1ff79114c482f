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

from workbench.compare.carried import state_name, updates
from workbench.compare.finding_kinds import ADVICE, CERTAINTY, NAMED
from workbench.compare.flags import FLAGS, flag_of
from workbench.compare.phases import is_backward, phases
from workbench.compare.result import Finding
from workbench.core.errors import FormatError
from workbench.core.text import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from workbench.compare.binding import Binding, Block
    from workbench.compare.flow import Flow
    from workbench.compare.measuring import Measured
    from workbench.core.tensors import TensorRecord
    from workbench.graph.nodes import Graph, Op


def name_scaling(findings: Iterable[Finding], flow: Flow) -> list[Finding]:
    """Return the findings, those that the loss scale explains named so; named ones come first."""
    found = [_underflow(finding, flow) for finding in findings]
    for ours, blocks in _overflows(flow).items():
        found = _overflow(found, flow, blocks, ours=ours)
    found += _both(flow)
    defects = sorted((f for f in found if f.defect), key=lambda f: (f.score < NAMED, f.order))
    return [*defects, *(f for f in found if not f.defect)]


def _event_at(finding: Finding, flow: Flow) -> tuple[Block, int] | None:
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
    text = _too_small(op, worst)
    if not text:
        return finding
    return _renamed(finding, "underflow", (text,))


def _too_small(op: Op, item: Measured) -> str:
    """Say how many elements became zero if nothing else is wrong with the tensor; else nothing."""
    metrics, least = item.divergence.metrics, _least(item.pair.target)
    counted = "TargetZero" in metrics  # statistics count no zeros
    if not counted or not least or item.divergence.mismatch:
        return ""
    gained = int(metrics["TargetZero"] - metrics["GoldenZero"])
    if gained <= 0 or not metrics["MaxAbsoluteError"] <= 2 * least:
        return ""
    zeros, size, golden = int(metrics["TargetZero"]), item.divergence.size, metrics["GoldenZero"]
    return (
        f"gradients of {op.name} flushed to zero: {zeros} of {size} elements, in the golden "
        f"{int(golden)}; float16 has no number below {least:.2g}"
    )


def _least(record: TensorRecord) -> float:
    """Least magnitude of a tensor's format, if gradients get there; else 0."""
    try:
        spec = record.label if record.source is None else record.source.spec()
    except FormatError:
        return 0.0
    return 2.0**-24 if spec.dtype == "float16" else 0.0


def _renamed(finding: Finding, kind: str, texts: tuple[str, ...]) -> Finding:
    return replace(
        finding, kind=kind, score=CERTAINTY[kind], advice=ADVICE[kind],
        evidence=(*texts, *finding.evidence),
    )  # fmt: skip


def _overflows(flow: Flow) -> dict[bool, list[Block]]:
    """Blocks of the target in which one side alone raised its flag: the target (``True``) or the golden."""
    found: dict[bool, list[Block]] = {}
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
    text = f"both runs overflow in {_steps(blocks)}: {ours} raises its flag"
    text += f", {theirs} that of the golden" * (ours != theirs)
    finding = _at_the_flag(flow, blocks[0], (text,), ours=True)
    yield replace(finding, kind="info", score=CERTAINTY["info"])


def _steps(blocks: Sequence[Block]) -> str:
    numbers = sorted({block.iteration for block in blocks})
    shown = ", ".join(map(str, numbers[:8]))
    return f"iteration{'s' * (len(numbers) > 1)} {shown}{' …' * (len(numbers) > 8)}"


def _overflow(
    findings: list[Finding], flow: Flow, blocks: list[Block], *, ours: bool
) -> list[Finding]:
    """Name the first finding of the first overflow by it, or tell of the flag alone."""
    first = blocks[0]
    texts = tuple(_overflow_texts(flow, blocks, ours=ours))
    # devices that saturate ask for their status where others look at results: no cause of its own
    findings = [f for f in findings if f.kind != "structure" or f.op_type not in FLAGS]
    for place, finding in enumerate(findings if ours else ()):
        at = _event_at(finding, flow)
        if finding.kind in ("non-finite", "own-error") and at is not None and at[0] == first:
            named = _renamed(finding, "overflow", texts)
            return [*findings[:place], named, *findings[place + 1 :]]
    if not ours and any(finding.defect for finding in findings):
        return findings
    return [*findings, _at_the_flag(flow, first, texts, ours=ours)]


def _at_the_flag(flow: Flow, block: Block, texts: tuple[str, ...], *, ours: bool) -> Finding:
    pairing = flow.pairing
    run = flag_of(
        pairing.target if ours else pairing.golden, block if ours else pairing.blocks[block]
    )
    number = run.op if run is not None and ours else -1
    order = (pairing.block_order.index(block) << 24) + max(number, 0)
    name, kind = (run.op_name, run.op_type) if run is not None else ("", "")
    return Finding(
        "overflow", name, kind, block.graph_id, block.iteration, "output", 0, CERTAINTY["overflow"],
        None, None, None, texts, ADVICE["overflow"],
        pairing.frame((block.rank, block.graph_id), number), order, block.rank,
    )  # fmt: skip


def _overflow_texts(flow: Flow, blocks: list[Block], *, ours: bool) -> Iterator[str]:
    pairing = flow.pairing
    side, other = ("target", "golden") if ours else ("golden", "target")
    first = blocks[0]
    run = flag_of(getattr(pairing, side), first if ours else pairing.blocks[first])
    name = f"{run.op_type} {run.op_name}" if run is not None else "the flag"
    yield f"a gradient overflows: {name} raises its flag in {_steps(blocks)} of the {side}, not of the {other}"
    if ours:
        yield from _skipped(flow, first)


def _skipped(flow: Flow, block: Block) -> Iterator[str]:
    """Whether the step was skipped: updates that did not run, and parameters that stay as they were."""
    graph = flow.pairing.target.graph(block)
    if graph is None:
        return
    missing = list(_left_out(flow, block))
    if not missing:
        return
    text = f"the step is skipped: {plural(len(missing), 'operator')} that should update parameters did not run"
    unchanged, known = _unchanged(flow, block, graph, set().union(*missing))
    if known:
        text += f", and {unchanged} of {known} parameters are the same in the next iteration"
    yield text


def _left_out(flow: Flow, block: Block) -> Iterator[set[str]]:
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


def _unchanged(flow: Flow, block: Block, graph: Graph, names: set[str]) -> tuple[int, int]:
    """How many of the parameters are the same when the next iteration reads them, of how many."""
    following = block._replace(iteration=block.iteration + 1)
    now, then = (_readings(flow.pairing.target, b, graph, names) for b in (block, following))
    both = now.keys() & then.keys()
    return sum(_same(now[name], then[name]) for name in both), len(both)


def _readings(
    binding: Binding, block: Block, graph: Graph, names: set[str]
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
