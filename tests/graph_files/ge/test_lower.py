"""What a graph of MindSpore becomes in GE: operators for everything, names and edges kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.words import refused
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import (
    Bundle,
    Const,
    FreeRef,
    Graph,
    GraphRef,
    Op,
    Param,
    Parameter,
    Value,
)
from workbench.graph_files.ge.fields import ITERATOR
from workbench.graph_files.ge.lower import ge_graph_of
from workbench.graph_files.ge.text import parse_ge_text
from workbench.graph_files.ge.write_text import write_ge_text
from workbench.network.models import MODELS, load_graph

F = TensorSpec("float32", (2, 3))
H = TensorSpec("float16", (1, 1, 16, 16), "FRACTAL_NZ")
W = np.arange(6, dtype=np.float32).reshape(2, 3)


def graph_of(*ops: Op, **more) -> Graph:
    more = {"outputs": (Value(len(ops) - 1),), **more}
    return Graph("g", (Parameter("x", F), Parameter("w", F, True, "w", W)), ops, **more)


def op_of(*inputs, name="a/b-op0", **more) -> Op:
    return Op(name, "Add", inputs, outputs=(F,), **more)


def kinds(graph):
    return [(op.name, op.op_type) for op in graph.ops]


def test_parameters_and_results_are_operators():
    graph = ge_graph_of(graph_of(op_of(Param(0), Param(1))))
    assert kinds(graph) == [
        ("x", "Data"),
        ("w", "Const"),
        ("a/b-op0", "Add"),
        ("Node_Output", "NetOutput"),
    ]
    assert graph.parameters == ()
    assert graph.ops[2].inputs == (Value(0), Value(1))
    assert graph.outputs == graph.ops[3].inputs == (Value(2),)
    value = graph.ops[1].attrs["value"]
    assert value["data"] == W.tobytes()
    assert (value["desc"]["dtype"], value["desc"]["shape"]) == ("DT_FLOAT", (2, 3))


def test_feeds_may_come_from_one_iterator():
    two = Graph(
        "g",
        (Parameter("x", F), Parameter("w", F, True), Parameter("y", H)),
        (op_of(Param(0), Param(2)),),
    )
    graph = ge_graph_of(two, iterator=True)
    assert kinds(graph)[:2] == [(ITERATOR, ITERATOR), ("w", "Const")]
    assert [spec.shape for spec in graph.ops[0].device_outputs] == [(2, 3), (1, 1, 16, 16)]
    assert graph.ops[2].inputs == (Value(0, 0), Value(0, 1))
    assert "Data" not in {op.op_type for op in graph.ops}


def test_weights_may_be_operators_that_state_no_values():
    graph = ge_graph_of(graph_of(op_of(Param(0), Param(1))), weights="Variable")
    assert kinds(graph)[:2] == [("x", "Data"), ("w", "Variable")]
    assert "value" not in graph.ops[1].attrs
    assert graph.ops[2].inputs == (Value(0), Value(1))


def test_what_an_operator_does_not_state_may_be_laid_out():
    def lay(op, io, slot, spec):
        seen.append((op.name if op else None, io, slot))
        return spec._replace(format="NCHW"), spec._replace(format="NC1HWC0", shape=(1, 1, 2, 3, 16))

    seen = []
    stated = op_of(Value(0), name="stated", device_inputs=(H,), device_outputs=(H,))
    graph = ge_graph_of(graph_of(op_of(Param(0), Param(1), name="open"), stated), lay=lay)
    opened, kept = graph.op("open"), graph.op("stated")
    assert opened.device_outputs == (TensorSpec("float32", (1, 1, 2, 3, 16), "NC1HWC0"),)
    assert opened.outputs == (TensorSpec("float32", (2, 3), "NCHW"),)
    assert kept.device_inputs == kept.device_outputs == (H,)
    assert ("open", "input", 1) in seen
    assert kept.outputs == (TensorSpec("float32", (2, 3), "NCHW"),)
    assert (None, "input", 0) in seen  # of the results


def test_a_graph_without_feeds_needs_no_iterator():
    graph = Graph("g", (Parameter("w", F, True),), (op_of(Param(0)),))
    assert ITERATOR not in {op.op_type for op in ge_graph_of(graph, iterator=True).ops}


def test_tensors_have_a_host_side_and_a_device_side():
    add = op_of(Param(0), device_inputs=(H,), device_outputs=(H,))
    (op,) = (op for op in ge_graph_of(graph_of(add)).ops if op.op_type == "Add")
    assert op.device_inputs == op.device_outputs == (H,)
    assert op.outputs == op.input_specs == (F._replace(format="ND"),)
    assert op.attrs["output_desc"][0]["dtype"] == "DT_FLOAT16"
    assert op.attrs["output_desc"][0]["attr"]["origin_data_type"] == "DT_FLOAT"


def test_constants_are_operators_before_their_reader():
    add = op_of(
        Const(2, "int64", ()), Const((1.5, 2), "float16", (2,)), Const("same"), Const(None, "None")
    )
    graph = ge_graph_of(graph_of(add))
    *constants, op, _ = graph.ops[2:]
    assert [one.op_type for one in constants] == ["Const"] * 3
    assert op.inputs[:3] == (Value(2), Value(3), Value(4))
    assert op.inputs[3] == Const(None, "None")
    data = [one.attrs["value"].get("data") for one in constants]
    assert data == [np.int64(2).tobytes(), np.array([1.5, 2], np.float16).tobytes(), None]
    dtypes = [one.device_outputs[0].dtype for one in constants]
    assert dtypes == ["int64", "float16", "DT_STRING"]


def test_a_constant_whose_elements_nobody_knows_has_no_data():
    graph = ge_graph_of(
        graph_of(op_of(Const("[...]", "float32", (64,)), Const((1, 2), "int4", (2,))))
    )
    assert ["data" in op.attrs["value"] for op in graph.ops if op.name.startswith("a/b-op0/")] == [
        False,
        False,
    ]


def test_tuples_are_spread_and_monads_left_out():
    pair = Bundle((Param(0), Bundle((Param(1), Const("U", "monad")), flatten=False)))
    graph = ge_graph_of(graph_of(op_of(pair, Const("U", "monad"))))
    assert graph.ops[2].inputs == (Value(0), Value(1))


def test_calls_name_their_graph_and_values_of_others_their_node():
    call = Op("(1)", "call", (GraphRef("body"), FreeRef("main", "CNode_3")), outputs=(F,))
    graph = ge_graph_of(graph_of(call, subgraphs=(Graph("body", (), (op_of(),)),)))
    assert graph.ops[2].attrs["subgraph_name"] == ("body",)
    assert graph.ops[2].inputs == (FreeRef("", "CNode_3:0"),)
    assert [sub.name for sub in graph.subgraphs] == ["body"]


def test_two_operators_never_share_a_name():
    graph = ge_graph_of(
        graph_of(op_of(Param(0), name="x"), op_of(Value(0), name="x"), op_of(Value(1), name=""))
    )
    assert [name for name, _ in kinds(graph)] == ["x", "w", "x_1", "x_2", "Add", "Node_Output"]
    assert graph.ops[3].inputs == (Value(2),)


def test_a_value_from_a_later_operator_is_refused():
    with refused("graph_files/later-operand", GraphError, got=Value(1)):
        ge_graph_of(graph_of(op_of(Value(1)), op_of(Param(0))))


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (3, 3), (True, True), (0.1, 0.1), ("same", "same"), ((1, 2), (1, 2)), (("x", "w"), ("x", "w")),
        (((1, 2), (3,)), ((1, 2), (3,))), (((1, "x"),), "((1, 'x'),)"), ((1, "x"), "(1, 'x')"), (2**63, str(2**63)),
        (0.1 + 0.2, 0.3), ((), ()), (np.float32(0.5), 0.5), (b"x\xff", b"x\xff"),
    ],
)  # fmt: skip
def test_attributes_have_the_kinds_that_ge_has(value, stored):
    graph = ge_graph_of(graph_of(op_of(Param(0), attrs={"a": value, "none": None})))
    attrs = graph.ops[2].attrs
    assert attrs["a"] == stored or (
        isinstance(stored, float) and attrs["a"] == pytest.approx(stored, rel=1e-6)
    )
    assert type(attrs["a"]) is type(stored)
    assert "none" not in attrs
    assert parse_ge_text(write_ge_text(graph)) == graph


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_operator_of_a_network_keeps_its_name_type_and_order(name):
    source = load_graph(name)
    lowered = ge_graph_of(source)
    kept = [(op.name, op.op_type) for op in source.ops]
    assert [pair for pair in kinds(lowered) if pair in set(kept)] == kept
    by_name = {op.name: op for op in lowered.ops}
    for op in source.ops:
        assert by_name[op.name].outputs == tuple(s._replace(format="ND") for s in op.outputs)


@given(
    st.lists(st.integers(0, 5), max_size=4).map(tuple) | st.none(),
    st.sampled_from(
        ["float32", "bfloat16", "int4", "complex64", "float8_e5m2", "bool", "Func", ""]
    ),
)
def test_any_tensor_reads_back(shape, dtype):
    spec = TensorSpec(dtype, shape)
    graph = ge_graph_of(Graph("g", (Parameter("x", spec),), (op_of(Param(0)),), (Value(0),)))
    assert parse_ge_text(write_ge_text(graph)) == graph
    assert graph.ops[0].device_outputs[0].shape == shape
