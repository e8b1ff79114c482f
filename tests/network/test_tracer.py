"""The tracer: names, scopes, operands and refusals, in MindSpore's words."""

import re
from pathlib import Path

import numpy as np
import pytest

from kit.words import check_said, refused
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Bundle, Const, Param, Value
from workbench.network import nn
from workbench.network.nn import functional as F
from workbench.network.tracer import trace

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


def ops(function, *inputs):
    return trace(function, *(inputs or (X,))).ops


class Block(nn.Cell):
    def __init__(self, shared):
        self.fc = nn.Dense(4, 4)
        self.act = shared

    def construct(self, x):
        return self.act(self.fc(x)) + x


class Tower(nn.Cell):
    def __init__(self):
        relu = nn.ReLU()
        self.layers = nn.CellList([Block(relu), Block(relu)])
        self.head = nn.SequentialCell(nn.Dense(4, 2, activation="tanh"), nn.Softmax())

    def construct(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def test_scopes_follow_the_attributes_and_a_shared_cell_keeps_its_first_one():
    names = [op.name for op in trace(Tower(), X).ops]
    first, second = "Default/layers-CellList/0-Block", "Default/layers-CellList/1-Block"
    assert names == [
        f"{first}/fc-Dense/MatMul-op0",
        f"{first}/fc-Dense/BiasAdd-op0",
        f"{first}/act-ReLU/ReLU-op0",
        f"{first}/Add-op0",
        f"{second}/fc-Dense/MatMul-op0",
        f"{second}/fc-Dense/BiasAdd-op0",
        f"{first}/act-ReLU/ReLU-op1",
        f"{second}/Add-op0",
        "Default/head-SequentialCell/0-Dense/MatMul-op0",
        "Default/head-SequentialCell/0-Dense/BiasAdd-op0",
        "Default/head-SequentialCell/0-Dense/activation-Tanh/Tanh-op0",
        "Default/head-SequentialCell/1-Softmax/Softmax-op0",
    ]


def test_weights_come_first_under_their_paths_and_feeds_last_under_their_argument_names():
    graph = trace(Tower(), X)
    assert [(p.name, p.is_weight) for p in graph.parameters] == [
        ("layers.0.fc.weight", True),
        ("layers.0.fc.bias", True),
        ("layers.1.fc.weight", True),
        ("layers.1.fc.bias", True),
        ("head.0.weight", True),
        ("head.0.bias", True),
        ("x", False),
    ]
    assert graph.name == "Tower"
    assert graph.outputs == (Value(11),)


def test_an_unused_weight_is_no_parameter_but_an_unused_feed_is():
    class Net(nn.Cell):
        def __init__(self):
            self.spare = nn.Dense(4, 4)
            self.scale = nn.Parameter(np.float32(2.0))

        def construct(self, x, unused):
            return x * self.scale

    graph = trace(Net(), X, X)
    assert [p.name for p in graph.parameters] == ["scale", "x", "unused"]
    assert graph.ops[0].inputs == (Param(1), Param(0))


def test_the_operands_are_spelt_as_mindspore_spells_them():
    def network(x, ids):
        y = F.reshape(x, (2, -1))
        y = F.matmul(y, F.transpose(y, (1, 0)))
        y = F.softmax(y, -1)
        y = F.concat([y, y], 1)
        y = y.mean(axis=1, keep_dims=True)
        return F.gather(y, ids, 0) * 0.5

    def written(value):
        return (value.value, value.dtype, value.shape) if isinstance(value, Const) else value

    got = [
        (op.op_type, tuple(written(o) for o in op.inputs))
        for op in ops(network, X, np.array([1], np.int32))
    ]
    assert got == [
        ("Reshape", (Param(0), ((2, -1), "tuple", (2,)))),
        ("Transpose", (Value(0), ((1, 0), "tuple", (2,)))),
        ("MatMul", (Value(0), Value(1), (False, "bool", ()), (False, "bool", ()))),
        ("Softmax", (Value(2), ((-1,), "tuple", (1,)))),
        ("Concat", (Bundle((Value(3), Value(3))), (1, "int64", ()))),
        ("ReduceMean", (Value(4), ((1,), "tuple", (1,)), (True, "bool", ()))),
        ("Gather", (Value(5), Param(1), (0, "int64", ()), (0, "int64", ()))),
        ("Mul", (Value(6), (0.5, "float32", ()))),
    ]


def test_the_attributes_of_windows_are_spelt_as_mindspore_spells_them():
    image = np.zeros((1, 3, 8, 8), np.float32)

    def network(x):
        x = nn.Conv2d(3, 4, 5, stride=2, pad_mode="same")(x)
        x = F.max_pool2d(x, 2, 2)
        return F.avg_pool2d(x, 2, 1, "same")

    conv, largest, mean = ops(network, image)
    assert conv.attrs == {
        "kernel_size": (5, 5),
        "mode": 1,
        "out_channel": 4,
        "pad": (0, 0, 0, 0),
        "pad_mode": "same",
        "format": "NCHW",
        "pad_list": (1, 2, 1, 2),
        "groups": 1,
        "stride": (1, 1, 2, 2),
        "group": 1,
        "dilation": (1, 1, 1, 1),
    }
    assert largest.attrs == {
        "kernel_size": (1, 1, 2, 2),
        "strides": (1, 1, 2, 2),
        "pad_mode": "VALID",
        "format": "NCHW",
    }
    assert [o.value for o in mean.inputs[1:]] == [(2, 2), (1, 1), 1, 0]


def test_several_outputs_have_their_own_slots():
    graph = trace(lambda x: F.layer_norm(x, np.ones(4, np.float32), np.zeros(4, np.float32)), X)
    norm = graph.ops[0]
    assert [spec.shape for spec in norm.outputs] == [(3, 4), (3, 1), (3, 1)]
    assert [o.value for o in norm.inputs[3:]] == [-1, -1, 1e-5]
    assert graph.outputs == (Value(0, 0),)


def test_python_operators_and_methods_become_operators_of_the_graph():
    def network(x):
        y = 1 - (x + 1) / 2 * abs(-x) ** 2
        y = np.ones((1, 4), np.float32) * y
        return (y.reshape(4, 3) @ y).sum(0), y.transpose(), y.astype(np.float16)

    graph = trace(network, X)
    assert [op.op_type for op in graph.ops] == [
        "Add",
        "RealDiv",
        "Neg",
        "Abs",
        "Pow",
        "Mul",
        "Sub",
        "Mul",
        "Reshape",
        "MatMul",
        "ReduceSum",
        "Transpose",
        "Cast",
    ]
    assert len(graph.outputs) == 3
    assert graph.ops[-1].outputs == (TensorSpec("float16", (3, 4)),)
    assert graph.ops[-1].attrs == {"dst_type": "float16"}


@pytest.mark.parametrize(
    ("left", "right", "common", "casts"),
    [
        ("float32", "float16", "float32", 1),
        ("float16", "bfloat16", "float32", 2),
        ("int32", "float16", "float16", 1),
        ("int32", "int64", "int64", 1),
        ("float64", "float32", "float64", 1),
        ("float32", "float32", "float32", 0),
    ],
)
def test_mixed_dtypes_get_casts(left, right, common, casts):
    graph = trace(lambda a, b: a + b, TensorSpec(left, (2,)), TensorSpec(right, (2,)))
    assert [op.op_type for op in graph.ops] == ["Cast"] * casts + ["Add"]
    assert graph.ops[-1].outputs == (TensorSpec(common, (2,)),)


def test_a_float_makes_an_integer_tensor_float_and_an_integer_does_not():
    whole = TensorSpec("int32", (2,))
    assert trace(lambda a: a * 2, whole).ops[-1].outputs[0].dtype == "int32"
    assert trace(lambda a: a * 2.5, whole).ops[-1].outputs[0].dtype == "float32"


def test_small_constants_stand_in_the_operator_and_large_ones_become_parameters():
    small, large = np.arange(4, dtype=np.float32), np.ones((10, 3, 4), np.float32)
    graph = trace(lambda x: (x + small) * large, X)
    assert graph.ops[0].inputs[1] == Const((0.0, 1.0, 2.0, 3.0), "float32", (4,))
    assert [(p.name, p.is_weight) for p in graph.parameters] == [("constant1", True), ("x", False)]


def test_the_same_seed_gives_the_same_weights_and_another_seed_others():
    def weights(seed):
        return trace(Tower(), X, seed=seed).parameters[0].default

    np.testing.assert_array_equal(weights(3), weights(3))
    assert not np.array_equal(weights(3), weights(4))


def test_cells_that_nobody_owns_get_a_scope_of_their_own():
    def network(x):
        return nn.Dense(4, 2)(nn.Dense(4, 4)(x))

    graph = trace(network, X)
    assert [op.scope for op in graph.ops] == ["Default/dense0-Dense"] * 2 + [
        "Default/dense1-Dense"
    ] * 2
    assert [p.name for p in graph.parameters[:4]] == [
        "dense0.weight",
        "dense0.bias",
        "dense1.weight",
        "dense1.bias",
    ]


def refusal(function, *inputs):
    with pytest.raises(GraphError) as error:
        trace(function, *inputs)
    return error.value


def test_an_operator_that_cannot_be_built_names_itself_and_its_line():
    class Net(nn.Cell):
        def __init__(self):
            self.fc1 = nn.Dense(5, 2)

        def construct(self, x):
            return self.fc1(x)  # the wrong width

    error = refusal(Net(), X)
    check_said(error, "graph/inner", left=(3, 4), right=(2, 5), transposed=True, expected=4, got=5)
    place = r".*test_tracer.py:(\d+): Default/fc1-Dense/MatMul-op0 \(MatMul\)"
    line = re.fullmatch(place, error.place)[1]
    code = Path(__file__).read_text(encoding="utf-8").splitlines()[int(line) - 1]
    assert code.endswith("return self.fc1(x)  # the wrong width")


@pytest.mark.parametrize(
    ("function", "code", "values"),
    [
        (lambda x: x if x else -x, "value-condition", {}),
        (lambda x: x[x], "value-index", {}),
        (lambda x: x[5], "axis", {"subject": "begin", "low": -3, "high": 3, "got": 5}),
        (lambda x: x[0, 0, 0], "slice", {"shape": (3, 4), "begin": (0, 0, 0)}),
        (lambda x: [y for y in x], "value-iteration", {}),  # noqa: C416
        (lambda x: np.asarray(x), "value-numpy", {}),
        (lambda x: x + "1", "input-type", {"got": "1"}),
        (lambda x: F.relu("x"), "input-type", {"got": "x"}),
        (lambda x: F.softmax(x, "last"), "setting-type", {"got": ("last",)}),
        (lambda x: x.reshape(4.5, 2), "setting-type", {"got": (4.5, 2)}),
        (lambda x: None, "result-type", {"name": "<lambda>", "got": None}),
        (lambda x, y: x, "arguments", {"name": "<lambda>", "got": 1}),
        (lambda: 1, "arguments", {"name": "<lambda>", "got": 1}),
    ],
)
def test_what_cannot_be_traced_is_refused(function, code, values):
    check_said(refusal(function, X), f"graph/{code}", **values)


def test_calls_outside_a_trace_say_how_to_trace():
    with refused("graph/not-tracing", GraphError, subject="ReLU"):
        nn.ReLU()(X)
    with refused("graph/not-tracing", GraphError, subject="ReLU"):
        F.relu(X)


def test_an_error_in_the_network_leaves_no_trace_behind():
    with pytest.raises(ZeroDivisionError):
        trace(lambda x: 1 / 0, X)
    with refused("graph/not-tracing", GraphError):
        F.relu(X)


def test_a_cell_without_construct_is_refused():
    class Empty(nn.Cell):
        pass

    check_said(refusal(Empty()), "graph/no-construct", cell="Empty")


def test_optional_and_starred_arguments_are_traced_as_they_are_given():
    graph = trace(lambda x, y=2.0, *rest: x * y + rest[0], X, X, X)
    assert [p.name for p in graph.parameters] == ["x", "y", "rest0"]
    assert [p.name for p in trace(lambda x, y=2.0: x * y, X).parameters] == ["x"]


def test_a_named_weight_keeps_the_path_of_its_cell():
    class Scale(nn.Cell):
        def __init__(self):
            self.factor = nn.Parameter(np.float32(2.0), name="gain")

        def construct(self, x):
            return x * self.factor

    net = nn.SequentialCell(Scale(), Scale())
    names = [p.name for p in trace(net, X).parameters]
    assert names == ["0.gain", "1.gain", "x"]
    assert [name for name, _ in net.parameters_and_names()] == names[:2]


def test_two_parameters_of_one_name_are_refused():
    class Net(nn.Cell):
        def __init__(self):
            self.x = nn.Parameter(np.float32(2.0))

        def construct(self, x):
            return x * self.x

    check_said(refusal(Net(), X), "graph/parameter-twice", got="x")


def test_a_weight_can_be_set_and_keeps_its_shape():
    dense = nn.Dense(4, 2)
    dense.weight.set_data(np.ones((2, 4), np.float32))
    assert trace(dense, X).parameters[0].default.sum() == 8
    with refused("graph/shape", GraphError, expected=(2, 4), got=(4, 2)):
        dense.weight.set_data(np.ones((4, 2)))
