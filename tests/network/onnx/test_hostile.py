"""Damaged models: every error is one of ours, and none takes long."""

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from kit.build.onnx_models import model, node
from kit.words import refused
from workbench.core.errors import WorkbenchError
from workbench.network.onnx import read_onnx
from workbench.run.reference import run_reference

IMAGE = np.zeros((1, 4, 8, 8), np.float32)
NODES = [
    node(
        "Conv",
        ["x", "w", "b"],
        ["c"],
        "conv",
        {"k": "v"},
        strides=[2, 1],
        pads=[1, 1, 0, 1],
        group=2,
    ),
    node("BatchNormalization", ["c", "b", "b", "b", "one"], ["n"], epsilon=0.1),
    node("MaxPool", ["n"], ["p"], kernel_shape=[2, 2], ceil_mode=1, pads=[0, 1, 0, 1]),
    node(
        "AveragePool", ["p"], ["q"], kernel_shape=[2, 2], auto_pad="SAME_LOWER", count_include_pad=1
    ),
    node("Shape", ["q"], ["s"]),
    node("Slice", ["s", "zero", "two"], ["front"]),
    node("Concat", ["front", "minus"], ["wanted"], axis=0),
    node("Reshape", ["q", "wanted"], ["f"]),
    node("Split", ["f"], ["l", "r"], axis=-1, num_outputs=2),
    node("Squeeze", ["l"], ["l2"]),
    node("Resize", ["n", "", "scales"], ["z"], mode="nearest"),
]


def whole():
    weights = {
        "w": np.ones((4, 2, 3, 3), np.float32),
        "b": np.ones(4, np.float32),
        "one": np.ones(4, np.float32),
        "zero": np.array([0]),
        "two": np.array([2]),
        "minus": np.array([-1]),
        "scales": np.float32([1, 1, 2, 2]),
    }
    return model(NODES, {"x": IMAGE}, ["l2", "r", "z"], weights, opset=18)


def tried(data):
    """Read damaged bytes, and run what still is a graph if it is small."""
    made = ModelProto()
    try:
        made.ParseFromString(data)
    except Exception:  # protobuf's own refusal; files are read in `test_reading`
        return "no message"
    try:
        graph = read_onnx(made)
    except WorkbenchError:
        return "refused"
    sizes = [np.prod(spec.shape, dtype=float) for op in graph.ops for spec in op.outputs]
    if sum(sizes) > 1e6 or any(p.default is None for p in graph.parameters):
        return "large"
    try:
        for _ in run_reference(graph):
            pass
    except WorkbenchError:
        return "refused in the run"
    return "run"


def test_the_model_that_is_damaged_is_whole():
    assert tried(whole().SerializeToString()) == "run"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_damaged_bytes_are_refused_or_read(seed):
    data = whole().SerializeToString()
    rng = np.random.default_rng(seed)
    met = set()
    for _ in range(120):
        damaged = bytearray(data)
        for _ in range(rng.integers(1, 6)):
            place = int(rng.integers(len(damaged)))
            how = rng.integers(4)
            if how == 0:
                damaged[place] = int(rng.integers(256))
            elif how == 1:
                del damaged[place : place + int(rng.integers(1, 9))]
            elif how == 2:
                damaged[place:place] = damaged[place : place + int(rng.integers(1, 40))]
            else:
                damaged[place] ^= 1 << int(rng.integers(8))
        met.add(tried(bytes(damaged)))
    assert "run" in met
    assert "refused" in met


NUMBERS = [0, -1, 1, 2, 3, 7, 1 << 31, -(1 << 31), (1 << 62), -(1 << 63)]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_wild_attributes_and_constants_are_refused_or_read(seed):
    rng = np.random.default_rng(100 + seed)
    met = set()
    for _ in range(100):
        made = whole()
        for _ in range(rng.integers(1, 3)):
            _wild(made, rng)
        met.add(tried(made.SerializeToString()))
    assert "refused" in met


def _wild(made, rng):
    node_at = made.graph.node[int(rng.integers(len(made.graph.node)))]
    number = int(rng.choice(NUMBERS))
    how = rng.integers(5)
    if how == 0 and node_at.attribute:
        attribute = node_at.attribute[int(rng.integers(len(node_at.attribute)))]
        kept = helper.make_attribute(attribute.name, [number] * int(rng.integers(1, 5)))
        attribute.CopyFrom(
            kept if rng.random() < 0.7 else helper.make_attribute(attribute.name, number)
        )
    elif how == 1:
        weight = made.graph.initializer[int(rng.integers(len(made.graph.initializer)))]
        count = int(rng.integers(0, 5))
        weight.CopyFrom(numpy_helper.from_array(np.array([number] * count, np.int64), weight.name))
    elif how == 2 and node_at.input:
        names = [info.name for info in made.graph.initializer] + ["x", "", "nowhere"]
        node_at.input[int(rng.integers(len(node_at.input)))] = str(rng.choice(names))
    elif how == 3:
        dim = made.graph.input[0].type.tensor_type.shape.dim[int(rng.integers(4))]
        dim.dim_value = number
    else:
        made.graph.input[0].type.tensor_type.elem_type = int(
            rng.choice([TensorProto.INT32, TensorProto.BOOL, TensorProto.DOUBLE, 0, 99])
        )


def test_a_value_has_one_producer():
    """Names of values are given once; the second of two nodes would hide the first."""
    first, second = node("Relu", ["x"], ["y"]), node("Neg", ["x"], ["y"])
    with refused("graph/onnx-output-twice", got="y", place="net: node #1 (Neg)"):
        read_onnx(model([first, second], {"x": np.float32([2])}, ["y"]))


def test_a_model_without_outputs_computes_nothing():
    with refused("graph/onnx-no-output"):
        read_onnx(model([node("Relu", ["x"], ["y"])], {"x": np.float32([2])}, []))
