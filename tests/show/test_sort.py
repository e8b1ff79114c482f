"""The order of rows by a column: worked out by hand for each kind of column, then counted over all of them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import pytest

import workbench as wb
from kit.build.sample_results import make_result, make_row, network_result
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import SourceFrame
from workbench.show.columns import columns

NAN, INF = math.nan, math.inf


class Case(NamedTuple):
    """A column, its value in every row, and the numbers of the rows in rising and in falling order."""

    key: str
    values: list[object]
    rising: list[int]
    falling: list[int]


CASES = [
    Case("order", [10, 2, 10, -1], [3, 1, 0, 2], [0, 2, 1, 3]),
    Case("rank", [3, 0, 3, 1], [1, 3, 0, 2], [0, 2, 3, 1]),
    Case(
        "error",
        [2e-3, None, NAN, 1e-3, INF, -INF, 2e-3, 0.0, NAN],
        [7, 3, 0, 6, 4, 5, 2, 8, 1],
        [2, 8, 4, 5, 0, 6, 3, 7, 1],
    ),
    Case("own", [None, 0.5, INF, None, 0.25], [4, 1, 2, 0, 3], [2, 1, 4, 0, 3]),
    Case("inherited", [1.0, NAN, None, 0.0], [3, 0, 1, 2], [1, 0, 3, 2]),
    Case("floor", [1e-3, NAN, 1e-7, None, INF, 1e-3], [2, 0, 5, 4, 1, 3], [1, 4, 0, 5, 2, 3]),
    Case("score", [0.5, 1.0, 0.5], [0, 2, 1], [1, 0, 2]),
    # the lower the worse: what is beyond all numbers stands below them
    Case(
        "CosineSimilarity",
        [0.9, None, NAN, 1.0, -INF, 0.5, 0.9],
        [2, 4, 5, 0, 6, 3, 1],
        [3, 0, 6, 5, 4, 2, 1],
    ),
    Case("MaxAbsoluteError", [3, None, 1, NAN, 2], [2, 4, 0, 3, 1], [3, 0, 4, 2, 1]),
    # 4, none of an input, none from nothing, none from infinity, 2
    Case(
        "gain",
        [(4e-3, 1e-3, "output"), (4e-3, 1e-3, "input"), (1, 0, "output"), (1, INF, "output"),
         (2e-3, 1e-3, "output")],
        [4, 0, 1, 2, 3],
        [0, 4, 1, 2, 3],
    ),
    Case(
        "op_name",
        ["op10", "op2", "OP2", "layer", "op02", "", f"op{10**30}", f"op{10**30 - 1}", "op"],
        [5, 3, 8, 1, 2, 4, 0, 7, 6],
        [6, 7, 0, 1, 2, 4, 8, 3, 5],
    ),
    Case("op_type", ["ReLU", "Add", "relu", "Conv2D"], [1, 3, 0, 2], [0, 2, 3, 1]),
    Case("tensor", [("output", 0), ("input", 10), ("input", 2)], [2, 1, 0], [0, 1, 2]),
    Case("source", [("b.py", 2), ("a.py", 10), None, ("a.py", 9)], [2, 3, 1, 0], [0, 1, 3, 2]),
    Case("shape", [(2, 8), (2, 10), (1, 64), ()], [2, 0, 1, 3], [3, 1, 0, 2]),
    Case("reason", ["b", "", "a", ""], [1, 3, 2, 0], [0, 2, 1, 3]),
    Case(
        "status",
        ["pass", "fail", "unmatched", "equal", "warn", "uncomparable", "fail"],
        [3, 0, 2, 5, 4, 1, 6],
        [1, 6, 4, 5, 2, 0, 3],
    ),
]  # fmt: skip

FIELDS = {
    "own": "own_error",
    "inherited": "inherited_error",
    "floor": "noise_floor",
    "score": "match_score",
}
"""Column → the field of a row that it shows, where they have other names."""


def row_with(key, value):
    """A row with a value in a column."""
    if key == "gain":
        error, read, io = value
        return make_row(error=error, inherited_error=read, io=io)
    if key == "tensor":
        return make_row(io=value[0], slot=value[1])
    if key == "source":
        return make_row(source=value and SourceFrame(*value, "y = x"))
    if key == "shape":
        return make_row(target_spec=TensorSpec("float32", value))
    if value == "unmatched":
        return make_row(status="uncomparable", match_rule="", golden_spec=None)
    if key in ("CosineSimilarity", "MaxAbsoluteError"):
        return make_row(metrics={} if value is None else {key: value})
    return make_row(**{FIELDS.get(key, key): value})


def order_of(rows, key, falling):
    """Numbers of the rows in the order of a column; what no column shows tells them apart."""
    marked = [
        replace(row, target_spec=row.target_spec._replace(format=str(n)))
        for n, row in enumerate(rows)
    ]
    found = wb.Comparison(make_result(rows=marked)).sort(key, falling=falling).rows
    return [int(one.target_spec.format) for one in found]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.key)
def test_rows_stand_in_the_order_of_a_column(case):
    rows = [row_with(case.key, value) for value in case.values]
    assert order_of(rows, case.key, falling=False) == case.rising
    assert order_of(rows, case.key, falling=True) == case.falling


RESULT = network_result(90, 2)
COLUMNS = {column.key: column for column in columns(RESULT)}
NUMBERS = [key for key, column in COLUMNS.items() if column.kind != "text"]


def by_hand(column, falling):
    """Rows in the order of a column of numbers, put together kind by kind."""
    values = [column.value(row) for row in RESULT.rows]
    kinds = {"missing": [], "nan": [], "infinite": [], "number": []}
    for number, value in enumerate(values):
        kind = (
            "missing" if value is None
            else "nan" if value != value
            else "infinite" if abs(value) == INF
            else "number"
        )  # fmt: skip
        kinds[kind].append(number)
    steps = sorted({values[n] for n in kinds["number"]}, reverse=falling)
    numbers = [n for step in steps for n in kinds["number"] if values[n] == step]
    worst_last = falling == (column.worse < 0)
    if worst_last:
        order = [*numbers, *kinds["infinite"], *kinds["nan"]]
    else:
        order = [*kinds["nan"], *kinds["infinite"], *numbers]
    return [*order, *kinds["missing"]]


@pytest.mark.parametrize("falling", [False, True], ids=["rising", "falling"])
@pytest.mark.parametrize("key", NUMBERS)
def test_numbers_stand_by_size_and_beyond_them_what_is_worse(key, falling):
    assert order_of(RESULT.rows, key, falling) == by_hand(COLUMNS[key], falling)


@pytest.mark.parametrize("falling", [False, True], ids=["rising", "falling"])
@pytest.mark.parametrize("key", COLUMNS)
def test_rows_that_are_alike_stay_in_their_order_and_none_is_lost(key, falling):
    order = order_of(RESULT.rows, key, falling)
    assert sorted(order) == [*range(len(RESULT.rows))]
    places: dict[object, list[int]] = {}
    for number in order:
        value = COLUMNS[key].value(RESULT.rows[number])
        places.setdefault("nan" if value != value else value, []).append(number)
    if key != "status":  # one word of the file, two on screen
        assert {value: found for value, found in places.items() if found != sorted(found)} == {}


def test_what_is_no_column_is_refused():
    with pytest.raises(wb.WorkbenchError, match="'colour'"):
        wb.Comparison(RESULT).sort("colour")
