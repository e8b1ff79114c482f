"""Data frame and CSV, read back by pandas and by the csv module."""

import csv
import io
import math

import pandas as pd
import pytest

from kit.build.sample_results import csv_text, make_result, make_row, make_step, network_result
from workbench.show.tables import frame, iteration_frame


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_frame_has_one_row_per_row_and_the_titles_of_the_field():
    result = network_result(40, 2)
    made = frame(result)
    assert len(made) == len(result.rows)
    assert {"OpType", "NPUDump", "GroundTruth", "TensorIndex", "CosineSimilarity"} <= {
        *made.columns
    }


def test_frame_and_csv_of_no_rows_still_have_their_header():
    empty = make_result(rows=())
    assert list(frame(empty).columns) == csv_text(empty).rstrip().split(",")
    assert frame(empty).empty


def test_csv_holds_every_row_and_figure_exactly():
    result = network_result(60, 2)
    back = pd.read_csv(io.StringIO(csv_text(result)))
    assert len(back) == len(result.rows)
    for row, (_, line) in zip(result.rows, back.iterrows(), strict=True):
        same = line["NoiseFloor"] == row.noise_floor
        assert same or (row.noise_floor is None and math.isnan(line["NoiseFloor"]))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (None, ""),
        (0.1, "0.1"),
        (-2.5e-7, "-2.5e-07"),
    ],
)
def test_csv_spells_numbers_that_are_odd(value, text):
    assert read(csv_text(make_result(rows=(make_row(error=value),))))[0]["Error"] == text


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_text_that_a_spreadsheet_would_run_is_made_harmless(start):
    row = make_row(op_name=f"{start}HYPERLINK(1)", golden_op_name="plain=1")
    line = read(csv_text(make_result(rows=(row,))))[0]
    assert line["NPUDump"] == f"'{start}HYPERLINK(1)"
    assert line["GroundTruth"] == "plain=1"


def test_worst_order_puts_nan_and_inf_on_top():
    result = network_result(334, 2)
    first, second = frame(result, order="worst")["Error"].iloc[:2]
    assert (math.isnan(first), second) == (True, math.inf)


def test_execution_order_is_that_of_the_result():
    result = network_result(50, 1)
    assert [line["NPUDump"].lstrip("'") for line in read(csv_text(result))] == [
        row.op_name for row in result.rows
    ]


def test_the_frame_of_iterations_has_a_row_for_every_part():
    steps = (make_step(part="forward"), make_step(error=math.nan, failed=2))
    frame = iteration_frame(make_result(iterations=steps))
    assert list(frame["Part"]) == ["forward", "backward"]
    assert list(frame["Failed"]) == [0, 2]
    assert math.isnan(frame["Error"][1])
    assert iteration_frame(make_result()).empty


def test_csv_is_what_the_standard_writer_writes():
    names = ['a,b "c"', "two\nlines", "\r", "", " plain ", "'quoted'"]
    rows = [make_row(op_name=name, error=n or None, slot=n) for n, name in enumerate(names)]
    text = csv_text(make_result(rows=[*rows, *network_result(60, 2).rows]))
    out = io.StringIO()
    csv.writer(out).writerows(csv.reader(io.StringIO(text, newline="")))
    assert out.getvalue() == text


@pytest.mark.parametrize("known", [(), (0,), (1, 2), (0, 1, 2, 3)])
def test_a_column_of_whole_and_broken_and_missing_figures_keeps_each(known):
    given = {0: 3, 1: -0.0, 2: 1e16, 3: 10**16}
    rows = [
        make_row(own_error=None, metrics={"TargetNaN": given[n]} if n in known else {"Other": 1.5})
        for n in range(4)
    ]
    lines = read(csv_text(make_result(rows=rows)))
    texts = {0: "3", 1: "-0.0", 2: "1e+16", 3: "10000000000000000"}
    assert [line.get("TargetNaN", "") for line in lines] == [
        texts[n] if n in known else "" for n in range(4)
    ]
    assert {line["OwnError"] for line in lines} == {""}


@pytest.mark.parametrize("odd", ["=1", "'=1", "a,b", 'a"b', "a\nb", "a\rb", "a\0b", "＝1", ""])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_odd_text_among_plain_ones_is_written_as_alone(odd, place):
    names = ["Default/a", "Default/b"]
    names.insert(place, odd)
    several = csv_text(make_result(rows=[make_row(op_name=name, slot=0) for name in names]))
    alone = [csv_text(make_result(rows=[make_row(op_name=name, slot=0)])) for name in names]
    head = alone[0].index("\r\n") + 2
    assert several == alone[0][:head] + "".join(text[head:] for text in alone)
