"""The operator table: roles of operands in every spelling."""

import pytest

from kit.words import refused
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Bundle, Const, Kernel, Op, Param, Value
from workbench.ops import OPS, bind, infer_outputs, op_def
from workbench.ops.operands import argument_name, groups_of, in_place_outputs, settings, written


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
        least = 0 if name in OF_OTHER_RANKS else 1
        assert row.tensors == -1 or least <= row.tensors <= len(row.arguments), name
        assert set(row.settings) - set(row.defaults) == NEEDED.get(name, set()), name
        assert row.tensors == -1 or len(row.positions) == row.tensors, name


OF_OTHER_RANKS = {"Receive"}
"""Operators that take no tensor of their own rank."""

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


X = spec(2, 3, 4)


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


# ---------------- what an operator overwrites, and how its inputs are called

ROW = spec(3)
ADAM = Op("a", "Adam", tuple(map(Param, range(10))), {}, (ROW, ROW, ROW))
SGD = Op("s", "SGD", tuple(map(Param, range(6))), {}, (ROW,))
ADD = Op("n", "Add", (Param(0), Param(1)), {}, (ROW,))


def normalization(training):
    return Op("b", "BatchNorm", tuple(map(Param, range(5))), {"is_training": training}, (ROW,) * 5)


def fused(*ops, results):
    return Op(
        "f",
        "Fused",
        tuple(map(Param, range(6))),
        {},
        (ROW,) * len(results),
        fused=Kernel(ops, results),
    )


GRADIENT = Op("g", "Neg", (Param(5),), {}, (ROW,))
MOMENTUM = Op("m", "ApplyMomentum", (Param(2), Param(3), Param(4), Value(0), Param(1)), {}, (ROW,))
WRITTEN = [
    (ADD, (), {}),
    (Op("u", "Unknown", (Param(0),)), (), {}),
    (SGD, (0, 3, 5), {0: 0}),
    (ADAM, (0, 1, 2), {0: 0, 1: 1, 2: 2}),
    (normalization(False), (), {}),
    (normalization(True), (3, 4), {}),
    (fused(GRADIENT, MOMENTUM, results=(Value(1), Value(0))), (2, 3), {0: 2}),
    (fused(ADD, results=(Value(0),)), (), {}),
]  # fmt: skip
"""Operator, the flat inputs that it overwrites, and which outputs are one of them."""


@pytest.mark.parametrize(("op", "inputs", "outputs"), WRITTEN, ids=range(len(WRITTEN)))
def test_an_operator_says_what_it_overwrites(op, inputs, outputs):
    assert written(op) == inputs
    assert in_place_outputs(op) == outputs


@pytest.mark.parametrize(
    ("op_type", "attrs", "groups"),
    [
        ("Conv2D", {"group": 2}, 2),
        ("Conv2D", {}, 1),
        ("Add", {}, 1),
        ("Unknown", {"group": 3}, 3),
        ("Unknown", {"group": "3"}, 1),
        ("Conv2D", {"group": None}, 1),
    ],
)
def test_a_convolution_has_groups(op_type, attrs, groups):
    assert groups_of(Op("x", op_type, (Param(0), Param(1)), attrs)) == groups


MONAD = Const("U", "monad")
NAMED = [
    (Op("m", "MatMul", (Param(0), Param(1), Const(False, "bool", ()))), ["input", "mat2", "transpose_a", ""]),
    (Op("m", "MatMul", (Param(0), MONAD, Param(1))), ["input", "transpose_a", ""]),
    (Op("c", "Concat", (Bundle((Param(0), Param(1))), Const(1, "int64", ()))), ["tensors", "tensors", "axis", ""]),
    (Op("c", "Concat", (Bundle((Param(0), Param(1)), flatten=False), Param(2))), ["tensors", "axis", ""]),
    (Op("u", "Unknown", (Param(0), Param(1))), ["", ""]),
    (Op("u", "Unknown", (Param(0), Param(1)), {"input_names": ("x", "y")}), ["x", "y", ""]),
    (Op("m", "MatMul", (Param(0), Param(1)), {"input_names": ("x1",)}), ["x1", "mat2", ""]),
    (Op("m", "MatMul", (Param(0),), {"input_names": ["x1"]}), ["input", ""]),
]  # fmt: skip


@pytest.mark.parametrize(("op", "names"), NAMED, ids=range(len(NAMED)))
def test_a_flat_input_is_called_as_the_argument_that_it_came_of(op, names):
    assert [argument_name(op, slot) for slot in range(len(names))] == names
    assert argument_name(op, -1) == ""


SETTINGS = [
    (Op("s", "Softmax", (Param(0), Const((1,), "tuple"))), {"axis": (1,)}),
    (Op("s", "Softmax", (Param(0),), {"axis": (1,), "fusion": 3, "note": None}), {"axis": (1,)}),
    (Op("r", "Reshape", (Param(0), Param(1))), {}),
    (Op("r", "ReLU", (Param(0), MONAD, Const(None, "None"))), {}),
    (Op("u", "Unknown", (Param(0), Const(2, "int64"))), {"input.1": 2}),
    (Op("r", "Reshape", (Param(0), Bundle((Const(2, "int64"), Value(0)), flatten=False))), {"shape": (2, "?")}),
]  # fmt: skip


@pytest.mark.parametrize(("op", "found"), SETTINGS, ids=range(len(SETTINGS)))
def test_settings_are_attributes_and_constant_arguments_but_for_those_of_the_compiler(op, found):
    assert settings(op) == found


ONE, TWO = Const(1, "int64", ()), Const(2.0, "float32", ())
VARIADIC = [((Value(0), Value(1)), 2), ((Value(0), ONE), 1), ((Value(0), TWO, ONE), 2)]


@pytest.mark.parametrize(("operands", "count"), VARIADIC)
def test_a_variadic_operator_has_no_more_settings_than_its_row(operands, count):
    assert len(bind(Op("c", "Concat", operands)).tensors) == count
