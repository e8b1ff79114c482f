"""Operators of losses and gradients; `cube` has those of convolutions."""

from __future__ import annotations

from workbench.graph.infer import backward
from workbench.graph.opdef import OpDef

_POOL = {"kernel_size": 1, "strides": 1, "pad_mode": "valid", "data_format": 0}

BACKWARD: dict[str, OpDef] = {
    # losses
    "SoftmaxCrossEntropyWithLogits": OpDef("features labels", backward.cross_entropy, tensors=2),
    "SparseSoftmaxCrossEntropyWithLogits": OpDef(
        "features labels", backward.sparse_cross_entropy, tensors=2, defaults={"is_grad": False}
    ),
    # elementwise
    "BiasAddGrad": OpDef("dout data_format", backward.bias_add, defaults={"data_format": 0}),
    "ReluGrad": OpDef("y_backprop x", backward.alike, tensors=2),
    "SigmoidGrad": OpDef("y dy", backward.alike, tensors=2),
    "TanhGrad": OpDef("y dy", backward.alike, tensors=2),
    # windows
    "MaxPoolGrad": OpDef(
        "x out dout kernel_size strides pad_mode data_format",
        backward.pool,
        tensors=3,
        defaults=_POOL,
    ),
    "AvgPoolGrad": OpDef(
        "x out dout kernel_size strides pad_mode data_format",
        backward.pool,
        tensors=3,
        defaults=_POOL,
    ),
}
