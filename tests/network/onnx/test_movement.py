"""Converters that move elements, against onnx's own evaluator: every operator, every attribute."""

import numpy as np
import pytest
from onnx import TensorProto

from kit.build.onnx_models import OnnxCase, assert_as_onnx, assert_every_converter, numbered, one
from workbench.core.errors import GraphError
from workbench.network.onnx import movement

RNG = np.random.default_rng(0)
X = RNG.uniform(-3, 3, (2, 3, 4)).astype(np.float32)
IMAGE = RNG.uniform(-3, 3, (2, 8, 4, 6)).astype(np.float32)
SQUARE = RNG.uniform(-3, 3, (2, 4, 5)).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


def f32(value):
    return np.asarray(value, np.float32)


PADS = ints(0, 1, 2, 0, 3, 1)
PLACES = ints(0, 2, 1)
CASES = [
    OnnxCase("Concat", {"a": X, "b": X[:, :1]}, attrs={"axis": 1}),
    OnnxCase("Concat", {"a": X, "b": X}, attrs={"axis": -1}),
    OnnxCase("ConstantOfShape", {}, {"s": ints(2, 3)}),
    OnnxCase("DepthToSpace", {"x": IMAGE}, attrs={"blocksize": 2}, types="DepthToSpace"),
    OnnxCase("DepthToSpace", {"x": IMAGE}, attrs={"blocksize": 2, "mode": "CRD"}),
    OnnxCase("Expand", {"x": X[:, :1]}, {"s": ints(3, 1)}),
    OnnxCase("Expand", {"x": X[0]}, {"s": ints(2, 1, 4)}),
    OnnxCase("EyeLike", {"x": X[0]}),
    OnnxCase("EyeLike", {"x": X[0]}, attrs={"k": 1, "dtype": TensorProto.INT32}),
    OnnxCase("EyeLike", {"x": X[0]}, attrs={"k": -1}),
    OnnxCase("Flatten", {"x": X}, types="Flatten"),
    OnnxCase("Flatten", {"x": X}, attrs={"axis": 0}),
    OnnxCase("Flatten", {"x": X}, attrs={"axis": 2}),
    OnnxCase("Flatten", {"x": X}, attrs={"axis": 3}),
    OnnxCase("Flatten", {"x": X}, attrs={"axis": -1}),
    OnnxCase("Flatten", {"x": X[0, 0]}),
    OnnxCase("Gather", {"x": X}, {"i": ints(1, 0, -1)}),
    OnnxCase("Gather", {"x": X}, {"i": np.array([[2, 0]])}, {"axis": -2}),
    OnnxCase("GatherElements", {"x": X}, {"i": RNG.integers(0, 2, (1, 3, 4))}),
    OnnxCase("GatherElements", {"x": X}, {"i": RNG.integers(-4, 4, (2, 3, 2))}, {"axis": 2}),
    OnnxCase("GatherND", {"x": X}, {"i": np.array([[1, 2], [0, 0]])}),
    OnnxCase("OneHot", {"i": ints(0, 2, -1, 5)}, {"d": ints(3)[0], "v": f32([1, 5])}),
    OnnxCase("OneHot", {"i": np.array([[0, 2], [1, -3]])}, {"d": ints(3)[0], "v": f32([-1, 5])}, {"axis": 1}),
    OnnxCase("OneHot", {"i": np.array([0, 2], np.int32)}, {"d": ints(4)[0], "v": ints(0, 7)}, {"axis": 0}),
    OnnxCase("Pad", {"x": X}, {"p": PADS}),
    OnnxCase("Pad", {"x": X}, {"p": PADS, "v": f32(1.5)}),
    OnnxCase("Pad", {"x": X}, {"p": PADS}, {"mode": "edge"}),
    OnnxCase("Pad", {"x": X}, {"p": ints(1, 2, 3, 0, 1, 2)}, {"mode": "reflect"}),
    OnnxCase("Pad", {"x": X}, {"p": PADS}, {"mode": "wrap"}),
    OnnxCase("Pad", {"x": X}, {"p": ints(1, 2), "v": None, "axes": ints(-1)}),
    OnnxCase("Pad", {"x": X}, {"p": ints(1, 0, 2, 3), "v": f32(2), "axes": ints(2, 0)}),
    OnnxCase("Range", {}, {"a": ints(1)[0], "b": ints(8)[0], "c": ints(3)[0]}),
    OnnxCase("Range", {}, {"a": ints(8)[0], "b": ints(1)[0], "c": ints(-2)[0]}),
    OnnxCase("Range", {}, {"a": f32(0.5), "b": f32(2.0), "c": f32(0.5)}),
    OnnxCase("Reshape", {"x": X}, {"s": ints(4, -1)}),
    OnnxCase("Reshape", {"x": X}, {"s": ints(0, -1, 2)}),
    OnnxCase("ReverseSequence", {"x": X, "n": ints(2, 1, 2)}, attrs={"time_axis": 0, "batch_axis": 1}),
    OnnxCase("ReverseSequence", {"x": X, "n": ints(3, 2)}, attrs={"time_axis": 1, "batch_axis": 0}),
    OnnxCase("ReverseSequence", {"x": X, "n": ints(2, 1, 1)}),
    OnnxCase("ScatterElements", {"x": X[0]}, {"i": np.array([[1, 3]]), "u": f32([[9, 8]])}, {"axis": 1}),
    OnnxCase("ScatterND", {"x": X}, {"i": np.array([[1, 2], [0, 1]]), "u": f32([[1] * 4, [2] * 4])}),
    *(OnnxCase("ScatterND", {"x": X}, {"i": np.array([[1, 2], [0, 1], [1, 2]]), "u": f32([[1] * 4, [2] * 4, [-2] * 4])},
               {"reduction": how}) for how in ("add", "mul", "max", "min")),
    OnnxCase("Shape", {"x": X}),
    OnnxCase("Shape", {"x": X}, attrs={"start": 1}),
    OnnxCase("Shape", {"x": X}, attrs={"start": -3, "end": -1}),
    OnnxCase("Size", {"x": X}),
    OnnxCase("Slice", {"x": X}, {"b": ints(1, 0), "e": ints(3, 3)}),
    OnnxCase("Slice", {"x": X}, {"b": ints(1, -1), "e": ints(9, -9), "a": ints(1, -1), "s": ints(1, -2)}),
    OnnxCase("Slice", {"x": X}, {"b": ints(0), "e": ints(2), "a": ints(2)}),
    OnnxCase("SpaceToDepth", {"x": IMAGE}, attrs={"blocksize": 2}, types="SpaceToDepth"),
    OnnxCase("Split", {"x": X}, {"n": ints(1, 3)}, {"axis": -1}, count=2, types="SplitV"),
    OnnxCase("Split", {"x": X}, {"n": ints(2, 2)}, {"axis": 2}, count=2, types="Split"),
    OnnxCase("Split", {"x": X}, attrs={"axis": 2, "num_outputs": 3}, count=3),
    OnnxCase("Split", {"x": X}, attrs={"num_outputs": 2}, count=2),
    OnnxCase("Squeeze", {"x": X[:1, :1]}),
    OnnxCase("Squeeze", {"x": X[:1, :1]}, {"a": ints(-2)}),
    OnnxCase("Tile", {"x": X}, {"n": ints(2, 1, 3)}),
    OnnxCase("Transpose", {"x": X}),
    OnnxCase("Transpose", {"x": X}, attrs={"perm": [1, 2, 0]}),
    OnnxCase("Trilu", {"x": SQUARE}),
    OnnxCase("Trilu", {"x": SQUARE}, attrs={"upper": 0}),
    OnnxCase("Trilu", {"x": SQUARE}, {"k": ints(1)[0]}),
    OnnxCase("Trilu", {"x": SQUARE}, {"k": ints(-2)[0]}, {"upper": 0}),
    OnnxCase("Unsqueeze", {"x": X}, {"a": ints(1)}, types="ExpandDims"),
    OnnxCase("Unsqueeze", {"x": X}, {"a": ints(0, -1, 2)}),
]  # fmt: skip
APART = ("Constant", "Scatter")  # below


