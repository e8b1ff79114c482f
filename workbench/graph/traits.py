"""What is known of operator types, computed by us or not: argument names and how errors pass through.

Argument names are those of MindSpore's primitives (2.0 to 2.10, operator definitions). The other
tables say what an operator does to its inputs and to errors; a type that is missing is an ordinary
operator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.graph.graph import Bundle, Const, once
from workbench.graph.table import OPS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.graph.graph import Op

ARGUMENTS: dict[str, str] = {
    **{name: row.names for name, row in OPS.items()},
    "AddExt": "input other alpha",
    "ApplyAdagrad": "var accum learning_rate gradient",
    "ApplyRMSProp": "var mean_square moment learning_rate gradient decay momentum epsilon",
    "ArgMaxExt": "input dim keepdim",
    "AvgPool2D": "input kernel_size stride padding ceil_mode count_include_pad divisor_override",
    "BCEWithLogitsLoss": "input target weight posWeight reduction",
    "BatchNormExt": "input weight bias running_mean running_var training momentum epsilon",
    "BinaryCrossEntropy": "input target weight reduction",
    "ClampTensor": "input min max",
    "Conv3D": "x weight",
    "Convolution": "input weight bias stride padding dilation transposed output_padding groups",
    "ConvolutionGrad": (
        "dout input weight bias stride "
        "padding dilation transposed output_padding groups output_mask"
    ),
    "Dense": "input weight bias",
    "Embedding": "input weight padding_idx max_norm norm_type scale_grad_by_freq",
    "FlashAttentionScore": (
        "query key value real_shift drop_mask padding_mask "
        "attn_mask prefix actual_seq_qlen actual_seq_kvlen head_num keep_prob "
        "scale_value pre_tokens next_tokens inner_precise input_layout sparse_mode"
    ),
    "InplaceAddExt": "input other alpha",
    "L1LossExt": "input target reduction",
    "LinSpace": "start stop num",
    "MSELossExt": "input target reduction",
    "MatMulBiasAddFusion": "x y bias",
    "MatMulBiasAddReluFusion": "x y bias",
    "MatMulExt": "input other",
    "MaxPoolWithMask": "x kernel_size strides pads dilation ceil_mode argmax_type",
    "MeanExt": "input dim keepdim dtype",
    "NLLLoss": "logits labels weight reduction ignore_index",
    "Pad": "x paddings",
    "PromptFlashAttention": (
        "query key value attn_mask actual_seq_lengths actual_seq_lengths_kv "
        "pse_shift deq_scale1 quant_scale1 deq_scale2 quant_scale2 quant_offset2 "
        "num_heads scale_value pre_tokens next_tokens input_layout num_key_value_heads sparse_mode inner_precise"
    ),
    "Range": "start end step maxlen",
    "SmoothL1Loss": "prediction target beta reduction",
    "SoftplusExt": "input beta threshold",
    "SubExt": "input other alpha",
    "SumExt": "input dim keepdim dtype",
    "Triu": "input diagonal",
    "UpsampleNearest2D": "x output_size scales",
}
"""Operator type → names of its arguments in order, blank-separated."""

IN_PLACE: dict[str, tuple[int, ...]] = {
    **{name: row.writes for name, row in OPS.items() if row.writes},
    "ApplyAdagrad": (0, 1),
    "ApplyAdam": (0, 1, 2),
    "ApplyFtrl": (0, 1, 2),
    "ApplyRMSProp": (0, 1, 2),
    "BatchNormExt": (3, 4),
    "FusedAdam": (0, 1, 2),
    "FusedSparseAdam": (0, 1, 2),
    "InplaceAddExt": (0,),
    "ScatterAdd": (0,),
    "ScatterNdUpdate": (0,),
    "ScatterUpdate": (0,),
}
"""Operator type → input slots that it overwrites; their dumped inputs hold the value afterwards."""

UNWRITTEN_ON_CPU: dict[str, tuple[int, ...]] = {
    "Adam": (0, 1, 2),
    "AdamWeightDecay": (0, 1, 2),
    "ApplyRMSProp": (0,),
    "BatchNorm": (1, 2),
}
"""Operator type → output slots that MindSpore's CPU kernels leave as they were (2.0 to 2.10)."""

