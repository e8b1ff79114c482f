"""Steps in which both runs overflow: their gradients hold NaN, infinity or saturated numbers, and nobody uses them.

The operator that looks for overflow, in results (``AllFinite``) or in the device's float status, raises its flag
on both sides. What is not finite in the same places there, or saturated where the other device has infinity,
neither agrees nor tells a defect; nor does what is computed from it.

Where NaN or infinity begin, one dump shows by itself: an operator reads finite numbers and gives others. So an
operator without a counterpart, as a cast that only one side has, is judged on its own tensors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from workbench.comparison.align.differences import Difference
from workbench.comparison.follow.naming import NOBODY, Named
from workbench.comparison.graphs.phases import is_backward
from workbench.comparison.limits import limits
from workbench.core.dtypes import DTYPES
from workbench.core.errors import FormatError
from workbench.core.words import Message
from workbench.graph.nodes import Value
from workbench.graph.traits import IDENTITY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from workbench.comparison.bind.binding import Binding, Execution, OperatorRun
    from workbench.comparison.follow.carry import Carry
    from workbench.comparison.follow.facts import Observation, Scene
    from workbench.comparison.measure.measure import Measured
    from workbench.comparison.pair.pairing import Pairing
    from workbench.core.tensors import TensorRecord
    from workbench.graph.nodes import Graph, Op

OVERFLOWED = Message("compare/both-overflow")
"""Why tensors of such a step are not comparable."""


def is_overflowed(scene: Scene, seen: Observation, carry: Carry) -> bool:
    """Whether an operator's results are those of an overflow that both runs have, or come of one."""
    if scene.block not in scene.survey.overflowing:
        return False
    op = scene.graph.ops[seen.op]
    sources = {operand.op for operand in op.flat_inputs() if isinstance(operand, Value)}
    if any((scene.block, number) in carry.overflowed for number in sources):
        return True
    if seen.tainted or seen.worst is None or not is_backward(op):
        return False
    return _alike(seen.worst)


def _alike(item: Measured) -> bool:
    """Whether what is not finite is so on both sides, or saturated on one."""
    metrics, apart = item.divergence.metrics, item.divergence.mismatch
    if not apart or not metrics:
        return False
    if metrics.get("TargetNaN") == metrics.get("GoldenNaN") == apart:
        return True
    sides = ((item.pair.target, "Target", "Golden"), (item.pair.golden, "Golden", "Target"))
    return any(
        not _not_finite(metrics, own)
        and _not_finite(metrics, other) == apart
        and _is_saturated(record, metrics, own)
        for record, own, other in sides
    )


def _not_finite(metrics: Mapping[str, float], side: str) -> float:
    return sum(metrics.get(f"{side}{kind}", 0.0) for kind in ("NaN", "PosInf", "NegInf"))


def _is_saturated(record: TensorRecord, metrics: Mapping[str, float], side: str) -> bool:
    """Whether elements are at the end of the tensor's number format."""
    try:
        spec = record.spec
    except FormatError:
        return False
    found = DTYPES.get(spec.dtype)
    extremes = [abs(metrics.get(f"{side}{end}", 0.0)) for end in ("Min", "Max")]
    return found is not None and found.is_float and max(extremes) >= found.largest


FLAGS = frozenset(("AllFinite", "FloatStatus", "NPUGetFloatStatus", "NPUGetFloatStatusV2"))
"""Types whose result is not 0 after an overflow."""


def flag_of(binding: Binding, block: Execution) -> OperatorRun | None:
    """Return the operator that raised its flag in an execution."""
    for run in binding.runs.get(block, {}).values():
        record = run.tensors.get(("output", 0))
        if run.op_type in FLAGS and record is not None and _is_up(record):
            return run
    return None


def _is_up(record: TensorRecord) -> bool:
    try:
        if record.source is None or (record.source.spec().size or 0) > limits().flag_largest:
            return False
        return bool(np.any(record.source.array() != 0))
    except FormatError:
        return False


