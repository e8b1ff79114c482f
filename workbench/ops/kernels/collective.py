"""Kernels of operators in which the ranks of a job meet: all ranks' tensors, one behind the other."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Rounding = Callable[[Array], Array]


_FUNCTIONS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


def all_reduce(*inputs: Array, rounding: Rounding | None = None, **settings: Any) -> Array:
    """Reduce the tensors of all ranks; ``rounding`` is done after every one of them."""
    function = _FUNCTIONS[settings.get("op") or settings.get("reduction", "sum")]

    def together(left: Array, right: Array) -> Array:
        found = np.asarray(function(left, right))
        return found if rounding is None else rounding(found)

    return reduce(together, inputs)


def all_gather(*inputs: Array, **settings: Any) -> Array:
    """Lay the tensors of all ranks one behind the other."""
    _check(settings)
    return np.concatenate(inputs)


def reduce_scatter(*inputs: Array, rounding: Rounding | None = None, **settings: Any) -> Array:
    """Return the rank's part of what all ranks are reduced to."""
    _check(settings)
    whole = all_reduce(*inputs, rounding=rounding, **settings)
    return np.asarray(np.split(whole, settings.get("ranks", 1))[settings.get("rank", 0)])


def all_to_all(*inputs: Array, split_dim: int, concat_dim: int, **settings: Any) -> Array:
    """Lay together the rank's part of what every rank has, in the order of the ranks."""
    _check(settings, "split_count")
    ranks, rank = settings.get("ranks", 1), settings.get("rank", 0)
    return np.concatenate([np.split(one, ranks, split_dim)[rank] for one in inputs], concat_dim)


def broadcast(*inputs: Array, **settings: Any) -> list[Array]:
    """Return the tensors of the root."""
    root, ranks = settings["root_rank"], settings.get("ranks", 1)
    if root >= ranks:
        raise GraphError("run/out-of-range", subject="root_rank", low=0, high=ranks, got=root)
    count = len(inputs) // ranks
    return list(inputs[root * count : (root + 1) * count])


def send(x: Array, **_: Any) -> Array:
    """Return what is sent."""
    return x


def receive(*inputs: Array, **_: Any) -> Array:
    """Return what another rank has sent."""
    if not inputs:
        raise GraphError("run/nothing-received")
    return inputs[0]


def _check(settings: Mapping[str, Any], name: str = "rank_size") -> None:
    ranks = settings.get("ranks", 1)
    if settings[name] != ranks:
        raise GraphError("run/rank-size", ranks=ranks, got=settings[name])
