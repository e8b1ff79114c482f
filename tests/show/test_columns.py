"""Order of rows and meaning of columns, against plain statements of what is worse."""

import csv
import io
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.build.sample_results import csv_text, make_result, make_row, network_result
from workbench.core.tensors import TensorSpec
from workbench.show.columns import (
    alone,
    columns,
    screen_columns,
    shown_status,
    worst_first,
    worst_order,
)
from workbench.show.tables import frame

STATUS_BY_HAND = ["fail", "warn", "uncomparable", "pass", "equal"]

rows = st.builds(
    lambda status, error, order: make_row(status=status, error=error, order=order),
    st.sampled_from(STATUS_BY_HAND),
    st.none() | st.floats(),
    st.integers(0, 50),
)


@given(st.lists(rows, max_size=12))
def test_no_row_stands_before_one_of_a_worse_status(made):
    order = [STATUS_BY_HAND.index(row.status) for row in worst_first(made)]
    assert order == sorted(order)


@given(st.lists(st.none() | st.floats(), max_size=12))
def test_within_a_status_nan_comes_first_then_inf_then_numbers_falling_then_nothing(errors):
    shown = [row.error for row in worst_first(make_row(status="fail", error=e) for e in errors)]
    nan = [e for e in errors if e is not None and math.isnan(e)]
    inf = [e for e in errors if e is not None and math.isinf(e)]
    finite = sorted((e for e in errors if e is not None and math.isfinite(e)), reverse=True)
    expected = [len(nan) * ["nan"], len(inf) * ["inf"], finite, errors.count(None) * [None]]
    words = [
        e if e is None or math.isfinite(e) else "nan" if math.isnan(e) else "inf" for e in shown
    ]
    assert words == [item for part in expected for item in part]


def test_tensors_without_a_partner_stand_after_every_pair():
    lonely = make_row(match_rule="", golden_spec=None, status="uncomparable", error=None)
    assert worst_first([lonely, make_row(status="equal")])[-1] is lonely
    assert shown_status(lonely) == "unmatched"
    assert shown_status(make_row(status="uncomparable")) == "uncomparable"


def test_table_frame_and_csv_call_it_what_the_screen_calls_it():
    lonely = make_row(match_rule="", golden_spec=None, status="uncomparable", error=None)
    result = make_result(rows=(lonely, make_row(status="uncomparable"), make_row(status="fail")))
    expected = ["unmatched", "uncomparable", "fail"]
    assert list(frame(result)["Status"]) == expected
    assert [line["Status"] for line in csv.DictReader(io.StringIO(csv_text(result)))] == expected
    status = next(column for column in columns(result) if column.key == "status")
    assert [status.value(row) for row in result.rows] == expected
    assert status.cells(result.columns) == expected


def test_equally_bad_rows_keep_execution_order():
    made = [make_row(status="fail", error=1.0, order=order) for order in (5, 1, 3)]
    assert [row.order for row in worst_first(made)] == [1, 3, 5]


@pytest.mark.parametrize(
    ("changes", "side"),
    [
        ({}, ""),
        ({"match_rule": "", "golden_op_name": "", "golden_spec": None}, "target"),
        ({"match_rule": "", "target_spec": None}, "golden"),
        ({"match_rule": "", "op_name": "", "target_spec": None, "golden_spec": None}, "golden"),
        ({"match_rule": "", "target_spec": None, "golden_spec": None}, "target"),
    ],
)
def test_a_lonely_tensor_names_its_side(changes, side):
    assert alone(make_row(**changes)) == side


def test_every_title_and_key_is_used_once():
    made = columns(network_result(20, 1))
    assert len({column.title for column in made}) == len(made)
    assert len({column.key for column in made}) == len(made)


def test_metrics_of_any_row_get_a_column_in_order_of_appearance():
    made = [make_row(metrics={"B": 1.0}), make_row(metrics={"A": 2.0, "B": 3.0})]
    assert make_result(rows=made).columns.titles == ("B", "A")


def test_cosine_is_worse_when_small_and_counts_are_counts():
    row = make_row(metrics={"CosineSimilarity": 1.0, "TargetNaN": 3.0, "MaxAbsoluteError": 0.5})
    by_title = {column.title: column for column in columns(make_result(rows=(row,)))}
    assert (by_title["CosineSimilarity"].worse, by_title["CosineSimilarity"].kind) == (-1, "share")
    assert (by_title["TargetNaN"].worse, by_title["TargetNaN"].kind) == (1, "count")
    assert (by_title["MaxAbsoluteError"].worse, by_title["MaxAbsoluteError"].kind) == (1, "number")


def test_iteration_and_rank_take_room_on_screen_only_when_they_vary():
    one = {column.key for column in screen_columns(network_result(20, 1))}
    two = {column.key for column in screen_columns(network_result(20, 2))}
    assert two - one == {"iteration"}


def test_shapes_read_as_products_and_unknown_ones_stay_empty():
    row = make_row(target_spec=TensorSpec("int8", ()), golden_spec=TensorSpec("int8", (2, -1)))
    values = {column.key: column.value(row) for column in columns(make_result(rows=(row,)))}
    assert (values["shape"], values["golden_shape"]) == ("scalar", "2×?")


@given(st.lists(rows, max_size=12))
def test_numbers_of_the_worst_rows_stand_as_the_rows_do(made):
    kept = make_result(rows=made).columns
    assert [kept[number] for number in worst_order(kept)] == worst_first(made)
