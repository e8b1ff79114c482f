"""Rows and figures are those of the writers' own unit tests and of the format tables."""

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.words import refused
from workbench.core.errors import FormatError
from workbench.core.words import Message
from workbench.dump.formats.file import FileName
from workbench.dump.formats.ge_name import grammar
from workbench.dump.statistics.compute import ge_statistics_of
from workbench.dump.statistics.parse import StatisticRow, parse_statistics, read_ge_statistics
from workbench.dump.statistics.print import format_ge_statistics

FILE = "MatMul.mm.3.1.1700000000000007.csv"
NAME = FileName("statistics", "MatMul", "mm", 1700000000000007, 3, 1)
IDENTITY = "Input/Output,Index,Data Size,Data Type,Format,Shape"
HEADER = (
    IDENTITY + ",Max Value,Min Value,Avg Value,Count,Nan Count,Negative Inf Count,"
    "Positive Inf Count\n"
)
SIX = ("max", "min", "avg", "nan count", "negative inf count", "positive inf count")


def row(io, slot, size, dtype, form, shape, values=()):
    parts = NAME._replace(kind="npy", io=io, slot=slot, format=form, dtype=dtype)
    return StatisticRow(parts, size, shape, dict(values))


def figures(*numbers):
    titles = ("Max Value", "Min Value", "Avg Value", "Count", "NaN Count")
    return dict(zip((*titles, "Negative Inf Count", "Positive Inf Count"), numbers, strict=True))


def parse(text, place="x.csv"):
    return parse_statistics(text.splitlines(keepends=True), place, NAME)


VECTORS = [
    ("Input,0,12,DT_FLOAT16,ND,2x3,6,1,3.5,6,0,0,0",
     row("input", 0, 12, "float16", "ND", (2, 3), figures(6, 1, 3.5, 6, 0, 0, 0))),
    ("Output,0,640000,DT_FLOAT,NHWC,4x50x50x16,1.99999,1,1.50004,160000,0,0,0",
     row("output", 0, 640000, "float32", "NHWC", (4, 50, 50, 16),
         figures(1.99999, 1, 1.50004, 160000, 0, 0, 0))),
    ("Output,0,2,DT_INT8,ND,2,5,-3,1,2,0,0,0",
     row("output", 0, 2, "int8", "ND", (2,), figures(5, -3, 1, 2, 0, 0, 0))),
    ("Input,1,8,DT_INT64,ND,-,9007199254740993,-9223372036854775808,0.5,1,0,0,0",
     row("input", 1, 8, "int64", "ND", (),
         figures(9007199254740993, -(2**63), 0.5, 1, 0, 0, 0))),
    ("Input,2,4,-,-,2,,,,,,,", row("input", 2, 4, "", "", (2,))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), VECTORS)
def test_rows_of_the_device_read_and_write(text, expected):
    rows, problems = parse(HEADER + text + "\n")
    assert rows == [expected]
    assert problems == []
    assert format_ge_statistics([expected]) == HEADER + text + "\n"


def test_unsupported_rows_have_six_commas_after_that_of_their_shape():
    text = format_ge_statistics([row("input", 0, 12, "bfloat16", "ND", (2, 3))])
    assert text == HEADER + "Input,0,12,-,ND,2x3,,,,,,,\n"


def test_the_last_line_may_lack_its_line_feed():
    rows, problems = parse(HEADER + "Output,0,4,DT_FLOAT,ND,1,1,1,1,1,0,0,0")
    assert [r.shape for r in rows] == [(1,)]
    assert problems == []


def test_infinities_and_nan_of_the_writers_own_test():
    text = "Input,0,20,DT_FLOAT,NCHW,5,inf,-inf,nan,5,1,1,1\n"
    values = parse(HEADER + text)[0][0].statistics
    assert (values["Max Value"], values["Min Value"]) == (math.inf, -math.inf)
    assert math.isnan(values["Avg Value"])
    x = np.float32([1, -2, np.inf, -np.inf, np.nan])
    written = row("input", 0, 20, "float32", "NCHW", (5,), ge_statistics_of(x))
    assert format_ge_statistics([written]) == HEADER + text


def test_figures_of_whole_numbers_are_exact():
    assert ge_statistics_of(np.int8([-3, 5])) == figures(5, -3, 1.0, 2, 0, 0, 0)
    assert ge_statistics_of(np.int64([2**53 + 1, 0]))["Max Value"] == 2**53 + 1
    assert ge_statistics_of(np.uint64([2**64 - 1]))["Max Value"] == 2**64 - 1
    assert ge_statistics_of(np.bool_([True, False, True, True]))["Avg Value"] == 0.75


