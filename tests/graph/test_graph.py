"""Graphs as values: operands, operators by name, who reads what, lines to show, copies; control flow; provenance."""

from dataclasses import replace

import pytest

from kit.words import refused
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.control_flow import ControlFlow, Run, one_graph
from workbench.graph.graph import (
    Bundle,
    Const,
    Graph,
    Kernel,
    Op,
    Param,
    Parameter,
    SourceFrame,
    SourceTensor,
    Value,
    at_operator,
    part_of,
)

ROW = TensorSpec("float32", (3,))
MONAD = Const("U", "monad")
HIDDEN = Bundle((Value(0), Param(0)), flatten=False)
ADD = Op(
    "net/one", "Add", (Param(0), MONAD, Bundle((Param(1), Bundle((Param(0),))))), outputs=(ROW,)
)
NEG = Op("net/deep/two", "Neg", (Value(0), HIDDEN), outputs=(ROW,))
GRAPH = Graph(
    "g",
    (Parameter("x", ROW), Parameter("y", ROW)),
    (ADD, NEG),
    (Value(1),),
    graph_id=3,
    path="a.ir",
)


def test_operands_are_those_that_a_kernel_sees():
    assert list(ADD.flat_inputs()) == [Param(0), Param(1), Param(0)]
    assert list(NEG.flat_inputs()) == [Value(0), HIDDEN]
    assert [ADD.operand(slot) for slot in (-1, 0, 1, 2, 3)] == [
        None,
        Param(0),
        Param(1),
        Param(0),
        None,
    ]


def test_the_scope_is_the_name_without_its_last_part():
    assert [op.scope for op in (ADD, NEG, Op("bare", "Neg"))] == ["net", "net/deep", ""]


def test_every_reader_of_a_value_is_known_with_its_slot():
    assert GRAPH.consumers == {
        Param(0): [(0, 0), (0, 2)],
        Param(1): [(0, 1)],
        Value(0): [(1, 0)],
    }  # fmt: skip


def test_an_operator_is_found_by_its_name_the_first_of_several():
    assert GRAPH.op("net/deep/two") is NEG
    twice = replace(GRAPH, ops=(ADD, replace(NEG, name="net/one")))
    assert twice.by_name == {"net/one": 0}
    with refused("graph/no-operator", GraphError, graph="g", got="x"):
        GRAPH.op("x")


def test_a_kernel_needs_the_flat_inputs_that_its_operators_read():
    inner = Op("b", "Add", (Value(0), Bundle((Param(4), Param(2)))))
    assert Kernel((Op("a", "Neg", (Param(1),)), inner), (Value(1),)).needed == {1, 2, 4}


def test_a_graph_of_another_file_has_the_same_operators():
    other = GRAPH.elsewhere("b.ir", 4)
    assert (other.path, other.graph_id, other.ops) == ("b.ir", 4, GRAPH.ops)
    assert other.ops is GRAPH.ops  # who keeps what operators are keeps it once
    assert (GRAPH.path, GRAPH.graph_id) == ("a.ir", 3)


def test_a_graph_under_another_id_is_the_same_otherwise():
    other = GRAPH.with_id(7)
    assert other.graph_id == 7
    assert replace(other, graph_id=3) == GRAPH


USER, CALLER, OTHER = (SourceFrame("/home/u/net.py", line, "y = f(x)") for line in (7, 3, 9))
LIBRARY = SourceFrame("/usr/lib/python3/site-packages/mindspore/nn/conv.py", 5)


def forward(frame, group="forward"):
    return replace(frame, group=group)


FRAMES = [
    ((), None),
    ((CALLER, USER), USER),
    ((CALLER, USER, LIBRARY), USER),
    ((LIBRARY, replace(LIBRARY, line=6)),
     replace(LIBRARY, line=6)),
    ((USER, forward(OTHER)), USER),
    ((forward(USER), forward(OTHER, "candidate")), forward(OTHER, "candidate")),
    ((LIBRARY, forward(USER)), forward(USER)),
]  # fmt: skip


@pytest.mark.parametrize(("frames", "shown"), FRAMES)
def test_the_line_to_show_is_the_innermost_one_of_the_user_the_surest_first(frames, shown):
    assert replace(NEG, frames=frames).frame == shown


@pytest.mark.parametrize(
    ("frames", "place"),
    [((), "net/one (Add)"), ((CALLER, USER), "/home/u/net.py:7: net/one (Add)")],
)
def test_an_error_of_an_operator_names_it_behind_its_line(frames, place):
    error = at_operator(GraphError("graph/value-index"), replace(ADD, frames=frames))
    assert isinstance(error, GraphError)
    assert (error.code, error.place) == ("graph/value-index", place)


def test_a_line_is_shown_with_its_code():
    assert str(replace(USER, code="   y = f(x)  ")) == "/home/u/net.py:7  y = f(x)"
    assert str(replace(USER, code="")) == "/home/u/net.py:7"


FLOW = ControlFlow("f", (GRAPH, GRAPH.with_id(5)), (Run(3), Run(5)))


def test_graphs_are_shown_by_name_and_size():
    assert repr(GRAPH) == "<Graph g: 2 operators, 2 parameters>"
    assert repr(FLOW) == "<Flow f: 4 operators in 2 graphs>"


def test_a_graph_of_a_flow_is_found_by_its_id():
    assert FLOW.graph(5) is FLOW.graphs[1]
    with refused("core/choice", GraphError, subject="graph id", got=4, known=[3, 5]):
        FLOW.graph(4)


def test_who_cannot_run_a_flow_says_so():
    assert one_graph(GRAPH, "the compiler") is GRAPH
    with refused(
        "graph/control-flow", GraphError, user="the compiler", graph="f", count=2, why="because"
    ):
        one_graph(FLOW, "the compiler", "because")


def test_a_part_says_which_operator_it_came_of():
    whole = Op("net/lstm", "DynamicRNN", outputs=(ROW, ROW))
    part = part_of(replace(NEG, outputs=(ROW, ROW), attrs={"a": 1}), whole, {1: 0})
    assert part.provenance == (None, SourceTensor("net/lstm", 0, ROW))
    assert part.attrs == {
        "a": 1,
        "_datadump_original_op_names": ("net/lstm",),
        "_datadump_original_op_types": ("DynamicRNN",),
        "_datadump_is_multiop": True,
    }  # fmt: skip
    assert (part.name, part.inputs) == (NEG.name, NEG.inputs)
