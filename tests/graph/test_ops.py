"""The operator table: roles of operands in every spelling, and refusals with a reason."""

from dataclasses import replace

import pytest

from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.nodes import Bundle, Const, Graph, Op, Param, Value, once
from workbench.graph.ops import OPS, bind, infer_outputs, op_def


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
    with pytest.raises(GraphError, match=r"inputs of a/b \(MatMul\) must be 2 tensors, got 1"):
        bind(Op("a/b", "MatMul", (Value(0),)))


def test_an_unknown_type_is_refused_with_the_known_ones():
    with pytest.raises(GraphError, match=r"operator type must be one of .*'ReLU'.*, got 'Relu7'"):
        op_def("Relu7")


def test_every_row_is_consistent():
    for name, row in OPS.items():
        assert len(row.arguments) == len(set(row.arguments)), name
        assert row.tensors == -1 or 1 <= row.tensors <= len(row.arguments), name
        assert set(row.settings) - set(row.defaults) == NEEDED.get(name, set()), name
        assert row.tensors == -1 or len(row.positions) == row.tensors, name


NEEDED = {
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
    ("Add", (spec(2, 3), spec(2, 4)), {}, "shapes of the inputs must be equal or broadcastable"),
    ("Add", (spec(2), spec(2, dtype="float16")), {}, "dtypes of the inputs must be equal"),
    ("MatMul", (spec(2, 3), spec(4, 5)), {}, "must be 3 as in (2, 3)', got 4"),
    ("MatMul", (X, X), {}, "rank of both inputs must be 2"),
    ("BatchMatMul", (spec(2, 3, 4), spec(3, 4, 5)), {}, "leading axes of both inputs"),
    ("BiasAdd", (spec(4), spec(4)), {}, "rank of the input must be at least 2"),
    ("BiasAdd", (spec(2, 4), spec(5)), {}, "shape of bias must be (4,)"),
    ("Conv2D", (spec(2, 4, 8), IMAGE), {}, "shapes of input and weight must be of rank 4"),
    ("Conv2D", (IMAGE, spec(3, 5, 3, 3)), {}, "channels of the input must be 5 (weight"),
    ("Conv2D", (IMAGE, spec(3, 2, 3, 3)), {"group": 2}, "output channels must be a multiple"),
    ("Conv2D", (IMAGE, spec(3, 4, 9, 9)), {}, "padded input size must be at least 9"),
    ("MaxPool", (X,), {}, "shape of the input must be of rank 4"),
    ("Reshape", (X,), {"shape": (5, -1)}, "shape must be of 24 elements"),
    ("Reshape", (X,), {"shape": (-1, -1)}, "shape must be sizes with at most one -1"),
    ("Flatten", (spec(),), {}, "rank of the input must be at least 1"),
    ("Transpose", (X,), {"dims": (0, 1)}, "dims must be a permutation of 3 axes"),
    ("Transpose", (X,), {"dims": (0, 1, 3)}, "dims must be an integer in [-3, 3)"),
    ("Softmax", (X,), {"axis": (3,)}, "axis must be an integer in [-3, 3), got 3"),
    ("Cast", (X,), {"dst_type": "float33"}, "dst_type must be one of"),
    ("Concat", (X, spec(2, 2, 5)), {"axis": 1}, "equal except on axis 1"),
    ("Concat", (spec(), spec()), {"axis": 0}, "rank of the inputs must be at least 1"),
    ("ReduceSum", (X,), {"axis": 7}, "axis must be an integer in [-3, 3), got 7"),
    ("LayerNorm", (X, spec(3), spec(4)), {"begin_params_axis": -1}, "shape of gamma must be (4,)"),
    ("BatchNorm", (IMAGE, *[spec(4)] * 3, spec(5)), {}, "shape of variance must be (4,)"),
    ("Assign", (X, spec(2, 3)), {}, "value must be like the variable"),
    ("Assign", (X, spec(2, 3, 4, dtype="float16")), {}, "value must be like the variable"),
    ("ApplyMomentum", (X, spec(2), spec(), X, spec()), {}, "shape of input 1 must be that of the variable"),
    ("ApplyMomentum", (X, X, spec(2), X, spec()), {}, "shape of input 2 must be of one number"),
    ("NPUGetFloatStatusV2", (spec(8),), {}, "dtype of the status must be an integer type"),
    ("NPUGetFloatStatusV2", (spec(4, dtype="int32"),), {}, "shape of the status must be (8,)"),
    ("Gather", (X, spec(2)), {}, "dtype of the indices must be an integer type"),
    ("Gather", (X, spec(2, dtype="int32")), {"batch_dims": 1}, "batch_dims must be 0"),
    ("MaskedFill", (X, X, spec()), {}, "dtype of mask must be bool, got 'float32'"),
    ("MaskedFill", (X, spec(5, dtype="bool"), spec()), {}, "shape of mask must be broadcastable"),
    ("ExpandDims", (X,), {"axis": 4}, "axis must be an integer in [-4, 4), got 4"),
    ("Conv2D", (IMAGE, spec(3, 4, 3, 3)), {"stride": 0}, "stride of a window must be at least 1"),
    ("Conv2D", (IMAGE, spec(3, 4, 3, 3)), {"group": 0}, "group must be a positive integer"),
    ("Conv2DTranspose", (IMAGE, spec(4, 2, 3, 3)), {"input_size": (2, 2, 9)}, "must be four sizes"),
    ("Conv2DTranspose", (IMAGE, spec(4, 2, 3, 3)), {"input_size": (2, 2, 9, 10)},
     "input_size (whose convolution gives (2, 4, 7, 8)) must be one that gives (2, 4, 8, 8)"),
    ("LogicalAnd", (X, X), {}, "dtypes of the inputs must be bool"),
    ("LeftShift", (X, X), {}, "dtype of input 0 must be an integer type"),
    ("AddN", (X, spec(3, 4)), {}, "shapes of the inputs must be equal"),
    ("PReLU", (X, spec(4)), {}, "shape of weight must be (1,) or (3,)"),
    ("Select", (X, X, X), {}, "dtype of condition must be bool"),
    ("Select", (spec(1, dtype="bool"), X, spec(1, dtype="int8")), {}, "must be equal"),
    ("ReduceAll", (X,), {}, "dtype of the input must be bool"),
    ("Argmax", (X,), {"output_type": 43}, "output_type must be int32 or int64, got 'float32'"),
    ("Argmax", (spec(2, 0),), {}, "size of the reduced axis must be at least 1"),
    ("TopK", (X,), {"k": 5}, "k must be an integer in [0, 4], got 5"),
    ("CumSum", (X,), {"axis": 3}, "axis must be an integer in [-3, 3)"),
    ("RmsNorm", (X, spec(3)), {}, "shape of gamma must be the last axes of (2, 3, 4)"),
    ("GroupNorm", (IMAGE, spec(4), spec(4)), {"num_groups": 3}, "must be a divisor of 4 channels"),
    ("GroupNorm", (IMAGE, spec(4), spec(3)), {"num_groups": 2}, "shape of bias must be (4,)"),
    ("LRN", (X,), {}, "shape of the input must be of rank 4"),
    ("LRN", (IMAGE,), {"norm_region": "WITHIN"}, "norm_region must be 'ACROSS_CHANNELS'"),
    ("LRN", (IMAGE,), {"depth_radius": -1}, "depth_radius must be an integer not below 0"),
    ("MaxPoolV3", (X,), {}, "shape of the input must be of rank 4"),
    ("MaxPoolV3", (IMAGE,), {"pads": (0, 0, -1, 0)}, "padding of a window must be at least 0"),
    ("MaxPoolV3", (IMAGE,), {"ksize": ()}, "sizes of a window must be one or two integers"),
    ("ResizeBilinearV2", (IMAGE,), {"size": (0, 3)}, "size must be two positive sizes"),
    ("ResizeBilinearV2", (IMAGE,), {"size": (2, 3), "align_corners": True,
                                    "half_pixel_centers": True}, "at most one of them true"),
    ("Squeeze", (X,), {"axis": (0,)}, "size of axis 0 of (2, 3, 4) must be 1, got 2"),
    ("Stack", (X, spec(2, 3)), {}, "shapes of the inputs must be equal"),
    ("Split", (X,), {"axis": 1, "output_num": 2}, "output_num must be a divisor of axis 1"),
    ("SplitV", (X,), {"size_splits": (1, 2)}, "size_splits must be sizes whose sum is 2"),
    ("SplitV", (X,), {"size_splits": (3, -1)}, "size_splits must be sizes whose sum is 2"),
    ("Slice", (X,), {"begin": (0, 0, 3), "size": (1, 1, 2)}, "must be inside (2, 3, 4)"),
    ("Slice", (X,), {"begin": (0,), "size": (1,)}, "begin and size must be as long as"),
    ("StridedSlice", (X,), {"begin": (0,), "end": (1, 1), "strides": (1,)}, "of one length"),
    ("StridedSlice", (X,), {"begin": (0,), "end": (1,), "strides": (0,)}, "that are not 0"),
    ("StridedSlice", (X,), {"begin": (2,), "end": (3,), "strides": (1,), "shrink_axis_mask": 1},
     "begin of a dropped axis must be in [-2, 2), got 2"),
    ("PadV3", (X,), {"paddings": (1,)}, "paddings must be pairs of sizes, at most 3"),
    ("PadV3", (X,), {"paddings": (1, -6)}, "paddings of axis 2 of (2, 3, 4) must be larger"),
    ("PadV3", (X,), {"paddings": (1, -1), "mode": "edge"}, "paddings (edge) must be at least 0"),
    ("PadV3", (X,), {"paddings": (4, 0), "mode": "reflect"}, "(reflect) must be smaller"),
    ("PadV3", (X,), {"paddings": (1, 0), "mode": "mirror"}, "mode must be constant, reflect"),
    ("Tile", (X,), {"dims": (1, -1)}, "dims must be not negative"),
    ("BroadcastTo", (X,), {"shape": (2, 3, 5)}, "one that (2, 3, 4) can be broadcast to"),
    ("BroadcastTo", (X,), {"shape": (4,)}, "shape must be of rank 3 at least"),
    ("ReverseV2", (X,), {"axis": (3,)}, "axis must be an integer in [-3, 3)"),
    ("ReverseSequence", (X, spec(3, dtype="int32")), {}, "shape of seq_lengths must be (2,)"),
    ("DepthToSpace", (IMAGE,), {"block_size": 3}, "channels of the input must be a multiple of 9"),
    ("DepthToSpace", (IMAGE,), {"block_size": 0}, "block_size must be a positive integer"),
    ("SpaceToDepth", (IMAGE,), {"block_size": 3}, "height and width of the input must be multip"),
    ("SpaceToDepth", (X,), {}, "shape of the input must be of rank 4"),
    ("GatherD", (X, spec(2, 4, 4, dtype="int64")), {"dim": 2}, "shape of index must be inside"),
    ("GatherNd", (X, spec(5, 4, dtype="int64")), {}, "last size of the indices must be in [1, 3]"),
    ("TensorScatterUpdate", (X, spec(5, 2, dtype="int64"), spec(5, 3)), {},
     "shape of updates must be (5, 4), got (5, 3)"),
    ("TensorScatterAdd", (X, spec(5, 2, dtype="int64"), spec(5, 4, dtype="int8")), {},
     "dtype of updates must be float32"),
    ("TensorScatterElements", (X, spec(1, 1, dtype="int64"), spec(1, 1)), {}, "equal and inside"),
    ("TensorScatterElements", (X, spec(1, 1, 1, dtype="int64"), spec(1, 1, 1)),
     {"reduce": "mul"}, "reduce must be one of"),
    ("OneHot", (spec(2, dtype="int64"), spec(), spec(dtype="int8")), {"depth": 2}, "equal"),
    ("OneHot", (spec(2, dtype="int64"), spec(), spec()), {"depth": -2}, "depth must be an integer"),
    ("DynamicRNN", (X, spec(9, 20), spec(20), spec(1, 3, 5), spec(1, 3, 4)), {},
     "shape of init_c must be (1, 3, 5), got (1, 3, 4)"),
    ("DynamicRNN", (spec(3, 4), *[spec(1)] * 4), {}, "of rank 3 (time, batch, features)"),
    ("DynamicRNN", (X, *[spec(1)] * 4), {"use_peephole": True}, "use_peephole must be False"),
    ("DynamicGRUV2", (X, *[spec(1)] * 4, spec(3, 5)), {}, "shape of weight_input must be (4, 15)"),
    ("DynamicGRUV2", (X, *[spec(1)] * 5), {"gate_order": "hrz"}, "gate_order must be 'rzh' or"),
    ("LSTM", (X, *[spec(1, 3, 5)] * 2, spec(180, 1, 1)), {"hidden_size": 5},
     "shape of w must be (200, 1, 1)"),
    ("AscendQuant", (spec(2, dtype="int8"),), {}, "dtype of the input must be a float"),
    ("AscendQuant", (X,), {"round_mode": "Hybrid"}, "round_mode must be one of"),
    ("AscendQuant", (X,), {"scale": float("nan")}, "scale must be a finite number"),
    ("AscendQuant", (X,), {"dst_type": 3}, "dst_type must be int8 or int4, got 'int32'"),
    ("AscendDequant", (X, spec(1)), {}, "dtype of the input must be int32"),
    ("AscendDequant", (spec(2, 3, dtype="int32"), spec(2)), {}, "deq_scale must be (1,) or (3,)"),
    ("AscendDequant", (spec(2, dtype="int32"), spec(1)), {"dtype": 99}, "dtype must be one of"),
    ("TransQuantParamV2", (spec(3, dtype="int8"),), {}, "dtype of scale must be float32"),
    ("TransQuantParamV2", (spec(3), spec(4)), {}, "must be (n,), (1, n) or (1,), got [(3,), (4,)]"),
    ("TransQuantParamV2", (spec(2, 3),), {}, "must be (n,), (1, n) or (1,)"),
    ("TransQuantParamV2", (spec(1),) * 3, {}, "inputs must be scale and offset, got 3"),
    ("TransQuantParamV2", (spec(3),), {"round_mode": 2}, "round_mode must be 0 (truncate) or 1"),
    ("AscendAntiQuant", (X,), {}, "dtype of the input must be int8 or int4"),
    ("ReLU", (TensorSpec("float32", None),), {}, "shape of input 0 must be known, got None"),
]  # fmt: skip


