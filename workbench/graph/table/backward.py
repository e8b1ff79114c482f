"""Operators of losses and gradients; `cube` has those of convolutions."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from workbench.graph.infer import backward
from workbench.graph.infer import backward_movement as moving
from workbench.graph.infer import window as windows
from workbench.graph.opdef import OpDef

if TYPE_CHECKING:
    from collections.abc import Mapping


def _alike(names: str, defaults: Mapping[str, Any] = MappingProxyType({})) -> OpDef:
    """Gradient and another tensor of its shape."""
    return OpDef(names, backward.alike, tensors=2, defaults=defaults)


_POOL = {"kernel_size": 1, "strides": 1, "pad_mode": "valid", "data_format": 0}

_CORNERS = {"align_corners": False, "half_pixel_centers": False}
_MASKS = dict.fromkeys(
    ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0
)

BACKWARD: dict[str, OpDef] = {
    # losses
    "SoftmaxCrossEntropyWithLogits": OpDef("features labels", backward.cross_entropy, tensors=2),
    "SparseSoftmaxCrossEntropyWithLogits": OpDef(
        "features labels", backward.sparse_cross_entropy, tensors=2, defaults={"is_grad": False}
    ),
    # elementwise
    "BiasAddGrad": OpDef("dout data_format", backward.bias_add, defaults={"data_format": 0}),
    "ReluGrad": _alike("y_backprop x"),
    "SigmoidGrad": _alike("y dy"),
    "TanhGrad": _alike("y dy"),
    "ReLU6Grad": _alike("y_backprop x"),
    "EluGrad": _alike("dout out"),
    "SiLUGrad": _alike("dout x"),
    "HSwishGrad": _alike("y_grad x"),
    "HSigmoidGrad": _alike("grads input_x"),
    "GeLUGrad": OpDef("dy x y", backward.alike, tensors=3),
    "SoftplusGrad": _alike("gradients features"),
    "PReLUGrad": OpDef("dy x weight", backward.prelu, tensors=3),
    "SqrtGrad": _alike("dy y"),  # MindSpore's names; it is the output that comes first
    "RsqrtGrad": _alike("y_backprop x"),
    # normalizations
    "LogSoftmaxGrad": _alike("logits grad axis", {"axis": -1}),
    "LayerNormGrad": OpDef(
        "x dy variance mean gamma begin_norm_axis begin_params_axis",
        backward.layer_norm,
        tensors=5,
        defaults={"begin_norm_axis": 1, "begin_params_axis": 1, "epsilon": 1e-7},
    ),
    "RmsNormGrad": OpDef("dy x rstd gamma", backward.rms_norm, tensors=4),
    "GroupNormGrad": OpDef(
        "dy x mean rstd gamma_opt num_groups dx_is_require dgamma_is_require dbeta_is_require",
        backward.group_norm,
        tensors=5,
        defaults=dict.fromkeys(("dx_is_require", "dgamma_is_require", "dbeta_is_require"), True),
    ),
    "BatchNormGrad": OpDef(
        "dout x scale saved_mean saved_variance reserve is_training epsilon data_format",
        backward.batch_norm,
        tensors=6,
        defaults={"is_training": False, "epsilon": 1e-5, "data_format": 0},
    ),
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
    "ResizeNearestNeighborV2Grad": OpDef(
        "grads size align_corners half_pixel_centers", windows.resize, defaults=_CORNERS
    ),
    "ResizeBilinearGrad": OpDef(
        "grads image align_corners half_pixel_centers",
        backward.resize,
        tensors=2,
        defaults=_CORNERS,
    ),
    # data movement
    "StridedSliceGrad": OpDef("dy shapex begin end strides", moving.strided_slice, defaults=_MASKS),
    "SliceGrad": OpDef("dy x begin size", moving.slices, tensors=2),
    "PadV3Grad": OpDef("x paddings", moving.pad, defaults={"mode": "reflect"}),
    "GatherDGradV2": OpDef("x dim index dout", moving.gather_d, tensors=3, places=(0, 2, 3)),
    "UnsortedSegmentSum": OpDef("input_x segment_ids num_segments", moving.segment_sum, tensors=2),
    "ScatterNd": OpDef("indices updates shape", moving.scatter_nd, tensors=2),
    "Unstack": OpDef("x", moving.unstack, defaults={"num": None, "axis": 0}),
    "FillV2": OpDef("shape value", moving.fill, places=(1,)),
    # random
    "Dropout": OpDef(
        "x keep_prob Seed0 Seed1",
        moving.dropout,
        defaults={"keep_prob": 0.5, "Seed0": 0, "Seed1": 0},
    ),
    "DropoutGrad": OpDef("dy mask", backward.alike, tensors=2, defaults={"keep_prob": 0.5}),
}
