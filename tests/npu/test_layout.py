"""How tensors lie on a device: by the type of the operator, or as a compiled one states."""

import numpy as np
import pytest

from kit.words import refused
from workbench.core.errors import FormatError
from workbench.core.tensors import TensorSpec
from workbench.core.transdata import to_device
from workbench.graph.graph import Op, Param
from workbench.npu.layout import (
    TensorLayout,
    bytes_of,
    device_layout,
    host_layout,
    layout_spec,
    parse_layout,
)

IMAGE, FILTER, MATRIX = (2, 20, 5, 6), (32, 20, 3, 3), (20, 33)
CONV = Op("c", "Conv2D", (Param(0), Param(1)))
GROUPED = Op("c", "Conv2D", (Param(0), Param(1)), {"group": 4})
PRODUCT = Op("m", "MatMul", (Param(0), Param(1)))
SOFTMAX = Op("s", "Softmax", (Param(0),))


def ours(shape):
    form = "NCHW" if len(shape) == 4 else "ND"
    return TensorLayout(form, shape, 1, form)


LAYOUTS = [
    (CONV, "input", 0, IMAGE, "float16", TensorLayout("NC1HWC0", (2, 2, 5, 6, 16), 1, "NCHW")),
    (CONV, "input", 0, IMAGE, "float32", TensorLayout("NC1HWC0", (2, 2, 5, 6, 16), 1, "NCHW")),
    (CONV, "input", 0, IMAGE, "int8", TensorLayout("NC1HWC0", (2, 1, 5, 6, 32), 1, "NCHW")),
    (CONV, "output", 0, IMAGE, "float16", TensorLayout("NC1HWC0", (2, 2, 5, 6, 16), 1, "NCHW")),
    (CONV, "input", 1, FILTER, "float16", TensorLayout("FRACTAL_Z", (18, 2, 16, 16), 1, "NCHW")),
    (CONV, "input", 2, (32,), "float16", ours((32,))),
    (CONV, "output", 1, IMAGE, "float16", ours(IMAGE)),
    (CONV, "input", 0, IMAGE, "float64", ours(IMAGE)),
    (CONV, "input", 0, IMAGE[1:], "float16", ours(IMAGE[1:])),
    (PRODUCT, "input", 0, MATRIX, "float16", TensorLayout("FRACTAL_NZ", (3, 2, 16, 16), 1, "ND")),
    (PRODUCT, "output", 0, (7, *MATRIX), "float16", TensorLayout("FRACTAL_NZ", (7, 3, 2, 16, 16), 1, "ND")),
    (PRODUCT, "input", 0, (20,), "float16", ours((20,))),
    (SOFTMAX, "input", 0, IMAGE, "float16", ours(IMAGE)),
    (None, "input", 0, IMAGE, "float16", ours(IMAGE)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("op", "io", "slot", "shape", "dtype", "want"), LAYOUTS, ids=range(len(LAYOUTS))
)
def test_a_tensor_lies_as_the_type_of_its_operator_wants_it(op, io, slot, shape, dtype, want):
    found = device_layout(op, io, slot, TensorSpec(dtype, shape))
    assert found == want
    assert found.is_device_format is (want.format not in ("ND", "NCHW"))


def test_groups_of_a_convolution_are_part_of_its_weights():
    found = device_layout(GROUPED, "input", 1, TensorSpec("float16", (32, 5, 3, 3)))
    assert (found.format, found.groups) == ("FRACTAL_Z", 4)
    assert device_layout(GROUPED, "input", 0, TensorSpec("float16", IMAGE)).groups == 1
    assert layout_spec(TensorSpec("float16", (32, 5, 3, 3)), found).format == "FRACTAL_Z:4"
    assert parse_layout(TensorSpec("float16", found.shape, "FRACTAL_Z:4"), (32, 5, 3, 3)) == found


THERE = TensorSpec("float16", (2, 2, 5, 6, 16), "NC1HWC0")
STATED = Op(
    "r",
    "ReLU",
    (Param(0), Param(1)),
    device_inputs=(THERE,),
    device_outputs=(THERE, TensorSpec("float16", (2,))),
)


def test_what_a_compiled_operator_states_counts():
    there = TensorLayout("NC1HWC0", (2, 2, 5, 6, 16), 1, "NCHW")
    spec = TensorSpec("float16", IMAGE)
    assert device_layout(STATED, "input", 0, spec) == there
    assert device_layout(STATED, "output", 0, spec) == there
    assert device_layout(STATED, "output", 1, spec) == ours(IMAGE)  # DefaultFormat
    assert device_layout(STATED, "input", 1, spec) == ours(IMAGE)  # nothing stated


PARSED = [
    ("NHWC", IMAGE, TensorLayout("NHWC", IMAGE, 1, "NHWC")),
    ("ND", None, TensorLayout("ND", None, 1, "ND")),
    ("FRACTAL_NZ", MATRIX, TensorLayout("FRACTAL_NZ", (9,), 1, "ND")),
    ("NDC1HWC0", (1, 2, 3, 4, 5), TensorLayout("NDC1HWC0", (9,), 1, "NCDHW")),
    ("NC1HWC0", IMAGE, TensorLayout("NC1HWC0", (9,), 1, "NCHW")),
    ("NONSENSE", IMAGE, ours(IMAGE)),
]


@pytest.mark.parametrize(("word", "shape", "want"), PARSED)
def test_a_stated_format_is_read(word, shape, want):
    assert parse_layout(TensorSpec("float16", (9,), word), shape) == want


def test_data_are_laid_as_they_lie_there():
    x = np.arange(np.prod(IMAGE), dtype=np.float16).reshape(IMAGE)
    there = TensorLayout("NC1HWC0", (2, 2, 5, 6, 16), 1, "NCHW")
    np.testing.assert_array_equal(there.laid(x), to_device(x, "NCHW", "NC1HWC0"))
    with refused(
        "core/device-shape",
        FormatError,
        shape=IMAGE,
        expected=(2, 2, 5, 6, 16),
        got=(2, 3, 5, 6, 16),
    ):
        TensorLayout("NC1HWC0", (2, 3, 5, 6, 16), 1, "NCHW").laid(x)


def test_a_tensor_takes_the_bytes_of_its_padding_too():
    spec = TensorSpec("float16", IMAGE)
    assert bytes_of(spec, host_layout(IMAGE)) == 2 * 2 * 20 * 5 * 6
    assert bytes_of(spec, device_layout(CONV, "input", 0, spec)) == 2 * 2 * 2 * 5 * 6 * 16
    assert bytes_of(TensorSpec("Word", (2,)), host_layout((2,))) == 0
    assert bytes_of(TensorSpec("float16", None), host_layout(None)) == 0
    assert host_layout(None) == TensorLayout("ND", None, 1, "ND")
