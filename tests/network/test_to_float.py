"""Networks that compute in another float dtype: where MindSpore casts, the tracer casts."""

from __future__ import annotations

import numpy as np
import pytest

from kit.words import refused
from workbench.core.errors import GraphError
from workbench.network.autodiff import gradients
from workbench.network.nn import Cell, Dense, Parameter
from workbench.network.nn import functional as ops
from workbench.network.tracer import trace

X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)


class Scaled(Cell):
    """A layer, and a weight of the network's own that is read twice."""

    def __init__(self) -> None:
        self.layer = Dense(3, 4)
        self.weight = Parameter(np.ones(4, np.float32))

    def construct(self, x):
        x = self.layer(x)
        return x * self.weight + self.weight


def casts(graph):
    return [op.name for op in graph.ops if op.op_type == "Cast"]


def test_inputs_are_cast_in_the_cell_and_weights_where_they_are_read():
    graph = trace(Scaled().to_float(np.float16), X)
    assert casts(graph) == [
        "Default/Cast-op0",
        "Default/layer-Dense/Cast-op0",
        "Default/layer-Dense/Cast-op1",
        "Default/Cast-op1",
    ]
    assert {op.outputs[0].dtype for op in graph.ops} == {"float16"}
    assert {p.spec.dtype for p in graph.parameters} == {"float32"}


def test_a_part_of_a_network_may_compute_otherwise():
    network = Scaled()
    network.layer.to_float("float16")
    graph = trace(network, X)
    assert casts(graph)[0] == "Default/layer-Dense/Cast-op0"
    assert graph.ops[-1].outputs[0].dtype == "float32"


def test_nothing_is_cast_that_has_the_dtype():
    assert not casts(trace(Scaled().to_float("float32"), X))


def test_integers_and_tuples_of_tensors_are_taken_as_they_are():
    class Pair(Cell):
        def construct(self, pair, ids):
            return ops.gather(pair[0] + pair[1], ids)

    class Outer(Cell):
        def __init__(self) -> None:
            self.pair = Pair().to_float("float16")

        def construct(self, x, ids):
            return self.pair((x, x), ids)

    graph = trace(Outer(), X, np.array([1], np.int32))
    assert [op.outputs[0].dtype for op in graph.ops] == ["float16"] * 4


def test_the_gradient_of_a_weight_comes_back_in_its_own_dtype():
    class Step(Cell):
        def __init__(self) -> None:
            self.network = Scaled().to_float("float16")

        def construct(self, x):
            loss = ops.sum(ops.cast(self.network(x), "float32"))
            return gradients(loss, [self.network.layer.weight])

    graph = trace(Step(), X)
    last = graph.ops[-1]
    assert last.name == "Gradients/Default/network-Scaled/layer-Dense/Grad_Cast/Cast-op0"
    assert last.outputs[0].dtype == "float32"


@pytest.mark.parametrize("dtype", ["int32", np.int8, "double"])
def test_a_dtype_that_is_no_float_is_refused(dtype):
    with refused("core/choice", GraphError, subject="dtype"):
        Scaled().to_float(dtype)
