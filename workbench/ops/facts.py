"""What is asked of the types of all operators that are compared, without loading their rows.

All of it follows from the rows (`workbench.ops.rows`), and tests/ops/test_facts.py writes it: a comparison that
agrees asks where values are moved and overwritten, and needs no shape rule, no gradient and no kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def _types(names: str) -> frozenset[str]:
    return frozenset(names.split())


_FAMILIES: Mapping[str, str] = {
    "matrix": """
        Conv2D Conv2DTranspose Conv2DBackpropInput Conv2DBackpropFilter MatMul BatchMatMul
        Conv3D Convolution ConvolutionGrad Dense MatMulBiasAddFusion MatMulBiasAddReluFusion
        MatMulExt
    """,
    "elementwise": """
        Add Sub Mul RealDiv Div FloorDiv FloorMod TruncateDiv TruncateMod Maximum Minimum Pow
        Equal NotEqual Greater GreaterEqual Less LessEqual LogicalAnd LogicalOr LogicalXor
        BitwiseAnd BitwiseOr BitwiseXor LeftShift RightShift AddN BiasAdd Select MaskedFill Erf
        Sqrt Rsqrt Reciprocal Exp Expm1 Log Log1p Sin Cos Tan Asin ACos Atan Sinh Cosh Asinh
        Acosh Atanh Abs Neg Sign Square Floor Ceil Trunc Rint Round ClampScalar Invert
        LogicalNot IsNan IsInf IsFinite ZerosLike OnesLike Cast TransData BiasAddGrad SqrtGrad
        RsqrtGrad AddExt Adds ClampTensor InplaceAddExt Muls SubExt
    """,
    "activation": """
        PReLU ReLU ReLU6 Elu CeLU SeLU SiLU HSwish HSigmoid HShrink SoftShrink Threshold
        Softplus Softsign Mish Sigmoid GeLU Tanh ReluGrad SigmoidGrad TanhGrad ReLU6Grad EluGrad
        SiLUGrad HSwishGrad HSigmoidGrad GeLUGrad SoftplusGrad PReLUGrad SwiGlu Swiglu
        SoftplusExt
    """,
    "reduction": """
        Softmax LogSoftmax ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceAll
        ReduceAny Argmax Argmin ArgMaxWithValue ArgMinWithValue TopK CumSum CumProd
        LogSoftmaxGrad ArgMaxExt L2Loss LogSoftmaxV2 MeanExt Norm ReduceMeanD ReduceSumD
        SoftmaxGrad SoftmaxV2 Sort SumExt
    """,
    "normalization": """
        LayerNorm RmsNorm GroupNorm BatchNorm BNTrainingReduce BNTrainingUpdate ConvBnFilterHost
        ConvBnBiasHost LRN LayerNormGrad RmsNormGrad GroupNormGrad BatchNormGrad AddLayerNorm
        AddRmsNorm BatchNormExt BatchNormGradExt InstanceNorm L2Normalize LayerNormExt
        LayerNormGradExt LayerNormGradV3 LayerNormV3
    """,
    "pooling": """
        MaxPool AvgPool MaxPoolV3 AvgPoolV2 ResizeNearestNeighborV2 ResizeBilinearV2 MaxPoolGrad
        AvgPoolGrad ResizeNearestNeighborV2Grad ResizeBilinearGrad AvgPool2D MaxPoolWithMask
        UpsampleNearest2D
    """,
    "movement": """
        Tril Triu Reshape Flatten ExpandDims Squeeze Transpose Concat Stack Split SplitV Slice
        StridedSlice PadV3 Tile BroadcastTo ReverseV2 ReverseSequence DepthToSpace SpaceToDepth
        StridedSliceGrad SliceGrad PadV3Grad Unstack FillV2 Depend Identity LinSpace Load Pad
        Range ReshapeExt Switch TensorMove View ConcatD Pack SplitD
    """,
    "indexing": """
        Gather GatherD GatherNd TensorScatterUpdate TensorScatterAdd TensorScatterMul
        TensorScatterMax TensorScatterMin TensorScatterElements OneHot GatherDGradV2
        UnsortedSegmentSum ScatterNd Embedding ScatterAdd ScatterNdUpdate ScatterUpdate
    """,
    "quantization": """
        AscendQuant AscendDequant TransQuantParamV2 AscendAntiQuant
    """,
    "loss": """
        SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits Dropout DropoutGrad
        BCEWithLogitsLoss BinaryCrossEntropy L1LossExt MSELossExt NLLLoss SmoothL1Loss
    """,
    "recurrent": """
        DynamicRNN DynamicGRUV2 LSTM DynamicRNNGrad LSTMGrad
    """,
    "update": """
        Assign AssignAdd AssignSub ApplyMomentum FusedMulApplyMomentum SGD Adam AdamWeightDecay
        FusedMulAddN AllFinite NPUGetFloatStatusV2 NPUClearFloatStatusV2 ApplyAdagrad ApplyAdam
        ApplyFtrl ApplyRMSProp FusedAdam FusedSparseAdam
    """,
    "collective": """
        AllReduce AllGather ReduceScatter AlltoAll Broadcast Send Receive HcomAllReduce
        HcomAllGather HcomReduceScatter HcomBroadcast
    """,
    "transformer": """
        FlashAttentionScore PromptFlashAttention IncreFlashAttention RotaryPositionEmbedding
        MoeGatingTopK MoeGatingTopKSoftmax
    """,
}
"""Module of rows → its types."""

FAMILY: Mapping[str, str] = {
    name: family for family, names in _FAMILIES.items() for name in names.split()
}
"""Every operator type of which something is known → the module of its row."""

FOREIGN: frozenset[str] = _types("""
    AddExt AddLayerNorm AddRmsNorm Adds ApplyAdam ApplyFtrl ArgMaxExt AvgPool2D
    BCEWithLogitsLoss BatchNormExt BatchNormGradExt BinaryCrossEntropy ClampTensor Convolution
    ConvolutionGrad Dense Depend Embedding FusedAdam FusedSparseAdam Identity InplaceAddExt
    InstanceNorm L1LossExt L2Loss L2Normalize LayerNormExt LayerNormGradExt LayerNormGradV3
    LayerNormV3 Load LogSoftmaxV2 MSELossExt MatMulBiasAddFusion MatMulBiasAddReluFusion
    MatMulExt MaxPoolWithMask MeanExt Muls Norm Pad ReduceMeanD ReduceSumD ReshapeExt ScatterAdd
    ScatterNdUpdate ScatterUpdate SmoothL1Loss SoftmaxGrad SoftmaxV2 SoftplusExt Sort SubExt
    SumExt SwiGlu Swiglu Switch TensorMove UpsampleNearest2D View
