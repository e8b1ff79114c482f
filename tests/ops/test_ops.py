"""The operator table: roles of operands in every spelling, and refusals with a reason."""

import pytest

from kit.words import refused
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Bundle, Const, Graph, Op, Param, Value
from workbench.ops import OPS, bind, infer_outputs, op_def


def spec(*shape, dtype="float32"):
    return TensorSpec(dtype, shape)


def test_settings_are_read_alike_from_constants_and_from_attributes():
    flags = (Const(False, "bool", ()), Const(True, "bool", ()))
    new = Op("Default/MatMul-op0", "MatMul", (Param(0), Param(1), *flags))
    old = Op("Default/MatMul-op3", "MatMul", (Param(0), Param(1)), {"transpose_b": True})
    for op in (new, old):
        bound = bind(op)
        assert bound.tensors == (Param(0), Param(1))
        assert bound.slots == (0, 1)
        assert bound.settings == {"transpose_a": False, "transpose_b": True}


@pytest.mark.parametrize(
    "inputs",
    [
        (Bundle((Value(0), Value(1))), Const(1, "int64", ())),
        (Value(0), Value(1), Const(1, "int64", ())),
    ],
)
def test_a_variadic_operator_has_its_tensors_first_bundled_or_not(inputs):
    bound = bind(Op("c", "Concat", inputs))
    assert bound.tensors == (Value(0), Value(1))
    assert bound.slots == (0, 1)
    assert bound.settings["axis"] == 1


def test_a_constant_tensor_is_a_tensor_and_a_computed_setting_stays_an_operand():
    scaled = bind(Op("m", "Mul", (Value(0), Const(0.5, "float32", ()))))
    assert scaled.tensors[1] == Const(0.5, "float32", ())
    shaped = bind(Op("r", "Reshape", (Value(0), Value(3))))
    assert shaped.settings["shape"] == Value(3)


def test_monads_are_no_operands():
    bound = bind(Op("r", "ReLU", (Value(0), Const("U", "monad"))))
    assert bound.tensors == (Value(0),)


def test_missing_inputs_are_refused_with_the_name():
    with refused("graph/inputs-count", GraphError, op="a/b", type="MatMul", expected=2, got=1):
        bind(Op("a/b", "MatMul", (Value(0),)))


def test_an_unknown_type_is_refused_with_the_known_ones():
    with refused(
        "core/choice", GraphError, subject="operator type", got="Relu7", known=sorted(OPS)
    ):
        op_def("Relu7")


def test_every_row_is_consistent():
    for name, row in OPS.items():
        assert len(row.arguments) == len(set(row.arguments)), name
        assert row.tensors == -1 or 1 <= row.tensors <= len(row.arguments), name
        assert set(row.settings) - set(row.defaults) == NEEDED.get(name, set()), name
        assert row.tensors == -1 or len(row.positions) == row.tensors, name


NEEDED = {
    "ApplyRMSProp": {"decay", "momentum", "epsilon"},
    "FlashAttentionScore": {"head_num"},
    "LinSpace": {"num"},
    "MoeGatingTopK": {"k"},
    "MoeGatingTopKSoftmax": {"k"},
    "Conv2DTranspose": {"input_size"},
    "Conv2DBackpropInput": {"input_size"},
    "Conv2DBackpropFilter": {"filter_size"},
    "Threshold": {"threshold", "value"},
    "Cast": {"dtype"},
    "TopK": {"k"},
    "CumSum": {"axis"},
    "CumProd": {"axis"},
    "GroupNorm": {"num_groups"},
    "GroupNormGrad": {"num_groups"},
    "ResizeNearestNeighborV2": {"size"},
    "ResizeBilinearV2": {"size"},
    "Reshape": {"shape"},
    "ExpandDims": {"axis"},
    "Transpose": {"dims"},
    "Split": {"output_num"},
    "SplitD": {"output_num"},
    "Slice": {"begin", "size"},
    "StridedSlice": {"begin", "end", "strides"},
    "PadV3": {"paddings"},
    "Tile": {"dims"},
    "BroadcastTo": {"shape"},
    "ReverseV2": {"axis"},
    "GatherD": {"dim"},
    "OneHot": {"depth"},
    "ResizeNearestNeighborV2Grad": {"size"},
    "StridedSliceGrad": {"shapex", "begin", "end", "strides"},
    "SliceGrad": {"begin", "size"},
    "PadV3Grad": {"paddings"},
    "GatherDGradV2": {"dim"},
    "UnsortedSegmentSum": {"num_segments"},
    "ScatterNd": {"shape"},
    "FillV2": {"shape"},
}
"""Settings that have no default, by operator type."""

