"""Which gradient rules have cases, stretched inputs, overflow; the differences stand in `kit.oracle.families`."""

from __future__ import annotations

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from hypothesis import given
from ops.cases import CASES

from kit.oracle.families import values
from workbench.network.autodiff import gradients
from workbench.network.symbolic import record
from workbench.network.tracer import trace
from workbench.ops import OPS

GRADIENTS = {name: case.gradient for name, case in CASES.items() if case.gradient}

NOT_BY_DIFFERENCES = {
    "OneHot": "its values have no gradient: test_autodiff asks for it",
}


@given(arrays.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3))
def test_a_stretched_input_gets_the_sum_over_its_copies(shapes):
    x, y = (np.arange(1.0, 1 + np.prod(shape)).reshape(shape) for shape in shapes.input_shapes)
    weights = np.random.default_rng(1).uniform(0.5, 1.5, shapes.result_shape)

    def grads(left, right):
        return gradients((left * right * weights).sum(), (left, right))

    found = values(trace(grads, x, y), (x, y))
    for gradient, point, other in zip(found, (x, y), (y, x), strict=True):
        whole = np.broadcast_to(other * weights, shapes.result_shape)
        expected = np.zeros(point.shape)
        for index in np.ndindex(whole.shape):
            tail = index[len(index) - point.ndim :]
            expected[tuple(min(i, n - 1) for i, n in zip(tail, point.shape, strict=True))] += whole[
                index
            ]
        np.testing.assert_allclose(gradient, expected)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_an_overflown_gradient_spreads_no_further_than_it_belongs(dtype):
    dout = np.array([np.inf, -np.inf, np.nan, np.inf, np.nan], dtype)
    x = np.array([1, 1, 1, -1, -1], dtype)
    graph = trace(lambda dout, x: record("ReluGrad", dout, x), dout, x)
    np.testing.assert_array_equal(values(graph, (dout, x))[0], [np.inf, -np.inf, np.nan, 0, 0])


def test_every_case_is_about_its_operator():
    for op_type, cases in GRADIENTS.items():
        for function, points in cases:
            assert op_type in {op.op_type for op in trace(function, *points).ops}


def test_every_rule_is_checked():
    assert {
        name for name, row in OPS.items() if row.gradient
    } == GRADIENTS.keys() | NOT_BY_DIFFERENCES.keys()
