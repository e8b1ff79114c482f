"""Functions named like ``mindspore.ops``, against NumPy's own."""

from functools import partial

import numpy as np
import pytest

from workbench.network.nn import functional as F
from workbench.network.tracer import trace
from workbench.npu.runner import run_npu
from workbench.run.reference import run_reference

X = np.random.default_rng(0).uniform(-2, 2, (2, 3, 4)).astype(np.float32)
Y = np.random.default_rng(1).uniform(-2, 2, (2, 3, 4)).astype(np.float32)
IDS = np.array([[0, 3, 1], [2, 2, 0]])
WEIGHT = np.array([0.1, 0.5, -1.0], np.float32)


def run(function, *inputs):
    graph = trace(function, *inputs)
    values = {
        (r.key.op_name, r.key.slot): r.source.array()
        for r in run_reference(graph)
        if r.key.io == "output"
    }
    found = [values[graph.ops[o.op].name, o.slot] for o in graph.outputs]
    return found if len(found) > 1 else found[0]


SAME = [
    (lambda x: F.squeeze(F.expand_dims(x, 0), 0), X),
    (lambda x: F.squeeze(F.expand_dims(x, 1)), X),
    (lambda x: F.stack([x, -x], 1), np.stack([X, -X], 1)),
    (lambda x: F.tile(x, (1, 2, 1)), np.tile(X, (1, 2, 1))),
    (lambda x: F.broadcast_to(x, (3, -1, -1, -1)), np.broadcast_to(X, (3, 2, 3, 4))),
    (lambda x: F.flip(x, (2,)), X[..., ::-1]),
    (lambda x: F.pad(x, (1, 2), value=3.0), np.pad(X, [(0, 0)] * 2 + [(1, 2)], constant_values=3)),
    (lambda x: F.pad(x, (1, 1), "reflect"), np.pad(X, [(0, 0)] * 2 + [(1, 1)], mode="reflect")),
    (lambda x: F.gather_elements(x, 2, IDS[:, :, None]), np.take_along_axis(X, IDS[:, :, None], 2)),
    (lambda x: F.gather_nd(x, np.array([[1, 2], [0, 0]])), X[[1, 0], [2, 0]]),
    (lambda x: F.select(F.greater(x, 0.0), x, Y), np.where(X > 0, X, Y)),
    (lambda x: F.select(F.less_equal(x, Y), x, Y), np.minimum(X, Y)),
    (lambda x: F.logical_and(F.less(x, 1.0), F.greater_equal(x, 0.0)), (X < 1) & (X >= 0)),
    (lambda x: F.logical_or(F.equal(x, x), F.less(x, 0.0)), np.ones(X.shape, bool)),
    (lambda x: F.logical_not(F.not_equal(x, x)), np.ones(X.shape, bool)),
    (lambda x: F.amax(x, 1), X.max(1)),
    (lambda x: F.amin(x, (0, 2), keep_dims=True), X.min((0, 2), keepdims=True)),
    (lambda x: F.argmax(x, 1), X.argmax(1)),
    (lambda x: F.cumsum(x, 2), np.cumsum(X.astype(float), 2).astype(np.float32)),
    (lambda x: F.relu6(x * 5.0), np.clip(X * np.float32(5), 0, 6)),
    (lambda x: F.leaky_relu(x, 0.5), np.where(X > 0, X, X / 2)),
    (lambda x: F.leaky_relu(x, 2.0), np.where(X > 0, X, X * 2)),
    (lambda x: F.prelu(x, WEIGHT), np.where(X > 0, X, X * WEIGHT[:, None])),
    (lambda x: F.elu(x, 0.5), np.where(X > 0, X, 0.5 * np.expm1(X))),
    (
        lambda x: F.selu(x),
        1.0507009873554805 * np.where(X > 0, X, 1.6732632423543772 * np.expm1(X)),
    ),
    (lambda x: F.silu(x), X / (1 + np.exp(-X))),
    (lambda x: F.mish(x), X * np.tanh(np.log1p(np.exp(X)))),
    (lambda x: F.hardswish(x * 3.0), 3 * X * np.clip(3 * X + 3, 0, 6) / 6),
    (lambda x: F.hardsigmoid(x * 3.0), np.clip(3 * X + 3, 0, 6) / 6),
    (lambda x: F.softplus(x), np.log1p(np.exp(X))),
    (lambda x: F.softsign(x), X / (1 + np.abs(X))),
    (lambda x: F.sin(x) ** 2.0 + F.cos(x) ** 2.0, np.ones_like(X)),
    (lambda x: F.ceil(x) - F.floor(x), np.ones_like(X)),
    (lambda x: F.round(x), np.rint(X)),
    (lambda x: F.sign(x) * F.abs(x), X),
    (lambda x: F.reciprocal(x), 1 / X),
    (lambda x: F.clamp(x, -0.5, 1.0), np.clip(X, -0.5, 1)),
    (lambda x: F.clamp(x, max=0.0), np.minimum(X, 0)),
    (lambda x: x[1], X[1]),
    (lambda x: x[:, -1, 1:3], X[:, -1, 1:3]),
    (lambda x: x[..., ::2], X[..., ::2]),
    (lambda x: x[0, ..., None, 2], X[0, ..., None, 2]),
    (lambda x: x[:, ::-1][:, 1:], X[:, ::-1][:, 1:]),
    (lambda x: x[:, 1:-9:-1, -3:9], X[:, 1:-9:-1, -3:9]),
]


