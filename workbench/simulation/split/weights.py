"""How the weights of the example networks lie on tensor parallel ranks: one row a pattern of names."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from workbench.simulation.split.lies import Lie

if TYPE_CHECKING:
    from workbench.graph.graph import Parameter
    from workbench.run.parallel import Parallel

WEIGHTS: dict[str, tuple[str, ...]] = {
    # columns: the first of two products, and the heads of attention, as Megatron-LM cuts them
    "*attention.query.weight": ("tp", ""),
    "*attention.key.weight": ("tp", ""),
    "*attention.value.weight": ("tp", ""),
    "*attention.query.bias": ("tp",),
    "*attention.key.bias": ("tp",),
    "*attention.value.bias": ("tp",),
    "*dense1.weight": ("tp", ""),
    "*dense1.bias": ("tp",),
    # rows: the second of two products, whose results are parts of sums
    "*attention.output.weight": ("", "tp"),
    "*dense2.weight": ("", "tp"),
}
"""Axes by pattern; what no pattern has is on all ranks. Moments of the optimizer end in the name of their weight."""


def lie_of(parameter: Parameter, parallel: Parallel) -> Lie:
    """Return how a weight lies, or a batch: its first dimension is cut by data parallelism."""
    rank = len(parameter.spec.shape or ())
    if not parameter.is_weight:
        return Lie(("dp", *[""] * (rank - 1))) if rank and parallel.dp > 1 else Lie.whole(rank)
    axes = next((axes for name, axes in WEIGHTS.items() if fnmatchcase(parameter.name, name)), ())
    if parallel.tp == 1 or len(axes) != rank:
        return Lie.whole(rank)
    return Lie(axes)