X, IMAGE = spec(2, 3, 4), spec(2, 4, 8, 8)
REFUSED = [
    ("Add", (spec(2, 3), spec(2, 4)), {}, "graph/broadcast", {"got": ((2, 3), (2, 4))}),
    ("Add", (spec(2), spec(2, dtype="float16")), {},
     "graph/dtypes-differ", {"subject": "inputs", "got": ("float32", "float16")}),
    ("MatMul", (spec(2, 3), spec(4, 5)), {},
     "graph/inner", {"left": (2, 3), "right": (4, 5), "transposed": False, "expected": 3, "got": 4}),
    ("MatMul", (X, X), {}, "graph/matrices", {"type": "MatMul", "got": ((2, 3, 4), (2, 3, 4))}),
    ("BatchMatMul", (spec(2, 3, 4), spec(3, 4, 5)), {}, "graph/broadcast", {"got": ((2,), (3,))}),
    ("BiasAdd", (spec(4), spec(4)), {}, "graph/rank", {"subject": "input", "least": 2, "got": (4,)}),
    ("BiasAdd", (spec(2, 4), spec(5)), {}, "graph/shape", {"subject": "bias", "expected": (4,), "got": (5,)}),
    ("Conv2D", (spec(2, 4, 8), IMAGE), {},
     "graph/layout", {"subject": "input and weight", "expected": "NCHW, OIHW", "got": ((2, 4, 8), (2, 4, 8, 8))}),
    ("Conv2D", (IMAGE, spec(3, 5, 3, 3)), {},
     "graph/channels", {"weight": (3, 5, 3, 3), "group": 1, "expected": 5, "got": 4}),
    ("Conv2D", (IMAGE, spec(3, 2, 3, 3)), {"group": 2},
     "graph/multiple", {"subject": "output channels", "of": 2, "got": 3}),
    ("Conv2D", (IMAGE, spec(3, 4, 9, 9)), {}, "graph/window-reach", {"reach": 9, "got": 8}),
    ("MaxPool", (X,), {}, "graph/layout", {"subject": "input", "expected": "NCHW", "got": (2, 3, 4)}),
    ("MaxPool", (IMAGE,), {"data_format": 1},
     "graph/only", {"subject": "data_format", "expected": "NCHW", "got": 1}),
    ("AvgPool", (IMAGE,), {"data_format": "NHWC"},
     "graph/only", {"subject": "data_format", "expected": "NCHW", "got": "NHWC"}),
    ("MaxPoolV3", (IMAGE,), {"data_format": "NHWC"},
     "graph/only", {"subject": "data_format", "expected": "NCHW", "got": "NHWC"}),
    ("Conv2D", (IMAGE, spec(3, 4, 3, 3)), {"format": "NHWC"},
     "graph/only", {"subject": "format", "expected": "NCHW", "got": "NHWC"}),
    ("BatchNorm", (IMAGE, *(spec(4),) * 4), {"data_format": 1},
     "graph/only", {"subject": "data_format", "expected": "NCHW", "got": 1}),
    ("BatchNormGrad", (IMAGE, IMAGE, *(spec(4),) * 4), {"data_format": "NHWC"},
     "graph/only", {"subject": "data_format", "expected": "NCHW", "got": "NHWC"}),
    ("Reshape", (X,), {"shape": (5, -1)}, "graph/reshape", {"shape": (2, 3, 4), "elements": 24, "got": (5, -1)}),
    ("Reshape", (X,), {"shape": (-1, -1)}, "graph/reshape-open", {"got": (-1, -1)}),
    ("Flatten", (spec(),), {}, "graph/rank", {"subject": "input", "least": 1, "got": ()}),
    ("Transpose", (X,), {"dims": (0, 1)}, "graph/permutation", {"rank": 3, "got": (0, 1)}),
    ("Transpose", (X,), {"dims": (0, 1, 3)}, "graph/axis", {"subject": "dims", "low": -3, "high": 3, "got": 3}),
    ("Softmax", (X,), {"axis": (3,)}, "graph/axis", {"subject": "axis", "low": -3, "high": 3, "got": 3}),
    ("Cast", (X,), {"dst_type": "float33"}, "core/choice", {"subject": "dst_type", "got": "float33"}),
    ("Concat", (X, spec(2, 2, 5)), {"axis": 1}, "graph/concat", {"axis": 1, "got": ((2, 3, 4), (2, 2, 5))}),
    ("Concat", (spec(), spec()), {"axis": 0}, "graph/rank", {"subject": "inputs", "least": 1, "got": ()}),
    ("ReduceSum", (X,), {"axis": 7}, "graph/axis", {"subject": "axis", "low": -3, "high": 3, "got": 7}),
    ("LayerNorm", (X, spec(3), spec(4)), {"begin_params_axis": -1},
     "graph/shape", {"subject": "gamma", "expected": (4,), "got": (3,)}),
    ("BatchNorm", (IMAGE, *[spec(4)] * 3, spec(5)), {},
     "graph/shape", {"subject": "variance", "expected": (4,), "got": (5,)}),
    ("Assign", (X, spec(2, 3)), {}, "graph/assigned", {}),
    ("Assign", (X, spec(2, 3, 4, dtype="float16")), {}, "graph/assigned", {}),
    ("ApplyMomentum", (X, spec(2), spec(), X, spec()), {},
     "graph/shape", {"subject": "input 1", "expected": (2, 3, 4), "got": (2,)}),
    ("ApplyMomentum", (X, X, spec(2), X, spec()), {}, "graph/one-number", {"subject": "input 2", "got": (2,)}),
    ("NPUGetFloatStatusV2", (spec(8),), {}, "graph/dtype-integer", {"subject": "the status", "got": "float32"}),
    ("NPUGetFloatStatusV2", (spec(4, dtype="int32"),), {},
     "graph/shape", {"subject": "status", "expected": (8,), "got": (4,)}),
    ("Gather", (X, spec(2)), {}, "graph/dtype-integer", {"subject": "the indices", "got": "float32"}),
    ("Gather", (X, spec(2, dtype="int32")), {"batch_dims": 1},
     "graph/only", {"subject": "batch_dims", "expected": 0, "got": 1}),
    ("MaskedFill", (X, X, spec()), {}, "graph/dtype", {"subject": "mask", "expected": ["bool"], "got": "float32"}),
    ("MaskedFill", (X, spec(5, dtype="bool"), spec()), {},
     "graph/broadcast-to", {"subject": "mask", "expected": (2, 3, 4), "got": (5,)}),
    ("ExpandDims", (X,), {"axis": 4}, "graph/axis", {"subject": "axis", "low": -4, "high": 4, "got": 4}),
    ("Conv2D", (IMAGE, spec(3, 4, 3, 3)), {"stride": 0},
     "graph/window", {"subject": "stride", "least": 1, "got": (0, 0)}),
    ("Conv2D", (IMAGE, spec(3, 4, 3, 3)), {"group": 0}, "graph/integer", {"subject": "group", "least": 1, "got": 0}),
    ("Conv2DTranspose", (IMAGE, spec(4, 2, 3, 3)), {"input_size": (2, 2, 9)},
     "graph/layout", {"subject": "input_size", "expected": "NCHW", "got": (2, 2, 9)}),
    ("Conv2DTranspose", (IMAGE, spec(4, 2, 3, 3)), {"input_size": (2, 2, 9, 10)},
     "graph/input-size", {"given": (2, 4, 7, 8), "expected": (2, 4, 8, 8), "got": (2, 2, 9, 10)}),
    ("LogicalAnd", (X, X), {},
     "graph/dtype", {"subject": "inputs", "expected": ["bool"], "got": ("float32", "float32")}),
    ("LeftShift", (X, X), {}, "graph/dtype-integer", {"subject": "input 0", "got": "float32"}),
    ("AddN", (X, spec(3, 4)), {}, "graph/shapes-differ", {"subject": "inputs", "got": ((2, 3, 4), (3, 4))}),
    ("PReLU", (X, spec(4)), {}, "graph/shape-or", {"subject": "weight", "expected": [(1,), (3,)], "got": (4,)}),
    ("Select", (X, X, X), {}, "graph/dtype", {"subject": "condition", "expected": ["bool"], "got": "float32"}),
    ("Select", (spec(1, dtype="bool"), X, spec(1, dtype="int8")), {},
     "graph/dtypes-differ", {"subject": "both values", "got": ("float32", "int8")}),
    ("ReduceAll", (X,), {}, "graph/dtype", {"subject": "input", "expected": ["bool"], "got": "float32"}),
    ("Argmax", (X,), {"output_type": 43}, "core/choice", {"subject": "output_type", "got": "float32"}),
    ("Argmax", (spec(2, 0),), {}, "graph/empty-axis", {"got": (2, 0)}),
    ("TopK", (X,), {"k": 5}, "graph/between", {"subject": "k", "low": 0, "high": 4, "got": 5}),
    ("CumSum", (X,), {"axis": 3}, "graph/axis", {"subject": "axis", "low": -3, "high": 3, "got": 3}),
    ("RmsNorm", (X, spec(3)), {}, "graph/shape-last", {"subject": "gamma", "whole": (2, 3, 4), "got": (3,)}),
    ("GroupNorm", (IMAGE, spec(4), spec(4)), {"num_groups": 3},
     "graph/divisor", {"subject": "num_groups", "whole": 4, "got": 3}),
    ("GroupNorm", (IMAGE, spec(4), spec(3)), {"num_groups": 2},
     "graph/shape", {"subject": "bias", "expected": (4,), "got": (3,)}),
    ("LRN", (X,), {}, "graph/layout", {"subject": "input", "expected": "NCHW", "got": (2, 3, 4)}),
    ("LRN", (IMAGE,), {"norm_region": "WITHIN"}, "core/choice", {"subject": "norm_region", "got": "WITHIN"}),
    ("LRN", (IMAGE,), {"depth_radius": -1}, "graph/integer", {"subject": "depth_radius", "least": 0, "got": -1}),
    ("MaxPoolV3", (X,), {}, "graph/layout", {"subject": "input", "expected": "NCHW", "got": (2, 3, 4)}),
    ("MaxPoolV3", (IMAGE,), {"pads": (0, 0, -1, 0)},
     "graph/window", {"subject": "padding", "least": 0, "got": (0, 0, -1, 0)}),
    ("MaxPoolV3", (IMAGE,), {"ksize": ()}, "graph/window-sizes", {"got": ()}),
    ("ResizeBilinearV2", (IMAGE,), {"size": (0, 3)}, "graph/two-sizes", {"subject": "size", "got": (0, 3)}),
    ("ResizeBilinearV2", (IMAGE,), {"size": (2, 3), "align_corners": True,
                                    "half_pixel_centers": True}, "graph/corners", {}),
    ("Squeeze", (X,), {"axis": (0,)}, "graph/squeeze", {"axis": 0, "shape": (2, 3, 4)}),
    ("Stack", (X, spec(2, 3)), {}, "graph/shapes-differ", {"subject": "inputs", "got": ((2, 3, 4), (2, 3))}),
    ("Split", (X,), {"axis": 1, "output_num": 2}, "graph/axis-parts", {"axis": 1, "shape": (2, 3, 4), "got": 2}),
    ("SplitV", (X,), {"size_splits": (1, 2)}, "graph/splits", {"expected": 2, "got": (1, 2)}),
    ("SplitV", (X,), {"size_splits": (3, -1)}, "graph/splits", {"expected": 2, "got": (3, -1)}),
    ("Slice", (X,), {"begin": (0, 0, 3), "size": (1, 1, 2)},
     "graph/slice-outside", {"whole": (2, 3, 4), "begin": (0, 0, 3), "size": (1, 1, 2)}),
    ("Slice", (X,), {"begin": (0,), "size": (1,)},
     "graph/slice-outside", {"whole": (2, 3, 4), "begin": (0,), "size": (1,)}),
    ("StridedSlice", (X,), {"begin": (0,), "end": (1, 1), "strides": (1,)},
     "graph/slice-lengths", {"begin": (0,), "end": (1, 1), "strides": (1,)}),
    ("StridedSlice", (X,), {"begin": (0,), "end": (1,), "strides": (0,)},
     "graph/slice", {"shape": (2, 3, 4), "begin": (0,), "end": (1,), "strides": (0,)}),
    ("StridedSlice", (X,), {"begin": (2,), "end": (3,), "strides": (1,), "shrink_axis_mask": 1},
     "graph/axis", {"subject": "begin", "low": -2, "high": 2, "got": 2}),
    ("PadV3", (X,), {"paddings": (1,)}, "graph/paddings", {"got": (1,)}),
    ("PadV3", (X,), {"paddings": (1, -6)}, "graph/paddings-small", {"axis": 2, "shape": (2, 3, 4), "got": (1, -6)}),
    ("PadV3", (X,), {"paddings": (1, -1), "mode": "edge"},
     "graph/paddings-negative", {"mode": "edge", "got": (1, -1)}),
    ("PadV3", (X,), {"paddings": (4, 0), "mode": "reflect"},
     "graph/paddings-large", {"axis": 2, "shape": (2, 3, 4), "mode": "reflect", "got": (4, 0)}),
    ("PadV3", (X,), {"paddings": (1, 0), "mode": "mirror"}, "core/choice", {"subject": "mode", "got": "mirror"}),
    ("Tile", (X,), {"dims": (1, -1)}, "graph/negative", {"subject": "dims", "got": (1, -1)}),
    ("BroadcastTo", (X,), {"shape": (2, 3, 5)},
     "graph/broadcast-to", {"subject": "input", "expected": (2, 3, 5), "got": (2, 3, 4)}),
    ("BroadcastTo", (X,), {"shape": (4,)},
     "graph/broadcast-to", {"subject": "input", "expected": (4,), "got": (2, 3, 4)}),
    ("ReverseV2", (X,), {"axis": (3,)}, "graph/axis", {"subject": "axis", "low": -3, "high": 3, "got": 3}),
    ("ReverseSequence", (X, spec(3, dtype="int32")), {},
     "graph/shape", {"subject": "seq_lengths", "expected": (2,), "got": (3,)}),
    ("DepthToSpace", (IMAGE,), {"block_size": 3},
     "graph/multiple", {"subject": "channels of the input", "of": 9, "got": 4}),
    ("DepthToSpace", (IMAGE,), {"block_size": 0}, "graph/integer", {"subject": "block_size", "least": 1, "got": 0}),
    ("SpaceToDepth", (IMAGE,), {"block_size": 3},
     "graph/multiple", {"subject": "height and width of the input", "of": 3, "got": (8, 8)}),
    ("SpaceToDepth", (X,), {}, "graph/layout", {"subject": "input", "expected": "NCHW", "got": (2, 3, 4)}),
    ("GatherD", (X, spec(2, 4, 4, dtype="int64")), {"dim": 2},
     "graph/index-shape", {"subject": "index", "whole": (2, 3, 4), "axis": 2, "got": (2, 4, 4)}),
    ("GatherNd", (X, spec(5, 4, dtype="int64")), {}, "graph/index-rows", {"got": (5, 4)}),
    ("TensorScatterUpdate", (X, spec(5, 2, dtype="int64"), spec(5, 3)), {},
     "graph/shape", {"subject": "updates", "expected": (5, 4), "got": (5, 3)}),
    ("TensorScatterAdd", (X, spec(5, 2, dtype="int64"), spec(5, 4, dtype="int8")), {},
     "graph/dtype", {"subject": "updates", "expected": ["float32"], "got": "int8"}),
    ("TensorScatterElements", (X, spec(1, 1, dtype="int64"), spec(1, 1)), {},
     "graph/index-updates", {"whole": (2, 3, 4), "axis": 0, "indices": (1, 1), "updates": (1, 1)}),
    ("TensorScatterElements", (X, spec(1, 1, 1, dtype="int64"), spec(1, 1, 1)),
     {"reduce": "mul"}, "core/choice", {"subject": "reduce", "got": "mul"}),
    ("OneHot", (spec(2, dtype="int64"), spec(), spec(dtype="int8")), {"depth": 2},
     "graph/dtypes-differ", {"subject": "on_value and off_value", "got": ("float32", "int8")}),
    ("OneHot", (spec(2, dtype="int64"), spec(), spec()), {"depth": -2},
     "graph/integer", {"subject": "depth", "least": 0, "got": -2}),
    ("DynamicRNN", (X, spec(9, 20), spec(20), spec(1, 3, 5), spec(1, 3, 4)), {},
     "graph/shape", {"subject": "init_c", "expected": (1, 3, 5), "got": (1, 3, 4)}),
    ("DynamicRNN", (spec(3, 4), *[spec(1)] * 4), {},
     "graph/layout", {"subject": "input", "expected": "(time, batch, features)", "got": (3, 4)}),
    ("DynamicRNN", (X, *[spec(1)] * 4), {"use_peephole": True},
     "graph/only", {"subject": "use_peephole", "expected": False, "got": True}),
    ("DynamicGRUV2", (X, *[spec(1)] * 4, spec(3, 5)), {},
     "graph/shape", {"subject": "weight_input", "expected": (4, 15), "got": (1,)}),
    ("DynamicGRUV2", (X, *[spec(1)] * 5), {"gate_order": "hrz"},
     "core/choice", {"subject": "gate_order", "got": "hrz"}),
    ("LSTM", (X, *[spec(1, 3, 5)] * 2, spec(180, 1, 1)), {"hidden_size": 5},
     "graph/shape", {"subject": "w", "expected": (200, 1, 1), "got": (180, 1, 1)}),
    ("AscendQuant", (spec(2, dtype="int8"),), {}, "graph/dtype-float", {"subject": "input", "got": "int8"}),
    ("AscendQuant", (X,), {"round_mode": "Hybrid"}, "core/choice", {"subject": "round_mode", "got": "Hybrid"}),
    ("AscendQuant", (X,), {"scale": float("nan")}, "graph/finite", {"subject": "scale"}),
    ("AscendQuant", (X,), {"dst_type": 3}, "core/choice", {"subject": "dst_type", "got": "int32"}),
    ("AscendDequant", (X, spec(1)), {}, "graph/dtype", {"subject": "input", "expected": ["int32"], "got": "float32"}),
    ("AscendDequant", (spec(2, 3, dtype="int32"), spec(2)), {},
     "graph/shape-or", {"subject": "deq_scale", "expected": [(1,), (3,)], "got": (2,)}),
    ("AscendDequant", (spec(2, dtype="int32"), spec(1)), {"dtype": 99},
     "core/choice", {"subject": "dtype", "got": 99}),
    ("AscendDequant", (spec(2, dtype="int32"), spec(1, dtype="int8")), {},
     "graph/dtype-float-or", {"subject": "deq_scale", "other": "uint64", "got": "int8"}),
    ("Concat", (), {"axis": 0}, "graph/no-tensor", {}),
    ("Reshape", (X,), {"shape": None}, "graph/sizes-unknown", {"subject": "shape", "got": None}),
    ("TransQuantParamV2", (spec(3, dtype="int8"),), {},
     "graph/dtype", {"subject": "scale", "expected": ["float32"], "got": "int8"}),
    ("TransQuantParamV2", (spec(3), spec(4)), {},
     "graph/layout", {"subject": "scale and offset", "expected": "(n,), (1, n) or (1,)", "got": [(3,), (4,)]}),
    ("TransQuantParamV2", (spec(2, 3),), {},
     "graph/layout", {"subject": "scale and offset", "expected": "(n,), (1, n) or (1,)", "got": [(2, 3)]}),
    ("TransQuantParamV2", (spec(1),) * 3, {}, "graph/scale-and-offset", {"got": 3}),
    ("TransQuantParamV2", (spec(3),), {"round_mode": 2}, "core/choice", {"subject": "round_mode", "got": 2}),
    ("AscendAntiQuant", (X,), {},
     "graph/dtype", {"subject": "input", "expected": ["int8", "int4"], "got": "float32"}),
    ("ReLU", (TensorSpec("float32", None),), {}, "graph/open-shape", {"subject": "input 0"}),
]  # fmt: skip


