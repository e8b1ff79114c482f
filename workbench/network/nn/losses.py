"""Losses, named and set up like those of ``mindspore.nn``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.errors import GraphError
from workbench.network.cell import Cell
from workbench.network.nn import functional
from workbench.network.symbolic import record, record_all

if TYPE_CHECKING:
    from workbench.network.symbolic import Operators, Tensor

REDUCTIONS = ("none", "mean", "sum")


class LossBase(Cell):
    """A loss of every sample, or their ``mean`` or ``sum``."""

    def __init__(self, reduction: str = "mean") -> None:
        if reduction not in REDUCTIONS:
            raise GraphError(
                "core/choice", subject="reduction", got=reduction, known=list(REDUCTIONS)
            )
        self.reduction = reduction

    def get_loss(self, x: Tensor) -> Tensor:
        """Reduce losses as the cell was asked to."""
        if self.reduction == "none":
            return x
        axes = tuple(range(x.ndim))
        return x.mean(axes) if self.reduction == "mean" else x.sum(axes)


class MSELoss(LossBase):
    """Square of the difference."""

    def construct(self, logits: Operators, labels: Operators) -> Tensor:
        x = functional.square(logits - labels)
        return self.get_loss(x)


class L1Loss(LossBase):
    """Magnitude of the difference."""

    def construct(self, logits: Operators, labels: Operators) -> Tensor:
        x = functional.abs(logits - labels)
        return self.get_loss(x)


class SoftmaxCrossEntropyWithLogits(LossBase):
    """Cross entropy of scores (N, C) with the shares wanted (N, C); ``sparse``: with classes (N,)."""

    def __init__(self, sparse: bool = False, reduction: str = "none") -> None:
        super().__init__(reduction)
        self.sparse = sparse

    def construct(self, logits: Operators, labels: Operators) -> Tensor:
        if self.sparse:
            if self.reduction == "mean":
                op_type = "SparseSoftmaxCrossEntropyWithLogits"
                return record(op_type, logits, labels, sens=1.0, is_grad=False)
            labels = functional.one_hot(labels, logits.shape[-1])
        x = record_all("SoftmaxCrossEntropyWithLogits", logits, labels)[0]
        return self.get_loss(x)
