"""Older spellings: what was an attribute became an input, and meanings changed. Closed forms as oracles."""

import numpy as np
import pytest

from kit.build.onnx_models import computed, model, node, one
from kit.words import refused
from workbench.core.errors import GraphError
from workbench.network.onnx import read_onnx

X = np.random.default_rng(0).uniform(-2, 2, (2, 3, 4)).astype(np.float32)
IMAGE = np.random.default_rng(1).uniform(-2, 2, (1, 4, 6, 6)).astype(np.float32)
ROW = np.random.default_rng(2).uniform(0.5, 2, 4).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


BOTH = [
    ("Squeeze", X[:, :1], 11, {"axes": [1]}, 13, {"axes": ints(1)}, {}, X[:, 0]),
    ("Unsqueeze", X, 11, {"axes": [0, -1]}, 13, {"axes": ints(0, -1)}, {}, X[None, ..., None]),
    ("ReduceSum", X, 11, {"axes": [1], "keepdims": 0}, 13, {"axes": ints(1)}, {"keepdims": 0}, X.sum(1)),
    ("ReduceMean", X, 13, {"axes": [-1]}, 18, {"axes": ints(-1)}, {}, X.mean(-1, keepdims=True)),
    ("ReduceMax", X, 13, {"axes": [0]}, 18, {"axes": ints(0)}, {}, X.max(0, keepdims=True)),
    ("Clip", X, 6 + 1, {"min": -0.5, "max": 1.0}, 11, {"min": np.float32(-0.5), "max": np.float32(1)}, {},
     np.clip(X, -0.5, 1)),
    ("Slice", X, 9, {"starts": [1, 0], "ends": [9, -1], "axes": [1, 2]}, 10,
     {"s": ints(1, 0), "e": ints(9, -1), "a": ints(1, 2)}, {}, X[:, 1:9, :-1]),
    ("Pad", X, 10, {"pads": [0, 1, 0, 0, 0, 2], "value": 3.0}, 11,
     {"pads": ints(0, 1, 0, 0, 0, 2), "value": np.float32(3)}, {},
     np.pad(X, [(0, 0), (1, 0), (0, 2)], constant_values=3)),
    ("Upsample", IMAGE, 7, {"scales": [1.0, 1.0, 2.0, 3.0]}, 9, {"s": np.float32([1, 1, 2, 3])}, {},
     IMAGE.repeat(2, 2).repeat(3, 3)),
]  # fmt: skip


@pytest.mark.parametrize("case", BOTH, ids=lambda case: case[0])
def test_an_attribute_that_became_an_input_is_read_either_way(case):
    op_type, x, old, attrs, new, weights, rest, want = case
    for got in (one(op_type, {"x": x}, old, **attrs), one(op_type, {"x": x}, new, weights, **rest)):
        assert got[0].dtype == np.float32
        np.testing.assert_allclose(got[0], want, rtol=1e-6, atol=1e-7)


def softmax(x, axis):
    powers = np.exp(x.astype(float))
    return powers / powers.sum(axis, keepdims=True)


def test_softmax_joined_axes_before_opset_13():
    joined = softmax(X.reshape(2, 12), 1).reshape(X.shape)
    for opset, attrs, want in (
        (11, {}, joined),
        (11, {"axis": -1}, softmax(X, -1)),
        (11, {"axis": 0}, softmax(X.reshape(1, 24), 1).reshape(X.shape)),
        (13, {}, softmax(X, -1)),
        (13, {"axis": 1}, softmax(X, 1)),
    ):
        np.testing.assert_allclose(one("Softmax", {"x": X}, opset, **attrs)[0], want, rtol=1e-5)
        logs = one("LogSoftmax", {"x": X}, opset, **attrs)[0]
        np.testing.assert_allclose(np.exp(logs.astype(float)), want, rtol=1e-5)
        hard = one("Hardmax", {"x": X}, opset, **attrs)[0]
        assert hard.sum() == np.sum(want == want.max(tuple(_axes(opset, attrs)), keepdims=True))


def _axes(opset, attrs):
    axis = attrs.get("axis", 1 if opset < 13 else 2) % 3
    return [axis] if opset >= 13 else range(axis, 3)