""")
"""Types that are known from files and not computed."""

RESHAPING: frozenset[str] = _types("""
    ExpandDims Flatten FlattenExt Reshape ReshapeExt Squeeze Unsqueeze UnsqueezeExt View
""")
"""Types that give the same elements in the same order in another shape, under all their names (`ops.aliases`)."""

RENAMING: frozenset[str] = _types("""
    ExpandDims Flatten Reshape Squeeze
""")
"""Types that run nothing: their result is what they read, in the same memory."""

IDENTITY: frozenset[str] = _types("""
    Cast Depend Identity Load TensorMove TransData
""")
"""Types that hand a value on, at most in another number or device format."""

MOVEMENT: frozenset[str] = IDENTITY | _types("""
    BroadcastTo Concat ConcatD DepthToSpace ExpandDims FillV2 Flatten Pack Reshape ReshapeExt
    ReverseSequence ReverseV2 Slice SliceGrad SpaceToDepth Split SplitD SplitV Squeeze Stack
    StridedSlice StridedSliceGrad Tile Transpose Tril Triu Unstack View
""")
"""Types that move elements without computing: they cannot be where a value first goes wrong."""

CHOOSING: frozenset[str] = MOVEMENT | _types("""
    Abs Gather MaxPool Maximum Minimum Neg ReLU ReluGrad
""")
"""Types whose results are numbers of their inputs, up to sign, or zero: there is nothing to round."""

CONTRACTIONS: frozenset[str] = _types("""
    BatchMatMul Conv2D Conv2DBackpropFilter Conv2DBackpropInput Conv2DTranspose Conv3D
    Convolution ConvolutionGrad Dense DynamicGRUV2 DynamicRNN DynamicRNNGrad FlashAttentionScore
    IncreFlashAttention LSTM LSTMGrad MatMul MatMulBiasAddFusion MatMulBiasAddReluFusion
    MatMulExt PromptFlashAttention
