"""Converters of products, normalizations, resizing and quantization, against onnx's own evaluator."""

import numpy as np
import pytest

from kit.build.onnx_models import OnnxCase, assert_as_onnx, assert_every_converter, numbered, one
from workbench.core.errors import GraphError
from workbench.network.onnx import layers

RNG = np.random.default_rng(0)
IMAGE = RNG.uniform(-3, 3, (2, 4, 6, 5)).astype(np.float32)
CUBE = RNG.uniform(-3, 3, (4, 4, 3, 2)).astype(
    np.float32
)  # onnx takes its batch for the channels of an LRN
X = RNG.uniform(-3, 3, (2, 3, 4)).astype(np.float32)
A, B = (RNG.uniform(-1, 1, shape).astype(np.float32) for shape in ((3, 4), (4, 5)))
ROW, OTHER = (RNG.uniform(0.5, 2, 4).astype(np.float32) for _ in range(2))
MOMENTS = {"s": ROW, "b": OTHER - 1, "m": OTHER - 2, "v": ROW * 2}
FACTORS = {"s": ROW, "b": OTHER - 1}
NONE = np.zeros(0, np.float32)


def f32(value):
    return np.asarray(value, np.float32)


def i8(value):
    return np.asarray(value, np.int8)


CASES = [
    OnnxCase("MatMul", {"a": A, "b": B}, types="MatMul"),
    OnnxCase("MatMul", {"a": X, "b": B}, types="BatchMatMul"),
    OnnxCase("MatMul", {"a": X, "b": X.swapaxes(1, 2)}, types="BatchMatMul"),
    *(OnnxCase("MatMul", {"a": a, "b": b}, types=f"Reshape {product} Reshape")
      for product, a, b in (("MatMul", ROW, B), ("MatMul", A, ROW), ("Reshape MatMul", ROW, ROW),
                            ("BatchMatMul", X, ROW), ("BatchMatMul", ROW, X.swapaxes(1, 2)))),
    OnnxCase("MatMul", {"a": A}, {"b": ROW}),
    OnnxCase("Gemm", {"a": A, "b": B}),
    OnnxCase("Gemm", {"a": A, "b": B}, attrs={"alpha": 0.5}),
    OnnxCase("Gemm", {"a": A.T, "b": B}, attrs={"transA": 1}),
    OnnxCase("Gemm", {"a": A, "b": B.T, "c": f32([1, 2, 3, 4, 5])}, attrs={"transB": 1}, types="MatMul BiasAdd"),
    OnnxCase("Gemm", {"a": A, "b": B, "c": f32([[1], [2], [3]])}, attrs={"beta": 2.0, "alpha": 3.0}),
    OnnxCase("Gemm", {"a": A, "b": B, "c": f32(2)}, attrs={"beta": 0.5}),
    OnnxCase("Gemm", {"a": A, "b": B, "c": f32(2)}, attrs={"beta": 0.0}),
    OnnxCase("BatchNormalization", {"x": IMAGE}, MOMENTS),
    OnnxCase("BatchNormalization", {"x": IMAGE}, MOMENTS, {"epsilon": 0.5, "momentum": 0.3}),
    OnnxCase("BatchNormalization", {"x": IMAGE[:, :, 0, 0]}, MOMENTS),
    OnnxCase("LayerNormalization", {"x": X}, FACTORS, count=3),
    OnnxCase("LayerNormalization", {"x": X}, FACTORS, {"epsilon": 0.5}),
    OnnxCase("LayerNormalization", {"x": X}, {"s": X[0], "b": X[1]}, {"axis": 1}),
    OnnxCase("LayerNormalization", {"x": X}, {"s": ROW}),
    OnnxCase("LayerNormalization", {"x": X}, FACTORS, {"axis": 1, "epsilon": 0.25}, count=3),
    OnnxCase("LayerNormalization", {"x": X}, {"s": f32([2])}),
    OnnxCase("RMSNormalization", {"x": X}, {"s": ROW}, opset=23),
    OnnxCase("RMSNormalization", {"x": X}, {"s": X[0]}, {"axis": 1, "epsilon": 0.5}, opset=23),
    OnnxCase("GroupNormalization", {"x": IMAGE}, FACTORS, {"num_groups": 2, "epsilon": 0.5}),
    OnnxCase("GroupNormalization", {"x": IMAGE}, {"s": ROW[:2], "b": OTHER[:2]}, {"num_groups": 2}, opset=18),
    OnnxCase("GroupNormalization", {"x": IMAGE, "s": ROW[:2], "b": OTHER[:2]}, attrs={"num_groups": 2}, opset=18),
    OnnxCase("InstanceNormalization", {"x": IMAGE}, FACTORS),
    OnnxCase("InstanceNormalization", {"x": IMAGE}, FACTORS, {"epsilon": 0.5}),
    OnnxCase("LRN", {"x": CUBE}, attrs={"size": 3}),
    OnnxCase("LRN", {"x": CUBE}, attrs={"size": 3, "alpha": 0.5, "beta": 0.6, "bias": 2.0}),
    *(OnnxCase("Resize", {"x": IMAGE}, {"r": NONE, "s": f32([1, 1, 2, 0.6])},
               {"nearest_mode": rounding, "coordinate_transformation_mode": place})
      for rounding in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
      for place in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric")),
    OnnxCase("Resize", {"x": IMAGE}, {"r": NONE, "s": f32([1, 1, 0.5, 2])}),
    OnnxCase("Resize", {"x": IMAGE}, {"r": NONE, "s": NONE, "n": np.array([2, 4, 9, 3])}),
    OnnxCase("Resize", {"x": IMAGE}, {"r": None, "s": None, "n": np.array([9, 3])}, {"axes": [2, 3]}),
    OnnxCase("Resize", {"x": IMAGE}, {"r": None, "s": f32([3, 2])}, {"axes": [3, 2]}),
    *(OnnxCase("Resize", {"x": IMAGE}, {"r": NONE, "s": f32([1, 1, 2, 3])},
               {"mode": "linear", "coordinate_transformation_mode": place})
      for place in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")),
    OnnxCase("QuantizeLinear", {"x": IMAGE}, {"s": f32(0.1)}),
    OnnxCase("QuantizeLinear", {"x": IMAGE}, {"s": f32(0.01), "z": i8(3)}),
    OnnxCase("QuantizeLinear", {"x": IMAGE}, {"s": ROW / 30, "z": np.uint8([1, 128, 3, 0])}),
    OnnxCase("QuantizeLinear", {"x": X}, {"s": ROW / 30, "z": i8([1, -2, 3, 0])}, {"axis": -1}),
    OnnxCase("QuantizeLinear", {"x": X}, {"s": f32(1e-4), "z": np.int16(7)}),
    OnnxCase("QuantizeLinear", {"x": X}, {"s": f32(1e-4), "z": np.uint16(7)}),
    OnnxCase("DequantizeLinear", {"q": RNG.integers(-128, 128, (2, 3, 4), np.int8)}, {"s": f32(0.1), "z": i8(-3)}),
    OnnxCase("DequantizeLinear", {"q": RNG.integers(0, 256, (2, 4, 3), np.uint8)},
             {"s": ROW, "z": np.uint8([0, 1, 9, 255])}),
    OnnxCase("DequantizeLinear", {"q": RNG.integers(-128, 128, (2, 3, 4), np.int8)}, {"s": ROW}, {"axis": 2}),
    OnnxCase("DequantizeLinear", {"q": RNG.integers(-1000, 1000, (2, 3), np.int32)}, {"s": f32(0.5)}),
]  # fmt: skip


@pytest.mark.parametrize("case", numbered(CASES))
def test_a_node_computes_what_onnx_does(case):
    assert_as_onnx(case, rtol=2e-5, atol=2e-5)


def test_every_converter_has_a_case():
    assert_every_converter(layers, CASES, apart=("Upsample",))  # below


def test_upsampling_repeats_pixels():
    want = IMAGE.repeat(2, 2).repeat(3, 3)
    got = one("Upsample", {"x": IMAGE}, 9, {"s": f32([1, 1, 2, 3])})[0]
    np.testing.assert_array_equal(got, want)


LACKING = [
    ("graph/onnx-attribute", "BatchNormalization", {"x": IMAGE}, MOMENTS, {"training_mode": 1}, 21),
    ("graph/rank", "BatchNormalization", {"x": ROW}, MOMENTS, {}, 21),
    ("graph/shape", "RMSNormalization", {"x": X}, {"s": f32([1])}, {}, 23),
    ("graph/onnx-lrn", "LRN", {"x": IMAGE}, {}, {"size": 2}, 21),
    ("graph/onnx-lrn", "LRN", {"x": X}, {}, {"size": 3}, 21),
    ("graph/onnx-attribute", "Resize", {"x": IMAGE}, {"r": NONE, "s": f32([1, 1, 2, 2])}, {"mode": "cubic"}, 21),
    ("graph/onnx-attribute", "Resize", {"x": IMAGE}, {"r": NONE, "s": f32([1, 1, 2, 2])}, {"antialias": 1}, 21),
    ("graph/onnx-attribute", "Resize", {"x": IMAGE}, {"r": NONE, "s": NONE, "n": np.array([2, 4, 9, 3])},
     {"keep_aspect_ratio_policy": "not_larger"}, 21),
    ("graph/onnx-resize", "Resize", {"x": IMAGE}, {"r": NONE, "s": f32([1, 1, 0.7, 2])}, {"mode": "linear"}, 21),
    ("graph/onnx-resize", "Resize", {"x": IMAGE}, {"r": NONE, "s": f32([1, 2, 2, 2])}, {"mode": "linear"}, 21),
    ("graph/onnx-half-pixel", "Resize", {"x": IMAGE}, {"r": NONE, "s": NONE, "n": np.array([2, 4, 1, 5])},
     {"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"}, 21),
    ("graph/dtype", "QuantizeLinear", {"x": X}, {"s": f32(1), "z": np.int32(0)}, {}, 21),
    ("graph/dtype-integer", "DequantizeLinear", {"q": X}, {"s": f32(1)}, {}, 21),
    ("graph/onnx-attribute", "QuantizeLinear", {"x": X}, {"s": f32([[1, 2]])}, {"block_size": 2}, 21),
    ("graph/onnx-along", "QuantizeLinear", {"x": X}, {"s": f32([[1, 2]])}, {}, 21),
]  # fmt: skip


@pytest.mark.parametrize(("code", "op_type", "inputs", "weights", "attrs", "opset"), LACKING)
def test_what_is_lacking_is_refused(code, op_type, inputs, weights, attrs, opset):
    with pytest.raises(GraphError) as error:
        one(op_type, inputs, opset, weights, **attrs)
    causes = [error.value, *error.value.values.get("problems", [])]
    assert code in [cause.code for cause in causes]