@pytest.mark.parametrize(("op_type", "tensors", "settings", "code", "values"), REFUSED)
def test_inputs_that_do_not_fit_are_refused(op_type, tensors, settings, code, values):
    with refused(code, GraphError, **values):
        infer_outputs(op_type, tensors, settings)


def test_cast_reads_its_dtype_from_an_argument_too():
    bound = bind(Op("c", "Cast", (Value(0), Const(45, "int64", ()))))
    assert infer_outputs("Cast", (X,), bound.settings)[0].dtype == "bfloat16"


@pytest.mark.parametrize("word", [42, "F16", "float16", "Float16"])
def test_cast_reads_every_spelling_of_a_dtype(word):
    assert infer_outputs("Cast", (X,), {"dst_type": word}) == (spec(2, 3, 4, dtype="float16"),)


def test_who_changes_the_settings_of_an_operator_changes_them_for_nobody_else():
    op = Op("s", "Softmax", (Value(0),), {"axis": (1,)})
    bind(op).settings["axis"] = (0,)
    assert bind(op).settings["axis"] == (1,)


def test_a_function_that_refuses_an_operator_refuses_it_again():
    op = Op("m", "MatMul", (Param(0),))
    for _ in range(2):
        with refused("graph/inputs-count", GraphError, expected=2, got=1):
            bind(op)


def test_a_graph_of_another_file_has_the_same_operators():
    graph = Graph("g", ops=(Op("one", "Add", (Param(0), Param(1))),), graph_id=3, path="a.ir")
    other = graph.elsewhere("b.ir", 4)
    assert (other.path, other.graph_id, other.ops) == ("b.ir", 4, graph.ops)
    assert other.ops is graph.ops  # who keeps what operators are keeps it once
    assert (graph.path, graph.graph_id) == ("a.ir", 3)


def test_an_operator_that_a_graph_does_not_have_is_refused():
    with refused("graph/no-operator", GraphError, graph="net", got="x"):
        Graph("net").op("x")