IDENTITY = frozenset(("Cast", "TransData", "Identity", "TensorMove", "Load", "Depend"))
"""Types that hand a value on, at most in another number or device format."""

MOVEMENT = IDENTITY | frozenset(
    ("Reshape", "Flatten", "ExpandDims", "Squeeze", "Transpose", "BroadcastTo", "View", "ReshapeExt",
     "Concat", "Stack", "Split", "SplitV", "StridedSlice", "Slice", "Tile", "ReverseV2", "ReverseSequence",
     "DepthToSpace", "SpaceToDepth", "Tril", "Triu", "ConcatD", "SplitD",
     "Unstack", "SliceGrad", "StridedSliceGrad", "FillV2")
)  # fmt: skip
"""Types that move elements without computing: they cannot be where a value first goes wrong."""

CHOOSING = MOVEMENT | {"ReLU", "Maximum", "Minimum", "MaxPool", "Abs", "Neg", "ReluGrad", "Gather"}
"""Types whose results are numbers of their inputs, up to sign, or zero: there is nothing to round."""

CONTRACTIONS = frozenset(
    ("MatMul", "BatchMatMul", "Conv2D", "Conv3D", "Conv2DTranspose", "Conv2DBackpropInput", "Conv2DBackpropFilter",
     "Dense", "MatMulExt", "MatMulBiasAddFusion", "MatMulBiasAddReluFusion", "Convolution", "ConvolutionGrad", "LSTM",
     "LSTMGrad", "DynamicRNNGrad", "DynamicRNN", "DynamicGRUV2", "FlashAttentionScore")
)  # fmt: skip
"""Types that sum products; they run on the cube unit."""

SUMMING = frozenset(
    ("ReduceSum", "ReduceMean", "ReduceSumD", "ReduceMeanD", "SumExt", "MeanExt", "BiasAddGrad", "CumSum", "Norm",
     "L2Loss", "L2Normalize", "UnsortedSegmentSum", "AvgPool", "AvgPool2D", "AvgPoolV2", "AvgPoolGrad", "MaxPoolGrad",
     "BatchNorm", "BatchNormExt", "BatchNormGrad", "BatchNormGradExt", "BNTrainingReduce", "BNTrainingUpdate",
     "LayerNorm", "LayerNormExt", "LayerNormV3", "LayerNormGrad", "LayerNormGradExt", "LayerNormGradV3", "GroupNorm",
     "GroupNormGrad", "InstanceNorm", "RmsNorm", "RmsNormGrad", "AddRmsNorm", "AddLayerNorm", "Softmax", "SoftmaxV2",
     "SoftmaxGrad", "LogSoftmax", "LogSoftmaxV2", "LogSoftmaxGrad", "SoftmaxCrossEntropyWithLogits",
     "SparseSoftmaxCrossEntropyWithLogits", "NLLLoss", "MSELossExt", "L1LossExt", "LRN")
)  # fmt: skip
"""Types of the vector unit that sum up elements, or normalize by such sums."""

COMMUTATIVE = frozenset(
    (
        "Add",
        "Mul",
        "Maximum",
        "Minimum",
        "Equal",
        "NotEqual",
        "LogicalAnd",
        "LogicalOr",
        "LogicalXor",
        "BitwiseAnd",
        "BitwiseOr",
        "BitwiseXor",
        "AddN",
    )
)
"""Types whose inputs may stand in any order."""

APPROXIMATED = frozenset(
    ("Exp", "Log", "Tanh", "Sigmoid", "GeLU", "Softmax", "LogSoftmax", "Erf", "Pow", "Sin", "Cos", "SiLU", "Softplus",
     "Expm1", "Log1p", "Tan", "Asin", "ACos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Elu", "CeLU", "SeLU",
     "Mish", "LRN", "LSTM", "DynamicRNN", "DynamicGRUV2", "TanhGrad", "GeLUGrad",
     "SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits", "Rsqrt")
)  # fmt: skip
"""Types that libraries compute by approximations good to about ten units in the last place."""

