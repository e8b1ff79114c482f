import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.dtypes import DTYPES
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Const, SourceFrame
from workbench.graph_files.mindspore.print import (
    device_type,
    format_attr,
    format_attrs,
    format_const,
    format_number,
    host_type,
    location,
    ref_type,
    tuple_type,
)
from workbench.graph_files.mindspore.values import (
    parse_attrs,
    parse_const,
    parse_device_type,
    parse_host_type,
    parse_location,
    parse_value,
)

F32 = TensorSpec("float32", (2, 3))
SPELLED = [row.name for row in DTYPES.values() if row.ir]


@pytest.mark.parametrize(
    ("const", "text"),
    [
        (Const(True, "bool", ()), "Bool(1)"),
        (Const(-3, "int64", ()), "I64(-3)"),
        (Const(1e-5, "float32", ()), "F32(1e-05)"),
        (Const(1.0, "float16", ()), "F16(1)"),
        (Const(-math.inf, "bfloat16", ()), "BF16(-inf)"),
        (Const(0.1 + 0.2, "float64", ()), "F64(0.30000000000000004)"),
        (Const((2, 4), "tuple", (2,)), "(I64(2), I64(4))"),
        (Const((), "tuple", (0,)), "()"),
        (Const((1,), "tuple", (1,)), "(I64(1))"),
        (Const((2, (0.5, True)), "tuple", (2,)), "(I64(2), (F32(0.5), Bool(1)))"),
        (Const("value is", ""), '"value is"'),
        (Const(None, "None"), "None"),
        (Const("U", "monad"), "U"),
        (
            Const((4, 1, 3, 3), "int32", (4,)),
            "Tensor(shape=[4], dtype=Int32, value=[4 1 3 3])",
        ),
        (
            Const((1.0, 2.0, 3.0, 4.5), "float32", (2, 2)),
            "Tensor(shape=[2, 2], dtype=Float32, value=\n[[1 2]\n [3 4.5]])",
        ),
        (Const("[...]", "float32", (40,)), "Tensor(shape=[40], dtype=Float32, value=[...])"),
        (Const((), "float32", (0,)), "Tensor(shape=[0], dtype=Float32, value=[])"),
    ],
)
def test_constants_print_as_mindspores_and_read_back(const, text):
    assert format_const(const) == text
    again = parse_const(text)
    assert (again.value, again.shape) == (const.value, const.shape)
    assert again.dtype == const.dtype


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "I64(1)"),
        (True, "Bool(1)"),
        (1e-5, "F32(1e-05)"),
        ("valid", '"valid"'),
        ((5, 5), "(5, 5)"),
        ((0,), "(0)"),
        ((), "()"),
        (("x", "w"), "[x, w]"),
        (("x y", "true"), '["x y", "true"]'),
        (((1, 1), (2, 2)), "((1, 1), (2, 2))"),
        ((True, 0.5), "(true, 0.5)"),
        (None, "None"),
    ],
)
def test_attributes_print_as_mindspores_and_read_back(value, text):
    assert format_attr(value) == text
    assert parse_value(text) == value


def test_attribute_groups_read_back():
    attrs = {"pad_mode": "same", "kernel_size": (3, 3), "names": ("x", "w"), "group": 1}
    assert parse_attrs(format_attrs(attrs)) == attrs


@given(st.floats(allow_nan=False) | st.integers(-(2**63), 2**63 - 1))
def test_any_number_reads_back_exactly(value):
    assert float(format_number(value)) == float(value)


@given(
    st.lists(st.floats(allow_nan=False, width=32), min_size=1, max_size=24),
    st.sampled_from([1, 2, 3]),
)
def test_any_tensor_constant_reads_back_exactly(values, dims):
    shape = (1,) * (dims - 1) + (len(values),)
    const = Const(tuple(values), "float32", shape)
    assert parse_const(format_const(const)) == const


simple = st.one_of(
    st.booleans(),
    st.integers(-(2**40), 2**40),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text("abcdefg_ XYZ0123456789.", max_size=12),
)


@given(st.recursive(simple, lambda inner: st.lists(inner, max_size=4).map(tuple), max_leaves=8))
def test_any_attribute_reads_back(value):
    assert parse_value(format_attr(value)) == value


@pytest.mark.parametrize(
    ("text", "specs"),
    [
        (host_type(F32), (F32,)),
        (host_type(TensorSpec("bool", ())), (TensorSpec("bool", ()),)),
        (host_type(TensorSpec("float16", None)), (TensorSpec("float16", None),)),
        (host_type(TensorSpec("int64", (-1, 3))), (TensorSpec("int64", (-1, 3)),)),
        (host_type(TensorSpec("int64", ()), scalar=True), (TensorSpec("int64", ()),)),
        (tuple_type([(F32, False)]), (F32,)),
        (tuple_type([]), ()),
        (
            tuple_type([(F32, False), (F32, False), (TensorSpec("int64", ()), True)]),
            (F32, F32, TensorSpec("int64", ())),
        ),
    ],
)
def test_host_types_read_back(text, specs):
    assert parse_host_type(text).specs == specs


def test_host_types_look_like_mindspores():
    assert host_type(F32) == "<Tensor[Float32], (2, 3)>"
    assert host_type(TensorSpec("int64", ()), scalar=True) == "<Int64, NoShape>"
    assert host_type(TensorSpec("Func", ())) == "<Func, NoShape>"
    assert host_type(TensorSpec("float32", None)) == "<Tensor[Float32], (-2)>"
    assert tuple_type([(F32, False)] * 2 + [(TensorSpec("bool", (4,)), False)]) == (
        "<Tuple[Tensor[Float32]*2,Tensor[Bool]], TupleShape((2, 3), (2, 3), (4))>"
    )
    assert ref_type(F32, "fc.w") == ("<Ref[Tensor[Float32]], (2, 3), ref_key=fc.w, is_parameter>")


@pytest.mark.parametrize("dtype", SPELLED)
def test_every_dtype_reads_back_from_its_host_type(dtype):
    spec = TensorSpec(dtype, (2, 1, 8))
    assert parse_host_type(host_type(spec)).specs == (spec,)


@pytest.mark.parametrize("dtype", [name for name in SPELLED if not DTYPES[name].is_complex])
def test_every_real_dtype_reads_back_from_its_device_type(dtype):
    spec = TensorSpec(dtype, (2, 1, 8, 8, 16), "NC1HWC0")
    assert device_type(spec) == f"<{DTYPES[dtype].ir}xNC1HWC0[const vector]{{2, 1, 8, 8, 16}}>"
    assert parse_device_type(device_type(spec)) == spec


@pytest.mark.parametrize("shape", [(), (3,), None])
def test_device_types_of_any_rank_read_back(shape):
    spec = TensorSpec("float16", shape)
    assert parse_device_type(device_type(spec)) == spec


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (
            SourceFrame("/w/net.py", 8, "        y = self.fc(x) / 2", 0, 12, 24),
            "In file /w/net.py:8, 12~24/        y = self.fc(x) / 2/",
        ),
        (SourceFrame("n.py", 7, "def f():", 9, 4, 30), "In file n.py:7~9, 4~30/def f():/"),
        (SourceFrame("n.py", 7), "In file n.py:7/"),
        (SourceFrame("n.py", 7, "a /"), "In file n.py:7/a //"),
    ],
)
def test_locations_print_as_mindspores_and_read_back(frame, text):
    assert location(frame) == text
    assert parse_location(text, "own") == frame


def test_line_breaks_in_source_lines_become_slashes():
    assert location(SourceFrame("n.py", 1, "a\nb")) == "In file n.py:1/a/b/"
