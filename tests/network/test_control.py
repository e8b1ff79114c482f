"""`while_loop` and `cond` in a trace: what they return, what they refuse."""

import numpy as np
import pytest

from kit.words import refused
from workbench.core.errors import GraphError
from workbench.graph.control_flow import ControlFlow, one_graph
from workbench.graph.graph import Graph
from workbench.network import nn
from workbench.network.autodiff import gradients
from workbench.network.nn import functional as F
from workbench.network.symbolic import Parameter, Tensor
from workbench.network.tracer import trace

X = np.ones((2, 4), np.float32)


def test_a_network_without_control_flow_stays_one_graph():
    assert isinstance(trace(F.relu, X), Graph)
    assert isinstance(trace(lambda x: F.cond(True, F.relu, F.tanh, x), X), Graph)


def test_results_have_the_structure_of_what_the_functions_return():
    def network(p, x):
        value = F.cond(p, lambda x: ((x, x + 1.0), x), lambda x: ((x * 2.0, x), x), x)
        (a, b), c = value
        assert all(isinstance(item, Tensor) for item in (a, b, c))
        assert F.cond(p, lambda: None, lambda: None) is None
        return a + b + c

    assert isinstance(trace(network, np.bool_(True), X), ControlFlow)


def test_names_go_on_through_all_graphs():
    def network(p, x):
        return F.relu(F.cond(p, F.relu, lambda x: F.relu(F.relu(x)), F.relu(x)))

    flow = trace(network, np.bool_(True), X)
    assert [[op.name for op in graph.ops] for graph in flow.graphs] == [
        ["Default/ReLU-op0"],
        ["Default/ReLU-op1"],
        ["Default/ReLU-op2"],
        ["Default/ReLU-op3", "Default/ReLU-op4"],
    ]
    assert [graph.inner for graph in flow.graphs] == [False, True, True, True]


def test_a_cast_weight_of_one_side_is_not_read_by_the_other():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.fc = nn.Dense(4, 4)
            self.to_float("float16")

        def construct(self, p, x):
            return F.cond(p, self.fc, lambda x: self.fc(-x), x)

    flow = trace(Net(), np.bool_(True), X)
    casts = [[op.op_type for op in graph.ops].count("Cast") for graph in flow.graphs]
    assert casts[2] == casts[3] == 2  # weight and bias in each


def test_operators_that_nothing_needs_are_left_out_of_every_graph():
    def network(p, x):
        F.exp(x)
        return F.cond(p, lambda x: (F.tanh(x), F.relu(x))[1], F.sigmoid, x)

    flow = trace(network, np.bool_(True), X)
    assert sorted(op.op_type for graph in flow.graphs for op in graph.ops) == ["ReLU", "Sigmoid"]


@pytest.mark.parametrize(
    ("network", "code", "values"),
    [
        (lambda x: F.while_loop(lambda v: v, lambda v: v, x), "condition", {"name": "while0", "got": (2, 4)}),
        (lambda x: F.while_loop(lambda v: v.sum(), lambda v: v.sum(), x), "control-specs", {"name": "while0"}),
        (lambda x: F.while_loop(lambda: 1, lambda: (), ()), "loop-value", {"name": "while0", "got": ()}),
        (lambda x: F.cond(x, F.relu, F.tanh, x), "condition", {"name": "cond0", "got": (2, 4)}),
        (lambda x: F.cond(x.sum(), F.relu, lambda x: x.sum(), x), "control-specs",
         {"name": "cond0", "expected": [("float32", (2, 4))], "got": [("float32", ())]}),
        (lambda x: F.cond(x.sum(), F.relu, lambda x: None, x), "control-specs", {"name": "cond0", "got": []}),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(network, code, values):
    with refused(f"graph/{code}", GraphError, **values):
        trace(network, X)


def test_python_conditions_are_refused_with_a_way_out():
    with refused("graph/value-condition", GraphError):
        trace(lambda x: x if x.sum() else -x, X)


def test_gradients_stop_at_control_flow_with_a_message():
    weight = Parameter(np.ones(4, np.float32), "w")

    def network(p, x):
        loss = F.cond(p, lambda x: x * weight, lambda x: x, x).sum()
        return gradients(loss, [weight])

    with refused("graph/loss-control-flow", GraphError, name="cond0"):
        trace(network, np.bool_(True), X)


def test_one_graph_says_who_has_no_control_flow():
    flow = trace(lambda p, x: F.cond(p, F.relu, F.tanh, x), np.bool_(True), X, name="Net")
    with refused("graph/control-flow", GraphError, user="the engine", graph="Net", count=3):
        one_graph(flow, "the engine")
    assert one_graph(graph := trace(F.relu, X), "it") is graph
