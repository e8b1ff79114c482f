"""Data parallel training: the same network on several ranks, each with batches of its own.

Names and settings are those of MindSpore: ``nn.DistributedGradReducer``, and the operators in which
ranks meet.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple
from workbench.core.errors import GraphError
from workbench.network.cell import Cell
from workbench.network.symbolic import record, record_all
from workbench.ops.rows.collective import WORLD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workbench.network.symbolic import Operators, Parameter, Tensor

STAND_ALONE, DATA_PARALLEL = "stand_alone", "data_parallel"


class Parallel(NamedTuple):
    """How a network is trained that is built now."""

    parallel_mode: str = STAND_ALONE
    device_num: int = 1
    gradients_mean: bool = False


_ALONE = Parallel()
_CURRENT: ContextVar[Parallel] = ContextVar("parallel", default=_ALONE)


def parallel() -> Parallel:
    """Return how a network is trained that is built now."""
    return _CURRENT.get()


@contextmanager
def data_parallel(device_num: int, *, gradients_mean: bool = True) -> Iterator[None]:
    """Build training steps within the block for so many ranks.

    As ``set_auto_parallel_context(parallel_mode="data_parallel", device_num=, gradients_mean=)`` of MindSpore.
    """
    check_ranks(device_num, "device_num")
    token = _CURRENT.set(Parallel(DATA_PARALLEL, device_num, gradients_mean))
    try:
        yield
    finally:
        _CURRENT.reset(token)


def check_ranks(ranks: int, name: str = "ranks") -> None:
    """Raise GraphError if it is no number of ranks."""
    if isinstance(ranks, bool) or not isinstance(ranks, int) or ranks < 1:
        raise GraphError("graph/integer", subject=name, least=1, got=ranks)


def all_reduce(x: Operators, op: str = "sum", group: str = WORLD, **attrs: Any) -> Tensor:
    """``AllReduce``: the tensors of all ranks, reduced to one."""
    return record("AllReduce", x, op=op, group=group, **{**_OWN, "index": 0, **attrs})


def all_gather(x: Operators, group: str = WORLD) -> Tensor:
    """``AllGather``: the tensors of all ranks, one behind the other."""
    return record("AllGather", x, rank_size=parallel().device_num, group=group, **_OWN)


def reduce_scatter(x: Operators, op: str = "sum", group: str = WORLD) -> Tensor:
    """``ReduceScatter``: a rank's part of the tensors of all ranks, reduced to one."""
    ranks = parallel().device_num
    return record("ReduceScatter", x, op=op, rank_size=ranks, group=group, **_OWN)


def broadcast(
    tensors: Sequence[Operators], root_rank: int = 0, group: str = WORLD
) -> tuple[Tensor, ...]:
    """``Broadcast``: tensors of one rank, on all of them."""
    settings = {"root_rank": root_rank, "group": group, "no_eliminate": True}
    return record_all("Broadcast", tuple(tensors), **settings)


_OWN = {"fusion": 0, "no_eliminate": True}


class DistributedGradReducer(Cell):
    """Sums, or means, of gradients over all ranks.

    ``mean`` and ``degree`` are those of `data_parallel` if left out. Gradients are summed in float32.
    """

    auto_prefix = False

    def __init__(
        self,
        parameters: Sequence[Parameter],
        mean: bool | None = None,
        degree: int | None = None,
        fusion_type: int = 1,
        group: str = WORLD,
    ) -> None:
        now = parallel()
        degree = now.device_num if degree is None else degree
        check_ranks(degree, "degree")
        self.mean = now.gradients_mean if mean is None else mean
        self.degree = np.float32(1.0 / degree)
        self.fusion_type = fusion_type
        self.group = group
        self._count = len(parameters)

    def construct(self, grads: Sequence[Tensor]) -> list[Tensor]:
        if len(grads) != self._count:
            raise GraphError("graph/gradients-count", expected=self._count, got=len(grads))
        wide = [one.astype("float32") for one in grads]
        sums = [self._reduced(one) for one in wide]
        return [one.astype(grad.dtype) for one, grad in zip(sums, grads, strict=True)]

    def _reduced(self, grad: Tensor) -> Tensor:
        total = all_reduce(grad, group=self.group, fusion=self.fusion_type)
        return total * self.degree if self.mean else total
