"""How a tensor lies on ranks while a network is cut: the axes that cut each dimension, and those that hold parts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.core.tensors import TensorSpec

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from workbench.run.parallel import Parallel


class Cutting(NamedTuple):
    """An axis that cuts a dimension: each of ``each`` equal stretches of it, in zigzag order or as it is.

    A dimension of 8 · 12 that was two is cut in its inner one where ``each`` is 8.
    """

    axis: str
    each: int = 1
    zigzag: bool = False

    @property
    def pieces(self) -> int:
        """Pieces that each rank has of a stretch."""
        return 2 if self.zigzag else 1

    def __str__(self) -> str:
        said = ["zigzag"] if self.zigzag else []
        said += [f"each{self.each}"] if self.each > 1 else []
        return f"{self.axis}:{'+'.join(said)}" if said else self.axis


Cuts = tuple[Cutting, ...]
"""What cuts a dimension, the outermost first."""


def names_of(axes: Iterable[Cuts]) -> tuple[str, ...]:
    """Return the names of axes that cut dimensions, in order."""
    return tuple(cut.axis for cuts in axes for cut in cuts)


def ranks_of(cuts: Cuts, parallel: Parallel) -> int:
    """Return into how many parts a dimension is cut."""
    return math.prod(parallel.size(cut.axis) for cut in cuts)


@dataclass(frozen=True, slots=True)
class Lie:
    """How a tensor lies: ``axes`` has what cuts each dimension, ``partial`` the axes whose ranks hold parts of sums.

    ``mean`` has the axes over whose ranks a mean is meant: of those that cut nothing each rank has the mean of its own
    batch, of those that do its gradient, which is as many times too large as there are ranks. ``known`` is false on
    the way of a tensor between ranks, where it lies as no layout says.
    """

    axes: tuple[Cuts, ...] = ()
    partial: tuple[str, ...] = ()
    mean: tuple[str, ...] = ()
    known: bool = True

    @classmethod
    def whole(cls, rank: int) -> Lie:
        """Return how a tensor of so many dimensions lies that all ranks hold."""
        return cls(((),) * rank)

    @property
    def names(self) -> tuple[str, ...]:
        """Axes that cut it."""
        return names_of(self.axes)

    def cut(self, shape: Sequence[int], parallel: Parallel) -> tuple[int, ...]:
        """Return the shape of a rank's part."""
        sizes = zip(shape, self.axes, strict=True)
        return tuple(size // ranks_of(cuts, parallel) for size, cuts in sizes)

    def spec(self, spec: TensorSpec, parallel: Parallel) -> TensorSpec:
        """Return the spec of a rank's part."""
        return spec._replace(shape=self.cut(spec.shape or (), parallel))

    def part(self, array: NDArray, parallel: Parallel, rank: int) -> NDArray:  # type: ignore[type-arg]
        """Return a rank's part of a tensor whose dimensions are not several in one."""
        at = parallel.coordinates(rank)
        for number, cuts in enumerate(self.axes):
            for cut in cuts:
                places = pieces_of(cut, parallel.size(cut.axis), at[cut.axis])
                size = array.shape[number] // (parallel.size(cut.axis) * cut.pieces)
                taken = [index for one in places for index in range(one * size, (one + 1) * size)]
                array = array.take(taken, number)
        return array

    def __str__(self) -> str:
        """As layouts of `workbench.scale` are written: ``d0[dp] d1``, ``# dp:mean`` where nothing is cut."""
        words = [
            [f"{cut}:scaled" if cut.axis in self.mean else str(cut) for cut in cuts]
            for cuts in self.axes
        ]
        parts = [f"{axis}:partial" for axis in self.partial]
        parts += [f"{axis}:mean" for axis in self.mean if axis not in self.names]
        if words:
            for part in parts:
                next((one for one in words if not one), words[0]).append(part)
            parts = []
        dims = (f"d{n}[{','.join(one)}]" if one else f"d{n}" for n, one in enumerate(words))
        return " ".join([*dims, *(["#", *parts] if parts else [])])


def pieces_of(cut: Cutting, ranks: int, place: int) -> tuple[int, ...]:
    """Return which pieces of a stretch a rank has: one of as many, or two of twice as many in zigzag order.

    >>> pieces_of(Cutting("cp", zigzag=True), 2, 0)
    (0, 3)
    """
    return (place, 2 * ranks - 1 - place) if cut.zigzag else (place,)
