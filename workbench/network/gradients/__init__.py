"""Gradient rules: one for every differentiable operator of the table, and why the others have none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.network.gradients import arithmetic as two
from workbench.network.gradients import elementwise as each
from workbench.network.gradients import indexing, layers, matrix, movement, reduction
from workbench.network.gradients.rule import flat, own, unary

if TYPE_CHECKING:
    from workbench.network.gradients.rule import Rule

RULES: dict[str, Rule] = {
    # cube unit
    "Conv2D": matrix.conv2d,
    "Conv2DTranspose": matrix.conv2d_transpose,
    "MatMul": matrix.matmul,
    "BatchMatMul": matrix.matmul,
    "DynamicRNN": layers.dynamic_rnn,
    "LSTM": matrix.lstm,
    # two inputs and more
    "Add": two.add,
    "Sub": two.sub,
    "Mul": two.mul,
    "RealDiv": two.divide,
    "Maximum": two.extreme("Less", "Greater"),
    "Minimum": two.extreme("Greater", "Less"),
    "Pow": two.power,
    "AddN": two.add_n,
    "BiasAdd": two.bias_add,
    "PReLU": two.prelu,
    "Select": two.select,
    "MaskedFill": two.masked_fill,
    "Dropout": two.dropout,
    # one input
    "ReLU": own("ReluGrad", "dout out"),
    "ReLU6": own("ReLU6Grad", "dout x"),
    "Elu": unary(each.elu),
    "SeLU": unary(each.selu),
    "SiLU": unary(each.silu),
    "HSwish": own("HSwishGrad", "dout x"),
    "HSigmoid": own("HSigmoidGrad", "dout x"),
    "Softplus": own("SoftplusGrad", "dout x"),
    "Softsign": unary(each.softsign),
    "Mish": unary(each.mish),
    "Sigmoid": own("SigmoidGrad", "out dout"),
    "GeLU": own("GeLUGrad", "dout x out"),
    "Erf": unary(each.erf),
    "Sqrt": own("SqrtGrad", "out dout"),
    "Rsqrt": own("RsqrtGrad", "out dout"),
    "Reciprocal": unary(each.reciprocal),
    "Exp": unary(each.exp),
    "Log": unary(each.log),
    "Sin": unary(each.sin),
    "Cos": unary(each.cos),
    "Tanh": own("TanhGrad", "out dout"),
    "Abs": unary(each.absolute),
    "Neg": unary(each.neg),
    "Square": unary(each.square),
    "ClampScalar": unary(each.clamp),
    "Cast": unary(each.cast),
    # steps and constants: 0 wherever they have a gradient
    "Sign": flat,
    "Floor": flat,
    "Ceil": flat,
    "Round": flat,
    "FloorDiv": flat,
    "OnesLike": flat,
    # reductions
    "Softmax": unary(reduction.softmax),
    "LogSoftmax": own("LogSoftmaxGrad", "out dout", "axis"),
    "ReduceMean": unary(reduction.reduce_mean),
    "ReduceSum": unary(reduction.reduce_sum),
    "ReduceMax": unary(reduction.reduce_extreme),
    "ReduceMin": unary(reduction.reduce_extreme),
    "TopK": reduction.top_k,
    "CumSum": unary(reduction.cum_sum),
    # normalizations, windows and losses
    "LayerNorm": layers.layer_norm,
    "RmsNorm": layers.rms_norm,
    "GroupNorm": layers.group_norm,
    "BatchNorm": layers.batch_norm,
    "MaxPool": unary(layers.max_pool),
    "AvgPool": unary(layers.avg_pool),
    "SoftmaxCrossEntropyWithLogits": layers.softmax_cross_entropy,
    "SparseSoftmaxCrossEntropyWithLogits": layers.sparse_softmax_cross_entropy,
    # data movement
    "Reshape": unary(movement.reshape),
    "Flatten": unary(movement.reshape),
    "ExpandDims": unary(movement.reshape),
    "Squeeze": unary(movement.reshape),
    "Transpose": unary(movement.transpose),
    "Concat": movement.concat,
    "Stack": movement.stack,
    "Split": unary(movement.split),
    "SplitV": unary(movement.split),
    "Slice": unary(movement.slices),
    "StridedSlice": unary(movement.strided_slice),
    "PadV3": unary(movement.pad),
    "Tile": unary(movement.tile),
    "BroadcastTo": unary(movement.broadcast_to),
    "ReverseV2": unary(movement.reverse),
    "Gather": indexing.gather,
    "GatherD": indexing.gather_d,
    "GatherNd": indexing.gather_nd,
    "OneHot": indexing.one_hot,
}
"""Operator type → rule."""
