"""A graph as a value: operands, operators by name, copies for other files."""

from kit.words import refused
from workbench.core.errors import GraphError
from workbench.graph.graph import Graph, Op, Param


def test_a_graph_of_another_file_has_the_same_operators():
    graph = Graph("g", ops=(Op("one", "Add", (Param(0), Param(1))),), graph_id=3, path="a.ir")
    other = graph.elsewhere("b.ir", 4)
    assert (other.path, other.graph_id, other.ops) == ("b.ir", 4, graph.ops)
    assert other.ops is graph.ops  # who keeps what operators are keeps it once
    assert (graph.path, graph.graph_id) == ("a.ir", 3)


def test_an_operator_that_a_graph_does_not_have_is_refused():
    with refused("graph/no-operator", GraphError, graph="net", got="x"):
        Graph("net").op("x")
