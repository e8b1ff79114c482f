"""Kernels of losses and of the operators that hand gradients back, by type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.run.kernels.backward import activation, loss, window
from workbench.run.kernels.elementwise import binary

if TYPE_CHECKING:
    from workbench.run.kernels.elementwise import Kernel

BACKWARD: dict[str, Kernel] = {
    "SoftmaxCrossEntropyWithLogits": loss.cross_entropy,
    "SparseSoftmaxCrossEntropyWithLogits": loss.sparse_cross_entropy,
    "BiasAddGrad": activation.bias_add,
    "ReluGrad": binary(activation.relu),
    "SigmoidGrad": binary(activation.sigmoid),
    "TanhGrad": binary(activation.tanh),
    "MaxPoolGrad": window.max_pool,
    "AvgPoolGrad": window.avg_pool,
}
"""Kernel by operator type; that of `Conv2DBackpropFilter` stands beside the convolutions."""
