"""What the device decides by operator type, one row a type: CANN keeps it in its ``aic-*-ops-info.json``.

That file is not public: lists and formats here are ours, after the documents and the frameworks' lists. A type
that the device computes as any other (gray in mixed precision, on the graph's layout, without a fast
implementation) stands in `PLAIN`, so that nobody forgets to decide. Every other table of operator types in this
package is derived from these rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from workbench._values import dataclass
from workbench.npu.approximations import DIV, EXP, GELU, RSQRT, TANH, Approximation

Shade = Literal["white", "gray", "black"]
"""Whether mixed precision lowers an operator: always, if its producer is lowered, never."""

_MAP, _WEIGHT, _MATRIX = "NC1HWC0", "FRACTAL_Z", "FRACTAL_NZ"


@dataclass(frozen=True, slots=True)
class OpInfo:
    """How the device treats one operator type where it differs from the default.

    ``mixed_precision``: its list of mixed precision. ``formats``: device format of each input, then that of
    the first output; empty: as in the graph. ``format_agnostic``: works on any layout, as long as all tensors
    of the output's shape have it; ``per_channel``: and reads one number a channel, which lies as in the graph.
    ``keeps_inputs``, ``keeps_outputs``: places whose kernel has no other dtype than the graph.
    ``reads_as_is``: dtypes that it reads as they come, whatever the mode. ``dtype_attribute``: attribute that
    tells the dtype of the result. ``wide_output``: its kernel writes its float32 sums as they are
    (``res_dtype`` of CANN's), whatever it reads. ``integers``: the cube unit multiplies integers of 8 bits.
    ``fast``: implementations of fewer digits, by mode.
    """

    mixed_precision: Shade = "gray"
    formats: tuple[str, ...] = ()
    format_agnostic: bool = False
    per_channel: bool = False
    keeps_inputs: tuple[int, ...] = ()
    keeps_outputs: tuple[int, ...] = ()
    reads_as_is: tuple[str, ...] = ()
    dtype_attribute: str = ""
    wide_output: bool = False
    integers: bool = False
    fast: Mapping[str, Approximation] = field(default_factory=dict)


OPS_INFO: dict[str, OpInfo] = {
    # matrix
    "Conv2D": OpInfo(mixed_precision="white", formats=(_MAP, _WEIGHT, _MAP), integers=True),
    "Conv2DTranspose": OpInfo(mixed_precision="white"),
    "Conv2DBackpropInput": OpInfo(mixed_precision="white", formats=(_MAP, _WEIGHT, _MAP)),
    "Conv2DBackpropFilter": OpInfo(
        mixed_precision="white", formats=(_MAP, _MAP, _WEIGHT), wide_output=True
    ),
    "MatMul": OpInfo(mixed_precision="white", formats=(_MATRIX, _MATRIX, _MATRIX), integers=True),
    "BatchMatMul": OpInfo(
        mixed_precision="white", formats=(_MATRIX, _MATRIX, _MATRIX), integers=True
    ),
    "Conv3D": OpInfo(mixed_precision="white"),
    # elementwise
    "Add": OpInfo(format_agnostic=True),
    "Sub": OpInfo(format_agnostic=True),
    "Mul": OpInfo(format_agnostic=True),
    "RealDiv": OpInfo(mixed_precision="black", format_agnostic=True, fast=DIV),
    "Div": OpInfo(mixed_precision="black", format_agnostic=True, fast=DIV),
    "Maximum": OpInfo(format_agnostic=True),
    "Minimum": OpInfo(format_agnostic=True),
    "Pow": OpInfo(mixed_precision="black"),
    "BiasAdd": OpInfo(formats=(_MAP, "", _MAP), format_agnostic=True, per_channel=True),
    "Erf": OpInfo(mixed_precision="black"),
    "Sqrt": OpInfo(mixed_precision="black", format_agnostic=True),
    "Rsqrt": OpInfo(mixed_precision="black", fast=RSQRT),
    "Reciprocal": OpInfo(mixed_precision="black"),
    "Exp": OpInfo(mixed_precision="black", format_agnostic=True, fast=EXP),
    "Expm1": OpInfo(mixed_precision="black"),
    "Log": OpInfo(mixed_precision="black"),
    "Log1p": OpInfo(mixed_precision="black"),
    "Tan": OpInfo(mixed_precision="black"),
    "Sinh": OpInfo(mixed_precision="black"),
    "Cosh": OpInfo(mixed_precision="black"),
    "Asinh": OpInfo(mixed_precision="black"),
    "Acosh": OpInfo(mixed_precision="black"),
    "Atanh": OpInfo(mixed_precision="black"),
    "Abs": OpInfo(format_agnostic=True),
    "Neg": OpInfo(format_agnostic=True),
    "Square": OpInfo(format_agnostic=True),
    "Cast": OpInfo(format_agnostic=True),
    "BiasAddGrad": OpInfo(formats=(_MAP, "")),
    "SqrtGrad": OpInfo(format_agnostic=True),
    "RsqrtGrad": OpInfo(format_agnostic=True),
    # activation
    "ReLU": OpInfo(formats=(_MAP, _MAP), format_agnostic=True),
    "ReLU6": OpInfo(format_agnostic=True),
    "Elu": OpInfo(format_agnostic=True),
    "SiLU": OpInfo(format_agnostic=True),
    "HSwish": OpInfo(format_agnostic=True),
    "HSigmoid": OpInfo(format_agnostic=True),
    "Softplus": OpInfo(mixed_precision="black"),
    "Sigmoid": OpInfo(format_agnostic=True),
    "GeLU": OpInfo(format_agnostic=True, fast=GELU),
    "Tanh": OpInfo(format_agnostic=True, fast=TANH),
    "ReluGrad": OpInfo(formats=(_MAP, _MAP, _MAP), format_agnostic=True),
    "SigmoidGrad": OpInfo(format_agnostic=True),
    "TanhGrad": OpInfo(format_agnostic=True),
    "ReLU6Grad": OpInfo(format_agnostic=True),
    "EluGrad": OpInfo(format_agnostic=True),
    "SiLUGrad": OpInfo(format_agnostic=True),
    "HSwishGrad": OpInfo(format_agnostic=True),
    "HSigmoidGrad": OpInfo(format_agnostic=True),
    "GeLUGrad": OpInfo(format_agnostic=True),
    "SoftplusGrad": OpInfo(format_agnostic=True),
    # reduction
    "Softmax": OpInfo(mixed_precision="black"),
    "LogSoftmax": OpInfo(mixed_precision="black"),
    "ReduceMean": OpInfo(mixed_precision="black"),
    "ReduceSum": OpInfo(mixed_precision="black"),
    "ReduceProd": OpInfo(mixed_precision="black"),
    "CumSum": OpInfo(mixed_precision="black"),
    "CumProd": OpInfo(mixed_precision="black"),
    # normalization
    "LayerNorm": OpInfo(mixed_precision="black"),
    "RmsNorm": OpInfo(mixed_precision="black"),
    "GroupNorm": OpInfo(mixed_precision="black"),
    "BatchNorm": OpInfo(
        mixed_precision="black",
        formats=(_MAP, _MAP),
        keeps_inputs=(1, 2, 3, 4),
        keeps_outputs=(1, 2, 3, 4),
    ),
    "BNTrainingReduce": OpInfo(formats=(_MAP, ""), keeps_outputs=(0, 1)),
    "BNTrainingUpdate": OpInfo(
        formats=(_MAP, "", "", "", "", "", "", _MAP),
        keeps_inputs=(1, 2, 3, 4, 5, 6),
        keeps_outputs=(1, 2, 3, 4),
    ),
    "LRN": OpInfo(mixed_precision="black"),
    "BatchNormGrad": OpInfo(
        formats=(_MAP, _MAP, _MAP), keeps_inputs=(2, 3, 4, 5), keeps_outputs=(1, 2)
    ),
    # pooling
    "MaxPool": OpInfo(formats=(_MAP, _MAP)),
    "AvgPool": OpInfo(formats=(_MAP, _MAP)),
    "MaxPoolGrad": OpInfo(formats=(_MAP, _MAP, _MAP, _MAP)),
    "AvgPoolGrad": OpInfo(formats=(_MAP, _MAP, _MAP, _MAP)),
    # quantization
    "AscendQuant": OpInfo(formats=(_MAP, _MAP), reads_as_is=("float16", "float32")),
    "AscendDequant": OpInfo(format_agnostic=True, per_channel=True, dtype_attribute="dtype"),
    "AscendAntiQuant": OpInfo(dtype_attribute="dtype"),
    # loss
    "DropoutGrad": OpInfo(format_agnostic=True),
    # recurrent
    "DynamicRNN": OpInfo(mixed_precision="white"),
    "DynamicGRUV2": OpInfo(mixed_precision="white"),
    "LSTM": OpInfo(mixed_precision="white"),
    "DynamicRNNGrad": OpInfo(mixed_precision="white"),
    "LSTMGrad": OpInfo(mixed_precision="white"),
    # of the graph engine, not traced here
    "LeakyReLU": OpInfo(format_agnostic=True),
}
"""Operator type → what differs from the default."""

PLAIN = frozenset(
    """
    ACos Adam AdamWeightDecay AddN AllFinite AllGather AllReduce AlltoAll ApplyAdagrad
    ApplyMomentum ApplyRMSProp ArgMaxWithValue ArgMinWithValue Argmax Argmin Asin Assign AssignAdd
    AssignSub Atan AvgPoolV2 BitwiseAnd BitwiseOr BitwiseXor Broadcast BroadcastTo CeLU Ceil
    ClampScalar Concat ConcatD ConvBnBiasHost ConvBnFilterHost Cos DepthToSpace Dropout
    Equal ExpandDims FillV2 FlashAttentionScore Flatten Floor FloorDiv FloorMod FusedMulAddN
    FusedMulApplyMomentum Gather GatherD GatherDGradV2 GatherNd Greater GreaterEqual
    GroupNormGrad HShrink HcomAllGather HcomAllReduce HcomBroadcast HcomReduceScatter
    IncreFlashAttention Invert IsFinite IsInf IsNan LayerNormGrad LeftShift Less LessEqual
    LinSpace LogSoftmaxGrad LogicalAnd LogicalNot LogicalOr LogicalXor MaskedFill MaxPoolV3
    Mish MoeGatingTopK MoeGatingTopKSoftmax NLLLoss NPUClearFloatStatusV2
    NPUGetFloatStatusV2 NotEqual OneHot OnesLike Pack PReLU PReLUGrad PadV3 PadV3Grad
    PromptFlashAttention Range ReduceAll ReduceAny ReduceMax ReduceMin ReduceScatter Reshape
    ResizeBilinearGrad ResizeBilinearV2 ResizeNearestNeighborV2 ResizeNearestNeighborV2Grad
    ReverseSequence ReverseV2 RightShift Rint RmsNormGrad Receive RotaryPositionEmbedding Round SGD
    ScatterNd SeLU Select Send Sign Sin Slice SliceGrad SoftShrink SoftmaxCrossEntropyWithLogits
    Softsign SpaceToDepth SparseSoftmaxCrossEntropyWithLogits Split SplitD SplitV Squeeze
    Stack StridedSlice StridedSliceGrad TensorScatterAdd TensorScatterElements
    TensorScatterMax TensorScatterMin TensorScatterMul TensorScatterUpdate Threshold Tile
    TopK TransData TransQuantParamV2 Transpose Tril Triu Trunc TruncateDiv TruncateMod
    UnsortedSegmentSum Unstack ZerosLike
    """.split()  # noqa: SIM905  a hundred names are read better so
)
"""Types that the device treats as the default says."""

_DEFAULT = OpInfo()

INTEGERS = frozenset(name for name, info in OPS_INFO.items() if info.integers)
"""Types of which the cube unit multiplies integers of 8 bits."""

APPROXIMATIONS: dict[str, dict[str, Approximation]] = {
    mode: {name: info.fast[mode] for name, info in OPS_INFO.items() if mode in info.fast}
    for mode in ("high_performance", "super_performance")
}
"""Fast implementations by mode and operator type."""


def op_info(op_type: str) -> OpInfo:
    """Row of an operator type; the default where nothing differs."""
    return OPS_INFO.get(op_type, _DEFAULT)