@pytest.mark.parametrize(
    ("values", "largest", "average"),
    [
        ([np.nan, 1, 2], math.nan, math.nan),
        ([1, np.nan, 2], 2, math.nan),
        ([1, np.inf], math.inf, math.inf),
        ([np.nan, np.inf], math.nan, math.inf),
        ([1, -np.inf, np.nan], 1, -math.inf),
        ([np.inf, -np.inf], math.inf, math.nan),
    ],
)
def test_a_nan_stays_only_where_it_comes_first(values, largest, average):
    found = ge_statistics_of(np.float16(values))
    assert found["Max Value"] == pytest.approx(largest, nan_ok=True)
    assert found["Avg Value"] == pytest.approx(average, nan_ok=True)


@given(st.lists(st.floats(width=32), min_size=1, max_size=40))
def test_figures_agree_with_the_loop_of_the_device(values):
    """The device's loop, element by element, written from its description."""
    largest = smallest = values[0]
    average = 0.0
    for number, value in enumerate(values, 1):
        largest = value if value > largest else largest
        smallest = value if value < smallest else smallest
        average += (value - average) / number
    plus, minus = values.count(math.inf), values.count(-math.inf)
    if bool(plus) != bool(minus):
        average = math.inf if plus else -math.inf
    found = ge_statistics_of(np.float32(values))
    assert found["Max Value"] == pytest.approx(largest, nan_ok=True)
    assert found["Min Value"] == pytest.approx(smallest, nan_ok=True)
    scale = max((abs(v) for v in values if math.isfinite(v)), default=0)
    assert found["Avg Value"] == pytest.approx(average, rel=1e-9, abs=scale * 1e-9, nan_ok=True)
    assert found["NaN Count"] == sum(v != v for v in values)
    assert (found["Positive Inf Count"], found["Negative Inf Count"]) == (plus, minus)


@pytest.mark.parametrize("dialect", ["ge", "ge-kfc"])
def test_what_a_writer_does_not_compute_has_no_figures(dialect):
    assert ge_statistics_of(np.complex64([1j]), dialect) == {}
    assert ge_statistics_of(np.empty((0,), np.float32), dialect) == {}


def test_only_kfc_computes_bfloat16_and_the_norm():
    x = np.array([3, -4], ml_dtypes.bfloat16)
    assert ge_statistics_of(x) == {}
    assert ge_statistics_of(x, "ge-kfc")["L2Norm Value"] == 5.0


def test_a_kfc_table_of_the_default_categories_looks_like_the_devices():
    text = HEADER + "Input,0,12,DT_BF16,ND,2x3,6,1,3.5,6,0,0,0\n"
    written = row("input", 0, 12, "bfloat16", "ND", (2, 3), figures(6, 1, 3.5, 6, 0, 0, 0))
    assert format_ge_statistics([written], SIX, "ge-kfc") == text
    assert parse(text)[0] == [written]


def test_a_kfc_table_of_other_categories_counts_first_and_keeps_its_own_order():
    text = (
        f"{IDENTITY},Count,Max Value,Avg Value,Nan Count,l2norm\n"
        "Output,3,12,DT_FLOAT16,DHWCH,2x3,6,6,3.5,0,9.53939\n"
        "Output,4,12,UNKNOW,UNKNOW,-,1,NA,NA,NA,NA\n"
    )
    values = {"Count": 6, "Max Value": 6, "Avg Value": 3.5, "NaN Count": 0, "L2Norm Value": 9.53939}
    first = row("output", 3, 12, "float16", "DHWCN", (2, 3), values)
    asked = ("l2norm", "nan count", "max", "avg")
    assert parse(text)[0] == [first, row("output", 4, 12, "", "", (), {"Count": 1})]
    assert format_ge_statistics([first], asked, "ge-kfc") == "\n".join([*text.split("\n")[:2], ""])


def test_a_kfc_row_of_nothing_computed_lacks_its_count_if_that_comes_first():
    line = row("input", 0, 24, "float64", "ND", (3,))
    chosen = format_ge_statistics([line], ("max", "min"), "ge-kfc")
    assert chosen == f"{IDENTITY},Count,Max Value,Min Value\nInput,0,24,DT_DOUBLE,ND,3,NA,NA\n"
    assert parse(chosen).rows == [line]
    default = format_ge_statistics([line], SIX, "ge-kfc")
    assert default == HEADER + "Input,0,24,DT_DOUBLE,ND,3,NA,NA,NA,3,NA,NA,NA\n"
    assert parse(default).rows == [line._replace(statistics={"Count": 3})]


