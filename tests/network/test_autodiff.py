"""Gradients in the graph: scopes, links to the forward operators, sums, refusals."""

from __future__ import annotations

import re

import numpy as np

from kit.words import refused
from workbench.core.errors import GraphError
from workbench.core.words import Message
from workbench.graph.graph import Const
from workbench.network.autodiff import gradients
from workbench.network.nn import Cell, Dense, Parameter, ReLU
from workbench.network.nn import functional as ops
from workbench.network.symbolic import record
from workbench.network.tracer import trace

X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)


class Network(Cell):
    """Two layers; the first one's output is read twice."""

    def __init__(self) -> None:
        self.first = Dense(3, 4)
        self.second = Dense(4, 4)
        self.relu = ReLU()

    def construct(self, x):
        x = self.relu(self.first(x))
        return x + self.second(x)


class Step(Cell):
    """A loss and its gradients by all weights of a network."""

    def __init__(self, network, loss=ops.sum, sens=1.0) -> None:
        self.network, self.loss, self.sens = network, loss, sens

    def construct(self, *x):
        loss = self.loss(self.network(*x))
        weights = [weight for _, weight in self.network.parameters_and_names()]
        return (loss, *gradients(loss, weights, self.sens))


def graph_of(step=None):
    return trace(step or Step(Network()), X)


def test_a_backward_operator_stands_in_the_scope_of_its_forward_operator():
    names = [op.name for op in graph_of().ops]
    assert "Gradients/Default/network-Network/second-Dense/Grad_MatMul/MatMul-op1" in names
    assert "Gradients/Default/network-Network/relu-ReLU/Grad_ReLU/ReluGrad-op0" in names


def test_a_backward_operator_is_linked_to_its_forward_operator_and_shows_its_line():
    graph = graph_of()
    forward = graph.op("Default/network-Network/relu-ReLU/ReLU-op0")
    backward = graph.op("Gradients/Default/network-Network/relu-ReLU/Grad_ReLU/ReluGrad-op0")
    assert backward.forward_id == forward.unique_id != ""
    assert {frame.group for frame in backward.frames} == {"forward"}
    assert str(backward.frame) == str(forward.frame)
    assert "self.relu(self.first(x))" in str(backward.frame)


def test_only_operators_that_a_gradient_went_through_have_an_id():
    graph = graph_of()
    ids = [op.unique_id for op in graph.ops if op.unique_id]
    assert len(ids) == len(set(ids)) == 7  # all of the forward ones; an Add hands on what it gets
    assert {op.forward_id for op in graph.ops if op.forward_id} < set(ids)


def test_gradients_of_a_value_that_is_read_twice_meet_in_the_cell_around_its_readers():
    graph = graph_of()
    sums = [op for op in graph.ops if op.op_type == "AddN"]
    assert [op.name for op in sums] == ["Gradients/Default/network-Network/AddN-op0"]
    assert sums[0].frames == ()
    assert sums[0].attrs["n"] == 2


def test_gradients_of_a_weight_that_is_read_twice_meet_in_the_outermost_scope():
    class Twice(Cell):
        def __init__(self) -> None:
            self.layer = Dense(3, 3, has_bias=False)

        def construct(self, x):
            return self.layer(self.layer(x))

    names = [op.name for op in graph_of(Step(Twice())).ops if op.op_type == "AddN"]
    assert names == ["Gradients/Default/AddN-op0"]


def test_nothing_is_recorded_that_no_weight_asks_for():
    graph = graph_of()
    first = [op for op in graph.ops if "first-Dense/Grad_MatMul" in op.name]
    assert len(first) == 1  # that of the weight; nobody asks for that of the input


def test_a_weight_that_the_loss_does_not_depend_on_gets_zeros():
    class Idle(Network):
        def construct(self, x):
            return self.first(x)

    last = graph_of(Step(Idle())).ops[-1]
    assert last.op_type == "ZerosLike"


def test_a_scale_other_than_1_starts_the_flow():
    def constants(sens):
        graph = graph_of(Step(Network(), sens=sens))
        return [
            operand.value for op in graph.ops for operand in op.inputs if isinstance(operand, Const)
        ]

    assert 1024.0 in constants(1024.0)
    assert 1024.0 not in constants(1.0)


def test_multiplying_by_the_constant_1_is_left_out():
    loss = lambda y: ops.sum(y) * 0.5  # noqa: E731
    graph = graph_of(Step(Network(), loss))
    assert not [op for op in graph.ops if "Grad_Mul/Mul" in op.name]


def test_a_loss_without_shape_is_not_needed():
    graph = graph_of(Step(Network(), lambda y: y))
    assert "OnesLike" in {op.op_type for op in graph.ops}


def test_an_operator_without_gradient_is_named_with_its_line():

    def fused(y):
        return ops.sum(record("FusedMulAddN", y, y, np.float32(2)))

    why = Message("graph/grad-unknown")
    with refused("graph/no-gradient", GraphError, type="FusedMulAddN", why=why) as caught:
        graph_of(Step(Network(), fused))
    place = r".*test_autodiff.py:\d+: Default/FusedMulAddN-op0 \(FusedMulAddN\)"
    assert re.fullmatch(place, caught.value.place)


def test_what_mindspore_gives_zeros_for_is_refused():
    class Hot(Cell):
        def __init__(self) -> None:
            self.on = Parameter(np.float32(2.0))

        def construct(self, x):
            return record("OneHot", np.array([1, 0]), 3, self.on, np.float32(0.0), -1)

    with refused("graph/no-gradient", GraphError, why=Message("graph/grad-one-hot")) as caught:
        graph_of(Step(Hot()))
    assert caught.value.place.endswith("Default/network-Hot/OneHot-op0 (OneHot)")


def test_a_loss_of_integers_is_refused():
    with refused("graph/dtype-float", GraphError, subject="loss"):
        graph_of(Step(Network(), lambda y: ops.argmax(ops.flatten(y))))


def test_what_an_integer_depends_on_has_no_gradient_through_it():
    class Places(Cell):
        def __init__(self) -> None:
            self.weight = Parameter(X)

        def construct(self, x):
            return ops.cast(ops.argmax(x * self.weight), np.float32)

    assert graph_of(Step(Places())).ops[-1].op_type == "ZerosLike"
