"""What operators make of a region: against NumPy on two inputs that differ there, element by element."""

from __future__ import annotations

import numpy as np
import pytest

from kit.build.small_dumps import Net
from workbench.comparison.pair.undefined.spread import spread
from workbench.graph.graph import Bundle, Const

RNG = np.random.default_rng(7)
X = RNG.standard_normal((2, 3, 4))
W = RNG.standard_normal((4, 5))
ROWS = np.array([[[1], [1], [0]], [[1], [0], [0]]], bool)
"""(2, 3, 1): rows of two sequences."""
COLUMNS = np.array([1, 0, 1, 1], bool).reshape(1, 1, 4)
FIRST = np.array([True, False]).reshape(2, 1, 1)


def norm(x, *_):
    return (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)


CASES = {
    "tanh": ("Tanh", np.tanh, (), {}, ROWS),
    "cast": ("Cast", lambda x: x.astype(np.float32), (Const("Float32", "type"),), {}, ROWS),
    "columns": ("ReLU6", lambda x: x * 2, (), {}, COLUMNS),
    "add a row": ("Add", np.add, (X[0],), {}, ROWS),
    "broadcast to more axes": ("Mul", np.multiply, (RNG.standard_normal((3, 2, 3, 4)),), {}, ROWS),
    "flatten rows": ("Reshape", lambda x: x.reshape(6, 4), (), {}, ROWS),
    "split what is behind": ("Reshape", lambda x: x.reshape(2, 3, 2, 2), (), {}, ROWS),
    "rows split": ("Reshape", lambda x: x.reshape(2, 3, 1, 4), (), {}, FIRST),
    "squeezed together": ("Reshape", lambda x: x.reshape(2, 12), (), {}, FIRST),
    "transposed": ("Transpose", lambda x: x.transpose(2, 0, 1), (), {"dims": (2, 0, 1)}, ROWS),
    "product": ("MatMulExt", np.matmul, (W,), {}, ROWS),
    "product of columns": ("MatMulExt", np.matmul, (W,), {}, FIRST),
    "softmax": ("Softmax", lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True), (), {"axis": (-1,)}, ROWS),
    "layer norm": ("LayerNorm", norm, (X[0, 0], X[0, 0]), {"begin_norm_axis": 2}, ROWS),
    "rms norm": ("RmsNorm", lambda x, g: x / np.sqrt((x * x).mean(-1, keepdims=True)) * g, (X[0, 0],), {}, ROWS),
    "split": ("Split", lambda x: x[..., :2], (), {"axis": 2, "output_num": 2}, ROWS),
    "triangle": ("Tril", lambda x: x + 1, (), {}, ROWS),
}  # fmt: skip

UNKNOWN = {
    "rows cut through": ("Reshape", (12, 2), (), {}, ROWS),
    "transposed product": ("MatMul", (2, 4, 5), (W,), {"transpose_a": True}, ROWS),
    "norm over rows": ("LayerNorm", (2, 3, 4), (X[0], X[0]), {"begin_norm_axis": 1}, ROWS),
    "norm over who knows": ("LayerNorm", (2, 3, 4), (X[0, 0], X[0, 0]), {}, ROWS),
    "softmax over rows": ("Softmax", (2, 3, 4), (), {"axis": (1,)}, ROWS),
    "split of rows": ("Split", (2, 1, 4), (), {"axis": 1, "output_num": 3}, ROWS),
    "sum": ("ReduceSum", (2, 4), (), {"axis": (1,)}, ROWS),
    "constants": ("OnesLike", (2, 3, 4), (), {}, ROWS),
    "device format": ("TransData", (2, 3, 4), (), {}, ROWS),
    "order of axes": ("Transpose", (4, 2, 3), (), {}, ROWS),
    "everything": ("Tanh", (2, 3, 4), (), {}, np.zeros((2, 1, 1), bool)),
}


def operator(op_type, inputs, shape, attrs):
    net = Net()
    feeds = [
        one if isinstance(one, Const) else net.feed(f"x{n}", one.shape)
        for n, one in enumerate(inputs)
    ]
    net.op(op_type, *feeds, shape=shape, attrs=attrs)
    return net.ops[-1]


@pytest.mark.parametrize(("op_type", "compute", "more", "attrs", "care"), CASES.values(), ids=CASES)
def test_just_what_differs_is_left_out(op_type, compute, more, attrs, care):
    other = np.where(care, X, RNG.standard_normal(X.shape))
    arrays = [one for one in more if not isinstance(one, Const)]
    expected = compute(X, *arrays) == compute(other, *arrays)
    found = spread(
        operator(op_type, (X, *more), expected.shape, attrs), 0, {0: care}, expected.shape
    )
    np.testing.assert_array_equal(np.broadcast_to(found, expected.shape), expected)


@pytest.mark.parametrize(
    ("op_type", "shape", "more", "attrs", "care"), UNKNOWN.values(), ids=UNKNOWN
)
def test_nothing_is_said_of_others(op_type, shape, more, attrs, care):
    assert spread(operator(op_type, (X, *more), shape, attrs), 0, {0: care}, shape) is None


def test_two_regions_meet():
    found = spread(operator("Add", (X, X), X.shape, {}), 0, {0: ROWS, 1: COLUMNS}, X.shape)
    np.testing.assert_array_equal(found, ROWS & COLUMNS)


def test_a_second_input_alone_says_nothing_where_places_are_those_of_the_first():
    assert spread(operator("Depend", (X, X), X.shape, {}), 0, {1: ROWS}, X.shape) is None
    assert spread(operator("MatMulExt", (X, W), (2, 3, 5), {}), 0, {1: ROWS[0]}, (2, 3, 5)) is None


@pytest.mark.parametrize(("reads", "known"), [({0: ROWS, 1: ROWS}, True), ({0: ROWS}, False)])
def test_what_is_joined_is_left_out_where_all_of_it_is(reads, known):
    net = Net()
    parts = Bundle((net.feed("a", X.shape), net.feed("b", X.shape)))
    net.op("Concat", parts, Const(-1, "Int64"), shape=(2, 3, 8))
    found = spread(net.ops[-1], 0, reads, (2, 3, 8))
    assert (found is not None) == known
    assert found is None or np.array_equal(found, ROWS)


def test_later_outputs_are_known_of_parts_alone():
    said = {"axis": -1, "output_num": 2}
    assert spread(operator("Split", (X,), (2, 3, 2), said), 1, {0: ROWS}, (2, 3, 2)) is not None
    norm = operator("LayerNorm", (X, X[0, 0], X[0, 0]), (2, 3, 1), {"begin_norm_axis": -1})
    assert spread(norm, 1, {0: ROWS}, (2, 3, 1)) is None
