"""Converters of convolutions and poolings, against onnx's own evaluator: paddings, strides, dilations, groups."""

import numpy as np
import pytest

from kit.build.onnx_models import OnnxCase, assert_as_onnx, assert_every_converter, numbered, one
from workbench.core.errors import GraphError
from workbench.network.onnx import windows

RNG = np.random.default_rng(0)
IMAGE = RNG.uniform(-3, 3, (2, 4, 7, 6)).astype(np.float32)
LINE = RNG.uniform(-3, 3, (2, 4, 9)).astype(np.float32)
BIAS = RNG.uniform(-1, 1, 6).astype(np.float32)


def weight(*shape):
    return RNG.uniform(-1, 1, shape).astype(np.float32)


W, GROUPED, FLAT = weight(6, 4, 3, 2), weight(6, 2, 3, 3), weight(6, 4, 3)
BACK, BACK_GROUPED = weight(4, 3, 3, 2), weight(4, 3, 3, 3)
PADS = [0, 1, 2, 0]
CASES = [
    OnnxCase("Conv", {"x": IMAGE}, {"w": W}),
    OnnxCase("Conv", {"x": IMAGE}, {"w": W, "b": BIAS}, {"strides": [2, 1], "pads": PADS}),
    OnnxCase("Conv", {"x": IMAGE}, {"w": W}, {"dilations": [2, 3]}),
    OnnxCase("Conv", {"x": IMAGE}, {"w": GROUPED, "b": BIAS}, {"group": 2, "pads": [1, 1, 1, 1]}),
    OnnxCase("Conv", {"x": IMAGE}, {"w": W}, {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    OnnxCase("Conv", {"x": IMAGE}, {"w": W}, {"auto_pad": "SAME_LOWER", "strides": [2, 2]}),
    OnnxCase("Conv", {"x": IMAGE}, {"w": W}, {"auto_pad": "VALID", "strides": [2, 2]}),
    OnnxCase("Conv", {"x": LINE}, {"w": FLAT, "b": BIAS}, {"strides": [2], "pads": [2, 1]}),
    OnnxCase("Conv", {"x": LINE}, {"w": FLAT}, {"dilations": [2]}),
    OnnxCase("ConvTranspose", {"x": IMAGE}, {"w": BACK}),
    OnnxCase("ConvTranspose", {"x": IMAGE}, {"w": BACK, "b": BIAS[:3]}, {"strides": [2, 3], "pads": PADS}),
    OnnxCase("ConvTranspose", {"x": IMAGE}, {"w": BACK}, {"strides": [2, 2], "output_padding": [1, 0]}),
    OnnxCase("ConvTranspose", {"x": IMAGE}, {"w": BACK}, {"dilations": [2, 1]}),
    OnnxCase("AveragePool", {"x": IMAGE}, attrs={"kernel_shape": [3, 2]}),
    OnnxCase("AveragePool", {"x": IMAGE}, attrs={"kernel_shape": [3, 2], "strides": [2, 2]}),
    *(OnnxCase("AveragePool", {"x": IMAGE}, attrs={"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 0, 0, 1],
                                                   "count_include_pad": counts, "ceil_mode": ceil})
      for counts in (0, 1) for ceil in (0, 1)),
    OnnxCase("AveragePool", {"x": IMAGE}, attrs={"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1},
             types="AvgPoolV2"),
    OnnxCase("AveragePool", {"x": IMAGE}, attrs={"kernel_shape": [3, 3], "auto_pad": "SAME_UPPER"}, types="AvgPool"),
    OnnxCase("AveragePool", {"x": LINE}, attrs={"kernel_shape": [3], "strides": [2]}),
    OnnxCase("MaxPool", {"x": IMAGE}, attrs={"kernel_shape": [3, 2]}, types="MaxPool"),
    OnnxCase("MaxPool", {"x": IMAGE}, attrs={"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 0, 1]},
             types="MaxPoolV3"),
    OnnxCase("MaxPool", {"x": IMAGE}, attrs={"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1}),
    OnnxCase("MaxPool", {"x": IMAGE}, attrs={"kernel_shape": [3, 3], "auto_pad": "SAME_UPPER"}),
    OnnxCase("MaxPool", {"x": IMAGE}, attrs={"kernel_shape": [2, 2], "auto_pad": "SAME_LOWER"}),
    OnnxCase("MaxPool", {"x": IMAGE}, attrs={"kernel_shape": [2, 2], "auto_pad": "VALID", "strides": [3, 3]}),
    OnnxCase("MaxPool", {"x": LINE}, attrs={"kernel_shape": [3], "strides": [2], "pads": [1, 1]}),
    OnnxCase("LpPool", {"x": IMAGE}, attrs={"kernel_shape": [3, 2]}),
    OnnxCase("LpPool", {"x": IMAGE}, attrs={"kernel_shape": [3, 2], "p": 3, "strides": [2, 1]}),
]  # fmt: skip


@pytest.mark.parametrize("case", numbered(CASES))
def test_a_node_computes_what_onnx_does(case):
    assert_as_onnx(case, rtol=2e-5, atol=2e-5)


def test_every_converter_has_a_case():
    assert_every_converter(windows, CASES)


def spread(x, w, stride):
    """Every element times the filters, laid side by side."""
    (n, _, rows, columns), (_, channels, high, wide) = x.shape, w.shape
    out = np.zeros((n, channels, (rows - 1) * stride + high, (columns - 1) * stride + wide))
    for i, j in np.ndindex(rows, columns):
        place = np.einsum("no,ochw->nchw", x[:, :, i, j].astype(float), w)
        out[:, :, i * stride : i * stride + high, j * stride : j * stride + wide] += place
    return out


SIZES = [
    ({"auto_pad": "SAME_UPPER"}, (slice(0, 14), slice(0, 12))),
    ({"auto_pad": "SAME_LOWER"}, (slice(1, 15), slice(0, 12))),
    ({"output_shape": [14, 12]}, (slice(1, 15), slice(0, 12))),
    ({"output_shape": [13, 10]}, (slice(1, 14), slice(1, 11))),
    ({"output_shape": [13, 10], "auto_pad": "SAME_UPPER"}, (slice(1, 14), slice(1, 11))),
]  # fmt: skip
"""Attributes, and the part of the whole (15 × 12) that is left: an odd element goes in front unless told otherwise."""


@pytest.mark.parametrize(("attrs", "kept"), SIZES)
def test_padding_of_a_transposed_convolution_follows_from_its_output(attrs, kept):
    got = one("ConvTranspose", {"x": IMAGE}, 21, {"w": BACK}, strides=[2, 2], **attrs)[0]
    want = spread(IMAGE, BACK, 2)[(..., *kept)]
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)


def test_groups_of_a_transposed_convolution_are_transposed_convolutions():
    got = one("ConvTranspose", {"x": IMAGE}, 21, {"w": BACK_GROUPED}, group=2, strides=[2, 2])[0]
    halves = [spread(IMAGE[:, k : k + 2], BACK_GROUPED[k : k + 2], 2) for k in (0, 2)]
    np.testing.assert_allclose(got, np.concatenate(halves, 1), rtol=2e-5, atol=2e-5)


def test_a_transposed_convolution_of_a_line_has_one_axis_of_space():
    w = weight(4, 3, 3)
    got = one("ConvTranspose", {"x": LINE}, 21, {"w": w}, strides=[2], output_padding=[1])[0]
    want = spread(LINE[:, :, None], w[:, :, None], 2)[:, :, 0]
    np.testing.assert_allclose(got[..., :-1], want, rtol=2e-5, atol=2e-5)
    assert not got[..., -1].any()


LACKING = [
    ("graph/onnx-rank", "MaxPool", {"x": IMAGE[0, 0]}, {}, {"kernel_shape": [2, 2]}),
    ("graph/onnx-rank", "Conv", {"x": IMAGE[None]}, {"w": W[None]}, {}),
    ("graph/onnx-sizes", "MaxPool", {"x": IMAGE}, {}, {"kernel_shape": [2]}),
    ("graph/onnx-sizes", "Conv", {"x": IMAGE}, {"w": W}, {"pads": [1, 1]}),
    ("graph/onnx-sizes", "Conv", {"x": IMAGE}, {"w": W}, {"strides": [1]}),
    ("graph/onnx-attribute", "MaxPool", {"x": IMAGE}, {}, {"kernel_shape": [2, 2], "dilations": [2, 1]}),
    ("graph/onnx-attribute", "LpPool", {"x": IMAGE}, {}, {"kernel_shape": [2, 2], "ceil_mode": 1}),
    ("graph/integer", "MaxPool", {"x": IMAGE}, {},
     {"kernel_shape": [2, 2], "auto_pad": "SAME_LOWER", "strides": [0, 1]}),
    ("graph/negative", "ConvTranspose", {"x": IMAGE}, {"w": BACK}, {"output_shape": [20, 20]}),
]  # fmt: skip


@pytest.mark.parametrize(("code", "op_type", "inputs", "weights", "attrs"), LACKING)
def test_what_is_lacking_is_refused(code, op_type, inputs, weights, attrs):
    with pytest.raises(GraphError) as error:
        one(op_type, inputs, 21, weights, **attrs)
    causes = [error.value, *error.value.values.get("problems", [])]
    assert code in [cause.code for cause in causes]