@pytest.mark.parametrize("case", numbered(CASES))
def test_a_node_computes_what_onnx_does(case):
    assert_as_onnx(case)


def test_every_converter_has_a_case():
    assert_every_converter(movement, CASES, APART)


CONSTANTS = [
    ({"value_float": 1.5}, np.float32(1.5)),
    ({"value_floats": [1.5, 2.0]}, f32([1.5, 2])),
    ({"value_int": 3}, np.int64(3)),
    ({"value_ints": [3, 4]}, ints(3, 4)),
]


@pytest.mark.parametrize(("attrs", "want"), CONSTANTS)
def test_a_constant_is_read_from_every_attribute(attrs, want):
    (got,) = one("Constant", {}, 21, **attrs)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    np.testing.assert_array_equal(got, want)


SCATTER = {"i": np.array([[1, 0, 2]]), "u": f32([[9, 8, 7]])}


def test_scattered_elements_replace_or_add():
    want = X[0].copy()
    want[[1, 0, 2], [0, 1, 2]] = [9, 8, 7]
    for op_type, opset in (("Scatter", 9), ("ScatterElements", 21)):
        np.testing.assert_array_equal(one(op_type, {"x": X[0]}, opset, SCATTER)[0], want)
    twice = {"i": np.array([[1, 1], [3, 0]]), "u": f32([[10, 20], [30, 40]])}
    want = X[0].copy()
    want[0, 1] += 30
    want[1, 3] += 30
    want[1, 0] += 40
    got = one("ScatterElements", {"x": X[0]}, 21, twice, axis=-1, reduction="add")[0]
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_negative_widths_cut_and_old_opsets_fill_by_an_attribute():
    want = np.pad(X[:, 1:, :-2], [(0, 0), (0, 2), (1, 0)], constant_values=3)
    pads = [0, -1, 1, 0, 2, -2]
    new = one("Pad", {"x": X}, 21, {"p": ints(*pads), "v": f32(3)})[0]
    old = one("Pad", {"x": X}, 10, pads=pads, value=3.0)[0]
    for got in (new, old):
        np.testing.assert_array_equal(got, want)


