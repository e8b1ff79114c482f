"""Faults of writing to memory: past the end, not at all, or not to the end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.ops import op_def

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.graph.graph import Op
    from workbench.npu.faults.fault import Fault, OpExecution

    Array = NDArray[Any]

_SIDE = 16  # rows and columns of a tile that the cube unit writes
_REPEAT = 256  # bytes that one step of the vector unit writes


def overrun(fault: Fault, execution: OpExecution) -> OpExecution:
    """Write on behind the end of the first output, over whatever lies there.

    What is written is the output once more, from its beginning, as by a loop that runs too long.
    """
    first, count = execution.outputs[0], min(reach(fault, execution.gap), execution.room)
    if fault.value is not None:
        with np.errstate(all="ignore"):
            first = np.full(1, fault.number(0.0)).astype(first.dtype)
    pattern = np.ascontiguousarray(first).tobytes() or b"\0"
    return replace(execution, past=(pattern * (count // len(pattern) + 1))[:count])


def reach(fault: Fault, gap: int) -> int:
    """Return how many bytes an overrun writes behind its end; a needed tensor begins after ``gap``."""
    return fault.count(max(gap, 0) + _REPEAT, 1 << 40)


def stale_output(_fault: Fault, execution: OpExecution) -> OpExecution:
    """Write nothing: whoever reads the outputs finds what lay there before."""
    return replace(execution, outputs=execution.before, writes=False)


def unwritten_tail_tile(fault: Fault, execution: OpExecution) -> OpExecution:
    """Leave the last tile of the output as memory was before, or as the value says.

    Of a cube operator it is the last 16 rows and columns, or what is beyond the last full ones; a
    convolution's columns are its channels and its rows their places. The vector unit writes 256
    bytes at a time.
    """
    first = execution.outputs[0].copy(order="C")
    left = execution.before[0]
    if fault.value is not None:
        left = np.full_like(first, np.float64(fault.number(0.0)).astype(first.dtype))
    _tail(execution.op, first)[...] = _tail(execution.op, np.ascontiguousarray(left))
    return replace(execution, outputs=(first, *execution.outputs[1:]))


def _tail(op: Op, array: Array) -> Array:
    """View of the last tile of an output in one piece."""
    if op_def(op.op_type).engine == "cube" and array.ndim >= 2:
        matrices = array.reshape(*array.shape[:2], -1) if array.ndim > 3 else array
        rows, columns = (-(-size // _SIDE) - 1 for size in matrices.shape[-2:])
        last = matrices.reshape(-1, *matrices.shape[-2:])[-1:]
        return last[:, rows * _SIDE :, columns * _SIDE :]
    step = _REPEAT // array.dtype.itemsize
    return array.reshape(-1)[max(-(-array.size // step) - 1, 0) * step :]
