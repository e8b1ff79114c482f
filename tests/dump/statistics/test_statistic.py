"""Rows are checked against the format tables; figures against closed forms and two-pass sums."""

import hashlib
import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.words import check_said, refused
from workbench.core.errors import FormatError
from workbench.core.tensors import TensorSpec
from workbench.core.words import Message
from workbench.dump.formats.file import FileName
from workbench.dump.statistics.compute import statistics_of
from workbench.dump.statistics.dialects import FIXED_CATEGORIES, TITLES, categories_of
from workbench.dump.statistics.parse import MAX_LINE, parse_statistics, read_statistics
from workbench.dump.statistics.print import format_header, format_row, name_in_table

PARTS = FileName(
    "npy", "Add", "Default/net/Add-op1", 1700000000000001, 0, 3, "output", 0, "DefaultFormat"
)
HEADER = "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape"
COUNTS = FIXED_CATEGORIES[3:]


def test_the_header_is_mindspores():
    assert format_header(("max", "min", "l2norm")) == HEADER + ",Max Value,Min Value,L2Norm Value\n"
    assert format_header(("md5", "avg", "md5")) == HEADER + ",MD5,Avg Value,MD5\n"
    assert format_header(()) == HEADER + "\n"


def test_the_fixed_header_of_old_versions():
    assert categories_of("2.3.0", ("max",)) == FIXED_CATEGORIES
    assert categories_of("2.3.1", ("max",)) == ("max",)
    assert format_header(FIXED_CATEGORIES) == (
        HEADER + ",Max Value,Min Value,Avg Value,Count,Negative Zero Count,Positive Zero Count,"
        "NaN Count,Negative Inf Count,Positive Inf Count,Zero Count\n"
    )


def test_a_row_ends_in_a_comma_and_quotes_its_shape():
    x = np.float32([[1, 2, 3], [4, 5, 6]])
    categories = ("max", "min", "l2norm")
    row = format_row(
        PARTS, TensorSpec("float32", x.shape), 24, statistics_of(x, categories), categories
    )
    assert row == (
        'Add,Default/net/Add-op1,0,3,1700000000000001,output,0,24,float32,"(2,3)",6,1,9.53939,\n'
    )


@pytest.mark.parametrize(
    ("shape", "text"), [((), '"()"'), ((5,), '"(5)"'), ((1, 2, 3, 4), '"(1,2,3,4)"')]
)
def test_shapes_have_no_blank_and_no_last_comma(shape, text):
    row = format_row(PARTS, TensorSpec("bfloat16", shape), 4, {}, ())
    assert row.endswith(f",4,bfloat16,{text},\n")


def test_old_versions_end_their_rows_without_a_comma():
    row = format_row(PARTS, TensorSpec("int8", ()), 1, {"Count": 1}, ("count",), version="2.3.0")
    assert row.endswith(',"()",1\n')


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e-5, "1e-05"),
        (float(np.finfo(np.float32).max), "3.40282e+38"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (math.nan, "nan"),
        (6.0, "6"),
        (1234567.0, "1.23457e+06"),
        (100000.0, "100000"),
        (1234567, "1234567"),
    ],
)
def test_floats_have_six_digits_and_counts_have_all(value, text):
    row = format_row(PARTS, TensorSpec("int8", ()), 1, {"Avg Value": value}, ("avg",))
    assert row.endswith(f'"()",{text},\n')


def test_a_value_that_could_not_be_computed_is_null_and_reads_as_missing():
    row = format_row(PARTS, TensorSpec("int8", ()), 1, {"Max Value": 2.0}, ("avg", "max"))
    assert row.endswith(',"()",null,2,\n')
    rows, _ = parse_statistics([format_header(("avg", "max")), row])
    assert rows[0].statistics == {"Max Value": 2.0}


def test_the_figures_of_consecutive_numbers_have_closed_forms():
    n = 2_500_000  # three chunks
    figures = statistics_of(np.arange(1, n + 1, dtype=np.float64), ("max", "min", "avg", "l2norm"))
    assert figures["Max Value"] == n
    assert figures["Min Value"] == 1
    assert figures["Avg Value"] == pytest.approx((n + 1) / 2, rel=1e-14)
    squares = n * (n + 1) * (2 * n + 1) // 6
    assert figures["L2Norm Value"] == pytest.approx(math.sqrt(squares), rel=1e-14)


def test_signs_zeros_and_non_finite_values_are_counted():
    x = np.float16([-1, -2, 0.0, -0.0, 3, np.nan, np.inf, np.inf, -np.inf])
    figures = statistics_of(x, COUNTS)
    assert [figures[TITLES[name]] for name in COUNTS] == [9, 3, 3, 1, 1, 2, 2]


