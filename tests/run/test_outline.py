"""An outline is checked against the runs of both executors, and of real graph files against the files."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from kit.build.traced_networks import graphs
from kit.words import refused
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Const, FreeRef, Graph, GraphRef, Op, Param, Parameter, Value
from workbench.graph_files.mindspore.text import read_ms_text
from workbench.network.models import MODELS, load_graph
from workbench.npu.runner import run_npu
from workbench.run.outline import outline, parameter_spec
from workbench.run.reference import run_reference

F = TensorSpec("float32", (2, 3))


def seen(records):
    return [(record.key, record.label, record.source.spec()) for record in records]


@pytest.mark.parametrize("name", sorted(MODELS))
@pytest.mark.parametrize("run", [run_reference, run_npu])
def test_an_outline_has_the_records_of_a_run(name, run):
    graph = load_graph(name).with_id(2)
    assert seen(outline(graph, 3)) == seen(run(graph, iteration=3))


@given(graphs())
def test_an_outline_of_any_small_graph_has_the_records_of_its_runs(graph):
    outlined = seen(outline(graph))
    assert outlined == seen(run_reference(graph))
    assert outlined == seen(run_npu(graph))


def test_neither_weights_nor_kernels_are_needed():
    op = Op("Default/Odd-op0", "NobodyKnowsIt", (Param(0),), {}, (F, TensorSpec("int8", ())))
    graph = Graph("g", (Parameter("w", F, True),), (op,), (Value(0),))
    found = [(r.key.op_type, r.key.io, r.key.slot, *r.label[:2]) for r in outline(graph)]
    assert found == [
        ("NobodyKnowsIt", "input", 0, "float32", (2, 3)),
        ("NobodyKnowsIt", "output", 0, "float32", (2, 3)),
        ("NobodyKnowsIt", "output", 1, "int8", ()),
        ("Parameter", "output", 0, "float32", (2, 3)),
    ]


def test_an_outline_has_no_data():
    record = next(outline(load_graph("mlp")))
    with refused("run/outline", GraphError):
        record.source.array()


def test_what_the_graph_does_not_tell_is_unknown():
    open_dim = TensorSpec("float16", (-1, 6))
    op = Op("a", "Odd", (Param(0), Value(0, 9), Param(1), Param(7)), {},
            (open_dim, TensorSpec("String", ())))  # fmt: skip
    late = Parameter("y", TensorSpec("float32", None), default=np.zeros((2, 2), np.float32))
    graph = Graph("g", (Parameter("x", open_dim), late), (op,))
    labels = [(r.key.io, r.key.slot, r.label.dtype, r.label.shape) for r in outline(graph)]
    assert labels == [
        ("input", 0, "float16", None),
        ("input", 1, "", None),
        ("input", 2, "float32", (2, 2)),
        ("input", 3, "", None),
        ("output", 0, "float16", None),
        ("output", 1, "String", ()),
        ("output", 0, "float16", None),
        ("output", 0, "float32", (2, 2)),
    ]


def test_operands_without_a_tensor_of_their_own_keep_their_slot():
    inputs = (GraphRef("body"), FreeRef("main", "%3"), Const("text", "str"), Const(2.5, "float32"))
    graph = Graph("g", (), (Op("a", "Partial", inputs),))
    assert [(r.key.slot, r.label) for r in outline(graph)] == [(3, TensorSpec("float32", ()))]


def test_a_constant_too_large_to_be_printed_has_its_stated_spec():
    big = Const("[...]", "bfloat16", (100, 7))
    graph = Graph("g", (), (Op("a", "Odd", (big, Const((1, 2), "tuple", (2,)))),))
    specs = [TensorSpec("bfloat16", (100, 7)), TensorSpec("int64", (2,))]
    assert [r.label for r in outline(graph)] == specs


def test_a_constant_of_a_huge_shape_is_not_made():
    graph = Graph("g", (), (Op("a", "Odd", (Const(0.0, "float64", (1 << 40,)),)),))
    assert [r.label.shape for r in outline(graph)] == [(1 << 40,)]


def test_operators_of_subgraphs_come_once():
    body = Graph("body", (Parameter("p", F),), (Op("b", "ReLU", (Param(0),), {}, (F,)),))
    graph = Graph("g", (Parameter("x", F),), (Op("a", "Neg", (Param(0),), {}, (F,)),),
                  subgraphs=(body, body))  # fmt: skip
    names = [(r.key.op_name, r.key.io) for r in outline(replace(graph, graph_id=4))]
    assert names == [("a", "input"), ("a", "output"), ("b", "input"), ("b", "output"),
                     ("x", "output")]  # fmt: skip
    assert {r.key.graph_id for r in outline(replace(graph, graph_id=4))} == {4}


def test_a_real_graph_is_outlined_as_its_file_says(real_pairs):
    path = next(real_pairs["transformer_fp16"].target.rglob("*.ir"))
    graph = read_ms_text(path)
    outputs = {}
    for record in outline(graph):
        if record.key.io == "output" and record.key.op_type != "Parameter":
            outputs.setdefault(record.key.op_name, []).append(tuple(record.label[:2]))
    assert outputs == {op.name: [tuple(s[:2]) for s in op.outputs] for op in graph.ops}
    assert sum(len(specs) for specs in outputs.values()) > 180


STATED = [
    (TensorSpec("float32", (2, 3)), None, TensorSpec("float32", (2, 3))),
    (TensorSpec("float32", (2, 3)), np.zeros((4,)), TensorSpec("float32", (2, 3))),
    (TensorSpec("float32", None), np.zeros((4, 1)), TensorSpec("float32", (4, 1))),
    (TensorSpec("float32", None), None, TensorSpec("float32", None)),
    (TensorSpec("float32", (-1, 3)), np.zeros((4, 3)), TensorSpec("float32", None)),
    (TensorSpec("hifloat8", (2,), "NZ"), None, TensorSpec("hifloat8", (2,))),
    (TensorSpec("int4", (2,)), None, TensorSpec("int4", (2,))),
    (TensorSpec("Word", ()), None, TensorSpec("Word", ())),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "default", "want"), STATED)
def test_a_parameter_is_what_the_graph_states_and_its_value_where_that_is_open(spec, default, want):
    assert parameter_spec(Parameter("p", spec, default=default)) == want


def test_operands_beyond_the_end_are_unknown():
    op = Op("a", "Odd", (Param(1), Param(0), Value(1), Value(0), Value(0, 1)), {}, (F,))
    graph = Graph("g", (Parameter("x", F),), (op,))
    inputs = [one.label for one in outline(graph) if one.key.io == "input"]
    unknown = TensorSpec("", None)
    assert inputs == [unknown, F, unknown, F, unknown]
