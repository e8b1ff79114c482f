"""Which part of a tensor a rank holds: a layout on the axes of a job, and the cutting that joining undoes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import AlignError
from workbench.scale.layouts.grammar import ZIGZAG

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from workbench.run.parallel import Parallel
    from workbench.scale.layouts.grammar import Cut, TensorLayout

    Array = NDArray[Any]

Cell = tuple[int, ...]
"""Where a part stands on the axes that cut a tensor, in the order of `Placing.cut_axes`."""


@dataclass(frozen=True, slots=True)
class Placing:
    """A layout on the axes of a job, without those of one rank.

    Attributes
    ----------
    parallel : Parallel
    layout : TensorLayout
    axes : tuple of str
        Axes of more than one rank, as the tensor sees them.
    cuts : tuple of (int, str, Cut)
        Number of the dimension, axis and cut; the outermost cut of a dimension first.
    """

    parallel: Parallel
    layout: TensorLayout
    axes: tuple[str, ...]
    cuts: tuple[tuple[int, str, Cut], ...]

    @property
    def cut_axes(self) -> tuple[str, ...]:
        """Axes that cut the tensor or hold parts of a sum."""
        return tuple(axis for _, axis, _ in self.cuts)

    @property
    def replicated(self) -> tuple[str, ...]:
        """Axes whose ranks hold the same."""
        cut = self.cut_axes
        return tuple(axis for axis in self.axes if axis not in cut)

    @property
    def cells(self) -> Iterator[Cell]:
        """All parts of the tensor."""
        return product(*(range(self.parallel.size(axis)) for axis in self.cut_axes))

    def cell(self, rank: int) -> Cell:
        """Return which part a rank holds."""
        at = self.parallel.coordinates(rank, experts=self.layout.of_experts)
        return tuple(at[axis] for axis in self.cut_axes)


@lru_cache(4096)
def place(layout: TensorLayout, parallel: Parallel) -> Placing:
    """Put a layout on the axes of a job; raises AlignError if two of its cuts use the same ranks."""
    axes = parallel.axes(experts=layout.of_experts)
    found: list[tuple[int, str, Cut]] = []
    for number, cut in layout.cuts:
        axis = layout.dp if cut.axis == "dp" and layout.dp else cut.axis
        if parallel.size(axis) == 1:
            continue
        axis = parallel.own(axis)
        if axis not in axes or axis in (one for _, one, _ in found):
            raise AlignError("layouts/same-ranks", layout=str(layout), axis=axis)
        found.append((number, axis, cut))
    return Placing(parallel, layout, axes, tuple(found))


def zigzag_order(ranks: int) -> list[int]:
    """Return which of 2n pieces stand one behind the other on n ranks: rank r has pieces r and 2n - 1 - r.

    As context parallel attention of Megatron-LM and TransformerEngine deals them out, so that causal masks weigh
    the same everywhere.

    >>> zigzag_order(2)
    [0, 3, 1, 2]
    """
    return [piece for rank in range(ranks) for piece in (rank, 2 * ranks - 1 - rank)]


def stretched(array: Array, dim: int, each: int) -> Array:
    """Return an array whose dimension is two: ``each`` stretches, and their length; raises AlignError if it is none."""
    size = array.shape[dim]
    if size % each:
        raise AlignError("layouts/each-size", each=each, got=size)
    return array.reshape(*array.shape[:dim], each, size // each, *array.shape[dim + 1 :])


def unstretched(array: Array, dim: int) -> Array:
    """Return an array with the dimension that `stretched` parted whole again."""
    size = array.shape[dim] * array.shape[dim + 1]
    return array.reshape(*array.shape[:dim], size, *array.shape[dim + 2 :])


def lay_zigzag(array: Array, dim: int, ranks: int, *, undo: bool = False, each: int = 1) -> Array:
    """Reorder a dimension from natural to zigzag order, or back; raises AlignError if 2n does not divide it."""
    if each > 1:
        found = lay_zigzag(stretched(array, dim, each), dim + 1, ranks, undo=undo)
        return unstretched(found, dim)
    if array.shape[dim] % (2 * ranks):
        raise AlignError("layouts/zigzag-size", pieces=2 * ranks, got=array.shape[dim])
    order = np.array(zigzag_order(ranks))
    if undo:
        order = np.argsort(order)
    pieces = np.split(array, 2 * ranks, axis=dim)
    return np.concatenate([pieces[number] for number in order], axis=dim)


def cut_whole(whole: Array, placing: Placing, cell: Sequence[int]) -> Array:
    """Return the part of a whole tensor that stands at a cell, parts of sums as the whole sum.

    Raises AlignError where an axis does not divide its dimension.
    """
    at: Mapping[str, int] = dict(zip(placing.cut_axes, cell, strict=True))
    for number, axis, cut in placing.cuts:
        if cut.partial:
            continue
        ranks = placing.parallel.size(axis)
        stretches = stretched(whole, number, cut.each)
        size = stretches.shape[number + 1]
        if size % ranks:
            raise AlignError("layouts/cut-size", axis=axis, of=ranks, got=size)
        if cut.order == ZIGZAG:
            stretches = lay_zigzag(stretches, number + 1, ranks)
        part = np.split(stretches, ranks, axis=number + 1)[at[axis]]
        whole = unstretched(part, number)
        whole = (whole * ranks).astype(whole.dtype, copy=False) if cut.mean else whole
    return whole