def test_blocks_of_pixels_become_channels_in_either_order():
    """The reference evaluator of onnx knows one order alone."""
    got = one("SpaceToDepth", {"x": IMAGE}, 26, blocksize=2, mode="CRD")[0]
    want = np.empty((2, 32, 2, 3), np.float32)
    for channel, row, column in np.ndindex(8, 2, 2):
        want[:, channel * 4 + row * 2 + column] = IMAGE[:, channel, row::2, column::2]
    np.testing.assert_array_equal(got, want)


REFUSED = [
    ("graph/onnx-kept-axis", "Reshape", {"x": X}, {"s": ints(1, 1, 1, 0)}, {}),
    ("graph/broadcast", "Expand", {"x": X}, {"s": ints(2, 2, 4)}, {}),
    ("graph/onnx-sizes", "Pad", {"x": X}, {"p": ints(1, 1)}, {}),
    (
        "graph/onnx-steps",
        "Slice",
        {"x": X},
        {"b": ints(0), "e": ints(1), "a": ints(0), "s": ints(0)},
        {},
    ),
    ("graph/onnx-attribute", "GatherND", {"x": X}, {"i": np.array([[1], [0]])}, {"batch_dims": 1}),
    ("graph/onnx-attribute", "ScatterElements", {"x": X[0]}, SCATTER, {"reduction": "mul"}),
    ("graph/sizes", "ConstantOfShape", {}, {"s": ints(-1)}, {}),
    ("graph/sizes", "ConstantOfShape", {}, {"s": ints(1 << 20, 1 << 20)}, {}),
    ("graph/sizes", "Range", {}, {"a": ints(0)[0], "b": ints(1 << 40)[0], "c": ints(1)[0]}, {}),
]


@pytest.mark.parametrize(("code", "op_type", "inputs", "weights", "attrs"), REFUSED)
def test_what_is_lacking_is_refused(code, op_type, inputs, weights, attrs):
    with pytest.raises(GraphError) as error:
        one(op_type, inputs, 21, weights, **attrs)
    causes = [error.value, *error.value.values.get("problems", [])]
    assert code in [cause.code for cause in causes]
