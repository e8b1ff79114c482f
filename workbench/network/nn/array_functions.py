"""Functions that move, choose and count elements, named like ``mindspore.ops``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.network.symbolic import Operators, Tensor, binary, record, record_all
from workbench.ops.definition import TYPE_IDS

if TYPE_CHECKING:
    from collections.abc import Sequence

_INT64 = next(number for number, name in TYPE_IDS.items() if name == "int64")


def squeeze(x: Operators, axis: Any = ()) -> Tensor:
    """Drop axes of size 1; all of them if none are given."""
    return record("Squeeze", x, (axis,) if isinstance(axis, int) else tuple(axis))


def stack(tensors: Sequence[Operators], axis: int = 0) -> Tensor:
    """Join tensors along a new axis."""
    return record("Stack", tuple(tensors), axis=axis, num=len(tensors), N=len(tensors))


def split(x: Operators, output_num: int, axis: int = 0) -> tuple[Tensor, ...]:
    """Equal pieces along an axis."""
    return record_all("Split", x, axis, output_num)


def tile(x: Operators, dims: Sequence[int]) -> Tensor:
    """Repeat every axis."""
    return record("Tile", x, tuple(dims))


def broadcast_to(x: Operators, shape: Sequence[int]) -> Tensor:
    """Stretch axes of size 1; -1 keeps an axis."""
    return record("BroadcastTo", x, tuple(shape))


def flip(x: Operators, dims: Sequence[int]) -> Tensor:
    """Turn axes around."""
    return record("ReverseV2", x, tuple(dims))


def pad(x: Operators, padding: Sequence[int], mode: str = "constant", value: Any = None) -> Tensor:
    """Put elements around; ``padding`` begins with the last axis: (left, right, top, bottom)."""
    filled = (0.0 if value is None else value) if mode == "constant" else None
    return record("PadV3", x, tuple(padding), filled, mode=mode, paddings_contiguous=True)


def one_hot(indices: Operators, depth: int, on_value: Any = 1.0, off_value: Any = 0.0) -> Tensor:
    """Return a vector of ``depth`` elements for every index."""
    values = [
        np.asarray(value, np.float32 if isinstance(value, float) else None)
        for value in (on_value, off_value)
    ]
    return record("OneHot", indices, depth, *values, -1)


def gather_elements(x: Operators, dim: int, index: Any) -> Tensor:
    """Replace every index by the element with that place along an axis."""
    return record("GatherD", x, dim, index)


def gather_nd(x: Operators, indices: Any) -> Tensor:
    """Replace every row of indices by what it names."""
    return record("GatherNd", x, indices)


def select(condition: Operators, x: Any, y: Any) -> Tensor:
    """Return ``x`` where the condition is true, else ``y``."""
    return record("Select", condition, x, y)


def equal(x: Any, y: Any) -> Tensor:
    """Whether elements are equal."""
    return binary("Equal", x, y)


def not_equal(x: Any, y: Any) -> Tensor:
    """Whether elements differ."""
    return binary("NotEqual", x, y)


def greater(x: Any, y: Any) -> Tensor:
    """Whether elements of ``x`` are larger."""
    return binary("Greater", x, y)


def greater_equal(x: Any, y: Any) -> Tensor:
    """Whether elements of ``x`` are not smaller."""
    return binary("GreaterEqual", x, y)


def less(x: Any, y: Any) -> Tensor:
    """Whether elements of ``x`` are smaller."""
    return binary("Less", x, y)


def less_equal(x: Any, y: Any) -> Tensor:
    """Whether elements of ``x`` are not larger."""
    return binary("LessEqual", x, y)


def logical_and(x: Operators, y: Any) -> Tensor:
    """Whether both are true."""
    return record("LogicalAnd", x, y)


def logical_or(x: Operators, y: Any) -> Tensor:
    """Whether one of them is true."""
    return record("LogicalOr", x, y)


def logical_not(x: Operators) -> Tensor:
    """Whether it is false."""
    return record("LogicalNot", x)


def amax(x: Operators, axis: Any = (), keep_dims: bool = False) -> Tensor:
    """Largest element over the axes (none: all)."""
    return record("ReduceMax", x, (axis,) if isinstance(axis, int) else tuple(axis), keep_dims)


def amin(x: Operators, axis: Any = (), keep_dims: bool = False) -> Tensor:
    """Smallest element over the axes (none: all)."""
    return record("ReduceMin", x, (axis,) if isinstance(axis, int) else tuple(axis), keep_dims)


def argmax(x: Operators, axis: int = -1) -> Tensor:
    """Place of the largest element along an axis."""
    return record("Argmax", x, axis, _INT64)


def topk(x: Operators, k: int) -> tuple[Tensor, ...]:
    """Return the ``k`` largest elements of the last axis, and their places."""
    return record_all("TopK", x, k, sorted=True)


def cumsum(x: Operators, axis: int) -> Tensor:
    """Sum of all elements up to each, along an axis."""
    return record("CumSum", x, axis, False, False)
