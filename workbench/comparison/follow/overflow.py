"""Steps in which both runs overflow: their gradients hold NaN, infinity or saturated numbers, and nobody uses them.

The operator that looks for overflow, in results (``AllFinite``) or in the device's float status, raises its flag
on both sides. What is not finite in the same places there, or saturated where the other device has infinity,
neither agrees nor tells a defect; nor does what is computed from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from workbench.comparison.graphs.phases import is_backward
from workbench.comparison.limits import limits
from workbench.core.dtypes import DTYPES
from workbench.core.errors import FormatError
from workbench.core.words import Message
from workbench.graph.graph import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.comparison.bind.binding import Binding, Execution, OperatorRun
    from workbench.comparison.follow.carry import Carry
    from workbench.comparison.follow.facts import Observation, Scene
    from workbench.comparison.measure.measure import Measured
    from workbench.comparison.pair.pairing import Pairing
    from workbench.core.tensors import TensorRecord

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
