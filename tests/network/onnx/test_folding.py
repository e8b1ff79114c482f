"""Constants are computed while a model is read, and never take more memory than they may."""

import numpy as np
import pytest
from onnx import helper, numpy_helper

from kit.build.onnx_models import FLOAT, computed, model, node
from kit.words import check_said
from workbench.core.errors import GraphError
from workbench.network.onnx import folding, read_onnx

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
WEIGHT = np.arange(12, dtype=np.float32).reshape(4, 3)


def refusal(made):
    with pytest.raises(GraphError) as error:
        read_onnx(made)
    return error.value


def test_what_is_done_to_weights_alone_is_done_while_reading():
    nodes = [
        node("Transpose", ["w"], ["t"], perm=[1, 0]),
        node("Mul", ["t", "half"], ["h"]),
        node("Unsqueeze", ["h", "axes"], ["u"]),
        node("Squeeze", ["u", "axes"], ["s"]),
        node("MatMul", ["x", "w2"], ["m"]),
        node("Add", ["m", "s"], ["y"]),
    ]
    weights = {"w": WEIGHT[:3], "half": np.float32(0.5), "axes": np.array([0])}
    weights["w2"] = np.eye(4, dtype=np.float32)[:, :3]
    made = model(nodes, {"x": X}, ["y"], weights)
    graph = read_onnx(made)
    assert [op.op_type for op in graph.ops] == ["MatMul", "Add"]
    assert [p.name for p in graph.parameters] == ["w2", "s", "x"]
    np.testing.assert_array_equal(computed(made, {"x": X})[0], X[:, :3] + WEIGHT[:3].T / 2)


def test_of_a_constant_that_is_split_each_part_keeps_its_place():
    nodes = [
        node("Split", ["w"], ["", "right"], axis=1, num_outputs=2),
        node("Add", ["x", "right"], ["y"]),
    ]
    made = model(nodes, {"x": X[:, :2]}, ["y"], {"w": X})
    np.testing.assert_array_equal(computed(made, {"x": X[:, :2]})[0], X[:, :2] + X[:, 2:])


def test_a_feed_is_never_folded():
    nodes = [node("Transpose", ["x"], ["t"]), node("Mul", ["t", "t"], ["y"])]
    assert [op.op_type for op in read_onnx(model(nodes, {"x": X}, ["y"])).ops] == [
        "Transpose",
        "Mul",
    ]


def test_a_constant_of_a_shape_takes_no_memory_until_it_is_used():
    nodes = [node("ConstantOfShape", ["s"], ["c"]), node("Shape", ["c"], ["n"]),
             node("Cast", ["n"], ["y"], to=FLOAT)]  # fmt: skip
    made = model(nodes, {}, ["y"], {"s": np.array([1 << 15, 1 << 15])})
    (y,) = computed(made, {})
    assert y.tolist() == [1 << 15, 1 << 15]


@pytest.mark.parametrize(
    ("nodes", "weights", "code", "values"),
    [
        ([node("ConstantOfShape", ["s"], ["y"])], {"s": np.array([1 << 30, 1 << 30])},
         "graph/sizes", {"got": (1 << 30, 1 << 30)}),
        ([node("ConstantOfShape", ["s"], ["y"])], {"s": np.array([-1])}, "graph/sizes", {"got": (-1,)}),
        ([node("Range", ["a", "b", "c"], ["y"])],
         {"a": np.int64(0), "b": np.int64(1 << 60), "c": np.int64(1)}, "graph/sizes", {"got": (1 << 60,)}),
        ([node("EyeLike", ["s"], ["y"])], {"s": np.zeros(3)}, "graph/onnx-node", {}),
    ],
)  # fmt: skip
def test_constants_that_are_too_large_or_wrong_are_refused(nodes, weights, code, values):
    error = refusal(model(nodes, {}, ["y"], weights))
    check_said(error, code, place=f"net: node #0 ({nodes[0].op_type})", **values)


def test_doubling_again_and_again_meets_a_bound(monkeypatch):
    monkeypatch.setattr(folding, "_MOST_BYTES", 1 << 20)
    nodes = [node("Concat", [f"c{k}", f"c{k}"], [f"c{k + 1}"], axis=0) for k in range(60)]
    error = refusal(model(nodes, {}, ["c60"], {"c0": np.zeros(2, np.float32)}))
    check_said(error, "graph/onnx-constants-large", most=1048576)


def test_a_constant_that_cannot_be_computed_is_refused_with_its_name():
    nodes = [node("Gather", ["w", "i"], ["g"]), node("Add", ["x", "g"], ["y"])]
    made = model(nodes, {"x": X}, ["y"], {"w": WEIGHT, "i": np.array(9)})
    check_said(refusal(made), "graph/onnx-constant", name="g", error="IndexError")


@pytest.mark.parametrize(
    ("attrs", "want"),
    [
        ({"value": numpy_helper.from_array(np.float16([1, 2]))}, np.float16([1, 2])),
        ({"value_float": 1.5}, np.float32(1.5)),
        ({"value_floats": [1.5, 2]}, np.float32([1.5, 2])),
        ({"value_int": 3}, np.int64(3)),
        ({"value_ints": [3, 4]}, np.array([3, 4])),
    ],
)
def test_constants_are_spelled_in_many_ways(attrs, want):
    made = model([node("Constant", [], ["y"], **attrs)], {}, ["y"])
    (got,) = computed(made, {})
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


def test_text_is_no_constant():
    made = model([node("Constant", [], ["y"], value_string="a")], {}, ["y"])
    (problem,) = refusal(made).values["problems"]
    check_said(problem, "graph/onnx-constant-value", place="Constant (node #0)")


def test_an_attribute_that_refers_to_a_function_is_refused_outside_of_one():
    bad = helper.make_node("Elu", ["x"], ["y"])
    attribute = bad.attribute.add()
    attribute.name, attribute.ref_attr_name, attribute.type = "alpha", "a", 1
    error = refusal(model([bad], {"x": X}, ["y"]))
    check_said(error, "graph/onnx-reference", name="alpha")
