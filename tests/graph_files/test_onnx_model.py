"""ONNX models as they are: edges, names, types and attributes against what the test has built by hand."""

from __future__ import annotations

import os
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from kit.build.onnx_models import FLOAT, model, node
from kit.words import refused
from workbench.core.errors import FormatError, GraphError, WorkbenchError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Const, FreeRef, GraphRef, Param, Value
from workbench.graph_files.formats import read_graph
from workbench.graph_files.onnx import model as onnx_model
from workbench.graph_files.onnx.dialect import DOMAIN, NOTES, OPEN_SHAPES, OUTPUTS, UNNAMED
from workbench.graph_files.onnx.model import parse_onnx_model

X = np.ones((2, 3), np.float32)
WEIGHT = np.arange(12, dtype=np.float32).reshape(3, 4)
NONE = Const(None, "None")


def parsed(nodes, inputs=None, outputs=("y",), weights=(), **more):
    made = model(nodes, {"x": X} if inputs is None else inputs, outputs, weights, **more)
    return parse_onnx_model(made.SerializeToString(), "net.onnx")


def named(title, nodes, outputs, inputs=()):
    """A graph that a node holds."""
    ends = [helper.make_empty_tensor_value_info(name) for name in outputs]
    infos = [helper.make_tensor_value_info(name, FLOAT, [2, 3]) for name in inputs]
    return helper.make_graph(nodes, title, infos, ends)


# ---------------------------------------------------------------- nodes and edges


def test_nodes_become_operators_and_names_of_values_edges():
    nodes = [
        node("Split", ["x"], ["l", "r"], "cut", axis=1),
        node("Clip", ["r", "", "top"], ["c"], "clip"),
        node("Gemm", ["c", "w"], ["g"], "fc"),
        node("Add", ["g", "g"], ["y"], "twice"),
    ]
    graph = parsed(nodes, None, ["y", "l", "x"], {"w": WEIGHT, "top": np.float32(6)})
    assert (graph.name, graph.dialect) == ("net", "onnx")
    assert [(op.name, op.op_type) for op in graph.ops] == [
        ("cut", "Split"), ("clip", "Clip"), ("fc", "Gemm"), ("twice", "Add"),
    ]  # fmt: skip
    assert [(p.name, p.is_weight) for p in graph.parameters] == [
        ("x", False), ("w", True), ("top", True),
    ]  # fmt: skip
    assert [op.inputs for op in graph.ops] == [
        (Param(0),), (Value(0, 1), NONE, Param(2)), (Value(1), Param(1)), (Value(2), Value(2)),
    ]  # fmt: skip
    assert [op.attrs[OUTPUTS] for op in graph.ops] == [("l", "r"), ("c",), ("g",), ("y",)]
    assert graph.outputs == (Value(3), Value(0, 0), Param(0))


def test_an_operator_that_nobody_knows_keeps_its_domain_type_and_attributes():
    graph = parsed([node("Strange", ["x"], ["y", "", "z"], "odd", domain="my.ops", scale=1.5)])
    (op,) = graph.ops
    assert (op.op_type, op.attrs[DOMAIN], op.attrs["scale"]) == ("Strange", "my.ops", 1.5)
    assert (op.attrs[OUTPUTS], len(op.outputs)) == (("y", "", "z"), 3)


def test_nodes_without_a_name_are_numbered_among_themselves_level_by_level():
    """As ATC's parser does: all graphs of one depth before those inside them."""
    inner = named("in", [node("If", ["c"], ["t"], **branches(leaf("Neg"), leaf("Abs")))], ["t"])
    other = named("other", [node("Exp", ["x"], ["e"])], ["e"])
    nodes = [
        node("Relu", ["x"], ["a"]),
        node("If", ["c"], ["y"], "choice", then_branch=inner, else_branch=other),
        node("Sin", ["a"], ["b"]),
    ]
    graph = parsed(nodes, {"x": X, "c": np.array(True)})
    assert [op.name for op in graph.ops] == ["Relu_0", "choice", "Sin_1"]
    assert [UNNAMED in op.attrs for op in graph.ops] == [True, False, True]
    found = {one.name: [op.name for op in one.ops] for one in graph.subgraphs}
    assert found == {
        "choice_1_else_branch": ["Exp_2"],
        "choice_0_then_branch": ["If_3"],
        "If_3_1_else_branch": ["Abs_4"],
        "If_3_0_then_branch": ["Neg_5"],
    }


def leaf(op_type):
    return named("leaf", [node(op_type, ["x"], ["v"])], ["v"])


def branches(first, second):
    return {"then_branch": first, "else_branch": second}


