"""What every operator's kernel is held against, and that it stands.

``loops`` are loops over indices or closed forms in plain Python (`kernel_oracles`), which
`test_kernels` runs. The other names are ONNX operators: their node tests, written by onnx, go
through the importer and end in the kernel.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import partial

import pytest

from kit.build.onnx_models import node_cases, outcome
from kit.oracle.kernel_oracles import CASES, OF_PYTORCH
from workbench.network.onnx.table import CONVERTERS
from workbench.npu.runner import run_npu
from workbench.ops import OPS

pytestmark = pytest.mark.slow

ORACLES = {
    "Conv2D": "loops Conv",
    "Conv3D": "loops",
    "Conv2DTranspose": "loops ConvTranspose",
    "Conv2DBackpropInput": "loops",
    "Conv2DBackpropFilter": "loops",
    "MatMul": "loops Gemm MatMul",
    "BatchMatMul": "loops MatMul",
    "DynamicRNN": "loops LSTM",
    "DynamicGRUV2": "loops GRU",
    "LSTM": "loops",
    "Add": "loops Add Sum",
    "Sub": "loops Sub",
    "Mul": "loops Mul",
    "RealDiv": "loops Div Mean",
    "Div": "loops",
    "FloorDiv": "loops",
    "FloorMod": "loops Mod",
    "TruncateDiv": "loops Div",
    "TruncateMod": "loops Mod",
    "Maximum": "loops Max Clip",
    "Minimum": "loops Min Clip",
    "Pow": "loops Pow",
    "Equal": "loops Equal IsInf",
    "NotEqual": "loops",
    "Greater": "loops Greater",
    "GreaterEqual": "loops GreaterOrEqual",
    "Less": "loops Less",
    "LessEqual": "loops LessOrEqual",
    "LogicalAnd": "loops And",
    "LogicalOr": "loops Or",
    "LogicalXor": "loops Xor",
    "BitwiseAnd": "loops BitwiseAnd",
    "BitwiseOr": "loops BitwiseOr",
    "BitwiseXor": "loops BitwiseXor",
    "LeftShift": "loops BitShift",
    "RightShift": "loops BitShift",
    "AddN": "loops",
    "BiasAdd": "loops",
    "PReLU": "loops",
    "Select": "loops Where",
    "MaskedFill": "loops",
    "ReLU": "loops Relu",
    "ReLU6": "loops",
    "Elu": "loops Elu",
    "CeLU": "loops Celu",
    "SeLU": "loops Selu",
    "SiLU": "loops Swish",
    "HSwish": "loops HardSwish",
    "HSigmoid": "loops",
    "HShrink": "loops Shrink",
    "SoftShrink": "loops Shrink",
    "Threshold": "loops ThresholdedRelu",
    "Softplus": "loops Softplus",
    "Softsign": "loops Softsign",
    "Mish": "loops Mish",
    "Sigmoid": "loops Sigmoid",
    "GeLU": "loops Gelu",
    "Erf": "loops Erf",
    "Sqrt": "loops Sqrt",
    "Rsqrt": "loops LayerNormalization",
    "Reciprocal": "loops Reciprocal",
    "Exp": "loops Exp",
    "Expm1": "loops",
    "Log": "loops Log",
    "Log1p": "loops",
    "Sin": "loops Sin",
    "Cos": "loops Cos",
    "Tan": "loops Tan",
    "Asin": "loops Asin",
    "ACos": "loops Acos",
    "Atan": "loops Atan",
    "Sinh": "loops Sinh",
    "Cosh": "loops Cosh",
    "Tanh": "loops Tanh",
    "Asinh": "loops Asinh",
    "Acosh": "loops Acosh",
    "Atanh": "loops Atanh",
    "Abs": "loops Abs",
    "Neg": "loops Neg",
    "Sign": "loops Sign",
    "Square": "loops ReduceL2 ReduceSumSquare",
    "Floor": "loops Floor",
    "Ceil": "loops Ceil",
    "Trunc": "loops",
    "Rint": "loops",
    "Round": "loops Round",
    "ClampScalar": "loops Clip",
    "Invert": "loops BitwiseNot",
    "LogicalNot": "loops Not",
    "IsNan": "loops IsNaN",
    "IsInf": "loops IsInf",
    "IsFinite": "loops",
    "ZerosLike": "loops",
    "OnesLike": "loops Dropout",
    "Cast": "loops Cast CastLike",
    "TransData": "loops",
    "Tril": "loops Trilu",
    "Triu": "loops Trilu",
    "Softmax": "loops Softmax",
    "LogSoftmax": "loops LogSoftmax",
    "ReduceMean": "loops ReduceMean GlobalAveragePool",
    "ReduceSum": "loops ReduceSum",
    "ReduceMax": "loops ReduceMax GlobalMaxPool",
    "ReduceMin": "loops ReduceMin",
    "ReduceProd": "loops ReduceProd",
    "ReduceAll": "loops ReduceMin",
    "ReduceAny": "loops ReduceMax",
    "Argmax": "loops ArgMax",
    "Argmin": "loops ArgMin",
    "ArgMaxWithValue": "loops",
    "ArgMinWithValue": "loops",
    "TopK": "loops TopK",
    "CumSum": "loops CumSum",
    "CumProd": "loops CumProd",
    "LayerNorm": "loops LayerNormalization",
    "RmsNorm": "loops RMSNormalization",
    "GroupNorm": "loops GroupNormalization InstanceNormalization",
    "BatchNorm": "loops BatchNormalization",
    "BNTrainingReduce": "loops",
    "BNTrainingUpdate": "loops",
    "ConvBnFilterHost": "loops",
    "ConvBnBiasHost": "loops",
    "LRN": "loops LRN",
    "MaxPool": "loops MaxPool",
    "AvgPool": "loops AveragePool",
    "MaxPoolV3": "loops MaxPool",
    "AvgPoolV2": "loops AveragePool",
    "ResizeNearestNeighborV2": "loops",
    "ResizeBilinearV2": "loops Resize",
    "Reshape": "loops Reshape Flatten Unsqueeze",
    "Flatten": "loops Flatten",
    "ExpandDims": "loops Unsqueeze",
    "Squeeze": "loops Squeeze",
    "Transpose": "loops Transpose",
    "Concat": "loops Concat",
    "ConcatD": "loops",
    "Stack": "loops GRU LSTM",
    "Split": "loops Split",
    "SplitD": "loops",
    "SplitV": "loops Split",
    "Slice": "loops",
    "StridedSlice": "loops Slice",
    "PadV3": "loops Pad",
    "Tile": "loops Tile",
    "BroadcastTo": "loops Expand",
    "ReverseV2": "loops ArgMax ArgMin",
    "ReverseSequence": "loops ReverseSequence",
    "DepthToSpace": "loops DepthToSpace",
    "SpaceToDepth": "loops SpaceToDepth",
    "Gather": "loops Resize Gather Upsample",
    "GatherD": "loops GatherElements",
    "GatherNd": "loops GatherND",
    "TensorScatterUpdate": "loops ScatterND",
    "TensorScatterAdd": "loops ScatterND",
    "TensorScatterMul": "loops ScatterND",
    "TensorScatterMax": "loops ScatterND",
    "TensorScatterMin": "loops ScatterND",
    "TensorScatterElements": "loops ScatterElements Scatter",
    "OneHot": "loops Hardmax OneHot",
    "AscendQuant": "loops",
    "AscendDequant": "loops",
    "TransQuantParamV2": "loops",
    "AscendAntiQuant": "loops",
    "SoftmaxCrossEntropyWithLogits": "loops",
    "SparseSoftmaxCrossEntropyWithLogits": "loops",
    "BiasAddGrad": "loops",
    "ReluGrad": "loops",
    "SigmoidGrad": "loops",
    "TanhGrad": "loops",
    "MaxPoolGrad": "loops",
    "AvgPoolGrad": "loops",
    "ReLU6Grad": "loops",
    "EluGrad": "loops",
    "SiLUGrad": "loops",
    "HSwishGrad": "loops",
    "HSigmoidGrad": "loops",
    "GeLUGrad": "loops",
    "SoftplusGrad": "loops",
    "PReLUGrad": "loops",
    "SqrtGrad": "loops",
    "RsqrtGrad": "loops",
    "LogSoftmaxGrad": "loops",
    "LayerNormGrad": "loops",
    "RmsNormGrad": "loops",
    "GroupNormGrad": "loops",
    "BatchNormGrad": "loops",
    "Assign": "loops",
    "AssignAdd": "loops",
    "AssignSub": "loops",
    "ApplyMomentum": "loops",
    "FusedMulApplyMomentum": "loops",
    "SGD": "loops",
    "Adam": "loops",
    "AdamWeightDecay": "loops",
    "FusedMulAddN": "loops",
    "AllFinite": "loops",
    "NPUGetFloatStatusV2": "loops",
    "NPUClearFloatStatusV2": "loops",
    "AllReduce": "loops",
    "AllGather": "loops",
    "ReduceScatter": "loops",
    "Broadcast": "loops",
    "HcomAllReduce": "loops",
    "HcomAllGather": "loops",
    "HcomReduceScatter": "loops",
    "HcomBroadcast": "loops",
    "DynamicRNNGrad": "loops",
    "LSTMGrad": "loops",
    "ResizeNearestNeighborV2Grad": "loops",
    "ResizeBilinearGrad": "loops",
    "StridedSliceGrad": "loops",
    "SliceGrad": "loops",
    "PadV3Grad": "loops",
    "GatherDGradV2": "loops",
    "UnsortedSegmentSum": "loops",
    "ScatterNd": "loops",
    "Unstack": "loops",
    "FillV2": "loops",
    "Dropout": "loops",
    "DropoutGrad": "loops",
}
"""Operator → oracles."""

REFUSED = {
    r"^test_(?!cast).*_(e4m3fn|e5m2|float4e2m1|u?int[24])": "dtype",
    r"^test_cast.*(FNUZ|UINT4|INT2|FLOAT4E2M1|E8M0|e8m0|STRING)": "dtype",
    r"_string|strings": "dtype",
    r"_(3d|3d_.*)$": "graph/onnx-rank",
    r"_3d_dilations": "graph/onnx-rank",
    r"_2d_dilations$": "graph/onnx-attribute dilations",
    r"training_(mode|dropout)|test_training": "graph/onnx-attribute training_mode",
    r"with_argmax": "graph/onnx-output Indices",
    r"_blocked": "graph/onnx-attribute block_size",
    r"batch_dim1": "graph/onnx-attribute batch_dims",
    r"identity_(sequence|opt)": "graph/onnx-input-type",
    r"_empty_set$": "graph/empty-axis",
    r"peepholes": "graph/onnx-peepholes",
    r"resize_.*cubic": "graph/",
    r"resize_.*antialias": "graph/onnx-attribute antialias",
    r"resize_tf_crop": "graph/onnx-attribute coordinate_transformation_mode",
    r"resize_.*not_(larger|smaller)": "graph/onnx-attribute keep_aspect_ratio_policy",
    r"resize_.*linear_half_pixel_symmetric": "graph/onnx-attribute coordinate_transformation_mode",
    r"resize_downsample_(scales|sizes)_linear": ("graph/onnx-resize", "graph/onnx-half-pixel"),
    r"scatter_elements_with_reduction_(mul|max|min)": "graph/onnx-attribute reduction",
}
"""Node tests of operators that the importer has, but not in this way: name → code of the error, and its subject."""


def codes_of(key):
    return (REFUSED[key],) if isinstance(REFUSED[key], str) else REFUSED[key]


def reasons(error):
    """Code and subject of an error, or of all that it holds."""
    for one in error.values.get("problems", [error]):
        subject = next(
            (one.values[name] for name in ("name", "subject", "got") if name in one.values), ""
        )
        yield f"{one.code} {subject}"


@pytest.fixture(scope="module")
def cases():
    """The node tests; to make them takes onnx longer than it takes us to run them."""
    return [*node_cases()]


@pytest.fixture(scope="module")
def outcomes(cases):
    return [outcome(case) for case in cases]


def test_every_operator_has_an_oracle_that_is_run():
    assert ORACLES.keys() | OF_PYTORCH == OPS.keys()
    for name, oracles in ORACLES.items():
        assert oracles.split(), name
        assert "loops" not in oracles.split() or CASES[name][1], name


@pytest.mark.parametrize("name", ORACLES)
def test_the_node_tests_named_in_the_table_reach_the_kernel_and_agree(name, outcomes):
    for onnx_type in ORACLES[name].split():
        if onnx_type != "loops":
            reached = [
                one
                for one in outcomes
                if one.onnx_type == onnx_type and name in one.operators and not one.wrong
            ]
            assert reached, onnx_type


def test_no_node_test_disagrees(outcomes):
    assert not [(one.name, one.wrong) for one in outcomes if one.wrong]
    assert sum(not one.refused for one in outcomes) > 1000


def test_on_a_device_convolutions_alone_leave_the_tolerance(cases):
    """A2 reads them as HF32, of eleven bits; all else is rounded to float32 or finer than a test looks."""
    device = partial(run_npu, profile="a2")
    found = [outcome(case, device) for case in cases]
    assert {"Conv2D" in one.operators for one in found if one.wrong} == {True}
    assert sum(not one.refused and not one.wrong for one in found) > 1000


def test_every_operator_of_the_importer_has_a_node_test_that_agrees(outcomes):
    agree = {one.onnx_type for one in outcomes if not one.refused}
    assert CONVERTERS.keys() - agree == {"GlobalLpPool"}  # tests/network/onnx has one of ours


def test_what_the_importer_refuses_is_known_and_said(outcomes):
    met = Counter()
    for one in outcomes:
        if one.onnx_type in CONVERTERS and one.refused:
            found = [key for key in REFUSED if re.search(key, one.name)]
            assert found, (one.name, one.refused)
            met.update(found)
            causes = [*reasons(one.refused)]
            assert any(
                code in cause for key in found for code in codes_of(key) for cause in causes
            ), (
                one.name,
                causes,
            )
    assert REFUSED.keys() == met.keys()
