"""The pieces of joining: who holds which part, parts put together again, and parts of sums added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import AlignError
from workbench.scale.layouts.grammar import SINGLE, ZIGZAG
from workbench.scale.layouts.placing import lay_zigzag, stretched, unstretched
from workbench.scale.layouts.steps import ranks_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from workbench.scale.layouts.grammar import Cut, TensorLayout
    from workbench.scale.layouts.placing import Cell, Placing

    Array = NDArray[Any]

_ROUNDOFF = {"bfloat16": 2.0**-8, "float16": 2.0**-11, "float32": 2.0**-24, "float64": 2.0**-53}
"""Unit roundoff of a type."""


def check_shapes(shards: Mapping[int, Array], layout: TensorLayout) -> None:
    """Refuse no shards, those of other dimensions than the layout, and those of different types."""
    if not shards:
        raise AlignError("layouts/no-shards")
    for rank, array in shards.items():
        if array.ndim != len(layout.dims):
            raise AlignError(
                "layouts/dims",
                layout=str(layout),
                dims=len(layout.dims),
                rank=rank,
                got=array.shape,
            )
    types = sorted({array.dtype.name for array in shards.values()})
    if len(types) > 1:
        raise AlignError("layouts/types", got=types)


def ranks_of_cells(shards: Mapping[int, Array], placing: Placing) -> dict[Cell, list[int]]:
    """Return who holds each part; raises AlignError for one that nobody does, or that has several shapes."""
    found: dict[Cell, list[int]] = {cell: [] for cell in placing.cells}
    for rank in sorted(shards):
        found[placing.cell(rank)].append(rank)
    for cell, ranks in found.items():
        if not ranks:
            where = dict(zip(placing.cut_axes, cell, strict=True))
            raise AlignError("layouts/part-missing", where=where, got=ranks_text([*shards]))
        shapes = sorted({shards[rank].shape for rank in ranks})
        if len(shapes) > 1:
            raise AlignError("layouts/replica-shapes", ranks=ranks, got=shapes)
    return found


def grouped(parts: Mapping[Cell, Array]) -> dict[Cell, list[Array]]:
    """Put the parts together that differ in the last axis alone, in its order."""
    found: dict[Cell, list[Array]] = {}
    for cell in sorted(parts):
        found.setdefault(cell[:-1], []).append(parts[cell])
    return found


def put_together(group: list[Array], number: int, axis: str, cut: Cut) -> Array:
    """Concatenate the parts of a cut, and undo its order."""
    rest = {one.shape[:number] + one.shape[number + 1 :] for one in group}
    if len(rest) > 1:
        raise AlignError("layouts/part-shapes", axis=axis, got=[one.shape for one in group])
    if cut.each == 1:
        whole = np.concatenate(group, axis=number)
    else:
        stretches = [stretched(one, number, cut.each) for one in group]
        whole = unstretched(np.concatenate(stretches, axis=number + 1), number)
    if cut.order != ZIGZAG:
        return whole
    return lay_zigzag(whole, number, len(group), undo=True, each=cut.each)


def add_parts(parts: list[Array], *, mean: bool = False) -> Array:
    """Add parts of a sum in order, or take their mean: floats in float32 at least, rounded to their type once."""
    kind = parts[0].dtype
    if len({one.shape for one in parts}) > 1:
        raise AlignError("layouts/sum-shapes", got=[one.shape for one in parts])
    wide = np.dtype(np.float32) if kind.kind == "f" and kind.itemsize < 4 else kind
    total = parts[0].astype(wide)
    with np.errstate(all="ignore"):
        for part in parts[1:]:
            total = total + part.astype(wide, copy=False)
        total = total / len(parts) if mean else total
        return total.astype(kind, copy=False)


def undo_cut(parts: Mapping[Cell, Array], number: int, axis: str, cut: Cut) -> dict[Cell, Array]:
    """Undo the innermost cut of parts: add what ranks hold parts of, concatenate else; divide where a mean is meant."""
    groups = grouped(parts)
    if cut.partial:
        found = {cell: add_parts(group, mean=cut.mean) for cell, group in groups.items()}
    else:
        found = {cell: put_together(g, number, axis, cut) for cell, g in groups.items()}
    if not cut.mean or cut.partial:
        return found
    ranks = len(next(iter(groups.values())))
    return {cell: (one / ranks).astype(one.dtype, copy=False) for cell, one in found.items()}


def sum_bound(parts: list[Array], dtype: str) -> float:
    """Return how far another order of adding may move an element: (n - 1) · u · max Σ|xᵢ|."""
    unit = _ROUNDOFF.get(dtype or parts[0].dtype.name, 0.0)
    if not unit or not parts[0].size:
        return 0.0
    with np.errstate(all="ignore"):
        size = float(np.max(sum(np.abs(one.astype(np.float64)) for one in parts)))
    return (len(parts) - 1) * unit * size


def _singles(layout: TensorLayout) -> tuple[int, ...]:
    return tuple(number for number, dim in enumerate(layout.dims) if dim.names == (SINGLE,))


def squeeze_singles(array: Array, layout: TensorLayout) -> Array:
    """Take out the dimensions that are called 1; raises AlignError for one that is larger."""
    singles = _singles(layout)
    if any(array.shape[number] != 1 for number in singles):
        raise AlignError("layouts/single", layout=str(layout), got=array.shape)
    return np.squeeze(array, singles) if singles else array


def with_singles(whole: Array | None, layout: TensorLayout) -> Array | None:
    """Return a whole tensor with the dimensions that its joined form does not have."""
    singles = _singles(layout)
    if whole is None or not singles or whole.ndim == len(layout.dims):
        return whole
    return np.expand_dims(whole, singles)


def join_parts(shards: Mapping[int, Array], placing: Placing) -> Array:
    """Join shards without a look at replicas: of each part the lowest rank's is taken."""
    cells = ranks_of_cells(shards, placing)
    parts = {cell: shards[ranks[0]] for cell, ranks in cells.items()}
    for number, axis, cut in reversed(placing.cuts):
        parts = undo_cut(parts, number, axis, cut)
    return squeeze_singles(parts[()], placing.layout)