def test_a_graph_of_a_node_reads_values_of_those_around_it():
    body = named("body", [node("Add", ["own", "a"], ["s"], "sum")], ["s"], ["own"])
    nodes = [
        node("Relu", ["x"], ["a"], "act"),
        node("Loop", ["", "", "x"], ["y"], "loop", body=body),
    ]
    graph = parsed(nodes)
    assert graph.ops[1].attrs["body"] == GraphRef("loop_0_body")
    (inside,) = graph.subgraphs
    assert inside.ops[0].inputs == (Param(0), FreeRef("net", "a"))
    assert (inside.parameters[0].name, inside.outputs) == ("own", (Value(0),))


def test_attributes_are_values_and_tensors_are_read_when_they_are_asked_for():
    attrs = {"f": 0.5, "i": -3, "s": "text", "floats": [0.5, 1.5], "ints": [1, -2], "strings": ["a", "b"],
             "t": numpy_helper.from_array(WEIGHT)}  # fmt: skip
    made = node("Any", ["x"], ["y"], "any", domain="my", **attrs)
    made.attribute.add(name="refers", ref_attr_name="alpha", type=1)
    made.attribute.add(name="kind", type=13)
    old = made.attribute.add(name="untyped")
    old.ints.extend([7, 8])
    (op,) = parsed([made]).ops
    assert {key: op.attrs[key] for key in list(attrs)[:-1]} == {
        "f": 0.5, "i": -3, "s": "text", "floats": (0.5, 1.5), "ints": (1, -2), "strings": ("a", "b"),
    }  # fmt: skip
    assert op.attrs["t"].spec == TensorSpec("float32", (3, 4))
    np.testing.assert_array_equal(op.attrs["t"], WEIGHT)
    assert (op.attrs["refers"], op.attrs["kind"]) == (FreeRef("", "alpha"), None)
    assert op.attrs["untyped"] == (7, 8)


def test_a_model_cannot_say_what_the_dialect_adds():
    made = node("Neg", ["x"], ["y"], "n")
    for name in (DOMAIN, NOTES, OUTPUTS, UNNAMED):
        made.attribute.append(helper.make_attribute(name, "mine"))
    silent = node("Print", ["x"], [], "p")
    for op, outputs in zip(parsed([made, silent]).ops, (("y",), ()), strict=True):
        assert op.attrs == {OUTPUTS: outputs}


def test_notes_and_source_lines_stay_with_their_node():
    notes = {
        "pkg.torch.onnx.stack_trace": 'File "net.py", line 7, in forward\n    return a',
        "k": "v",
    }
    (op,) = parsed([node("Relu", ["x"], ["y"], "r", notes)]).ops
    assert [(frame.file, frame.line) for frame in op.frames] == [("net.py", 7)]
    assert op.attrs[NOTES] == {"k": "v"}


def test_functions_and_opsets_are_told():
    inner = helper.make_function("my", "Twice", ["a"], ["b"], [node("Add", ["a", "a"], ["b"])], [])
    imports = [helper.make_opsetid("my", 4)]
    graph = parsed([node("Twice", ["x"], ["y"], domain="my")], functions=[inner], imports=imports)
    assert graph.attrs == {"opset_import": (("", 21), ("my", 4)), "functions": (("my", "Twice"),)}


# ---------------------------------------------------------------- what is known of values


def test_specs_are_those_that_the_model_states():
    infos = {"x": helper.make_tensor_value_info("x", TensorProto.FLOAT16, ["n", 3]),
             "any": helper.make_tensor_value_info("any", FLOAT, None),
             "odd": helper.make_tensor_value_info("odd", TensorProto.STRING, [1]),
             "list": helper.make_tensor_sequence_value_info("list", FLOAT, [2])}  # fmt: skip
    nodes = [
        node("Relu", ["x"], ["a"], "r"),
        node("Constant", [], ["c"], "k", value=numpy_helper.from_array(np.int64([1, 2]))),
        node("Mix", ["a", "any", "odd", "list", "c"], ["y"], "m", domain="my"),
    ]
    made = model(nodes, infos, ["y"])
    made.graph.value_info.append(helper.make_tensor_value_info("a", TensorProto.BFLOAT16, [5, 3]))
    graph = parse_onnx_model(made.SerializeToString())
    unknown = TensorSpec("", None)
    assert [parameter.spec for parameter in graph.parameters] == [
        ("float16", None, "DefaultFormat"), ("float32", None, "DefaultFormat"),
        ("string", (1,), "DefaultFormat"), unknown,
    ]  # fmt: skip
    assert [op.outputs for op in graph.ops] == [
        (TensorSpec("bfloat16", (5, 3)),), (TensorSpec("int64", (2,)),), (unknown,),
    ]  # fmt: skip
    assert graph.ops[0].input_specs == (TensorSpec("float16", None),)
    assert graph.attrs[OPEN_SHAPES] == {"x": ("n", 3)}


