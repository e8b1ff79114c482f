"""How a tensor lies on ranks while a network is cut: the axis that cuts each dimension, and those that hold parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.core.tensors import TensorSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from workbench.run.parallel import Parallel


@dataclass(frozen=True, slots=True)
class Lie:
    """How a tensor lies: ``axes`` has the axis that cuts each dimension (or ""), ``partial`` those of parts of sums.

    ``mean`` has the axes over whose ranks a mean is meant: of those that cut nothing each rank has the mean of its own
    batch, of those that do its gradient, which is as many times too large as there are ranks.
    """

    axes: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()
    mean: tuple[str, ...] = ()

    @classmethod
    def whole(cls, rank: int) -> Lie:
        """Return how a tensor of so many dimensions lies that all ranks hold."""
        return cls(("",) * rank)

    def cut(self, shape: Sequence[int], parallel: Parallel) -> tuple[int, ...]:
        """Return the shape of a rank's part."""
        sizes = zip(shape, self.axes, strict=True)
        return tuple(size // parallel.size(axis) if axis else size for size, axis in sizes)

    def spec(self, spec: TensorSpec, parallel: Parallel) -> TensorSpec:
        """Return the spec of a rank's part."""
        return spec._replace(shape=self.cut(spec.shape or (), parallel))

    def part(self, array: NDArray, parallel: Parallel, rank: int) -> NDArray:  # type: ignore[type-arg]
        """Return a rank's part of a tensor."""
        at = parallel.coordinates(rank)
        for number, axis in enumerate(self.axes):
            if axis:
                size = array.shape[number] // parallel.size(axis)
                array = array[
                    (slice(None),) * number + (slice(at[axis] * size, (at[axis] + 1) * size),)
                ]
        return array

    def __str__(self) -> str:
        """As layouts of `workbench.scale` are written: ``d0[dp] d1``, ``# dp:mean`` where nothing is cut."""
        words = [
            [f"{axis}:scaled" if axis in self.mean else axis] if axis else [] for axis in self.axes
        ]
        parts = [f"{axis}:partial" for axis in self.partial]
        parts += [f"{axis}:mean" for axis in self.mean if axis not in self.axes]
        if words:
            for part in parts:
                next((one for one in words if not one), words[0]).append(part)
            parts = []
        dims = (f"d{n}[{','.join(one)}]" if one else f"d{n}" for n, one in enumerate(words))
        return " ".join([*dims, *(["#", *parts] if parts else [])])