""")
"""Types that sum products; they run on the cube unit."""

SUMMING: frozenset[str] = _types("""
    AddLayerNorm AddRmsNorm AvgPool AvgPool2D AvgPoolGrad AvgPoolV2 BNTrainingReduce
    BNTrainingUpdate BatchNorm BatchNormExt BatchNormGrad BatchNormGradExt BiasAddGrad CumSum
    GroupNorm GroupNormGrad InstanceNorm L1LossExt L2Loss L2Normalize LRN LayerNorm LayerNormExt
    LayerNormGrad LayerNormGradExt LayerNormGradV3 LayerNormV3 LogSoftmax LogSoftmaxGrad
    LogSoftmaxV2 MSELossExt MaxPoolGrad MeanExt MoeGatingTopK MoeGatingTopKSoftmax NLLLoss Norm
    ReduceMean ReduceMeanD ReduceSum ReduceSumD RmsNorm RmsNormGrad Softmax
    SoftmaxCrossEntropyWithLogits SoftmaxGrad SoftmaxV2 SparseSoftmaxCrossEntropyWithLogits
    SumExt UnsortedSegmentSum
""")
"""Types of the vector unit that sum up elements, or normalize by such sums."""

COMMUTATIVE: frozenset[str] = _types("""
    Add AddN BitwiseAnd BitwiseOr BitwiseXor Equal LogicalAnd LogicalOr LogicalXor Maximum
    Minimum Mul NotEqual
""")
"""Types whose inputs may stand in any order."""

APPROXIMATED: frozenset[str] = _types("""
    ACos Acosh Asin Asinh Atan Atanh CeLU Cos Cosh DynamicGRUV2 DynamicRNN Elu Erf Exp Expm1
    FlashAttentionScore GeLU GeLUGrad IncreFlashAttention LRN LSTM Log Log1p LogSoftmax Mish
    MoeGatingTopK MoeGatingTopKSoftmax Pow PromptFlashAttention Rsqrt SeLU SiLU Sigmoid Sin Sinh
    Softmax SoftmaxCrossEntropyWithLogits Softplus SparseSoftmaxCrossEntropyWithLogits Tan Tanh
    TanhGrad
""")
"""Types that libraries compute by approximations good to about ten units in the last place."""

STEPS: frozenset[str] = _types("""
    ArgMaxExt ArgMaxWithValue ArgMinWithValue Argmax Argmin AscendQuant Ceil Equal Floor
    FloorDiv FloorMod Greater GreaterEqual HShrink IsFinite IsInf IsNan Less LessEqual
    MaxPoolGrad MoeGatingTopK MoeGatingTopKSoftmax NotEqual OneHot ReLU6Grad ReluGrad Rint Round
    Select Sign Sort Switch Threshold TopK Trunc TruncateDiv TruncateMod
""")
"""Types that jump: a small difference of an input may change an output element altogether."""

IN_PLACE: Mapping[str, tuple[int, ...]] = {
    "InplaceAddExt": (0,),
    "BatchNorm": (3, 4),
    "BNTrainingUpdate": (5, 6),
    "BatchNormExt": (3, 4),
    "ScatterAdd": (0,),
    "ScatterNdUpdate": (0,),
    "ScatterUpdate": (0,),
    "Assign": (0,),
    "AssignAdd": (0,),
    "AssignSub": (0,),
    "ApplyMomentum": (0, 1),
    "FusedMulApplyMomentum": (0, 1),
    "SGD": (0, 3, 5),
    "Adam": (0, 1, 2),
    "AdamWeightDecay": (0, 1, 2),
    "ApplyAdagrad": (0, 1),
    "ApplyAdam": (0, 1, 2),
    "ApplyFtrl": (0, 1, 2),
    "ApplyRMSProp": (0, 1, 2),
    "FusedAdam": (0, 1, 2),
    "FusedSparseAdam": (0, 1, 2),
}
"""Operator type → input slots that it overwrites; their dumped inputs hold the value afterwards."""

UNWRITTEN_ON_CPU: Mapping[str, tuple[int, ...]] = {
    "BatchNorm": (1, 2),
    "Adam": (0, 1, 2),
    "AdamWeightDecay": (0, 1, 2),
    "ApplyRMSProp": (0,),
}
"""Operator type → output slots that MindSpore's CPU kernels leave as they were (2.0 to 2.10)."""

COLLECTIVES: frozenset[str] = frozenset(_FAMILIES["collective"].split())
"""Operators in which the ranks of a job meet."""

PARTING: frozenset[str] = frozenset(("AlltoAll", "ReduceScatter", "HcomReduceScatter"))
"""Of these, those of which each rank gets a part of what its peers give, and another one than they."""