def test_an_input_with_a_value_is_a_weight():
    graph = parsed(
        [node("MatMul", ["x", "w"], ["y"])], {"x": X, "w": WEIGHT}, weights={"w": WEIGHT}
    )
    assert [(p.name, p.is_weight) for p in graph.parameters] == [("x", False), ("w", True)]


@pytest.mark.parametrize("external", [False, True])
def test_weights_are_read_from_where_they_lie(tmp_path, external):
    made = model([node("MatMul", ["x", "w"], ["y"])], {"x": X}, ["y"], {"w": WEIGHT})
    onnx.save(made, str(tmp_path / "net.onnx"), save_as_external_data=external, size_threshold=0)
    weight = read_graph(tmp_path / "net.onnx").parameters[1]
    assert (weight.spec, weight.default.shape) == (TensorSpec("float32", (3, 4)), (3, 4))
    np.testing.assert_array_equal(weight.default, WEIGHT)
    (tmp_path / "net.onnx").write_bytes(b"gone")
    if not external:
        with refused("dump/file-end", FormatError):
            weight.default.array()


def test_a_graph_is_read_without_onnx_and_without_its_weights(tmp_path, monkeypatch):
    path = tmp_path / "net.onnx"
    path.write_bytes(sparse_weight(1 << 28))
    os.truncate(path, path.stat().st_size + (1 << 28))
    monkeypatch.setitem(sys.modules, "onnx", None)
    tracemalloc.start()
    (weight,) = read_graph(path).parameters
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert weight.spec == TensorSpec("uint8", (1 << 28,))
    assert peak < 1 << 20


def sparse_weight(size):
    """The begin of a model whose only weight lies behind it, at the end of the file."""
    tensor = TensorProto(name="w", data_type=TensorProto.UINT8, dims=[size]).SerializeToString()
    raw = b"\x4a" + varint(size)
    weight = b"\x2a" + varint(len(tensor) + len(raw) + size) + tensor + raw
    return b"\x08\x07\x3a" + varint(len(weight) + size) + weight


def varint(number):
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


LIGHT = sorted((Path(onnx.__file__).parent / "backend/test/data/light").glob("*.onnx"))


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
def test_models_of_others_have_the_edges_that_onnx_reads(path):
    graph, proto = read_graph(path), onnx.load(path, load_external_data=False).graph
    producer = {
        name: (n, k) for n, one in enumerate(proto.node) for k, name in enumerate(one.output)
    }
    assert [op.op_type for op in graph.ops] == [one.op_type for one in proto.node]
    for op, one in zip(graph.ops, proto.node, strict=True):
        assert not one.name or op.name == one.name
        for operand, name in zip(op.inputs, one.input, strict=True):
            if isinstance(operand, Value):
                assert (operand.op, operand.slot) == producer[name]
            elif isinstance(operand, Param):
                assert graph.parameters[operand.index].name == name
                assert name not in producer
            else:
                assert (operand, name) == (NONE, "")
    weights = {one.name for one in proto.initializer}
    assert {p.name for p in graph.parameters if p.is_weight} == weights


# ---------------------------------------------------------------- hostile models


@pytest.mark.parametrize(
    ("nodes", "code", "values"),
    [
        ([node("Add", ["x", "b"], ["a"], "one"), node("Neg", ["a"], ["b"])], "input-later",
         {"got": "b", "place": "net.onnx: node 'one' (Add)"}),
        ([node("Neg", ["y"], ["y"])], "input-later", {"got": "y", "place": "net.onnx: node #0 (Neg)"}),
        ([node("Neg", ["nowhere"], ["y"])], "input-later", {"got": "nowhere"}),
        ([node("Neg", ["x"], ["y"]), node("Abs", ["x"], ["y"])], "output-twice",
         {"got": "y", "place": "net.onnx: node #1 (Abs)"}),
        ([node("Neg", ["x"], ["x"])], "output-twice", {"got": "x"}),
        ([node("Neg", ["x"], ["z"])], "output-nowhere", {"got": "y", "place": "net.onnx"}),
        ([node("If", ["x"], ["y"], "c", then_branch=named("b", [node("Neg", ["lost"], ["n"])], ["n"]))], "input-later",
         {"got": "lost", "place": "net.onnx: node #0 (Neg)"}),
    ],
)  # fmt: skip
def test_edges_that_are_none_are_refused_with_their_node(nodes, code, values):
    with refused(f"graph/onnx-{code}", GraphError, **values):
        parsed(nodes)


