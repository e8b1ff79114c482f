"""How the weights and batches of the example networks lie on ranks: one row a pattern of names."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from workbench.simulation.split.lies import Cutting, Lie, ranks_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.graph.graph import Parameter
    from workbench.run.parallel import Parallel
    from workbench.simulation.split.lies import Cuts

SEQUENCE = "sequence"
"""Stands for the axes that cut a sequence."""

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
    # experts: each rank of ep has some, whose products tensor parallelism cuts like those above
    "*experts.weight1": ("ep", "", "tp"),
    "*experts.weight2": ("ep", "tp", ""),
    # the sequence: tokens have their places where they are
    "*position": (SEQUENCE, ""),
}
"""Axes by pattern; what no pattern has is on all ranks. Moments of the optimizer end in the name of their weight."""


def sequence_of(parallel: Parallel) -> Cuts:
    """Return what cuts a sequence: context parallelism, and sequence parallelism inside of it."""
    cuts = [Cutting("cp", zigzag=parallel.zigzag)] if parallel.cp > 1 else []
    return (*cuts, *([Cutting("sp")] if parallel.sp > 1 else []))


def has_experts(parameters: Iterable[Parameter]) -> bool:
    """Whether some of the weights are of experts."""
    patterns = [pattern for pattern, axes in WEIGHTS.items() if "ep" in axes]
    return any(fnmatchcase(one.name, pattern) for one in parameters for pattern in patterns)


def is_tokens(parameter: Parameter) -> bool:
    """Whether a batch is one of sequences: ids of tokens (N, S)."""
    dtype = parameter.spec.dtype
    return not parameter.is_weight and "int" in dtype and len(parameter.spec.shape or ()) == 2


def lie_of(parameter: Parameter, parallel: Parallel) -> Lie:
    """Return how a weight lies, or a batch: cut by its samples, and tokens by their sequence, too."""
    rank = len(parameter.spec.shape or ())
    if not parameter.is_weight:
        samples: Cuts = (Cutting("dp"),) if parallel.dp > 1 else ()
        cuts = (samples, sequence_of(parallel) if is_tokens(parameter) else ())[:rank]
        return Lie((*cuts, *((),) * (rank - len(cuts))))
    axes = next((axes for name, axes in WEIGHTS.items() if fnmatchcase(parameter.name, name)), ())
    lie = (
        Lie(tuple(_cuts(axis, parallel) for axis in axes)) if len(axes) == rank else Lie.whole(rank)
    )
    return _shared(lie, parameter.spec.shape or (), parallel)


def _shared(lie: Lie, shape: tuple[int, ...], parallel: Parallel) -> Lie:
    """Cut the rows of a weight by data parallelism, too, where that is asked for and possible.

    So does MindSpore's parallel optimizer (``enable_parallel_optimizer``); what has no such rows is on all ranks. The
    ranks that hold an expert are not those of data parallelism: each has it whole.
    """
    if not parallel.zero or parallel.dp == 1 or not shape or shape[0] == 1 or "ep" in lie.names:
        return lie
    if any(size % ranks_of(cuts, parallel) for size, cuts in zip(shape, lie.axes, strict=True)):
        return lie
    if lie.cut(shape, parallel)[0] % parallel.dp:
        return lie
    return Lie(((*lie.axes[0], Cutting("dp")), *lie.axes[1:]))


def _cuts(axis: str, parallel: Parallel) -> Cuts:
    if axis == SEQUENCE:
        return sequence_of(parallel)
    return (Cutting(axis),) if axis and parallel.size(axis) > 1 else ()
