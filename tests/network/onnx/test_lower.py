"""From a model to a graph: names, feeds, what is lacking, and where models come from."""

import sys

import numpy as np
import pytest
from onnx import helper, numpy_helper

from kit.build.onnx_models import FLOAT, computed, model, node
from kit.wire import msg
from kit.words import check_said, refused
from workbench.core.errors import FormatError, GraphError
from workbench.core.words import Message
from workbench.graph.graph import Const, Param, Value
from workbench.graph_files.onnx.tensors import library
from workbench.network.models import load_graph
from workbench.network.onnx import read_onnx

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
WEIGHT = np.arange(8, dtype=np.float32).reshape(4, 2)
NET = [
    node("MatMul", ["x", "w"], ["a"], "/fc/MatMul"),
    node("Relu", ["a"], ["b"], "act (1)"),
    node("Softmax", ["b"], ["y"]),
]


def net(**settings):
    return model(NET, {"x": X}, ["y"], {"w": WEIGHT}, **settings)


def refusal(made, **settings):
    with pytest.raises(GraphError) as error:
        read_onnx(made, **settings)
    return error.value


def test_operators_are_named_by_their_nodes_and_weights_by_themselves():
    graph = read_onnx(net())
    assert [op.name for op in graph.ops] == [
        "/fc/MatMul",
        "act_1_",
        "Softmax_0",
    ]
    assert graph.name == "net"
    assert [(p.name, p.is_weight) for p in graph.parameters] == [("w", True), ("x", False)]
    assert graph.ops[0].inputs[:2] == (Param(1), Param(0))
    assert graph.outputs == (Value(2),)
    np.testing.assert_array_equal(graph.parameters[0].default, WEIGHT)


def test_names_that_become_equal_stay_apart():
    made = model(
        [node("Add", ["a b", "a+b"], ["c"], "n"), node("Add", ["c", "a_b"], ["y"], "n")],
        {"a b": X, "a+b": X},
        ["y"],
        {"a_b": X},
    )
    graph = read_onnx(made)
    assert [p.name for p in graph.parameters] == ["a_b", "a_b_2", "a_b_3"]
    assert [op.name for op in graph.ops] == ["n", "n_2"]


def test_feeds_have_example_values_that_depend_on_the_seed_alone():
    one, same, other = (read_onnx(net(), seed=seed).parameters[1].default for seed in (1, 1, 2))
    assert one.dtype == np.float32
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
    ids = model([node("Cast", ["i"], ["y"], to=FLOAT)], {"i": np.zeros(50, np.int64)}, ["y"])
    assert set(read_onnx(ids).parameters[0].default.tolist()) == {0, 1}


def test_a_feed_too_large_for_an_example_has_none():
    info = helper.make_tensor_value_info("x", FLOAT, [1 << 20, 1 << 20])
    graph = read_onnx(model([node("Relu", ["x"], ["y"])], {"x": info}, ["y"]))
    assert graph.parameters[0].default is None


OPEN = helper.make_tensor_value_info("x", FLOAT, ["batch", 4])


@pytest.mark.parametrize("shapes", [{"batch": 3}, {"x": (3, 4)}, {"x": [3, 4], "batch": 9}])
def test_open_sizes_are_given_by_their_names_or_with_the_whole_shape(shapes):
    graph = read_onnx(model(NET, {"x": OPEN}, ["y"], {"w": WEIGHT}), shapes=shapes)
    assert graph.ops[-1].outputs[0].shape == (3, 2)


@pytest.mark.parametrize(
    ("shape", "got", "size", "example"),
    [
        (["batch", 4], ("batch", 4), "batch", 1),
        ([None, 4], ("?", 4), "x", "(1, ...)"),
        ([-1, 4], ("?", 4), "x", "(1, ...)"),
        (None, None, "x", "(1, ...)"),
    ],
)
def test_an_open_size_is_asked_for(shape, got, size, example):
    info = helper.make_tensor_value_info("x", FLOAT, shape)
    error = refusal(model(NET, {"x": info}, ["y"], {"w": WEIGHT}))
    check_said(error, "graph/onnx-open-shape", name="x", got=got, size=size, example=example)