def test_one_nan_spoils_maximum_minimum_and_average():
    figures = statistics_of(np.float32([1, np.nan, 3]), ("max", "min", "avg"))
    assert all(math.isnan(value) for value in figures.values())


def test_hashes_are_those_of_the_raw_bytes():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    raw = b"".join(np.float32(v).tobytes() for v in (0, 1, 2, 3, 4, 5))
    assert statistics_of(x, ("md5", "sha1")) == {
        "MD5": hashlib.md5(raw).hexdigest(),
        "SHA1": hashlib.sha1(raw).hexdigest(),
    }
    turned = statistics_of(x.T, ("md5",))["MD5"]
    assert (
        turned
        == hashlib.md5(b"".join(np.float32(v).tobytes() for v in (0, 3, 1, 4, 2, 5))).hexdigest()
    )


def test_a_large_tensor_has_the_sha1_of_its_slices_digests():
    """As ``tensor_summary.cc`` does it: slices of 20,480 elements, digests as text one behind the other."""
    x = np.arange(50_001, dtype=np.int16)
    raw = x.astype("<i2").tobytes()
    slices = [raw[at : at + 40_960] for at in (0, 40_960, 81_920)]
    text = "".join(hashlib.sha1(piece).hexdigest() for piece in slices)
    assert statistics_of(x, ("sha1", "md5")) == {
        "SHA1": hashlib.sha1(text.encode()).hexdigest(),
        "MD5": hashlib.md5(raw).hexdigest(),
    }
    largest = x[:20_480].reshape(2, -1)
    assert statistics_of(largest, ("sha1",)) == {"SHA1": hashlib.sha1(raw[:40_960]).hexdigest()}


@pytest.mark.parametrize("name", ["Default/net.a/Add-op1", "Default_net_a_Add-op1"])
def test_the_name_of_the_graph_reads_as_that_of_the_files(name):
    row = f'Add,{name},0,3,17,output,0,24,float32,"(2,3)",\n'
    (read,), _ = parse_statistics([HEADER + "\n", row])
    assert read.parts.op_name == "Default_net_a_Add-op1"


def test_parameters_have_the_name_of_their_files_in_tables():
    weight = FileName("npy", "Parameter", "fc/w.1", 17, 0, 0, "output", 0, "DefaultFormat")
    names = [name_in_table(weight, version) for version in ("2.3.0", "2.10.0")]
    assert names == ["fc_w_1", "fc_w_1"]


@pytest.mark.parametrize(
    "dtype", [np.bool_, np.int8, np.uint64, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2]
)
def test_every_real_dtype_has_figures(dtype):
    figures = statistics_of(np.array([0, 1, 1], dtype=dtype), ("max", "min", "avg", "l2norm"))
    assert figures == {
        "Max Value": 1.0,
        "Min Value": 0.0,
        "Avg Value": 2 / 3,
        "L2Norm Value": math.sqrt(2),
    }


def test_complex_tensors_have_a_count_alone():
    assert statistics_of(np.complex64([1j, 2]), ("max", "count")) == {"Count": 2}


def test_an_empty_tensor_has_no_maximum():
    figures = statistics_of(np.empty((0, 3), np.float32), ("max", "count", "l2norm"))
    assert math.isnan(figures["Max Value"])
    assert (figures["Count"], figures["L2Norm Value"]) == (0, 0.0)


def test_huge_values_overflow_the_norm_without_a_warning():
    assert statistics_of(np.float64([1e200]), ("l2norm",)) == {"L2Norm Value": math.inf}


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=60))
def test_figures_agree_with_exact_sums(values):
    figures = statistics_of(np.float32(values), ("max", "min", "avg", "l2norm"))
    mean = math.fsum(values) / len(values)
    assert figures["Max Value"] == sorted(values)[-1]
    assert figures["Min Value"] == sorted(values)[0]
    assert figures["Avg Value"] == pytest.approx(mean, rel=1e-12, abs=1e-9)
    assert figures["L2Norm Value"] == pytest.approx(math.hypot(*values), rel=1e-12)


def test_a_row_reads_back_with_its_identity():
    row = 'Add,Default_net_Add-op1,0,3,17,output,0,24,float32,"(2,3)",6,1,-inf,\n'
    (read,), problems = parse_statistics([HEADER + ",Max Value,Min Value,L2Norm Value\n", row])
    assert read.parts == FileName(
        "npy", "Add", "Default_net_Add-op1", 17, 0, 3, "output", 0, "", "float32"
    )
    assert (read.data_size, read.shape) == (24, (2, 3))
    assert read.statistics == {"Max Value": 6.0, "Min Value": 1.0, "L2Norm Value": -math.inf}
    assert problems == []