STEPS = frozenset(
    ("Argmax", "ArgMaxWithValue", "ArgMaxExt", "ArgMinWithValue", "Equal", "NotEqual", "Greater", "GreaterEqual",
     "Less", "LessEqual", "IsNan", "IsInf", "IsFinite", "Argmin", "Threshold", "HShrink", "TruncateDiv", "TruncateMod",
     "Sign", "Floor", "Ceil", "Round", "FloorDiv", "FloorMod", "OneHot", "TopK", "Sort",
     "MaxPoolGrad", "ReluGrad", "ReLU6Grad", "Switch", "Select", "Rint", "Trunc", "AscendQuant")
)  # fmt: skip
"""Types that jump: a small difference of an input may change an output element altogether."""

COMPILER_ATTRS = frozenset(
    ("IsFeatureMapInputList", "IsFeatureMapOutput", "input_names", "output_names", "is_backend_cast", "checkpoint",
     "is_dynamic_len", "visited", "side_effect_mem", "side_effect_io", "side_effect_hidden", "left_format",
     "right_format", "DstT", "SrcT", "dst_type", "src_type", "is_grad_", "instance name", "primitive_target",
     "target", "fusion", "stream_id", "unique_id", "forward_unique_id", "duplicate", "recompute", "cse", "T", "N",
     "inplace_prim", "func_name", "has_bias_", "io_format", "keep_origin", "dyn_input_sizes", "is_load",
     "side_effect_propagate", "core_type", "enable_hf32", "with_bias_add", "with_relu", "Tidx", "index",
     "IsFeatureMap", "kernel_name", "format_")
)  # fmt: skip
"""Attributes that the compiler adds; they say nothing about what is computed."""


def argument_names(op: Op) -> tuple[str, ...]:
    """Names of the operator's arguments; those of its own ``input_names`` attribute come first."""
    own = op.attrs.get("input_names")
    known = ARGUMENTS.get(op.op_type, "").split()
    if isinstance(own, tuple) and all(isinstance(name, str) for name in own):
        return (*own, *known[len(own) :])
    return tuple(known)


def argument_name(op: Op, flat_slot: int) -> str:
    """Name of the argument that arrives as input ``flat_slot``; ``""`` if it is not known."""
    names = _slot_names(op)
    return names[flat_slot] if 0 <= flat_slot < len(names) else ""


@once
def _slot_names(op: Op) -> tuple[str, ...]:
    """Names of an operator's arguments by flat slot; some operators read thousands."""
    names = argument_names(op)
    found: list[str] = []
    for argument, width in enumerate(_widths(op)):
        found += [names[argument] if argument < len(names) else ""] * width
    return tuple(found)


def _widths(op: Op) -> Iterator[int]:
    """How many dumped inputs each argument gives."""
    for operand in op.inputs:
        if isinstance(operand, Const) and operand.dtype == "monad":
            yield 0
        else:
            yield len(operand.items) if isinstance(operand, Bundle) and operand.unfold else 1


def settings(op: Op) -> dict[str, Any]:
    """What decides how the operator computes: attributes, and constant arguments under their names.

    Where the dialect gives a setting as attribute and another one as argument, both end up under
    the same name, so that graphs of two versions can be compared.
    """
    result = {k: v for k, v in op.attrs.items() if k not in COMPILER_ATTRS and v is not None}
    names = argument_names(op)
    for position, operand in enumerate(op.inputs):
        if isinstance(operand, Bundle) and not operand.unfold:
            values = tuple(i.value if isinstance(i, Const) else "?" for i in operand.items)
            operand = Const(values, "tuple")
        if isinstance(operand, Const) and operand.dtype not in ("monad", "None"):
            name = names[position] if position < len(names) else f"input.{position}"
            result[name] = operand.value
    return result
