"""Gradients in the graph: scopes, links to the forward operators, sums, refusals."""

from __future__ import annotations

import re

import numpy as np
import pytest

from kit.build.runs import results
from kit.oracle.families import check_gradient, values
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


NUMBERS = np.linspace(0.3, 1.4, 6).reshape(2, 3)
OTHERS = np.linspace(-0.7, 0.9, 6).reshape(2, 3)
FLOWS = {
    "read three times": (lambda x: x * x + ops.exp(x), (NUMBERS,)),
    "read along several ways": (
        lambda x, y: ops.tanh(x * y) * (x + y) - ops.sin(x) / (y + 3.0),
        (NUMBERS, OTHERS),
    ),
    "read by one operator in both places": (lambda x: ops.matmul(x, x, False, True), (NUMBERS,)),
    "several outputs": (lambda x: tuple(part * part for part in ops.split(x, 3, 1)), (NUMBERS,)),
    "an output that nobody reads": (lambda x: ops.split(x, 3, 1)[1] * 2.0, (NUMBERS,)),
    "a sum that a sum reads": (lambda x: (x + x) * (x + x + x), (NUMBERS,)),
    "a row for all": (lambda x, y: x * y[0] + y[1], (NUMBERS, OTHERS)),
}


@pytest.mark.parametrize("case", FLOWS)
def test_a_gradient_is_the_sum_over_all_ways(case):
    check_gradient(*FLOWS[case])


def test_a_gradient_by_what_lies_between_is_that_of_the_rest():
    def network(x):
        middle = x * x
        loss = ops.sum(ops.exp(middle) + middle * x)
        return gradients(loss, (middle, x))

    by_middle, by_x = values(trace(network, NUMBERS), (NUMBERS,))
    np.testing.assert_allclose(by_middle, np.exp(NUMBERS**2) + NUMBERS, rtol=1e-12)
    np.testing.assert_allclose(by_x, 2 * NUMBERS * np.exp(NUMBERS**2) + 3 * NUMBERS**2, rtol=1e-12)


@pytest.mark.parametrize("sens", [1.0, 8.0])
def test_a_gradient_is_multiplied_by_the_scale_of_the_loss(sens):
    for loss in (lambda x: ops.sum(x * x), lambda x: x * x):
        graph = trace(lambda x, f=loss: gradients(f(x), (x,), sens), NUMBERS)
        np.testing.assert_allclose(values(graph, (NUMBERS,))[0], 2 * sens * NUMBERS, rtol=1e-12)
    weights = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    graph = trace(lambda x, s: gradients(x * x, (x,), s), NUMBERS, weights)
    found = results(graph, {"x": NUMBERS, "s": weights})[0]
    np.testing.assert_allclose(found, 2 * weights * NUMBERS, rtol=1e-12)