def test_msprobes_columns_read_into_the_same_words():
    header = (
        "Op Type,Op Name,Task ID,Stream ID,Timestamp,Input/Output,Slot,Data Size,Data Type,"
        "Format,Shape,Max Value,MD5 Value\n"
    )
    rows = [
        "MatMul,mm,2,7,17,Input,1,12,DT_FLOAT16,ND,2x3,6,d41d\n",
        "MatMul,mm,2,7,17,input,1,12,BF16,ND,(2,3,4),,0123\n",
        "MatMul,mm,2,7,17,output,0,4,DT_FLOAT,ND,-,1,0123\n",
    ]
    (first, second, third), _ = parse_statistics([header, *rows])
    assert first.parts == FileName("npy", "MatMul", "mm", 17, 2, 7, "input", 1, "ND", "float16")
    assert (first.shape, first.statistics) == ((2, 3), {"Max Value": 6.0, "MD5": "d41d"})
    assert (second.shape, second.statistics) == ((2, 3, 4), {"MD5": "0123"})
    assert second.parts.dtype == "bfloat16"
    assert (third.shape, third.parts.dtype) == ((), "float32")


def test_a_hash_of_digits_stays_text():
    row = 'Add,a,0,0,17,output,0,4,int8,"()",12345,\n'
    (read,), _ = parse_statistics([HEADER + ",MD5\n", row])
    assert read.statistics == {"MD5": "12345"}


def test_the_device_prints_the_largest_of_a_bool_tensor_as_a_word():
    row = 'Add,a,0,0,17,output,0,4,bool,"(4)",True,False,null,\n'
    (read,), _ = parse_statistics([HEADER + ",Max Value,Min Value,Avg Value\n", row])
    assert read.statistics == {"Max Value": 1.0, "Min Value": 0.0}


@pytest.mark.parametrize("shape", ['"[2, 3]"', '"[2,3]"', "[2,3]", "(2,3)", '"(2,3)"', "2x3"])
def test_shapes_read_in_every_writers_spelling(shape):
    row = f"Add,a,0,0,17,output,0,4,bool,{shape},1,\n"
    (read,), problems = parse_statistics([HEADER + ",Count\n", row])
    assert (read.shape, read.statistics, problems) == ((2, 3), {"Count": 1.0}, [])


TOO_LONG = Message("dump/table-line", got=200035, limit=MAX_LINE)


@pytest.mark.parametrize(
    ("row", "code", "values"),
    [
        ("Add,a\n", "row-cells", {"got": 2, "expected": 11}),
        ('Add,a,0,0,17,inout,0,4,int8,"()",1,\n', "cell-io", {"title": "IO", "got": "inout"}),
        ('Add,a,0,0,-17,input,0,4,int8,"()",1,\n', "cell-number", {"title": "Timestamp", "got": "-17"}),
        ('Add,a,0,0,17,input,0,4,int8,"(-1)",1,\n', "cell-number", {"title": "Shape", "got": "-1"}),
        (f'Add,a,0,0,17,input,{"9" * 5000},4,int8,"()",1,\n', "cell-number", {"title": "Slot"}),
        (f'Add,{"a" * 200000},0,0,17,input,0,4,int8,"()",1,\n', "table-text", {"why": TOO_LONG}),
    ],
)  # fmt: skip
def test_a_broken_row_is_a_problem_with_its_line_and_the_others_are_read(row, code, values):
    good = 'Add,a,0,0,17,input,0,4,int8,"()",1,\n'
    rows, (problem,) = parse_statistics([HEADER + ",Count\n", good, row, good], "x.csv")
    assert len(rows) == 2
    check_said(problem, f"dump/{code}", place="x.csv:3", **values)


@pytest.mark.parametrize("text", ["", "a,b,c\n", "Input/Output,Index,Data Size\n"])
def test_a_file_with_another_header_is_refused(tmp_path, text):
    path = tmp_path / "statistic.csv"
    path.write_text(text)
    with refused("dump/table-columns", FormatError, place=f"{path}:1"):
        read_statistics(path)


def test_a_file_of_any_bytes_is_refused_or_read(tmp_path):
    path = tmp_path / "statistic.csv"
    path.write_bytes(HEADER.encode() + b",Count\n" + bytes(range(256)))
    assert read_statistics(path)[0] == []
    path.write_bytes(bytes(range(256)))
    with pytest.raises(FormatError):
        read_statistics(path)


@given(st.text(max_size=200))
def test_no_text_after_the_header_makes_the_reader_fail(text):
    parse_statistics([HEADER + ",Count\n", *text.splitlines(keepends=True)])
