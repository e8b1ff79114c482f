"""Which formats the operators of a graph are computed in, and what the device makes of values."""

import math

import numpy as np
import pytest

from kit.words import refused
from workbench.core.tensors import TensorSpec
from workbench.network.nn import functional as F
from workbench.network.tracer import trace
from workbench.npu.numerics import Formats, numeric_model
from workbench.npu.precision import Precision
from workbench.npu.precision.lists import read_mixlist
from workbench.npu.profiles import HF32, HF32_AWAY, PROFILES


def test_saturation_replaces_infinity_by_the_largest_value_and_nan_by_zero():
    x = np.float32([1e6, -1e6, np.inf, np.nan, 1.0])
    old, new = numeric_model("910a"), numeric_model("a2")
    assert old.round(x, "float16").tolist() == [65504.0, -65504.0, 65504.0, 0.0, 1.0]
    assert new.round(x, "float16").tolist()[:3] == [math.inf, -math.inf, math.inf]
    assert np.isnan(new.round(x, "float16")[3])
    assert old.round(x, "").tolist()[2:4] == [float(np.finfo(np.float32).max), 0.0]


def test_a_device_that_can_do_both_saturates_if_asked_to():
    x = np.float32([1e6, np.nan])
    asked = numeric_model("a2", Precision(saturate=True))
    assert asked.round(x, "float16").tolist() == [65504.0, 0.0]
    assert numeric_model("910a", Precision(saturate=True)).saturates
    with refused("run/overflow-mode", device="Ascend 910A", only="saturate", got=False):
        numeric_model("910a", Precision(saturate=False))
    with refused("run/overflow-mode", device="Ascend 950", only="inf_nan", got=True):
        numeric_model("950", Precision(saturate=True))


def test_integers_always_saturate():
    x = np.float32([257.0, -5.0, np.nan, 3.5])
    for name in PROFILES:
        assert numeric_model(name).store(x, "uint8").tolist() == [255, 0, 0, 3]


IMAGE, KERNEL = TensorSpec("float32", (1, 2, 5, 5)), TensorSpec("float32", (3, 2, 3, 3))
CONVOLUTION = trace(lambda x, w: F.exp(F.relu(F.conv2d(x, w))), IMAGE, KERNEL)
SQUARE = TensorSpec("float32", (2, 2))
PRODUCT = trace(lambda a, b: F.exp(F.relu(F.matmul(a, b))), SQUARE, SQUARE)


def formats(profile, precision, graph=CONVOLUTION):
    return numeric_model(profile, precision).formats(graph)


HALF, BRAIN = Formats("float16", "float16"), Formats("bfloat16", "bfloat16")


def test_the_default_modes_are_those_of_training_or_inference():
    assert formats("910a", None) == [HALF, Formats(), Formats()]
    assert formats("a2", None) == [Formats(HF32), Formats(), Formats()]
    assert formats("a2", None, PRODUCT) == [Formats(), Formats(), Formats()]
    for name in PROFILES:
        assert formats(name, Precision(training=False)) == [HALF, HALF, HALF]


@pytest.mark.parametrize(
    ("mode", "want"),
    [
        ("origin", [Formats(HF32), Formats(), Formats()]),
        ("force_fp32", [Formats("float16"), Formats(), Formats()]),
        ("cube_fp16in_fp32out", [Formats("float16"), Formats(), Formats()]),
        ("allow_fp32_to_fp16", [HALF, Formats(), Formats()]),
        ("allow_fp32_to_bf16", [BRAIN, Formats(), Formats()]),
        ("allow_fp32_to_lowprecision", [HALF, Formats(), Formats()]),
        ("mixed_float16", [HALF, HALF, Formats()]),  # ReLU follows, Exp is on the black list
        ("allow_mix_precision", [HALF, HALF, Formats()]),
        ("mixed_bfloat16", [BRAIN, BRAIN, Formats()]),
        ("force_fp16", [HALF, HALF, HALF]),
        ("force_lowerprecision", [BRAIN, BRAIN, BRAIN]),
        ("cube_hif8", [Formats("hifloat8", "float16"), Formats(), Formats()]),
        ("mixed_hif8", [Formats("hifloat8", "float16"), HALF, Formats()]),
    ],
)
def test_a_mode_chooses_the_formats(mode, want):
    assert formats("950", mode) == want


def test_changed_lists_change_the_formats():
    def mixed(text):
        return formats("a2", Precision("mixed_float16", mixlist=read_mixlist(text)))

    black = '{"black-list": {"to-add": ["Conv2D"]}}'
    assert mixed(black) == [Formats(HF32), Formats(), Formats()]
    white = '{"white-list": {"to-add": ["Exp"]}}'
    assert mixed(white) == [HALF, HALF, HALF]
    gray = '{"black-list": {"to-remove": ["Exp"]}}'
    assert mixed(gray) == [HALF, HALF, HALF]  # now it follows ReLU
    apart = '{"white-list": {"to-remove": ["Conv2D"]}}'
    assert mixed(apart)[0] == Formats(HF32)  # its inputs are no operator's


def test_hf32_switches_choose_the_formats_of_the_cube_unit():
    both, none = Precision(hf32=(True, True)), Precision(hf32=(False, False))
    assert formats("a2", both, PRODUCT)[0] == Formats(HF32_AWAY)
    assert formats("a2", both)[0] == Formats(HF32)
    assert formats("a2", none)[0] == Formats()
    assert formats("910a", replaced(both, "must_keep_origin_dtype"))[0] == Formats()


def replaced(precision, mode):
    return Precision(mode, hf32=precision.hf32)


def test_a_bfloat16_graph_is_lowered_to_float16_only_by_modes_that_force_it():
    spec = TensorSpec("bfloat16", (2, 2))
    graph = trace(F.matmul, spec, spec)
    assert formats("a2", "force_fp16", graph) == [HALF]
    assert formats("a2", "allow_fp32_to_fp16", graph) == [Formats()]


@pytest.mark.parametrize(
    ("dtype", "precision", "want"),
    [
        ("float16", None, "high_performance"),
        ("bfloat16", None, "high_performance"),
        ("float32", None, "high_precision"),
        ("float32", "force_fp16", "high_performance"),
        ("float16", Precision(select="high_precision"), "high_precision"),
        ("float32", Precision(by_type={"Exp": "super_performance"}), "super_performance"),
    ],
)
def test_fast_implementations_are_those_of_16_bit_inputs(dtype, precision, want):
    (op,) = trace(F.exp, TensorSpec(dtype, (2,))).ops
    model = numeric_model("a2", precision)
    (found,) = model.formats(trace(F.exp, TensorSpec(dtype, (2,))))
    assert model.implementation(op, found) == want
