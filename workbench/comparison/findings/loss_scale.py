"""Scaled losses: gradients that are too small for their number format, or too large, and skipped steps.

Too small a scale shows in the data: where the golden's gradients lie below the least number of the format,
the target has zeros, and no element is off by more than that. Too large a scale shows in the graph: the operator
that looks for overflow, in results (``AllFinite``) or in the device's float status, raises its flag, and
what updates parameters did not run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from workbench.comparison.finding_kinds import KINDS
from workbench.comparison.findings.evidence import named_iterations
from workbench.comparison.findings.material import Place, finding, order_of
from workbench.comparison.follow.overflow import FLAGS, flag_of
from workbench.comparison.graphs.phases import is_backward, phases
from workbench.comparison.graphs.roles import state_name, updates
from workbench.core.errors import FormatError
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workbench.comparison.bind.binding import Binding, Execution, OperatorRun
    from workbench.comparison.findings.material import Found, Material
    from workbench.comparison.follow.trace import Trace
    from workbench.comparison.measure.measure import Measured
    from workbench.comparison.pair.pairing import Pairing
    from workbench.core.tensors import TensorRecord
    from workbench.graph.graph import Graph, Op


def underflows(found: Sequence[Found], material: Material) -> list[Found]:
    """Name the own errors of gradients whose elements are too small for the target's format."""
    return [_underflow(one, material.flow) for one in found]


def _underflow(one: Found, flow: Trace) -> Found:
    event = one.event
    graph = flow.pairing.target.graph(event.block) if event is not None else None
    if one.finding.kind != "own-error" or event is None or graph is None or event.op < 0:
        return one
    op = graph.ops[event.op]
    if event.worst is None or not is_backward(op):
        return one
    said = _too_small(op, event.worst)
    return one if said is None else one.renamed("underflow", (said, *one.finding.evidence))


def overflows(found: Sequence[Found], material: Material) -> list[Found]:
    """Name the first finding of the first overflow of one side by it, or tell of its flag alone."""
    pairing, result = material.pairing, list(found)
    for ours, blocks in _overflows(pairing).items():
        # devices that saturate ask for their status where others look at results: no cause of its own
        result = [
            one
            for one in result
            if one.finding.kind != "structure" or one.finding.op_type not in FLAGS
        ]
        said = tuple(_overflow_said(pairing, blocks, ours=ours))
        number = next((n for n, one in enumerate(result) if ours and _is_of(one, blocks[0])), None)
        if number is not None:
            named = result[number]
            result[number] = named.renamed("overflow", (*said, *named.finding.evidence))
        elif ours or not any(one.defect for one in result):
            place = _place_of_flag(pairing, blocks[0], ours=ours)
            result.append(finding("overflow", place, said))
    return result


def _is_of(one: Found, block: Execution) -> bool:
    """Whether a finding may be what overflowed in an execution: an error without a name."""
    event = one.event
    unnamed = one.finding.kind in ("non-finite", "own-error")
    return unnamed and event is not None and event.op >= 0 and event.block == block


def both_overflow(material: Material) -> Iterator[Found]:
    """Tell of the steps in which both sides overflow: no difference between them, but no training either."""
    pairing = material.pairing
    blocks = [block for block in pairing.block_order if block in material.flow.overflowing]
    if not blocks:
        return
    ours, theirs = (
        f"{run.op_type} {run.op_name}" for run in _flags(pairing, blocks[0]) if run is not None
    )
    steps = named_iterations(block.iteration for block in blocks)
    said = Message("compare/overflow-both", iterations=steps, target=ours)
    if ours != theirs:
        said = Message("compare/overflow-both-apart", iterations=steps, target=ours, golden=theirs)
    place, advice = _place_of_flag(pairing, blocks[0], ours=True), KINDS["overflow"].advice
    yield finding("info", place, (said,), advice=advice)


def _flags(pairing: Pairing, block: Execution) -> tuple[OperatorRun | None, OperatorRun | None]:
    """What raised its flag in an execution: of the target, of the golden."""
    return (
        flag_of(pairing.target, block),
        flag_of(pairing.golden, pairing.blocks[block]),
    )


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


def _overflows(pairing: Pairing) -> dict[bool, list[Execution]]:
    """Executions of the target in which one side alone raised its flag: the target (``True``) or the golden."""
    found: dict[bool, list[Execution]] = {}
    for block in pairing.block_order:
        ours, theirs = _flags(pairing, block)
        if (ours is None) != (theirs is None):
            found.setdefault(ours is not None, []).append(block)
    return found


def _place_of_flag(pairing: Pairing, block: Execution, *, ours: bool) -> Place:
    """Place of the operator that raised its flag; the golden's stands at the beginning of the execution."""
    run = _flags(pairing, block)[not ours]
    assert run is not None  # it was found raised
    number = run.op if ours else -1
    return Place(
        run.op_name, run.op_type, block.graph_id, block.iteration, block.rank,
        frames=pairing.frames(block.graph_key, number), order=order_of(pairing, block, max(number, 0)),
        execution=block, op=number,
    )  # fmt: skip


def _overflow_said(pairing: Pairing, blocks: list[Execution], *, ours: bool) -> Iterator[Message]:
    run = _flags(pairing, blocks[0])[not ours]
    assert run is not None  # it was found raised
    side = "target" if ours else "golden"
    steps = named_iterations(block.iteration for block in blocks)
    flag = f"{run.op_type} {run.op_name}"
    yield Message("compare/overflow", flag=flag, iterations=steps, side=side)
    if ours:
        yield from _skipped(pairing, blocks[0])


def _skipped(pairing: Pairing, block: Execution) -> Iterator[Message]:
    """Whether the step was skipped: updates that did not run, and parameters that stay as they were."""
    graph = pairing.target.graph(block)
    if graph is None:
        return
    missing = list(_left_out(pairing, block))
    if not missing:
        return
    unchanged, known = _unchanged(pairing, block, graph, set().union(*missing))
    if not known:
        yield Message("compare/step-skipped", count=len(missing))
        return
    code = "compare/step-skipped-unchanged"
    yield Message(code, count=len(missing), unchanged=unchanged, known=known)


def _left_out(pairing: Pairing, block: Execution) -> Iterator[set[str]]:
    """Parameters of every operator of the optimizer that ran in the golden alone.

    MindSpore runs an optimizer that may be left out in a graph of its own.
    """
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


def _unchanged(
    pairing: Pairing, block: Execution, graph: Graph, names: set[str]
) -> tuple[int, int]:
    """How many of the parameters are the same when the next iteration reads them, of how many."""
    following = block._replace(iteration=block.iteration + 1)
    now, then = (_readings(pairing.target, b, graph, names) for b in (block, following))
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
