"""Constant operands as arrays: what a run reads of them and what is dumped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.dtypes import DTYPES
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Const, Param, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from workbench.graph.graph import Op, Operand, Parameter

    Array = NDArray[Any]


def constant(operand: Const) -> Array | None:
    """Array that a constant is dumped as; ``None`` for text and what is no number."""
    array = _literal(operand)
    if array is None or operand.dtype not in DTYPES or operand.shape is None:
        return array
    return array.reshape(operand.shape) if array.size > 1 else np.full(operand.shape, array)


def literal(operand: Operand) -> Array:
    """Array of a constant that must have one; raises GraphError for any other operand."""
    array = constant(operand) if isinstance(operand, Const) else None
    if array is None:
        raise GraphError("run/no-constant", got=operand)
    return array


def constant_spec(operand: Const) -> TensorSpec | None:
    """Spec of what `constant` gives, without making it.

    A tensor too large to be printed, of which a file shows dtype and shape alone, has a spec too.
    """
    row = DTYPES.get(operand.dtype)
    if row is not None and operand.shape is not None and isinstance(operand.value, str):
        return TensorSpec(row.storage.name, operand.shape)
    array = _literal(operand)
    if array is None:
        return None
    stated = operand.shape if row is not None else None
    return TensorSpec(array.dtype.name, array.shape if stated is None else stated)


def operand_spec(
    operand: Operand, ops: Sequence[Op], parameters: Sequence[Parameter]
) -> TensorSpec | None:
    """Spec of an operand, as far as operators and parameters state it; ``None`` where they do not."""
    if isinstance(operand, Value):
        specs = ops[operand.op].outputs
        return specs[operand.slot] if operand.slot < len(specs) else None
    if isinstance(operand, Param):
        return parameters[operand.index].spec
    return constant_spec(operand) if isinstance(operand, Const) else None


def _literal(operand: Const) -> Array | None:
    """Values of a constant as they are written down, in their dtype; the shape may still differ."""
    value = operand.value
    if isinstance(value, str) or value is None:
        return None
    row = DTYPES.get(operand.dtype)
    try:
        with np.errstate(all="ignore"):  # a number beyond its dtype is Inf there
            array = np.asarray(value, row.storage if row else None)
    except (TypeError, ValueError, OverflowError):
        return None
    if row is None and array.size == 0:
        array = array.astype(np.int64)
    return array if array.dtype.kind in "biufV" else None
