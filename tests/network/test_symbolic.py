"""Symbolic tensors: Python's operators, dtypes that meet, indices, how weights start."""

import operator

import numpy as np
import pytest

from kit.build.runs import results
from kit.words import refused
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.network.symbolic import Initial, Parameter, binary, record, recorder
from workbench.network.tracer import trace

X = np.random.default_rng(0).uniform(0.5, 2, (2, 3, 4)).astype(np.float32)
Y = np.random.default_rng(1).uniform(0.5, 2, (2, 3, 4)).astype(np.float32)
MATRIX = X[0]


def run(function, *inputs):
    graph = trace(function, *inputs)
    feeds = [one.name for one in graph.parameters if not one.is_weight]
    return results(graph, dict(zip(feeds, inputs, strict=True)))[0]


TWO = [operator.add, operator.sub, operator.mul, operator.truediv]


@pytest.mark.parametrize("function", TWO)
def test_python_s_operators_take_tensors_arrays_and_numbers_on_either_side(function):
    for got, want in (
        (run(function, X, Y), function(X, Y)),
        (run(lambda x: function(x, Y), X), function(X, Y)),
        (run(lambda x: function(Y, x), X), function(Y, X)),
        (run(lambda x: function(x, 3), X), function(X, np.float32(3))),
        (run(lambda x: function(3.5, x), X), function(np.float32(3.5), X)),
    ):
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, want, rtol=1e-6)


ONE = {
    "neg": (lambda x: -x, -X),
    "abs": (lambda x: abs(x - 1.0), np.abs(X - 1)),
    "pow": (lambda x: x**2, X**2),
    "reshape": (lambda x: x.reshape(4, -1), X.reshape(4, 6)),
    "reshape by a tuple": (lambda x: x.reshape((4, 6)), X.reshape(4, 6)),
    "reshape flat": (lambda x: x.reshape(-1), X.reshape(-1)),
    "transpose": (lambda x: x.transpose(), X.transpose()),
    "transpose by axes": (lambda x: x.transpose(1, 2, 0), X.transpose(1, 2, 0)),
    "transpose by a tuple": (lambda x: x.transpose((1, 2, 0)), X.transpose(1, 2, 0)),
    "mean": (lambda x: x.mean(), X.mean()),
    "mean of an axis": (lambda x: x.mean(1), X.mean(1)),
    "mean, kept": (lambda x: x.mean((0, -1), True), X.mean((0, -1), keepdims=True)),
    "sum": (lambda x: x.sum(), X.sum()),
    "sum of an axis": (lambda x: x.sum(-1), X.sum(-1)),
    "sum, kept": (lambda x: x.sum((0, 1), keep_dims=True), X.sum((0, 1), keepdims=True)),
    "stacks": (lambda x: x @ Parameter(X.transpose(0, 2, 1)), X @ X.transpose(0, 2, 1)),
    "matrices": (lambda x: x[0] @ Parameter(MATRIX.T), MATRIX @ MATRIX.T),
}


@pytest.mark.parametrize("case", ONE)
def test_a_method_gives_what_numpy_s_does(case):
    function, want = ONE[case]
    got = run(function, X)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_stacks_and_matrices_are_multiplied_by_operators_of_their_own():
    for x, kind in ((X, "BatchMatMul"), (MATRIX, "MatMul")):
        assert [op.op_type for op in trace(lambda a, b: a @ b, x, np.swapaxes(x, -1, -2)).ops] == [
            kind
        ]


def test_a_cast_to_the_own_dtype_records_nothing():
    assert trace(lambda x: x.astype("float32").astype(np.float32) + 0.0, X).ops[0].op_type == "Add"
    graph = trace(lambda x: x.astype(np.float16), X)
    assert [(op.op_type, op.outputs[0].dtype) for op in graph.ops] == [("Cast", "float16")]


MEET = [
    ("float32", "float16", "float32"), ("float16", "int32", "float16"), ("bool", "float16", "float16"),
    ("bfloat16", "float16", "float32"), ("float64", "float32", "float64"), ("bfloat16", "int64", "bfloat16"),
    ("float64", "bfloat16", "float64"), ("int8", "int32", "int32"), ("bool", "uint8", "uint8"),
    ("int16", "int64", "int64"), ("int32", "int32", "int32"), ("bool", "int8", "int8"), ("int16", "int32", "int32"),
    ("uint8", "int8", "int16"), ("uint8", "int16", "int16"),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right", "want"), MEET)
def test_the_narrower_of_two_tensors_is_cast(left, right, want):
    for one, other in ((left, right), (right, left)):
        graph = trace(lambda x, y: x + y, TensorSpec(one, (2,)), TensorSpec(other, (2,)))
        assert graph.ops[-1].outputs[0].dtype == want
        casts = [op.outputs[0].dtype for op in graph.ops if op.op_type == "Cast"]
        assert casts == [want] * sum(dtype != want for dtype in (one, other))


NUMBERS = [
    ("float16", 2, "float16"), ("float16", 2.5, "float16"), ("int32", 2, "int32"), ("int32", 2.5, "float32"),
    ("int64", True, "int64"), ("float32", np.float64(2), "float32"), ("bool", 1.5, "float32"),
    ("bool", 2, "int32"), ("bool", np.int8(2), "int32"), ("uint8", 2, "uint8"),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "number", "want"), NUMBERS)
