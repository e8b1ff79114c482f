"""ONNX operator → how it becomes ours. A converter takes a `Node` and returns its outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.network.onnx import elementwise as each
from workbench.network.onnx import layers, movement, recurrent, reduction, windows
from workbench.network.onnx.contraction import einsum
from workbench.network.onnx.elementwise import joined, renamed
from workbench.network.onnx.reduction import composed, extreme, global_pool, place_of, reduced
from workbench.ops import OPS

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.network.onnx.node import Node

CONVERTERS: dict[str, Callable[[Node], Any]] = {
    # the same operator of ours under another name: its row says so
    **{row.onnx: renamed(name, len(row.positions)) for name, row in OPS.items() if row.onnx},
    # every element alone
    "BitShift": each.shift,
    "Cast": each.convert_cast,
    "CastLike": each.cast_like,
    "Celu": each.celu,
    "Clip": each.clip,
    "Div": each.divide,
    "Dropout": each.dropout,
    "Elu": each.elu,
    "Gelu": each.gelu,
    "HardSigmoid": each.hard_sigmoid,
    "Identity": each.identity,
    "IsInf": each.is_inf,
    "LeakyRelu": each.leaky_relu,
    "Max": joined("Maximum"),
    "Mean": each.mean,
    "Min": joined("Minimum"),
    "Mod": each.modulo,
    "PRelu": each.prelu,
    "Pow": each.power,
    "Round": each.round_even,
    "Selu": each.selu,
    "Shrink": each.shrink,
    "Sum": joined("Add"),
    "Swish": each.swish,
    "ThresholdedRelu": each.thresholded_relu,
    # along axes
    "ArgMax": place_of("Argmax"),
    "ArgMin": place_of("Argmin"),
    "CumProd": reduction.cumulative("CumProd"),
    "CumSum": reduction.cumulative("CumSum"),
    "Hardmax": reduction.hardmax,
    "LogSoftmax": reduction.log_softmax,
    "LpNormalization": reduction.lp_normalization,
    "MeanVarianceNormalization": reduction.mean_variance,
    "ReduceL1": composed("Abs"),
    "ReduceL2": composed("Square", "Sqrt"),
    "ReduceLogSum": composed("", "Log"),
    "ReduceLogSumExp": reduction.log_sum_exp,
    "ReduceMax": extreme("ReduceMax", "ReduceAny"),
    "ReduceMean": reduced("ReduceMean"),
    "ReduceMin": extreme("ReduceMin", "ReduceAll"),
    "ReduceProd": reduced("ReduceProd"),
    "ReduceSum": reduced("ReduceSum"),
    "ReduceSumSquare": composed("Square"),
    "Softmax": reduction.softmax,
    "TopK": reduction.top_k,
    # layers
    "AveragePool": windows.average_pool,
    "BatchNormalization": layers.batch_norm,
    "Conv": windows.conv,
    "ConvTranspose": windows.conv_transpose,
    "DequantizeLinear": layers.dequantize,
    "Einsum": einsum,
    "GRU": recurrent.gru,
    "Gemm": layers.gemm,
    "GlobalAveragePool": global_pool("ReduceMean"),
    "GlobalLpPool": reduction.global_lp_pool,
    "GlobalMaxPool": global_pool("ReduceMax"),
    "GroupNormalization": layers.group_norm,
    "InstanceNormalization": layers.instance_norm,
    "LRN": layers.lrn,
    "LSTM": recurrent.lstm,
    "LayerNormalization": layers.layer_norm,
    "LpPool": windows.lp_pool,
    "MatMul": layers.matmul,
    "MaxPool": windows.max_pool,
    "QuantizeLinear": layers.quantize,
    "RMSNormalization": layers.rms_norm,
    "Resize": layers.resize,
    "Upsample": layers.resize,
    # moving elements
    "Concat": movement.concat,
    "Constant": movement.constant,
    "ConstantOfShape": movement.constant_of_shape,
    "DepthToSpace": movement.depth_to_space,
    "Expand": movement.expand,
    "EyeLike": movement.eye_like,
    "Flatten": movement.flatten,
    "Gather": movement.gather,
    "GatherElements": movement.gather_elements,
    "GatherND": movement.gather_nd,
    "OneHot": movement.one_hot,
    "Pad": movement.pad,
    "Range": movement.span,
    "Reshape": movement.reshape,
    "ReverseSequence": movement.reverse_sequence,
    "Scatter": movement.scatter_elements,
    "ScatterElements": movement.scatter_elements,
    "ScatterND": movement.scatter_nd,
    "Shape": movement.shape_of,
    "Size": movement.size_of,
    "Slice": movement.slices,
    "SpaceToDepth": movement.space_to_depth,
    "Split": movement.split,
    "Squeeze": movement.squeeze,
    "Tile": movement.tile,
    "Transpose": movement.transpose,
    "Trilu": movement.triangle,
    "Unsqueeze": movement.unsqueeze,
}
"""Every ONNX operator that can be imported, by type."""