def test_inputs_that_are_known_are_no_feeds():
    made = model([node("Reshape", ["x", "s"], ["y"])], {"x": X, "s": np.zeros(2, np.int64)}, ["y"])
    (problem,) = refusal(made).values["problems"]
    check_said(problem, "graph/onnx-unknown-input", input=1, place="Reshape (node #0)")
    graph = read_onnx(made, values={"s": np.array([2, 6])})
    assert [p.name for p in graph.parameters] == ["x"]
    assert graph.ops[0].outputs[0].shape == (2, 6)


def test_an_empty_input_is_one():
    info = helper.make_tensor_value_info("x", FLOAT, [0, 4])
    graph = read_onnx(model([node("Relu", ["x"], ["y"])], {"x": info}, ["y"]))
    assert graph.ops[0].outputs[0].shape == (0, 4)


@pytest.mark.parametrize("shape", [[1 << 41], [0, 1 << 62]])
def test_a_shape_beyond_all_use_is_refused(shape):
    info = helper.make_tensor_value_info("x", FLOAT, shape)
    error = refusal(model([node("Relu", ["x"], ["y"])], {"x": info}, ["y"]))
    check_said(error, "graph/sizes", subject="x", most=1 << 40, got=tuple(shape))


@pytest.mark.parametrize("name", ["shapes", "values"])
def test_an_unknown_input_is_refused_with_the_known_ones(name):
    error = refusal(net(), **{name: {"z": 1}})
    check_said(error, "core/choice", place="net", subject="input", got="z", known=["x"])


def test_every_operator_that_is_lacking_is_named_with_its_nodes():
    nodes = [
        node("NonZero", ["x"], ["a"], "nz"),
        node("If", ["c"], ["b"], "choice"),
        node("Mine", ["b"], ["d"], "own", domain="my.ops"),
        *(node("NonZero", ["x"], [f"n{k}"]) for k in range(9)),
    ]
    made = model(
        nodes, {"x": X, "c": np.asarray(True)}, ["d"], imports=[helper.make_opsetid("my.ops", 1)]
    )
    assert refusal(made).values["problems"] == [
        Message("graph/onnx-operator", type=kind, nodes=nodes)
        for kind, nodes in (
            ("NonZero", ["'nz'", *(f"#{number}" for number in range(3, 12))]),
            ("If", ["'choice'"]),
            ("my.ops.Mine", ["'own'"]),
        )
    ]


def test_uses_that_are_lacking_are_named_together_and_what_follows_is_left_out():
    nodes = [
        node("LRN", ["x"], ["a"], "even", size=4),
        node("Relu", ["a"], ["b"]),
        node("MaxPool", ["x"], ["c", "places"], "pool", kernel_shape=[2, 2]),
        node("Add", ["b", "c"], ["y"]),
    ]
    error = refusal(model(nodes, {"x": np.zeros((1, 2, 3, 3), np.float32)}, ["y"]))
    check_said(error, "graph/onnx-unsupported", place="net")
    lrn, pool = error.values["problems"]
    check_said(lrn, "graph/onnx-lrn", place="LRN (node 'even')", size=4, rank=4)
    check_said(pool, "graph/onnx-output", place="MaxPool (node 'pool')", got="Indices")


@pytest.mark.parametrize("opset", [6, 29])
def test_an_opset_beyond_the_known_ones_is_refused(opset):
    error = refusal(net(opset=opset))
    check_said(error, "graph/onnx-opset", place="net", first=7, last=28, got=opset)


def test_a_model_without_a_standard_opset_is_refused():
    made = net()
    del made.opset_import[:]
    check_said(refusal(made), "graph/onnx-opset", got=[])


