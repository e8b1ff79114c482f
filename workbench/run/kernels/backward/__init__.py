"""Kernels of losses and of the operators that hand gradients back, by type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.run.kernels.backward import (
    activation,
    dropout,
    loss,
    movement,
    normalization,
    window,
)
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
    "ReLU6Grad": binary(activation.relu6),
    "EluGrad": binary(activation.elu),
    "SiLUGrad": binary(activation.silu),
    "HSwishGrad": binary(activation.hswish),
    "HSigmoidGrad": binary(activation.hsigmoid),
    "GeLUGrad": activation.gelu,
    "SoftplusGrad": binary(activation.softplus),
    "PReLUGrad": activation.prelu,
    "SqrtGrad": binary(activation.sqrt),
    "RsqrtGrad": binary(activation.rsqrt),
    "LogSoftmaxGrad": normalization.log_softmax,
    "LayerNormGrad": normalization.layer_norm,
    "RmsNormGrad": normalization.rms_norm,
    "GroupNormGrad": normalization.group_norm,
    "BatchNormGrad": normalization.batch_norm,
    "MaxPoolGrad": window.max_pool,
    "AvgPoolGrad": window.avg_pool,
    "ResizeNearestNeighborV2Grad": window.resize_nearest,
    "ResizeBilinearGrad": window.resize_bilinear,
    "StridedSliceGrad": movement.strided_slice,
    "SliceGrad": movement.slices,
    "PadV3Grad": movement.pad,
    "GatherDGradV2": movement.gather_d,
    "UnsortedSegmentSum": movement.segment_sum,
    "ScatterNd": movement.scatter_nd,
    "Unstack": movement.unstack,
    "FillV2": movement.fill,
    "Dropout": dropout.dropout,
    "DropoutGrad": dropout.gradient,
}
"""Kernel by operator type; that of `Conv2DBackpropFilter` stands beside the convolutions."""
