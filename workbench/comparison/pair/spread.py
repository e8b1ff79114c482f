"""What operators that treat elements or rows alone make of a region that means nothing.

A result is left out only where it depends on nothing else than the same row of what is left out. Of all other
operators nothing is known here: they may have read it.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from workbench.graph.table.elementwise import ELEMENTWISE
from workbench.graph.traits import IDENTITY, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from workbench.graph.nodes import Op

    Care = NDArray[np.bool_]
    Shape = tuple[int, ...]

_RESHAPES = frozenset(("Reshape", "ReshapeExt", "View", "Flatten", "ExpandDims", "Squeeze"))
_ROWS = frozenset(("LayerNorm", "LayerNormExt", "LayerNormV3", "RmsNorm", "Softmax", "LogSoftmax"))
_PRODUCTS = frozenset(("MatMul", "BatchMatMul", "MatMulExt", "Dense"))
_CONSTANT = frozenset(("ZerosLike", "OnesLike"))
"""Types that read nothing but a shape."""

_TRANSPOSED = ("transpose_a", "transpose_x1")
_AXES = ("axis", "begin_norm_axis", "begin_params_axis")


def spread(op: Op, reads: Mapping[int, Care], shape: Shape) -> Care | None:
    """Return which elements of an operator's first output count, of the shape given; ``None``: nobody can say.

    ``reads`` says which elements of its inputs count, by slot, of those that are left out in part.
    """
    rule = next((rule for types, rule in _RULES if op.op_type in types), None)
    found = rule(op, reads, shape) if rule is not None else None
    if found is None or found.ndim != len(shape) or not found.any():
        return None
    fits = all(size in (1, whole) for size, whole in zip(found.shape, shape, strict=True))
    return found if fits else None


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
    care = reads.get(0)
    if care is None or len(reads) > 1 or care.ndim != len(shape):
        return None
    said = [settings(op)[name] for name in _AXES if name in settings(op)]
    last = {-1, len(shape) - 1, (-1,), (len(shape) - 1,)}
    if any(axis not in last for axis in said):
        return None
    return _whole_rows(care)


_RULES: tuple[
    tuple[frozenset[str], Callable[[Op, Mapping[int, Care], Shape], Care | None]], ...
] = (
    ((IDENTITY | ELEMENTWISE.keys()) - _CONSTANT, _elementwise),
    (_RESHAPES, _reshaped),
    (frozenset(("Transpose",)), _transposed),
    (_PRODUCTS, _product),
    (_ROWS, _by_row),
)
"""Types of operators, and what they make of what is left out of their inputs. No type is in two rows."""