def test_a_name_of_two_inputs_or_weights_is_refused():
    made = model([node("Neg", ["w"], ["y"])], {}, ["y"], {"w": X})
    made.graph.initializer.append(numpy_helper.from_array(X, "w"))
    with refused("graph/onnx-name-twice", GraphError, place="net.onnx", got="w"):
        parse_onnx_model(made.SerializeToString(), "net.onnx")


def test_names_of_nodes_may_repeat():
    graph = parsed([node("Neg", ["x"], ["a"], "n"), node("Abs", ["a"], ["y"], "n")])
    assert ([op.name for op in graph.ops], graph.by_name) == (["n", "n"], {"n": 0})


def test_names_that_are_no_text_are_refused():
    data = model([node("Neg", ["x"], ["y"], "name")], {"x": X}, ["y"]).SerializeToString()
    with refused("graph/onnx-utf8", FormatError, place="net.onnx"):
        parse_onnx_model(data.replace(b"name", b"na\xff\xfe"), "net.onnx")


def nested(depth):
    """Bytes of a model whose node holds a graph whose node holds a graph …; onnx itself parses 33 of them."""
    held = field(1, field(2, b"v") + field(4, b"Neg"))
    for _ in range(depth):
        attribute = field(1, b"body") + field(6, held) + b"\xa0\x01\x05"
        held = field(1, field(2, b"v") + field(4, b"Loop") + field(5, attribute))
    return field(7, held)


def test_graphs_inside_graphs_have_a_bound():
    assert len(parse_onnx_model(nested(99)).subgraphs) == 99
    with refused("graph/onnx-graphs-deep", FormatError, most=100):
        parse_onnx_model(nested(100))


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


@pytest.mark.parametrize(
    "entry", [field(1, b""), field(13, b""), field(5, field(9, b"") * 3), field(99, b"")]
)
def test_a_model_of_very_many_entries_is_refused(monkeypatch, entry):
    monkeypatch.setattr(onnx_model, "_MAX_ENTRIES", 300)
    with refused("proto/fields", FormatError, limit=300) as caught:
        parse_onnx_model(field(7, entry * 400), "net.onnx")
    assert caught.value.place.startswith("net.onnx: byte ")


@pytest.mark.parametrize(
    "packed", [field(5, field(1, b"a") + field(8, b"\0" * 400)), field(1, b"\0" * 400)]
)
def test_numbers_that_come_packed_are_counted_too(monkeypatch, packed):
    monkeypatch.setattr(onnx_model, "_MAX_ENTRIES", 300)
    whole = field(5, packed) if packed[0] == 0x0A else field(1, packed + field(4, b"N"))
    with refused("proto/fields", FormatError, limit=300):
        parse_onnx_model(field(7, whole), "net.onnx")


def test_what_is_no_model_is_said_to_be_none():
    with refused("graph/onnx-invalid", FormatError, place="net.onnx"):
        parse_onnx_model(b"no model", "net.onnx")


def whole():
    body = named("b", [node("Neg", ["x"], ["n"])], ["n"])
    nodes = [
        node("Split", ["x"], ["l", "r"], "cut", axis=1, num_outputs=2),
        node("If", ["c"], ["k"], "choice", {"key": "value"}, then_branch=body, else_branch=body),
        node("Constant", [], ["t"], value=numpy_helper.from_array(WEIGHT)),
        node("Odd", ["l", "k", "t", "w"], ["y"], domain="my", names=["a", "b"], sizes=[1, 2]),
    ]
    return model(nodes, {"x": X, "c": np.array(True)}, ["y"], {"w": WEIGHT})


def tried(data):
    try:
        graph = parse_onnx_model(data, "net.onnx")
        for parameter in graph.parameters:
            if parameter.is_weight:
                parameter.default.array()
    except WorkbenchError as error:
        assert error.place.startswith("net.onnx")  # noqa: PT017
        return "refused"
    return "read"


@pytest.mark.parametrize("seed", range(4))
def test_damaged_bytes_are_read_or_refused_in_their_place(seed):
    data, rng = whole().SerializeToString(), np.random.default_rng(seed)
    met = {tried(data)}
    for _ in range(150):
        damaged = bytearray(data)
        for _ in range(rng.integers(1, 5)):
            at = int(rng.integers(len(damaged)))
            damaged[at] = int(rng.integers(256))
            if rng.random() < 0.3:
                del damaged[at : at + int(rng.integers(1, 9))]
        met.add(tried(bytes(damaged)))
    assert met == {"read", "refused"}


def test_a_model_cut_off_anywhere_is_read_or_refused_in_its_place():
    data = whole().SerializeToString()
    ends = [tried(data[:end]) for end in range(len(data))]
    assert 0 < ends.count("read") < len(ends) / 10
