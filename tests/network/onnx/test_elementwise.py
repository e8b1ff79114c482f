"""Converters of single elements against onnx's own evaluator: every operator, every attribute."""

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto

from kit.build.onnx_models import OnnxCase, assert_as_onnx, assert_every_converter, numbered, one
from workbench.core.errors import GraphError
from workbench.network.onnx import elementwise

RNG = np.random.default_rng(0)
X, Y, Z = (RNG.uniform(-3, 3, (2, 3, 4)).astype(np.float32) for _ in range(3))
ROW = RNG.uniform(0.5, 2, 4).astype(np.float32)
A, B = np.array([[7, -7, 6, -1]], np.int32), np.array([2, 2, -4, 3], np.int32)
BITS, COUNTS = np.array([1, 6, 128, 255], np.uint8), np.array([1, 2, 0, 3], np.uint8)
ODD = np.array([np.inf, -np.inf, np.nan, 1.0], np.float32)


def f32(value):
    return np.asarray(value, np.float32)


CASES = [
    OnnxCase("BitShift", {"x": BITS, "n": COUNTS}, attrs={"direction": "LEFT"}),
    OnnxCase("BitShift", {"x": BITS, "n": COUNTS}, attrs={"direction": "RIGHT"}),
    OnnxCase("Cast", {"x": X}, attrs={"to": TensorProto.INT32}),
    OnnxCase("Cast", {"x": A}, attrs={"to": TensorProto.DOUBLE}),
    OnnxCase("Cast", {"x": X}, attrs={"to": TensorProto.BOOL}),
    OnnxCase("CastLike", {"x": X, "like": A}),
    OnnxCase("Celu", {"x": X}, attrs={"alpha": 0.5}),
    OnnxCase("Celu", {"x": X}),
    OnnxCase("Clip", {"x": X}, {"low": f32(-0.5), "high": f32(1)}, types="ClampScalar"),
    OnnxCase("Clip", {"x": X}, {"low": f32(-0.5)}),
    OnnxCase("Clip", {"x": X}, {"low": None, "high": f32(1)}),
    OnnxCase("Clip", {"x": X, "low": f32(-0.5), "high": f32(1)}, types="Maximum Minimum"),
    OnnxCase("Clip", {"x": X}),
    OnnxCase("Clip", {"x": X.astype(float)}, {"low": np.asarray(-0.1), "high": np.asarray(0.7)}),
    OnnxCase("Clip", {"x": A}, {"low": np.asarray(-2, np.int32), "high": np.asarray(3, np.int32)}),
    OnnxCase("Clip", {"x": X}, attrs={"min": -0.5, "max": 1.0}, opset=7),
    OnnxCase("Clip", {"x": X.astype(float)}, attrs={"min": -0.5}, opset=7),
    OnnxCase("Div", {"a": X, "b": Y}),
    OnnxCase("Div", {"a": A, "b": B}),
    OnnxCase("Elu", {"x": X}, attrs={"alpha": 0.5}),
    OnnxCase("Elu", {"x": X}),
    OnnxCase("Gelu", {"x": X}),
    OnnxCase("Gelu", {"x": X}, attrs={"approximate": "tanh"}, types="GeLU"),
    OnnxCase("HardSigmoid", {"x": X}),
    OnnxCase("HardSigmoid", {"x": X}, attrs={"alpha": 0.4, "beta": 0.3}, types="Mul Add ClampScalar"),
    OnnxCase("HardSigmoid", {"x": 2 * X}, attrs={"alpha": 1 / 6, "beta": 0.5}, types="HSigmoid"),
    OnnxCase("HardSigmoid", {"x": 2 * X}, attrs={"alpha": 1 / 6, "beta": 0.25}),
    OnnxCase("Identity", {"x": X}),
    OnnxCase("IsInf", {"x": ODD}, types="IsInf"),
    OnnxCase("IsInf", {"x": ODD}, attrs={"detect_negative": 0}),
    OnnxCase("IsInf", {"x": ODD}, attrs={"detect_positive": 0}),
    OnnxCase("IsInf", {"x": ODD}, attrs={"detect_positive": 0, "detect_negative": 0}),
    OnnxCase("LeakyRelu", {"x": X}),
    OnnxCase("LeakyRelu", {"x": X}, attrs={"alpha": 0.5}),
    OnnxCase("LeakyRelu", {"x": X}, attrs={"alpha": 2.0}),
    OnnxCase("Max", {"a": X, "b": Y, "c": Z}),
    OnnxCase("Max", {"a": X}),
    OnnxCase("Mean", {"a": X, "b": Y, "c": Z}),
    OnnxCase("Min", {"a": X, "b": Y, "c": ROW}),
    OnnxCase("Mod", {"a": A, "b": B}),
    OnnxCase("Mod", {"a": A, "b": B}, attrs={"fmod": 1}),
    OnnxCase("Mod", {"a": X, "b": Y}, attrs={"fmod": 1}),
    OnnxCase("PRelu", {"x": X}, {"slope": f32([0.25])}, types="PReLU"),
    OnnxCase("PRelu", {"x": X}, {"slope": f32([[0.1], [-0.5], [2]])}, types="PReLU"),
    OnnxCase("PRelu", {"x": X}, {"slope": f32([[[0.1], [-0.5], [2]]])}, types="PReLU"),
    OnnxCase("PRelu", {"x": X}, {"slope": ROW}, types="Maximum Minimum Mul Add"),
    OnnxCase("PRelu", {"x": X, "slope": ROW}),
    OnnxCase("PRelu", {"x": X[0, 0]}, {"slope": ROW}),
    OnnxCase("PRelu", {"x": A}, {"slope": np.array([2], np.int32)}),
    OnnxCase("Pow", {"a": ROW, "e": f32([2, 0.5, -1, 0])}),
    OnnxCase("Pow", {"a": ROW}, {"e": np.array([2, 3, 1, 0])}),
    OnnxCase("Pow", {"a": B}, {"e": np.array([2, 3, 1, 0], np.int32)}),
    OnnxCase("Round", {"x": f32([0.5, 1.5, 2.5, -0.5, -1.5, 0.4])}),
    OnnxCase("Selu", {"x": X}, types="SeLU"),
    OnnxCase("Selu", {"x": X}, attrs={"alpha": 2.0, "gamma": 3.0}),
    OnnxCase("Selu", {"x": X}, attrs={"gamma": 3.0}),
    OnnxCase("Shrink", {"x": X}, types="HShrink"),
    OnnxCase("Shrink", {"x": X}, attrs={"lambd": 1.0, "bias": 1.0}, types="SoftShrink"),
    OnnxCase("Shrink", {"x": X}, attrs={"lambd": 1.0, "bias": 0.25}),
    OnnxCase("Sum", {"a": X, "b": Y, "c": ROW}),
    OnnxCase("Swish", {"x": X}, opset=24, types="SiLU"),
    OnnxCase("Swish", {"x": X}, attrs={"alpha": 0.5}, opset=24),
    OnnxCase("ThresholdedRelu", {"x": X}),
    OnnxCase("ThresholdedRelu", {"x": X}, attrs={"alpha": 0.25}),
    OnnxCase("Dropout", {"x": X}),
    OnnxCase("Dropout", {"x": X}, count=2),
    OnnxCase("Dropout", {"x": X}, {"ratio": f32(0), "training": np.asarray(True)}),
    OnnxCase("Dropout", {"x": X}, {"ratio": f32(0.4), "training": np.asarray(False)}),
]  # fmt: skip


