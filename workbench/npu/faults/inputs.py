"""Faults of what an operator reads: a weight in memory, or operands on their way to the unit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import GraphError
from workbench.npu.cube import BLOCK
from workbench.npu.faults.fault import outstanding
from workbench.ops import bind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.npu.faults.fault import Fault, OpExecution

    Array = NDArray[Any]


def wrong_weight_element(fault: Fault, execution: OpExecution) -> OpExecution:
    """Change neighboring elements of the operator's weight in the device's memory."""
    (weight,) = execution.inputs
    return replace(execution, inputs=(fault.write(execution.op, weight, outstanding(weight)),))


def transposed_weight(fault: Fault, execution: OpExecution) -> OpExecution:
    """Read the second input as if two of its axes lay the other way round in memory."""
    left, weight, *rest = execution.inputs
    axes = fault.value if fault.value is not None else _last_two(weight.shape)
    try:
        first, second = (int(axis) for axis in axes)
        shape = list(weight.shape)
        if first % len(shape) == second % len(shape):
            raise ValueError  # noqa: TRY301 - the same error as for any other pair that is none
        shape[first], shape[second] = shape[second], shape[first]
    except (TypeError, ValueError, IndexError):
        raise GraphError("run/fault-axes", fault=fault.kind, shape=weight.shape, got=axes) from None
    read = np.ascontiguousarray(weight).reshape(shape).swapaxes(first, second)
    return replace(execution, inputs=(left, np.ascontiguousarray(read), *rest))


def _last_two(shape: tuple[int, ...]) -> tuple[int, int]:
    """Return the last two axes that have more than one place, or the last two of all."""
    wide = [axis for axis, size in enumerate(shape) if size > 1]
    first, second = (wide if len(wide) > 1 else range(len(shape)))[-2:]
    return first, second


def dropped_k_tail(fault: Fault, execution: OpExecution) -> OpExecution:
    """Leave the last blocks of the inner dimension out of the sums."""
    left, right = execution.inputs
    settings = bind(execution.op).settings
    if execution.op.op_type == "Conv2D":
        return replace(execution, inputs=(left, _without_tail(right, fault)))
    rows = np.moveaxis(left, -2 if settings["transpose_a"] else -1, 0).copy()
    columns = np.moveaxis(right, -1 if settings["transpose_b"] else -2, 0).copy()
    inner = rows.shape[0]
    start = _kept(inner, fault)
    rows[start:] = 0  # both, so that an Inf in one of them does not come back as NaN
    columns[start:] = 0
    left = np.moveaxis(rows, 0, -2 if settings["transpose_a"] else -1)
    right = np.moveaxis(columns, 0, -1 if settings["transpose_b"] else -2)
    return replace(execution, inputs=(left, right))


def _kept(inner: int, fault: Fault) -> int:
    """Return how much of an inner dimension is summed: all but the last blocks of 16."""
    blocks = -(-inner // BLOCK)
    return max(blocks - fault.count(1, blocks), 0) * BLOCK


def _without_tail(weight: Array, fault: Fault) -> Array:
    """Zeros in the last blocks of a kernel: 16 channels at one of its elements each."""
    depth, taps = weight.shape[1], weight.shape[2] * weight.shape[3]
    kept = weight.reshape(*weight.shape[:2], taps).copy()
    groups = -(-depth // BLOCK)
    for block in range(groups * taps)[-fault.count(1, groups * taps) :]:
        channel = block // taps * BLOCK
        kept[:, channel : channel + BLOCK, block % taps] = 0
    return kept.reshape(weight.shape)
