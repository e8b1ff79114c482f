"""The arithmetic of a simulated device: how one operator is computed of what its unit has loaded.

One function, for the device that runs a graph and for the replay that computes an operator of a dump again.
The device adds faults and its status register around it, the replay what is tried otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple
from workbench.core.dtypes import dtype as dtype_row
from workbench.core.errors import GraphError
from workbench.npu.cube import CUBE
from workbench.npu.ops_info import APPROXIMATIONS, INTEGERS
from workbench.npu.orders.known import NO_ORDERS, Orders
from workbench.npu.rounding import ROUND, saturated, to_integer
from workbench.ops import OPS, run_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.graph.graph import Op

    Array = NDArray[Any]
    F32 = NDArray[np.float32]


class Arithmetic(NamedTuple):
    """How an operator or a kernel of several is computed.

    ``precision`` is ``float64``, ``float32``, or ``cube``: float32, products as the cube unit sums them.
    ``inputs`` and ``output`` are formats of fewer bits that operands and results are rounded to (``""``:
    none), ``accumulator`` is the format of the cube's running sums. ``implementation`` is a key of
    `workbench.npu.ops_info.APPROXIMATIONS`, or exact; ``saturates`` says what overflow does: Inf
    becomes the largest number and NaN 0, in what is loaded, summed and stored. ``flushes`` names operators
    that take subnormal numbers for zero, ``orders`` are those in which sums are known to be computed.
    """

    precision: str = "float64"
    inputs: str = ""
    output: str = ""
    accumulator: str = "float32"
    implementation: str = ""
    saturates: bool = False
    flushes: frozenset[str] = frozenset()
    orders: Orders = NO_ORDERS


EXACT = Arithmetic()

Watch = Callable[[Any, str], None]
"""Is shown the running sums of the cube before they are rounded, and the format."""

REDUCING = frozenset(("AllReduce", "HcomAllReduce", "ReduceScatter", "HcomReduceScatter"))
"""Types that compute, step by step from rank to rank; their kernels take a ``rounding``."""


def compute(
    op: Op,
    loaded: Sequence[Array],
    settings: Mapping[str, Any],
    how: Arithmetic,
    watch: Watch | None = None,
) -> list[Array]:
    """Results of an operator, then what it leaves in its inputs, before they are rounded to their dtypes.

    ``loaded`` are its tensors as the unit has them (`load`), ``settings`` as `workbench.ops.bind` sorts them.
    Raises GraphError for a type without a kernel, and for inputs that do not fit.
    """
    # a measured order is that of the plain accumulator: another one sums otherwise
    if how.accumulator == "float32":
        ordered = how.orders.compute(op.op_type, stored_dtype(op), loaded, settings)
        if ordered is not None:
            return [ordered]
    if how.precision == "cube" and _takes_cube(op, loaded):
        return list(CUBE[op.op_type](loaded, settings, _rounding(how, watch)))
    if op.op_type not in OPS:
        raise GraphError("run/no-kernel", op=op.name, type=op.op_type)
    if op.op_type in REDUCING and how.precision != "float64":

        def rounding(sums: Array) -> Array:
            return store(sums, op.outputs[0].dtype, how.saturates)

        return run_kernel(op.op_type, loaded, settings, rounding=rounding)
    least = _least(op, how)
    tensors = [_flushed(array, least) for array in loaded]
    fast = APPROXIMATIONS.get(how.implementation, {}).get(op.op_type)
    if fast is not None and all(array.dtype.kind == "f" for array in tensors):
        return [_flushed(fast.compute(*tensors), least)]
    return [_flushed(array, least) for array in run_kernel(op.op_type, tensors, settings)]


def stored_dtype(op: Op) -> str:
    """Dtype of an operator's first output; ``""`` if it has none."""
    return op.outputs[0].dtype if op.outputs else ""


def load(array: Array, how: Arithmetic) -> Array:
    """An input as its unit reads it: in the unit's precision, rounded to the format of the inputs.

    Integers, bools and float64 stay. A device that saturates does so here as well: Inf is loaded as the
    largest number and NaN as 0 (CANN on ``INF_NAN_MODE_ENABLE``).
    """
    if array.dtype.kind in "biu" or array.dtype == np.float64:
        return array
    wide = np.float64 if how.precision == "float64" else np.float32
    return round_to(array.astype(wide, copy=False), how.inputs, how.saturates)


def round_to(array: Array, name: str, saturates: bool, *, own: bool = False) -> Array:
    """Round floats to a format of fewer bits (``""``: only saturate); float64 passes through float32.

    ``own``: the array is nobody else's and may be overwritten.
    """
    if array.dtype.kind != "f" or not (name or saturates):
        return array
    narrow = array.astype(np.float32, copy=False)
    rounded = ROUND[name or "float32"](narrow, saturate=saturates, own=own)
    return rounded.astype(array.dtype, copy=False)


def store(array: Array, name: str, saturates: bool) -> Array:
    """Values as a device stores them in the dtype ``name``. Integers always saturate."""
    row = dtype_row(name)
    if row.limit and array.dtype.kind in "fV":  # its storage holds more than the format
        return round_to(array.astype(np.float32, copy=False), name, saturates)
    if row.storage.kind in "iu" and array.dtype.kind in "fiu" and array.dtype != row.storage:
        return to_integer(array, name)
    if saturates and row.is_float and array.dtype.kind == "f":
        array = saturated(array, row.largest)
    return array.astype(row.storage, copy=False)


def _takes_cube(op: Op, loaded: Sequence[Array]) -> bool:
    """Whether the cube unit multiplies these: float32, or integers of 8 bits."""
    kinds = {array.dtype for array in loaded}
    if kinds == {np.dtype(np.float32)}:
        return op.op_type in CUBE
    return op.op_type in INTEGERS and all(k.kind in "iu" and k.itemsize == 1 for k in kinds)


def _rounding(how: Arithmetic, watch: Watch | None) -> Callable[[F32], F32] | None:
    """What follows every block of the cube's sums; ``None`` for those of float32."""
    if how.accumulator == "float32":
        return None

    def rounding(sums: F32) -> F32:
        if watch is not None:
            watch(sums, how.accumulator)
        return ROUND[how.accumulator](sums, saturate=how.saturates, own=False)

    return rounding


def _least(op: Op, how: Arithmetic) -> float:
    """Least magnitude that an operator's instruction does not take for zero."""
    if op.op_type not in how.flushes:
        return 0.0
    specs = op.device_outputs or op.outputs
    name = how.output or (specs[0].dtype if specs else "")
    return 2.0**-14 if name == "float16" else 2.0**-126


def _flushed(array: Array, least: float) -> Array:
    if not least or array.dtype.kind != "f":
        return array
    return np.where(np.abs(array) < least, np.copysign(array.dtype.type(0), array), array)