def test_kfc_knows_no_other_categories():
    with refused("dump/statistics", FormatError, table="ge-kfc", got=["md5"]):
        format_ge_statistics([], ("md5",), "ge-kfc")


def test_the_name_of_the_file_says_whose_statistics_they_are(tmp_path):
    path = tmp_path / FILE
    path.write_text(HEADER + VECTORS[0][0] + "\n")
    assert read_ge_statistics(path).rows == [VECTORS[0][1]]
    renamed = path.rename(tmp_path / "3141592653589793")
    assert read_ge_statistics(renamed, grammar("statistics")(FILE)).rows == [VECTORS[0][1]]
    with refused("dump/statistics-name", FormatError, place=str(renamed)):
        read_ge_statistics(renamed)


@pytest.mark.parametrize(
    ("line", "code", "values"),
    [
        ("Input,0,12", "row-cells", {"got": 3, "expected": 13}),
        ("Inout,0,12,DT_FLOAT,ND,3,1,1,1,3,0,0,0", "cell-io", {"title": "Input/Output", "got": "Inout"}),
        ("Input,-1,12,DT_FLOAT,ND,3,1,1,1,3,0,0,0", "cell-number", {"title": "Index", "got": "-1"}),
        ("Input,0,x,DT_FLOAT,ND,3,1,1,1,3,0,0,0", "cell-number", {"title": "Data Size", "got": "x"}),
        ("Input,0,12,DT_FLOAT,ND,3xx,1,1,1,3,0,0,0", "cell-number", {"title": "Shape", "got": ""}),
        ("Input,0,12,DT_FLOAT,ND,3,one,1,1,3,0,0,0", "cell-number", {"title": "Max Value", "got": "one"}),
        ("Input,0,12,DT_FLOAT,ND,3,NA,NA,NA", "row-cells", {"got": 9, "expected": 13}),
    ],
)  # fmt: skip
def test_a_broken_row_is_a_problem_with_its_line_and_the_others_are_read(line, code, values):
    rows, problems = parse(HEADER + VECTORS[0][0] + "\n" + line + "\n" + VECTORS[2][0] + "\n")
    assert len(rows) == 2
    assert problems == [Message(f"dump/{code}", place="x.csv:3", **values)]


@pytest.mark.parametrize(
    "text", ["", "\n", "Op Type,Op Name\n", IDENTITY[1:] + "\n", "a" * 200_000]
)
def test_a_file_with_another_header_is_refused_with_its_line(text):
    code = "dump/table-text" if len(text) > 1000 else "dump/table-header"
    with refused(code, FormatError, place="x.csv:1"):
        parse(text)


def test_a_row_of_the_titles_alone_that_lacks_a_cell_is_a_problem():
    """A row of a KFC table may lack its count, but there is no figure in this one."""
    table = parse(IDENTITY + "\nInput,0,12,DT_FLOAT,ND\n")
    assert table.problems == [Message("dump/row-cells", place="x.csv:2", got=5, expected=6)]


DTYPES = ("float32", "float16", "int8", "uint8", "int32", "int64", "uint32", "bool")
HALVES = st.integers(0, 0xFFFF).map(lambda bits: float(np.uint16(bits).view(np.float16)))
NUMBERS = {
    "Max Value": HALVES, "Min Value": HALVES, "Avg Value": HALVES, "Count": st.integers(0, 2**63),
    "NaN Count": st.integers(0, 99), "Negative Inf Count": st.integers(0, 99), "Positive Inf Count": st.integers(0, 99),
}  # fmt: skip


@st.composite
def tables(draw):
    shapes = st.lists(st.integers(0, 2**40), max_size=5).map(tuple)
    line = st.builds(
        row, st.sampled_from(("input", "output")), st.integers(0, 10**18), st.integers(0, 10**18),
        st.sampled_from(DTYPES), st.sampled_from(("ND", "NC1HWC0", "FRACTAL_NZ", "DHWCN")), shapes,
        st.fixed_dictionaries(NUMBERS),
    )  # fmt: skip
    return draw(st.lists(line, max_size=5))


@given(tables(), st.sampled_from(("ge", "ge-kfc")))
def test_what_is_written_reads_back_and_is_written_again_alike(rows, dialect):
    text = format_ge_statistics(rows, SIX, dialect)
    read, problems = parse(text)
    assert problems == []
    assert [(r.parts, r.data_size, r.shape) for r in read] == [
        (r.parts, r.data_size, r.shape) for r in rows
    ]
    assert [r.statistics["Count"] for r in read] == [r.statistics["Count"] for r in rows]
    assert format_ge_statistics(read, SIX, dialect) == text
