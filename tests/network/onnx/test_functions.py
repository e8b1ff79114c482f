"""Functions of a model and operators that the standard defines: expanded, and remembered whose they were."""

import numpy as np
import pytest
from onnx import helper

from kit.build.onnx_models import computed, model, node
from kit.wire import msg
from kit.words import check_said, refused
from workbench.core.errors import FormatError, GraphError
from workbench.network.onnx import functions, read_onnx

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
MINE = [helper.make_opsetid("my", 1)]
STACK = {"pkg.torch.onnx.stack_trace": 'File "net.py", line 9, in forward\n    x = block(x)'}


def function(name, nodes, inputs=("a",), outputs=("b",)):
    imports = [helper.make_opsetid("", 21), *MINE]
    return helper.make_function("my", name, list(inputs), list(outputs), nodes, imports)


def refusal(made):
    with pytest.raises(GraphError) as error:
        read_onnx(made)
    return error.value


def test_a_function_is_expanded_where_it_is_called_under_the_name_of_the_call():
    double = function("Double", [node("Add", ["a", "a"], ["b"])])
    block = function(
        "Block", [node("Double", ["a"], ["t"], domain="my"), node("Relu", ["t"], ["b"])]
    )
    nodes = [
        node("Neg", ["x"], ["n"], "first"),
        node("Block", ["n"], ["m"], "block1", STACK, domain="my"),
        node("Exp", ["m"], ["y"], "last"),
    ]
    made = model(nodes, {"x": X}, ["y"], functions=[double, block], imports=MINE)
    np.testing.assert_allclose(
        computed(made, {"x": X})[0], np.exp(np.maximum(-2 * X, 0)), rtol=1e-6
    )
    graph = read_onnx(made)
    assert [op.name for op in graph.ops] == [
        "first",
        "block1/Add",
        "block1/Relu",
        "last",
    ]
    assert [[f.line for f in op.frames] for op in graph.ops] == [[], [9], [9], []]


def test_an_operator_that_the_standard_defines_by_others_is_expanded():
    q = np.random.default_rng(0).standard_normal((1, 2, 3, 4)).astype(np.float32)
    made = model(
        [node("Attention", ["q", "q", "q"], ["y"], "att", STACK)], {"q": q}, ["y"], opset=23
    )
    graph = read_onnx(made)
    assert {op.op_type for op in graph.ops} >= {"BatchMatMul", "Softmax"}
    assert all(op.name.startswith("att/") and op.frame.line == 9 for op in graph.ops)
    scores = np.exp(q.astype(float) @ q.swapaxes(-1, -2) / 2)
    want = scores / scores.sum(-1, keepdims=True) @ q
    np.testing.assert_allclose(computed(made, {"q": q})[0], want, rtol=1e-5)


def test_functions_that_call_each_other_without_end_are_refused():
    ring = [function("A", [node("B", ["a"], ["b"], domain="my")]),
            function("B", [node("A", ["a"], ["b"], domain="my")])]  # fmt: skip
    made = model(
        [node("A", ["x"], ["y"], domain="my")], {"x": X}, ["y"], functions=ring, imports=MINE
    )
    check_said(refusal(made), "graph/onnx-functions-deep", place="net", most=100)


def test_functions_that_multiply_are_refused_before_they_are_expanded():
    layers = [function("F0", [node("Neg", ["a"], ["b"])])]
    for k in range(1, 40):
        inner = {"domain": "my"}
        nodes = [node(f"F{k - 1}", ["a"], ["t"], **inner), node(f"F{k - 1}", ["t"], ["b"], **inner)]
        layers.append(function(f"F{k}", nodes))
    made = model(
        [node("F39", ["x"], ["y"], domain="my")], {"x": X}, ["y"], functions=layers, imports=MINE
    )
    check_said(refusal(made), "graph/onnx-functions-large", place="net", most=1000000)


def test_a_function_that_is_not_there_is_named_as_lacking():
    double = function("Double", [node("Add", ["a", "a"], ["b"])])
    made = model([node("Triple", ["x"], ["y"], "t", domain="my")], {"x": X}, ["y"], functions=[double],
                 imports=MINE)  # fmt: skip
    (problem,) = refusal(made).values["problems"]
    check_said(problem, "graph/onnx-operator", type="my.Triple", nodes=["'t'"])


def test_what_the_inliner_refuses_is_said(monkeypatch):
    def fail(_):
        message = "no"
        raise RuntimeError(message)

    monkeypatch.setattr(functions.library().inliner, "inline_local_functions", fail)
    double = function("Double", [node("Add", ["a", "a"], ["b"])])
    made = model(
        [node("Double", ["x"], ["y"], domain="my")],
        {"x": X},
        ["y"],
        functions=[double],
        imports=MINE,
    )
    check_said(refusal(made), "graph/onnx-functions", place="net", error="RuntimeError")


MANY = {
    "nodes of functions": msg(25, msg(7) * 100),
    "nodes of branches": msg(7, msg(1, msg(5, msg(6, msg(1) * 100)))),
    "dimensions of feeds": msg(7, msg(11, msg(2, msg(1, msg(2, msg(1) * 100))))),
}


@pytest.mark.parametrize("what", MANY)
def test_fields_of_all_messages_count_before_the_library_makes_objects(monkeypatch, what):
    made = model([node("Relu", ["x"], ["y"])], {"x": X}, ["y"]).SerializeToString()
    monkeypatch.setattr(functions, "MAX_FIELDS", 40)
    assert functions.whole_model(made, "net").graph.node[0].op_type == "Relu"
    with refused("proto/fields", FormatError, limit=40):
        functions.whole_model(made + MANY[what], "net")