@pytest.mark.parametrize("case", numbered(CASES))
def test_a_node_computes_what_onnx_does(case):
    assert_as_onnx(case)


def test_every_converter_has_a_case():
    assert_every_converter(elementwise, CASES)


SATURATED = [
    ("FLOAT8E4M3FN", ml_dtypes.float8_e4m3fn, [448, -448]),
    ("FLOAT8E5M2", ml_dtypes.float8_e5m2, [57344, -57344]),
]


@pytest.mark.parametrize(("name", "dtype", "ends"), SATURATED)
def test_a_cast_to_eight_bits_saturates_unless_told_not_to(name, dtype, ends):
    to, x = getattr(TensorProto, name), f32([1e6, -1e6])
    assert one("Cast", {"x": x}, 21, to=to)[0].astype(float).tolist() == ends
    kept = one("Cast", {"x": x}, 21, to=to, saturate=0)[0].astype(float)
    assert not np.isfinite(kept).any()


def refusal_of(code, *arguments, values=None, **attrs):
    with pytest.raises(GraphError) as error:
        one(*arguments, **attrs)
    causes = [error.value, *error.value.values.get("problems", [])]
    assert code in [cause.code for cause in causes], error.value


def test_what_is_lacking_is_refused():
    trained = {"ratio": f32(0.4), "training": np.asarray(True)}
    refusal_of("graph/onnx-attribute", "Dropout", {"x": X}, 21, trained)
    without = {"ratio": f32(0.5), "training": np.asarray(True)}
    refusal_of("graph/onnx-attribute", "Dropout", {"x": X}, 12, without)
    refusal_of("core/choice", "Cast", {"x": X}, 21, to=TensorProto.STRING)