def test_a_number_takes_the_dtype_of_the_tensor_unless_it_has_a_fraction(dtype, number, want):
    for function in (lambda x: binary("Mul", x, number), lambda x: binary("Mul", number, x)):
        assert trace(function, TensorSpec(dtype, (2,))).ops[-1].outputs[0].dtype == want


def test_a_flag_and_a_flag_tensor_stay_flags():
    for function in (
        lambda x: binary("LogicalOr", x, True),
        lambda x: binary("LogicalOr", True, x),
    ):
        graph = trace(function, TensorSpec("bool", (2,)))
        assert [op.op_type for op in graph.ops] == ["LogicalOr"]


def test_a_flag_tensor_counts_as_one_with_an_integer():
    found = run(lambda x: x + 2, np.array([False, True]))
    assert (found.dtype, found.tolist()) == (np.int32, [2, 3])


INDICES = [
    1, -1, slice(None), slice(1, None), slice(None, -1), slice(None, None, -1), slice(2, 0, -1), slice(-9, 9),
    (0, 1), (slice(None), 2), (slice(None), slice(None), slice(3, None, -2)), (..., 0), (0, ..., 1), (..., slice(1, 3)),
    None, (None, 0), (0, None), (slice(None), None, 1), (..., None), (None, ..., None, -1), (0, 1, 2), (),
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_an_index_takes_what_numpy_takes(index):
    np.testing.assert_array_equal(run(lambda x: x[index], X), X[index])


REFUSED = {
    "a condition": (lambda x: bool(x), "graph/value-condition"),
    "iteration": (lambda x: list(x), "graph/value-iteration"),
    "NumPy": (lambda x: np.asarray(x), "graph/value-numpy"),
    "a tensor as index": (lambda x: x[x], "graph/value-index"),
    "a list as index": (lambda x: x[[0, 1]], "graph/value-index"),
    "a flag as index": (lambda x: x[True], "graph/value-index"),
    "a list as summand": (lambda x: binary("Add", x, [1.0]), "graph/input-type"),
    "text as summand": (lambda x: x + "1", "graph/input-type"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_needs_values_is_refused(case):
    function, code = REFUSED[case]
    with refused(code, GraphError):
        trace(function, X)


def test_nothing_is_recorded_outside_of_a_trace():
    for subject, call in (
        ("ReLU", lambda: record("ReLU", X)),
        ("a cell", lambda: recorder("a cell")),
    ):
        with refused("graph/not-tracing", GraphError, subject=subject):
            call()


def test_a_tensor_knows_its_sizes():
    def network(x):
        assert (x.shape, x.ndim, x.dtype, len(x)) == ((2, 3, 4), 3, "float32", 2)
        return x + 1.0

    trace(network, X)


STARTS = [
    ("zeros", lambda one: (one == 3).all()),
    ("ones", lambda one: (one == 4).all()),
    ("uniform", lambda one: 2.9 < np.abs(one - 3).max() <= 3 and np.abs(one - 3).mean() < 1.6),
    ("normal", lambda one: one.max() > 9 and one.std() == pytest.approx(3, rel=0.05)),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "looks_right"), STARTS)
def test_a_weight_starts_around_its_center(kind, looks_right):
    initial = Initial((40, 50), kind, 3.0, "float32", 3.0)
    one = initial.array("w", 1)
    assert (one.shape, one.dtype) == ((40, 50), np.float32)
    assert looks_right(one)
    np.testing.assert_array_equal(one, initial.array("w", 1))
    if kind in ("uniform", "normal"):
        assert not np.array_equal(one, initial.array("w", 2))
        assert not np.array_equal(one, initial.array("v", 1))


def test_a_weight_is_given_other_values_of_its_shape():
    weight = Parameter(np.zeros((2, 3), np.float32), "w")
    weight.set_data(np.ones((2, 3), np.float16))
    assert (weight.dtype, weight.array("w", 0).sum()) == ("float16", 6)
    with refused("graph/shape", GraphError, subject="w", expected=(2, 3), got=(3, 2)):
        weight.set_data(np.ones((3, 2)))


def test_a_clone_has_shape_dtype_and_name_of_its_own():
    weight = Parameter(np.zeros((2, 3), np.float16), "fc.weight", requires_grad=False)
    clone = weight.clone("moment", "ones")
    assert (clone.name, clone.shape, clone.dtype) == ("moment.fc.weight", (2, 3), "float16")
    assert not clone.requires_grad
    np.testing.assert_array_equal(clone.array("", 0), np.ones((2, 3)))
