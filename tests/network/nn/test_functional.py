"""Functions named like ``mindspore.ops``, against NumPy's own."""

import ast
import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from workbench.network.nn import data_parallel
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


ERF = np.vectorize(math.erf)(X.astype(float))
ONE_HOT = np.where(np.arange(3) == (X > 0)[..., None], 2.0, -1.0).astype(np.float32)

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
    (lambda x: F.add(x, Y), X + Y),
    (lambda x: F.sub(x, Y), X - Y),
    (lambda x: F.mul(x, Y), X * Y),
    (lambda x: F.div(x, Y), X / Y),
    (lambda x: F.pow(F.abs(x), 1.5), np.abs(X) ** 1.5),
    (lambda x: F.maximum(x, Y), np.maximum(X, Y)),
    (lambda x: F.minimum(x, Y), np.minimum(X, Y)),
    (lambda x: F.neg(x), -X),
    (lambda x: F.relu(x), np.maximum(X, 0)),
    (lambda x: F.exp(x), np.exp(X)),
    (lambda x: F.log(F.abs(x)), np.log(np.abs(X))),
    (lambda x: F.sqrt(F.abs(x)), np.sqrt(np.abs(X))),
    (lambda x: F.rsqrt(F.abs(x)), 1 / np.sqrt(np.abs(X))),
    (lambda x: F.square(x), X * X),
    (lambda x: F.tanh(x), np.tanh(X)),
    (lambda x: F.sigmoid(x), 1 / (1 + np.exp(-X))),
    (lambda x: F.erf(x), ERF),
    (lambda x: F.gelu(x), X / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (X + 0.044715 * X**3)))),
    (lambda x: F.softmax(x, 1), np.exp(X) / np.exp(X).sum(1, keepdims=True)),
    (lambda x: F.log_softmax(x), X - np.log(np.exp(X).sum(-1, keepdims=True))),
    (lambda x: F.reshape(x, (4, 6)), X.reshape(4, 6)),
    (lambda x: F.flatten(x), X.reshape(2, 12)),
    (lambda x: F.transpose(x, (2, 0, 1)), X.transpose(2, 0, 1)),
    (lambda x: F.concat([x, Y], 1), np.concatenate([X, Y], 1)),
    (lambda x: F.gather(x, np.array([2, 0]), 1), X[:, [2, 0]]),
    (lambda x: F.masked_fill(x, X > 0, -1.5), np.where(X > 0, np.float32(-1.5), X)),
    (lambda x: F.mean(x, (0, 2)), X.mean((0, 2))),
    (lambda x: F.sum(x, 1, keep_dims=True), X.sum(1, keepdims=True)),
    (lambda x: F.cast(x * 2.0, "int32"), (X * np.float32(2)).astype(np.int32)),
    (
        lambda x: F.cast(F.one_hot(F.cast(F.greater(x, 0.0), "int32"), 3, 2.0, -1.0), "float32"),
        ONE_HOT,
    ),
    (lambda x: F.matmul(x, Y, transpose_b=True), X @ Y.transpose(0, 2, 1)),
    (lambda x: F.matmul(x, Y[0], transpose_b=True), X @ Y[0].T),
    (lambda x: F.matmul(x[0], Y[0], transpose_a=True), X[0].T @ Y[0]),
    (lambda x: F.bias_add(x, WEIGHT), X + WEIGHT[:, None]),
    (
        lambda x: F.layer_norm(x, np.float32([1, 2, 3, 4]), np.float32([0, 1, 0, 1]), epsilon=0.5),
        (X - X.mean(-1, keepdims=True)) / np.sqrt(X.var(-1, keepdims=True) + 0.5) * [1, 2, 3, 4]
        + [0, 1, 0, 1],
    ),
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


IMAGE = np.random.default_rng(2).uniform(-1, 1, (1, 2, 5, 4)).astype(np.float32)
FILTERS = np.random.default_rng(3).uniform(-1, 1, (3, 2, 2, 2)).astype(np.float32)


def windows(x, size, stride):
    """Every window of the last two axes: shape (n, c, rows, columns, height, width)."""
    found = np.lib.stride_tricks.sliding_window_view(x, (size, size), (2, 3))
    return found[:, :, ::stride, ::stride]