def test_inputs_that_do_not_fit_name_node_operator_and_source_line():
    notes = {"pkg.torch.onnx.stack_trace": 'File "net.py", line 7, in forward\n    return a @ b'}
    made = model([node("MatMul", ["x", "w"], ["y"], "mm", notes)], {"x": X}, ["y"], {"w": X})
    place = "net: node 'mm' (MatMul): net.py:7: mm/MatMul-op0 (MatMul)"
    check_said(refusal(made), "graph/inner", place=place)


@pytest.mark.parametrize(
    ("nodes", "code", "values"),
    [
        ([node("Relu", ["nowhere"], ["y"], "r")], "input-later", {"got": "nowhere", "place": "net: node 'r' (Relu)"}),
        ([node("Relu", ["x"], ["z"])], "output-nowhere", {"got": "y", "place": "net"}),
        ([node("Add", ["x"], ["y"])], "no-input", {"input": 1, "place": "net: node #0 (Add)"}),
    ],
)  # fmt: skip
def test_a_graph_with_loose_ends_is_refused(nodes, code, values):
    check_said(refusal(model(nodes, {"x": X}, ["y"])), f"graph/onnx-{code}", **values)


def test_an_input_or_a_weight_may_be_an_output():
    made = model([node("Identity", ["x"], ["y"]), node("Identity", ["w"], ["z"])], {"x": X}, ["y", "z"],
                 {"w": WEIGHT})  # fmt: skip
    y, z = computed(made, {"x": X})
    np.testing.assert_array_equal(y, X)
    np.testing.assert_array_equal(z, WEIGHT)


def test_an_input_that_is_no_tensor_or_of_no_known_dtype_is_refused():
    text = helper.make_tensor_value_info("x", 8, [2])
    error = refusal(model(NET, {"x": text}, ["y"], {"w": WEIGHT}))
    check_said(error, "graph/onnx-dtype", place="net", name="x")
    listed = helper.make_tensor_sequence_value_info("x", FLOAT, [2])
    error = refusal(model(NET, {"x": listed}, ["y"], {"w": WEIGHT}))
    check_said(error, "graph/onnx-input-type", place="net", name="x")


@pytest.mark.parametrize(
    ("made", "code", "values"),
    [
        (node("Slice", ["x", "one", "two", "axis", "zero"], ["y"]), "onnx-steps", {"got": (0,)}),
        (node("LSTM", ["s", "w3", "r3", "", "one"], ["y"], hidden_size=1), "onnx-lengths", {"got": (1,)}),
        (node("LSTM", ["s", "w3", "r3", "", "", "", "", "p"], ["y"], hidden_size=1), "onnx-peepholes", {}),
        (node("DequantizeLinear", ["n", "square"], ["y"]), "onnx-along", {"input": 1, "got": (3, 4)}),
    ],
)  # fmt: skip
def test_what_a_node_cannot_ask_for_is_refused(made, code, values):
    weights = {
        "one": np.array([1]), "two": np.array([2]), "axis": np.array([0]), "zero": np.array([0]),
        "square": np.ones((3, 4), np.float32), "w3": np.ones((1, 4, 2), np.float32),
        "r3": np.ones((1, 4, 1), np.float32), "p": np.ones((1, 3), np.float32),
    }  # fmt: skip
    feeds = {"x": X, "s": np.ones((3, 1, 2), np.float32), "n": np.ones((3, 4), np.int8)}
    used = {name: feeds[name] for name in made.input if name in feeds}
    error = refusal(
        model([made], used, ["y"], {k: v for k, v in weights.items() if k in made.input})
    )
    check_said(error.values.get("problems", [error])[0], f"graph/{code}", **values)


def test_a_model_that_protobuf_cannot_read_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("workbench.network.onnx.lower.MAX_BYTES", 4)
    (tmp_path / "net.onnx").write_bytes(b"12345")
    with refused("graph/onnx-large", FormatError, got=5, limit=4):
        read_onnx(tmp_path / "net.onnx")


