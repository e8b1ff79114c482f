"""Tables of msprobe against its column names and its two ways of writing a row."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.words import refused
from workbench.core.errors import FormatError
from workbench.dump.formats.file import FileName
from workbench.dump.statistics.parse import StatisticRow, parse_statistics
from workbench.dump.statistics.print import format_l2_statistics

IDENTITY = (
    "Op Type,Op Name,Task ID,Stream ID,Timestamp,Input/Output,Slot,Data Size,Data Type,Format,Shape"
)
SIX = ("max", "min", "avg", "nan count", "negative inf count", "positive inf count")


def row(io, slot, dtype, shape, values, op_name="net/mm"):
    parts = FileName("npy", "MatMul", op_name, 17, 2, 7, io, slot, "ND", dtype)
    return StatisticRow(parts, 12, shape, values)


def test_the_devices_cells_are_copied_without_its_count():
    values = {"Max Value": 6, "L2Norm Value": 9.53939, "NaN Count": 0, "Count": 6}
    text = format_l2_statistics(
        [row("input", 1, "float16", (2, 3), values)], ("nan count", "max", "l2norm")
    )
    assert text == (
        f"{IDENTITY},Max Value,L2Norm Value,NaN Count\n"
        "MatMul,net_mm,2,7,17,Input,1,12,DT_FLOAT16,ND,2x3,6,9.53939,0\n"
    )


def test_the_count_amid_the_default_categories_is_left_out_too():
    titles = ("Max Value", "Min Value", "Avg Value", "Count", "NaN Count")
    values = dict(zip((*titles, "Negative Inf Count", "Positive Inf Count"), range(7), strict=True))
    text = format_l2_statistics([row("output", 0, "float32", (), values)], SIX)
    assert text.splitlines()[1].endswith(",Output,0,12,DT_FLOAT,ND,-,0,1,2,4,5,6")


def test_a_digest_row_has_a_shape_without_quotes():
    lines = [
        row("input", 0, "bfloat16", (2, 3), {"MD5": "00ff"}),
        row("output", 0, "float32", (), {"MD5": "12"}),
        row("output", 1, "float6_e3m2x", (5,), {}),
    ]
    assert format_l2_statistics(lines, ("md5",)) == (
        f"{IDENTITY},MD5 Value\n"
        "MatMul,net_mm,2,7,17,input,0,12,BF16,ND,(2,3),00ff\n"
        "MatMul,net_mm,2,7,17,output,0,12,FLOAT,ND,(),12\n"
        "MatMul,net_mm,2,7,17,output,1,12,UNKNOWN,ND,(5),\n"
    )


def test_a_row_that_the_device_did_not_compute_is_dropped_or_says_so():
    nothing = row("input", 0, "float64", (3,), {})
    assert format_l2_statistics([nothing], ("max",)) == f"{IDENTITY},Max Value\n"
    assert format_l2_statistics([nothing], SIX).endswith(",DT_DOUBLE,ND,3,NA,NA,NA,NA,NA,NA\n")


def test_no_category_no_table():
    assert format_l2_statistics([row("input", 0, "int8", (1,), {})], ()) == ""


@pytest.mark.parametrize(
    ("categories", "code"),
    [(("max", "md5"), "dump/statistics-md5"), (("zero count",), "dump/statistics")],
)
def test_what_msprobe_cannot_write_is_refused(categories, code):
    with refused(code, FormatError, got=[*categories]):
        format_l2_statistics([], categories)


@given(
    st.lists(st.integers(0, 10**9), max_size=4).map(tuple),
    st.sampled_from(("input", "output")),
    st.sampled_from(("float32", "bfloat16", "int64")),
    st.sampled_from(("d41d8cd98f00b204", "0123")),
)
def test_digests_read_back(shape, io, dtype, digest):
    line = row(io, 3, dtype, shape, {"MD5": digest}, "net_mm")
    text = format_l2_statistics([line], ("md5",))
    assert parse_statistics(text.splitlines(keepends=True)) == ([line], [])


@given(
    st.lists(st.integers(0, 10**9), max_size=4).map(tuple),
    st.floats(width=16, allow_nan=False),
    st.integers(0, 999),
)
def test_figures_of_the_device_read_back(shape, largest, odd):
    line = row("output", 3, "float32", shape, {"Max Value": largest, "NaN Count": odd}, "net_mm")
    text = format_l2_statistics([line], ("max", "nan count"))
    (read,), problems = parse_statistics(text.splitlines(keepends=True))
    assert problems == []
    assert read._replace(statistics={}) == line._replace(statistics={})
    assert read.statistics["Max Value"] == pytest.approx(largest, rel=1e-5)
    assert read.statistics["NaN Count"] == odd
