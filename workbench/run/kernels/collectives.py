"""Kernels of operators in which the ranks of a job meet.

A kernel is handed the tensors of all ranks, those of rank 0 first, and in its settings which ``rank`` it
works for and of how many ``ranks``; without these the rank is alone. Ranks are reduced in their order.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Kernel = Callable[[Sequence[Array], Mapping[str, Any]], list[Array]]
    Rounding = Callable[[Array], Array]

_FUNCTIONS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


def all_reduce(
    inputs: Sequence[Array], settings: Mapping[str, Any], rounding: Rounding | None = None
) -> list[Array]:
    """Reduce the tensors of all ranks; ``rounding`` is done after every one of them."""
    function = _FUNCTIONS[settings.get("op") or settings.get("reduction", "sum")]

    def together(left: Array, right: Array) -> Array:
        found = np.asarray(function(left, right))
        return found if rounding is None else rounding(found)

    return [reduce(together, inputs)]


def all_gather(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Lay the tensors of all ranks one behind the other."""
    _check(settings)
    return [np.concatenate(inputs)]


def reduce_scatter(
    inputs: Sequence[Array], settings: Mapping[str, Any], rounding: Rounding | None = None
) -> list[Array]:
    """Return the rank's part of what all ranks are reduced to."""
    _check(settings)
    (whole,) = all_reduce(inputs, settings, rounding)
    return [np.split(whole, settings.get("ranks", 1))[settings.get("rank", 0)]]


def broadcast(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Return the tensors of the root."""
    root, ranks = settings["root_rank"], settings.get("ranks", 1)
    if root >= ranks:
        raise GraphError("run/out-of-range", subject="root_rank", low=0, high=ranks, got=root)
    count = len(inputs) // ranks
    return list(inputs[root * count : (root + 1) * count])


def _check(settings: Mapping[str, Any]) -> None:
    ranks = settings.get("ranks", 1)
    if settings["rank_size"] != ranks:
        raise GraphError("run/rank-size", ranks=ranks, got=settings["rank_size"])


REDUCING = {
    "AllReduce": all_reduce,
    "HcomAllReduce": all_reduce,
    "ReduceScatter": reduce_scatter,
    "HcomReduceScatter": reduce_scatter,
}
"""Kernels that compute, step by step from rank to rank."""

COLLECTIVES: dict[str, Kernel] = {
    "AllReduce": all_reduce,
    "AllGather": all_gather,
    "ReduceScatter": reduce_scatter,
    "Broadcast": broadcast,
    "HcomAllReduce": all_reduce,
    "HcomAllGather": all_gather,
    "HcomReduceScatter": reduce_scatter,
    "HcomBroadcast": broadcast,
}
"""Kernels, in the order of the table."""