def test_sparse_weights_are_refused():
    made = net()
    dense = numpy_helper.from_array(np.ones(1, np.float32), "s")
    places = numpy_helper.from_array(np.zeros((1, 1), np.int64))
    made.graph.sparse_initializer.append(helper.make_sparse_tensor(dense, places, [4]))
    check_said(refusal(made), "graph/onnx-sparse", place="net", got="s")


def test_a_constant_operand_is_written_into_the_operator():
    made = model([node("Mul", ["x", "two"], ["y"]), node("Constant", [], ["two"], value_float=2.0)][::-1],
                 {"x": X}, ["y"])  # fmt: skip
    assert read_onnx(made).ops[0].inputs[1] == Const(2.0, "float32", ())


def test_large_constants_are_weights_under_the_name_that_the_model_gives_them():
    big = numpy_helper.from_array(np.ones((3, 40), np.float32))
    nodes = [node("Constant", [], ["table"], value=big), node("Gemm", ["i", "table"], ["y"])]
    graph = read_onnx(model(nodes, {"i": X[:, :3]}, ["y"]))
    assert [p.name for p in graph.parameters] == ["table", "i"]


# Files.


def test_a_file_is_loaded_by_its_name_with_sizes_behind_it(tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(model(NET, {"x": OPEN}, ["y"], {"w": WEIGHT}).SerializeToString())
    assert load_graph(f"{path}:batch=5").ops[-1].outputs[0].shape == (5, 2)
    assert load_graph(f"{path}:x=6x4", seed=1).ops[-1].outputs[0].shape == (6, 2)
    with refused("graph/onnx-open-shape", GraphError, size="batch", example=1):
        load_graph(str(path))
    for text in ("batch", "=3", "batch=", "batch=-1", "x=3x", f"x={'9' * 20}"):
        with refused("graph/model-sizes", GraphError, got=text):
            load_graph(f"{path}:{text}")


def test_a_missing_file_and_one_that_is_no_model_are_refused(tmp_path):
    with refused("core/missing", GraphError, got=str(tmp_path / "no.onnx")):
        load_graph(str(tmp_path / "no.onnx"))
    path = tmp_path / "text.onnx"
    path.write_text("no model", encoding="utf-8")
    with refused("graph/onnx-invalid", FormatError, place=str(path)):
        load_graph(str(path))


def deep(levels):
    """A graph in an attribute of a node of a graph, again and again."""
    data = b""
    for _ in range(levels):
        data = msg(1, msg(5, msg(6, data)))
    return data


LONG = b"\x3a\xff\xff\xff\xff\x7f"
"""The begin of a graph of 32 GiB."""

HOSTILE = {
    "empty nodes": (msg(7, msg(1) * 2000), "proto/fields"),
    "empty operator sets": (msg(8) * 2000, "proto/fields"),
    "graphs inside each other": (msg(7, deep(300)), "graph/onnx-graphs-deep"),
    "a graph longer than the file": (LONG + bytes(5000), "proto/cut-off"),
    "a node longer than its graph": (msg(7, b"\x0a\xff\x7f" + bytes(5000)), "proto/cut-off"),
}  # fmt: skip
"""What a model may claim → the code of its refusal, before the library makes objects of it."""


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_model_is_refused_before_the_library_sees_it(tmp_path, monkeypatch, what):
    data, code = HOSTILE[what]
    path = tmp_path / "net.onnx"
    path.write_bytes(data)
    monkeypatch.setattr("workbench.graph_files.onnx.model._MAX_ENTRIES", 1000)
    monkeypatch.setattr("workbench.network.onnx.functions.MAX_FIELDS", 1000)
    with refused(code, FormatError) as error:
        read_onnx(path)
    assert error.value.place.startswith(f"{path}: byte ")


def test_without_onnx_the_extra_is_named(monkeypatch):
    library.cache_clear()
    monkeypatch.setitem(sys.modules, "onnx", None)
    try:
        with refused("graph/onnx-missing", GraphError):
            load_graph("net.onnx")
    finally:
        library.cache_clear()