def both_overflow(pairing: Pairing) -> list[Execution]:
    """Return the target's executions in which both sides raise their flags."""
    return [
        block
        for block in pairing.block_order
        if flag_of(pairing.target, block) and flag_of(pairing.golden, pairing.blocks[block])
    ]


# --- where NaN and infinity begin --------------------------------------------------------------

_WAY = 64
"""Operators that are looked at between two that were compared."""


def born_between(scene: Scene, number: int, unobserved: Iterable[int]) -> Named:
    """Name the operator that makes NaN or infinity of finite numbers before, or at, one that shows them.

    ``unobserved`` are the target's operators before it that were not compared. It is named itself if its own output
    was not compared either, or if one of the golden's operators does it.
    """
    binding, ops = scene.survey.pairing.target, scene.graph.ops
    alone = (number,) if ("output", 0) not in scene.measured(number) else ()
    for one in (*sorted(unobserved)[-_WAY:], *alone):
        said = _birth(binding, scene.graph, scene.block, one, "compare/born-non-finite")
        if said is not None:
            return Named(one, (Difference("non-finite", ops[one].name, said),))
    found, block = scene.found, scene.survey.pairing.blocks.get(scene.block)
    if found is None or block is None or number not in found.match_of:
        return NOBODY
    golden, graph = scene.survey.pairing.golden, found.golden.graph
    for one in _uncompared_before(graph, found.match_of[number], found.matched_golden):
        said = _birth(golden, graph, block, one, "compare/born-in-golden")
        if said is not None:
            return Named(number, (Difference("non-finite", graph.ops[one].name, said),))
    return NOBODY


def _uncompared_before(graph: Graph, number: int, matched: frozenset[int]) -> Iterator[int]:
    """Operators of the golden without a counterpart that feed one of its operators, the nearest first."""
    waiting, seen = [number], {number}
    while waiting and len(seen) < _WAY:
        for operand in graph.ops[waiting.pop(0)].flat_inputs():
            before = operand.op if isinstance(operand, Value) else -1
            if before < 0 or before in seen:
                continue
            if before not in matched or graph.ops[before].op_type in IDENTITY:
                seen.add(before)
                waiting.append(before)
                yield before


def _birth(
    binding: Binding, graph: Graph, block: Execution, number: int, code: str
) -> Message | None:
    """Say that an operator reads finite numbers alone and gives others; ``None`` if it does not, or nobody knows."""
    runs = binding.runs.get(block, {})
    run, op = runs.get(number), graph.ops[number]
    given = run.tensors.get(("output", 0)) if run is not None else None
    if run is None or given is None or id(given) in binding.oddities:
        return None
    read = [_read(runs, run, op, slot) for slot, _ in enumerate(op.flat_inputs())]
    known = [one for one in read if one is not None and id(one) not in binding.oddities]
    if not known or len(known) != len(read):
        return None
    count = _extent(given)[0]
    extents = [_extent(one) for one in known]
    if not count or any(bad or not whole for bad, _, whole in extents):
        return None
    largest = max(most for _, most, _ in extents)
    return Message(code, name=op.name, op_type=op.op_type, count=count, largest=largest)


def _read(
    runs: Mapping[int, OperatorRun], run: OperatorRun, op: Op, slot: int
) -> TensorRecord | None:
    """What an operator read in a slot: as it was dumped there, else as its producer gave it."""
    own, operand = run.tensors.get(("input", slot)), op.operand(slot)
    if own is not None or not isinstance(operand, Value):
        return own
    before = runs.get(operand.op)
    return before.tensors.get(("output", operand.slot)) if before is not None else None


def _extent(record: TensorRecord) -> tuple[int, float, bool]:
    """How many elements are NaN or infinite, the largest magnitude of the others, and whether that is known."""
    try:
        if record.source is None:
            return 0, 0.0, False
        array = record.source.array()
        numbers = array.astype(np.float64)
    except (FormatError, TypeError, ValueError):
        return 0, 0.0, False
    finite = np.isfinite(numbers)
    most = float(np.abs(numbers[finite]).max()) if finite.any() else 0.0
    return int(numbers.size - np.count_nonzero(finite)), most, True
