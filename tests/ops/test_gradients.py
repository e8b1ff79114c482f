"""Every gradient rule against central differences of the reference in float64."""

from __future__ import annotations

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from hypothesis import given
from ops.cases import CASES

from workbench.network.autodiff import gradients
from workbench.network.symbolic import record
from workbench.network.tracer import trace
from workbench.ops import OPS
from workbench.run.reference import run_reference

GRADIENTS = {name: case.gradient for name, case in CASES.items() if case.gradient}
STEP = 1e-5
TOLERANCE = 1e-6

NOT_BY_DIFFERENCES = {
    "OneHot": "its values have no gradient: test_autodiff asks for it",
}


def weighted(function):
    """Return the sum of all outputs of a function, each element with a weight of its own."""

    def loss(*tensors):
        outputs = function(*tensors)
        rng = np.random.default_rng(1)
        total = None
        for output in outputs if isinstance(outputs, tuple) else (outputs,):
            part = (output * rng.uniform(0.5, 1.5, output.shape)).sum()
            total = part if total is None else total + part
        return total

    return loss


def values(graph, points):
    """Outputs of a graph at given inputs."""
    feeds = [parameter for parameter in graph.parameters if not parameter.is_weight]
    names = {parameter.name: point for parameter, point in zip(feeds, points, strict=True)}
    found = {record.key: record.source for record in run_reference(graph, names)}
    by_output = {(key.op_name, key.slot): s for key, s in found.items() if key.io == "output"}
    return [by_output[graph.ops[o.op].name, o.slot].array() for o in graph.outputs]


def differences(loss, points):
    """Gradients by central differences, one element at a time."""
    graph = trace(loss, *points)
    found = []
    for place, point in enumerate(points):
        slope = np.empty(point.shape)
        for index in np.ndindex(point.shape):
            ends = []
            for step in (STEP, -STEP):
                moved = point.copy()
                moved[index] += step
                ends.append(values(graph, [*points[:place], moved, *points[place + 1 :]])[0])
            slope[index] = (ends[0] - ends[1]) / (2 * STEP)
        found.append(slope)
    return found


@pytest.mark.parametrize(
    ("op_type", "number"),
    [(op_type, number) for op_type, cases in GRADIENTS.items() for number in range(len(cases))],
)
def test_a_gradient_is_the_limit_of_differences(op_type, number):
    function, points = GRADIENTS[op_type][number]
    loss = weighted(function)
    graph = trace(lambda *tensors: gradients(loss(*tensors), tensors), *points)
    for gradient, expected in zip(values(graph, points), differences(loss, points), strict=True):
        assert gradient.shape == expected.shape
        np.testing.assert_allclose(gradient, expected, atol=TOLERANCE, rtol=TOLERANCE)


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