@pytest.mark.parametrize(("op_type", "tensors", "settings", "words"), REFUSED)
def test_inputs_that_do_not_fit_are_refused(op_type, tensors, settings, words):
    with pytest.raises(GraphError) as error:
        infer_outputs(op_type, tensors, settings)
    assert words.replace("'", "") in str(error.value).replace("'", "")


def test_cast_reads_its_dtype_from_an_argument_too():
    bound = bind(Op("c", "Cast", (Value(0), Const(45, "int64", ()))))
    assert infer_outputs("Cast", (X,), bound.settings)[0].dtype == "bfloat16"


@pytest.mark.parametrize("word", [42, "F16", "float16", "Float16"])
def test_cast_reads_every_spelling_of_a_dtype(word):
    assert infer_outputs("Cast", (X,), {"dst_type": word}) == (spec(2, 3, 4, dtype="float16"),)


def test_a_function_of_an_operator_is_computed_once_for_each():
    asked = []

    @once
    def width(op):
        asked.append(op.name)
        return len(op.inputs)

    one = Op("one", "Add", (Param(0), Param(1)))
    other = replace(one, name="other", inputs=(Param(0),))
    assert [width(op) for op in (one, other, one, other)] == [2, 1, 2, 1]
    assert asked == ["one", "other"]
    assert one == Op("one", "Add", (Param(0), Param(1)))


def test_a_function_that_refuses_an_operator_refuses_it_again():
    op = Op("m", "MatMul", (Param(0),))
    for _ in range(2):
        with pytest.raises(GraphError, match="2 tensors, got 1"):
            bind(op)


def test_a_graph_of_another_file_shares_what_is_known_of_it():
    graph = Graph("g", ops=(Op("one", "Add", (Param(0), Param(1))),), graph_id=3, path="a.ir")
    other = graph.elsewhere("b.ir", 4)
    assert (other.path, other.graph_id, other.ops) == ("b.ir", 4, graph.ops)
    assert (graph.path, graph.graph_id) == ("a.ir", 3)
    other.kept["known"] = 1
    assert graph.kept["known"] == 1
    assert "known" not in replace(graph, ops=()).kept