def test_split_took_its_sizes_from_an_attribute_and_its_number_from_the_outputs():
    want = [X[..., :1], X[..., 1:]]
    for got in (
        one("Split", {"x": X}, 11, count=2, axis=-1, split=[1, 3]),
        one("Split", {"x": X}, 13, {"split": ints(1, 3)}, count=2, axis=-1),
    ):
        for mine, theirs in zip(got, want, strict=True):
            np.testing.assert_array_equal(mine, theirs)
    halves = one("Split", {"x": X}, 18, count=2, axis=2, num_outputs=2)
    np.testing.assert_array_equal(np.concatenate(halves, 2), X)
    uneven = one("Split", {"x": X}, 18, count=2, axis=1, num_outputs=2)
    assert [piece.shape[1] for piece in uneven] == [2, 1]
    np.testing.assert_array_equal(np.concatenate(uneven, 1), X)


def test_top_k_took_k_from_an_attribute():
    for got in (
        one("TopK", {"x": X}, 7, count=2, k=2),
        one("TopK", {"x": X}, 10, {"k": ints(2)}, count=2),
        one("TopK", {"x": X}, 11, {"k": ints(2)}, count=2, largest=1),
    ):
        np.testing.assert_array_equal(got[0], np.sort(X, -1)[..., :1:-1])
        assert got[1].dtype == np.int64
    smallest, places = one("TopK", {"x": X}, 11, {"k": ints(1)}, count=2, largest=0, axis=1)
    np.testing.assert_array_equal(smallest[:, 0], X.min(1))
    np.testing.assert_array_equal(places[:, 0], X.argmin(1))


@pytest.mark.parametrize("opset", [7, 9, 14, 15])
def test_batch_normalization_of_every_opset_uses_its_moments(opset):
    weights = {"s": ROW, "b": ROW + 1, "m": ROW - 1, "v": ROW * 2}
    got = one("BatchNormalization", {"x": IMAGE}, opset, weights, epsilon=0.1)[0]
    s, b, m, v = (w.reshape(-1, 1, 1).astype(float) for w in weights.values())
    np.testing.assert_allclose(got, (IMAGE - m) / np.sqrt(v + 0.1) * s + b, rtol=1e-5)


def test_dropout_hands_on_and_its_mask_is_true():
    for opset, weights in ((7, {}), (12, {}), (13, {"r": np.float32(0.3), "t": np.asarray(False)})):
        y, mask = one("Dropout", {"x": X}, opset, weights, count=2)
        np.testing.assert_array_equal(y, X)
        assert mask.dtype == bool
        assert mask.all()


@pytest.mark.parametrize(("opset", "start"), [(10, 0), (11, 1)])
def test_resize_began_without_an_input_for_the_region(opset, start):
    weights = {"roi": np.zeros(0, np.float32)} if start else {}
    got = one(
        "Resize", {"x": IMAGE}, opset, {**weights, "s": np.float32([1, 1, 2, 2])}, mode="nearest"
    )
    np.testing.assert_array_equal(got[0], IMAGE.repeat(2, 2).repeat(2, 3))


def test_reshape_keeps_axes_and_allows_zeros():
    for attrs, shape, want in (({}, (0, -1), (2, 12)), ({}, (0, 0, 2, 2), (2, 3, 2, 2))):
        assert one("Reshape", {"x": X}, 14, {"s": ints(*shape)}, **attrs)[0].shape == want
    empty = np.zeros((0, 3), np.float32)
    assert one("Reshape", {"x": empty}, 14, {"s": ints(3, 0)}, allowzero=1)[0].shape == (3, 0)
    with refused("graph/onnx-kept-axis", GraphError, shape=(2, 3, 4), axis=3):
        one("Reshape", {"x": X}, 14, {"s": ints(1, 1, 1, 0)})


def test_shapes_that_are_computed_from_shapes_leave_no_operators():
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Constant", [], ["zero"], value_ints=[0]),
        node("Gather", ["s", "zero"], ["batch"]),
        node("Constant", [], ["rest"], value_ints=[-1]),
        node("Concat", ["batch", "rest"], ["wanted"], axis=0),
        node("Reshape", ["x", "wanted"], ["y"]),
    ]
    made = model(nodes, {"x": X}, ["y"])
    (y,) = computed(made, {"x": X})
    assert y.shape == (2, 12)
    graph = read_onnx(made)
    assert [op.op_type for op in graph.ops] == ["Reshape"]
    assert [p.name for p in graph.parameters] == ["x"]
