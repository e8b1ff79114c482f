"""What operators that treat elements or rows alone make of a region that means nothing.

A result is left out only where it depends on nothing else than the same row of what is left out. Of all other
operators nothing is known here: they may have read it.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from workbench.graph.graph import Const
from workbench.ops import FAMILY, FOREIGN, IDENTITY, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Set

    from numpy.typing import NDArray

    from workbench.graph.graph import Op

    Care = NDArray[np.bool_]
    Shape = tuple[int, ...]

_RESHAPES = frozenset(("Reshape", "ReshapeExt", "View", "Flatten", "ExpandDims", "Squeeze"))
_FIRST = (IDENTITY - {"TransData"}) | {"BiasAdd", "PReLU"}
"""Types whose result has the places of their first input, whatever the others are."""

ELEMENTWISE = (
    frozenset(
        name
        for name, family in FAMILY.items()
        if family in ("elementwise", "activation")
        and name not in FOREIGN
        and not name.endswith("Grad")
    )
    - _FIRST
    - {"TransData", "ZerosLike", "OnesLike"}
) | {"Tril", "Triu"}
"""Types of which an element is made of the elements at its place."""

_PRODUCTS = frozenset(
    ("MatMul", "BatchMatMul", "MatMulExt", "Dense", "GroupedMatmul", "GroupedMatmulV4")
)
_TRANSPOSED = ("transpose_a", "transpose_x1", "transpose_x", "adj_x1", "adj_x")
_JOINS = frozenset(("Concat", "ConcatD"))
_PARTS = frozenset(("Split", "SplitD", "SplitV"))
_LAST: dict[str, tuple[str, object]] = {
    "LayerNorm": ("begin_norm_axis", None),
    "Softmax": ("axis", -1),
    "LogSoftmax": ("axis", -1),
}
"""Types that treat rows alone, the setting that says where rows begin, and what it is if nothing is said."""


def spread(op: Op, slot: int, reads: Mapping[int, Care], shape: Shape) -> Care | None:
    """Return which elements of an output count, of the shape given; ``None``: nobody can say.

    ``reads`` says which elements of its inputs count, by slot, of those that are left out in part.
    """
    rule = next((rule for types, rule in _RULES if op.op_type in types), None)
    if rule is None or (slot and op.op_type not in _PARTS):
        return None
    found = rule(op, reads, shape)
    if found is None or found.ndim != len(shape) or not found.any():
        return None
    fits = all(size in (1, whole) for size, whole in zip(found.shape, shape, strict=True))
    return found if fits else None


def _first(op: Op, reads: Mapping[int, Care], shape: Shape) -> Care | None:
    """An element counts if that of the first input does; nothing is known where others are left out in part."""
    return reads.get(0) if len(reads) == 1 else None


def _elementwise(op: Op, reads: Mapping[int, Care], shape: Shape) -> Care | None:
    """An element counts if all that it is made of do; axes are counted from the last one."""
    found = np.ones((1,) * len(shape), np.bool_)
    for care in reads.values():
        if care.ndim > len(shape):
            return None
        found = found & care.reshape((1,) * (len(shape) - care.ndim) + care.shape)
    return found


def _reshaped(op: Op, reads: Mapping[int, Care], shape: Shape) -> Care | None:
    """Axes in front keep their elements in order, if the axes behind hold as many as before."""
    (slot, care), *more = reads.items()
    spec = op.input_specs[slot] if slot < len(op.input_specs) else None
    before = spec.shape if spec is not None else None
    if more or slot != 0 or before is None or len(before) != care.ndim:
        return None
    last = max((axis + 1 for axis, size in enumerate(care.shape) if size > 1), default=0)
    whole = np.broadcast_to(care, (*before[:last], *care.shape[last:]))
    for axis in range(len(shape) + 1):
        if prod(shape[:axis]) == prod(before[:last]):
            return whole.reshape(*shape[:axis], *(1,) * (len(shape) - axis))
    return None


def _transposed(op: Op, reads: Mapping[int, Care], shape: Shape) -> Care | None:
    said = settings(op)
    order = next((said[name] for name in ("dims", "input_perm", "perm") if name in said), None)
    care = reads.get(0)
    if care is None or len(reads) > 1 or not isinstance(order, tuple | list):
        return None
    if sorted(order) != list(range(care.ndim)):
        return None
    return care.transpose(order)


def _product(op: Op, reads: Mapping[int, Care], shape: Shape) -> Care | None:
    """Rows of the left factor make rows of the product."""
    care = reads.get(0)
    if care is None or len(reads) > 1 or any(settings(op).get(name) for name in _TRANSPOSED):
        return None
    return _whole_rows(care)


def _whole_rows(care: Care) -> Care:
    """Rows along the last axis of which every element counts."""
    return np.asarray(care.all(-1, keepdims=True))


def _by_row(op: Op, reads: Mapping[int, Care], shape: Shape) -> Care | None:
    """Each row along the last axis is made of itself."""
    care, (name, default) = _first(op, reads, shape), _LAST[op.op_type]
    axis = settings(op).get(name, default)
    axis = axis[0] if isinstance(axis, tuple | list) and len(axis) == 1 else axis
    if care is None or axis not in (-1, len(shape) - 1):
        return None
    return _whole_rows(care)


def _by_weights(op: Op, reads: Mapping[int, Care], shape: Shape) -> Care | None:
    """A norm over as many axes as its weights have: over the last one."""
    care, weights = _first(op, reads, shape), op.input_specs[1] if len(op.input_specs) > 1 else None
    if care is None or weights is None or weights.shape is None or len(weights.shape) != 1:
        return None
    return _whole_rows(care)


def _along_axis(op: Op, reads: Mapping[int, Care], shape: Shape) -> Care | None:
    """What is joined or cut along an axis by which nothing is left out; all that is joined is left out in part."""
    said = settings(op)
    axis = said.get("axis", said.get("split_dim"))
    if not isinstance(axis, int) or not -len(shape) <= axis < len(shape):
        return None
    joined = sum(1 for one in op.flat_inputs() if not isinstance(one, Const))
    if len(reads) != (joined if op.op_type in _JOINS else 1):
        return None
    found = np.ones((1,) * len(shape), np.bool_)
    for care in reads.values():
        if care.ndim != len(shape) or care.shape[axis] > 1:
            return None
        found = found & care
    return found


_RULES: tuple[tuple[Set[str], Callable[[Op, Mapping[int, Care], Shape], Care | None]], ...] = (
    (_FIRST, _first),
    (ELEMENTWISE, _elementwise),
    (_RESHAPES, _reshaped),
    (frozenset(("Transpose",)), _transposed),
    (_PRODUCTS, _product),
    (_LAST.keys(), _by_row),
    (frozenset(("RmsNorm",)), _by_weights),
    (_JOINS | _PARTS, _along_axis),
)
"""Types of operators, and what they make of what is left out of their inputs. No type is in two rows."""