@pytest.mark.parametrize(("function", "want"), SAME)
def test_a_function_gives_what_numpy_gives(function, want):
    got = run(function, X)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=2e-6, atol=1e-6)


def test_functions_with_several_outputs():
    pieces = run(lambda x: F.split(x, 2, 2), X)
    np.testing.assert_array_equal(np.concatenate(pieces, 2), X)
    values, places = run(lambda x: F.topk(x, 2), X)
    np.testing.assert_array_equal(values, np.sort(X, -1)[..., :1:-1])
    np.testing.assert_array_equal(np.take_along_axis(X, places.astype(np.int64), -1), values)


WEIGHT8 = np.random.default_rng(4).integers(-128, 128, (5, 4), dtype=np.int8)
SCALES = np.float32([0.5, 0.25, 2.0, -1.0, 0.125])


def quantized(x):
    q = F.ascend_quant(x, 30.0, 2.0)
    sums = F.matmul(F.reshape(q, (6, 4)), WEIGHT8, False, True)
    return (
        q,
        sums,
        F.ascend_dequant(sums, SCALES, relu_flag=True),
        F.ascend_anti_quant(q, 0.5, -2.0),
    )


@pytest.mark.parametrize("run_on", [run_reference, partial(run_npu, profile="a2")])
def test_a_quantized_product_is_exact_wherever_it_runs(run_on):
    graph = trace(quantized, X)
    values = {
        (r.key.op_type, r.key.slot): r.source.array() for r in run_on(graph) if r.key.io == "output"
    }
    q = np.clip(np.rint(X.astype(float) * 30 + 2), -128, 127)
    sums = q.reshape(6, 4) @ WEIGHT8.T.astype(float)
    for op_type, want, dtype in (
        ("AscendQuant", q, "int8"),
        ("MatMul", sums, "int32"),
        ("AscendDequant", np.maximum(sums * SCALES, 0), "float32"),
        ("AscendAntiQuant", (q - 2) / 2, "float32"),
    ):
        got = values[op_type, 0]
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(("on", "off", "dtype"), [(1.0, 0.0, "float32"), (2, 1, "int64")])
def test_one_hot_has_the_dtype_of_its_values(on, off, dtype):
    got = run(lambda i: F.one_hot(i, 4, on, off), IDS)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, np.eye(4)[IDS] * (on - off) + off)
