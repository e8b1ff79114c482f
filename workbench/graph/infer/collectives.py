"""Rules of operators in which the ranks of a job meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.graph.infer import like, refuse

if TYPE_CHECKING:
    from workbench.core.tensors import TensorSpec
    from workbench.graph.infer import Call

REDUCTIONS = ("sum", "max", "min", "prod")
"""What ranks may reduce by."""


def reduced(call: Call) -> tuple[TensorSpec, ...]:
    """Return the input's shape: every rank has the result."""
    _reduction(call)
    return like(call, call.shape())


def gathered(call: Call) -> tuple[TensorSpec, ...]:
    """As many rows for every rank, one rank after the other."""
    rows, *rest = _rows(call)
    return like(call, (rows * _ranks(call), *rest))


def scattered(call: Call) -> tuple[TensorSpec, ...]:
    """An equal part of the rows for every rank."""
    _reduction(call)
    (rows, *rest), ranks = _rows(call), _ranks(call)
    if rows % ranks:
        refuse("graph/multiple", subject="rows of the input", of=ranks, got=rows)
    return like(call, (rows // ranks, *rest))


def same(call: Call) -> tuple[TensorSpec, ...]:
    """Every input as it lies on the root."""
    root = call.settings["root_rank"]
    if isinstance(root, bool) or not isinstance(root, int) or root < 0:
        refuse("graph/integer", subject="root_rank", least=0, got=root)
    return call.tensors


def _reduction(call: Call) -> None:
    name = "op" if "op" in call.settings else "reduction"
    if call.settings[name] not in REDUCTIONS:
        refuse("core/choice", subject=name, got=call.settings[name], known=[*REDUCTIONS])


def _rows(call: Call) -> tuple[int, ...]:
    if not call.shape():
        refuse("graph/rank", subject="input", least=1, got=call.shape())
    return call.shape()


def _ranks(call: Call) -> int:
    ranks = call.settings["rank_size"]
    if isinstance(ranks, bool) or not isinstance(ranks, int) or ranks < 1:
        refuse("graph/integer", subject="rank_size", least=1, got=ranks)
    return int(ranks)
