"""Faults that show in an operator's results: they change its first output."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import GraphError
from workbench.core.formats import c0_of
from workbench.npu.faults.fault import outstanding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.npu.faults.fault import Fault, OpExecution

    Array = NDArray[Any]


def _with_first(execution: OpExecution, first: Array) -> OpExecution:
    return replace(execution, outputs=(first, *execution.outputs[1:]))


def scaled_output(fault: Fault, execution: OpExecution) -> OpExecution:
    """Multiply every element."""
    factor = 1.01 if fault.strength is None else fault.strength
    first = execution.outputs[0]
    return _with_first(execution, (first.astype(np.float64) * factor).astype(first.dtype))


def wrong_sign(_fault: Fault, execution: OpExecution) -> OpExecution:
    """Negate every element."""
    first = execution.outputs[0]
    return _with_first(execution, ~first if first.dtype.kind == "b" else np.negative(first))


def overwritten_element(fault: Fault, execution: OpExecution) -> OpExecution:
    """Overwrite neighboring elements at a place that the seed chooses."""
    first = execution.outputs[0]
    return _with_first(execution, fault.write(execution.op, first, outstanding(first)))


def nan_output(fault: Fault, execution: OpExecution) -> OpExecution:
    """Write NaN into neighboring elements at a place that the seed chooses."""
    return _with_first(execution, fault.write(execution.op, execution.outputs[0], np.nan))


def bit_flip(fault: Fault, execution: OpExecution) -> OpExecution:
    """Flip one bit of neighboring elements at a place that the seed chooses."""
    first = np.ascontiguousarray(execution.outputs[0]).copy()
    bits = 8 * first.dtype.itemsize
    bit = (0 if first.dtype.kind == "b" else bits - 2) if fault.value is None else fault.value
    if bit not in range(bits):
        raise GraphError(
            "run/fault-bit", fault=fault.kind, dtype=first.dtype, last=bits - 1, got=fault.value
        )
    if first.size:
        words = first.view(f"u{first.dtype.itemsize}").reshape(-1)
        words[fault.run(execution.op, first.size)] ^= words.dtype.type(1 << bit)
    return _with_first(execution, first)


def flush_to_zero(fault: Fault, execution: OpExecution) -> OpExecution:
    """Write zero for every magnitude below the strength."""
    limit = fault.magnitude(2.0**-14)
    first = execution.outputs[0]
    return _with_first(execution, np.where(np.abs(first) < limit, first.dtype.type(0), first))


def saturated_output(fault: Fault, execution: OpExecution) -> OpExecution:
    """Cut every magnitude at the strength."""
    limit = fault.magnitude(65504.0)
    first = execution.outputs[0]
    return _with_first(execution, np.clip(first, -limit, limit).astype(first.dtype))


def wrong_layout_lanes(fault: Fault, execution: OpExecution) -> OpExecution:
    """Exchange lanes of C0 in the device format: channel c of 16 comes from c xor the strength.

    Channels are axis 1 of four and more axes, else the last axis. What comes from the padding of
    the last block is zero.
    """
    first = execution.outputs[0]
    if first.ndim == 0:
        return execution
    axis = 1 if first.ndim > 3 else first.ndim - 1
    lanes = c0_of(first.dtype.name)
    source = np.arange(first.shape[axis]) ^ fault.count(1, lanes - 1)
    inside = source < first.shape[axis]
    read = np.take(first, np.where(inside, source, 0), axis=axis)
    read[(slice(None),) * axis + (~inside,)] = 0
    return _with_first(execution, read)
