"""The operator table: roles of operands in every spelling, and refusals with a reason."""

import pytest

from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.nodes import Bundle, Const, Op, Param, Value
from workbench.graph.ops import OPS, bind, infer_outputs, op_def
from workbench.graph.traits import ARGUMENTS


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
        assert set(row.settings) - {"shape", "dims", "axis", "dtype"} <= set(row.defaults), name


def test_argument_names_agree_with_those_that_comparisons_show():
    for name, row in OPS.items():
        assert ARGUMENTS.get(name, " ".join(row.arguments)).split() == list(row.arguments)


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
    ("BatchNorm", (IMAGE, *[spec(4)] * 4), {"is_training": True}, "is_training must be False"),
    ("Gather", (X, spec(2)), {}, "dtype of the indices must be an integer type"),
    ("Gather", (X, spec(2, dtype="int32")), {"batch_dims": 1}, "batch_dims must be 0"),
    ("MaskedFill", (X, X, spec()), {}, "dtype of mask must be bool, got 'float32'"),
    ("MaskedFill", (X, spec(5, dtype="bool"), spec()), {}, "shape of mask must be broadcastable"),
    ("ExpandDims", (X,), {"axis": 4}, "axis must be an integer in [-4, 4), got 4"),
    ("ReLU", (TensorSpec("float32", None),), {}, "shape of input 0 must be known, got None"),
]


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