def back(x):
    """Each element times the filters, laid where its window was: what a convolution of stride 2 goes back to."""
    out = np.zeros((1, 2, 2 * x.shape[2], 2 * x.shape[3]))
    for row, column in np.ndindex(x.shape[2:]):
        place = np.einsum("bo,ochw->bchw", x[:, :, row, column], FILTERS.astype(float))
        out[:, :, 2 * row : 2 * row + 2, 2 * column : 2 * column + 2] += place
    return out


ON_IMAGES = {
    "conv2d": (
        lambda x: F.conv2d(x, FILTERS, stride=2),
        np.einsum("bcijhw,ochw->boij", windows(IMAGE, 2, 2).astype(float), FILTERS),
    ),
    "conv2d_transpose": (
        lambda x: F.conv2d_transpose(F.conv2d(x, FILTERS, stride=2), FILTERS, stride=2),
        back(np.einsum("bcijhw,ochw->boij", windows(IMAGE, 2, 2).astype(float), FILTERS)),
    ),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), windows(IMAGE, 2, 2).max((-2, -1))),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 3, 1), windows(IMAGE, 3, 1).mean((-2, -1))),
    "batch_norm": (
        lambda x: F.batch_norm(x, *map(np.float32, ([1, 2], [0, 1], [0.1, 0.2], [1, 4])), epsilon=0.0),
        (IMAGE - np.reshape([0.1, 0.2], (2, 1, 1))) / np.reshape([1, 2], (2, 1, 1))
        * np.reshape([1, 2], (2, 1, 1)) + np.reshape([0, 1], (2, 1, 1)),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("function", "want"), ON_IMAGES.values(), ids=ON_IMAGES)
def test_a_function_of_images_gives_what_its_formula_gives(function, want):
    got = run(function, IMAGE)
    got = got[0] if isinstance(got, list) else got
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


OWN = {"fusion": 0, "no_eliminate": True, "group": "hccl_world_group"}
MEETINGS = {
    "all_reduce": (lambda x: F.all_reduce(x, "max"), "AllReduce", OWN | {"op": "max", "index": 0}, (2, 3, 4)),
    "all_gather": (F.all_gather, "AllGather", OWN | {"rank_size": 2}, (4, 3, 4)),
    "reduce_scatter": (F.reduce_scatter, "ReduceScatter", OWN | {"op": "sum", "rank_size": 2}, (1, 3, 4)),
    "broadcast": (lambda x: F.broadcast([x], 1), "Broadcast",
                  {"root_rank": 1, "group": "hccl_world_group", "no_eliminate": True}, (2, 3, 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", MEETINGS)
def test_an_operator_in_which_ranks_meet_says_how(name):
    """What it computes is in tests/run/test_ranks.py: that takes several ranks."""
    function, kind, attrs, shape = MEETINGS[name]
    with data_parallel(2):
        (op,) = trace(function, X).ops
    assert (op.op_type, op.attrs, op.outputs[0].shape) == (kind, attrs, shape)


ELSEWHERE = {
    "all_gather all_reduce broadcast reduce_scatter": "tests/run/test_ranks.py: they need several ranks",
    "cond while_loop": "tests/network/test_control.py",
    "topk split": "below: several outputs",
    "ascend_quant ascend_dequant ascend_anti_quant": "below: their results are exact",
}


def test_every_function_is_held_against_numpy():
    tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
    called = {one.attr for one in ast.walk(tree) if isinstance(one, ast.Attribute)}
    elsewhere = {name for names in ELSEWHERE for name in names.split()}
    assert set(F.__all__) - called - elsewhere == set()


def test_functions_with_several_outputs():
    pieces = run(lambda x: F.split(x, 2, 2), X)
    np.testing.assert_array_equal(np.concatenate(pieces, 2), X)
    values, places = run(lambda x: F.topk(x, 2), X)
    np.testing.assert_array_equal(values, np.sort(X, -1)[..., :1:-1])
    np.testing.assert_array_equal(np.take_along_axis(X, places.astype(np.int64), -1), values)
    assert trace(lambda x: F.topk(x, 2), X).ops[0].attrs["sorted"] is True


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
