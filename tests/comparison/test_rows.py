"""Rows as columns: what went in comes out, whole columns say what the rows say, and little memory is taken."""

from __future__ import annotations

import gc
import math
import pickle
import tracemalloc
import weakref
from dataclasses import fields, replace

import pytest

from kit.build import small_dumps as small
from kit.build.sample_results import make_result, make_row, network_result
from workbench.comparison.engine import compare_dumps
from workbench.comparison.rows import ROWS, Row, Rows
from workbench.core.tensors import TensorSpec
from workbench.core.words import Message
from workbench.dump.reader import load

NAN = math.nan
SAID = Message("compare/non-finite", counts=(Message("compare/only-target"),))

MADE = [
    make_row(),
    make_row(metrics={"TargetNaN": 3, "MaxAbsoluteError": NAN}, error=NAN, own_error=0.0),
    make_row(metrics={}, error=None, inherited_error=None, noise_floor=None, reason=SAID, source=None),
    make_row(op_name="a", target_spec=None, golden_spec=TensorSpec("int8", None), order=2**62, slot=-(2**63)),
    make_row(reason=Message("compare/non-finite", counts=()), metrics={"TargetNaN": 2.0}),
]  # fmt: skip


def test_rows_come_back_as_they_went_in():
    rows = Rows.of(MADE)
    assert [*rows] == MADE
    assert [rows[n] for n in range(-len(MADE), len(MADE))] == MADE * 2
    assert (rows[1:3], len(rows), rows == tuple(MADE)) == (tuple(MADE[1:3]), 5, True)
    assert [type(rows[n].metrics["TargetNaN"]) for n in (1, 4)] == [int, float]
    with pytest.raises(IndexError):
        _ = rows[5]


def test_every_attribute_is_a_declared_column_and_whole_columns_say_the_same():
    rows = Rows.of(MADE)
    names = {one.name for one in fields(Row) if one.init} - {"metrics"}
    assert names == {one.name for one in ROWS.columns} - {"titles", "first"}
    for name in names:
        assert repr(rows.column(name)) == repr([getattr(row, name) for row in MADE]), name
    assert repr(rows.metrics) == repr([row.metrics for row in MADE])
    assert rows.titles == (
        "RelativeEuclideanDistance",
        "CosineSimilarity",
        "TargetNaN",
        "MaxAbsoluteError",
    )
    assert repr(rows.metric("TargetNaN")) == "[None, 3, None, None, 2.0]"
    assert rows.metric("MeanAbsoluteError") == [None] * 5
    assert repr(rows.metric_numbers("TargetNaN").values.tolist()) == "[nan, 3.0, nan, nan, 2.0]"


def test_what_is_made_of_a_text_is_made_once():
    asked = []
    rows = Rows.of([make_row(op_name=name) for name in ("a", "b", "a", "a")])
    assert rows.column("op_name", lambda text: asked.append(text) or text.upper()) == list("ABAA")
    assert sorted(asked) == ["a", "b"]


def test_a_row_is_the_same_as_another_that_says_the_same_and_nan_is_nan():
    one, other = (
        make_row(error=NAN, metrics={"a": NAN}),
        make_row(error=float("nan"), metrics={"a": float("nan")}),
    )
    assert one == other
    assert one != replace(other, turn=1)
    assert one != make_row(error=NAN, metrics={"b": NAN})
    assert one != "row"


def test_some_rows_and_other_values_are_rows_of_their_own():
    rows = Rows.of(MADE)
    assert rows.take([4, 0, 0]) == [MADE[4], MADE[0], MADE[0]]
    assert rows.take([]) == ()
    other = rows.with_column("status", ["new", "pass", "fail", "warn", "equal"])
    assert other.column("status") == ["new", "pass", "fail", "warn", "equal"]
    assert other.with_column("status", rows.column("status")) == rows
    assert {*rows.column("status")} == {"pass"}


def test_a_row_knows_its_number_and_one_of_elsewhere_is_found_by_what_it_says():
    rows = Rows.of([MADE[0], MADE[0], MADE[1]])
    assert [rows.number_of(row) for row in rows] == [0, 1, 2]
    assert rows.number_of(rows[1]) == 1
    assert rows.number_of(rows.take([2])[0]) == 2
    assert rows.number_of(make_row(op_name="other")) == -1


def test_all_who_read_at_the_same_time_share_rows_that_go_when_nobody_reads():
    rows = Rows.of(MADE)
    first = rows[1]
    views = rows.views()
    assert rows.views() is views
    assert views[1] is first is rows[1]
    assert [*map(id, rows)] == [*map(id, views)]
    seen = weakref.ref(views[2])
    del views
    gc.collect()
    assert (seen(), rows[1] is first) == (None, True)


@pytest.mark.parametrize(
    "rows", [MADE, [], network_result(300, 2).rows], ids=["few", "none", "many"]
)
def test_rows_travel_and_take_only_their_own(rows):
    whole = Rows.of(rows)
    assert pickle.loads(pickle.dumps(whole)) == whole
    part = whole.take([n for n in range(len(whole)) if n % 10 == 1])
    assert pickle.loads(pickle.dumps(part)) == part
    if len(whole) > 100:
        assert len(pickle.dumps(part)) < len(pickle.dumps(whole)) / 4


def test_a_result_keeps_any_sequence_of_rows_as_columns():
    result = make_result(rows=MADE)
    assert isinstance(result.rows, Rows)
    assert result.columns is result.rows
    assert replace(result, rows=result.rows).rows is result.rows


def test_none_of_the_arrays_can_be_written():
    rows = Rows.of(MADE)
    for one in (rows.table.rows, rows.figures):
        with pytest.raises(ValueError, match="read-only"):
            one[0] = one[0]


MOST, MOST_PICKLED = 2048, 512
"""Bytes a pair: of two dumps and their result in memory (1,790 on CPython 3.11), of a result on its way (75)."""


def bytes_held(paths):
    """Bytes that two dumps and their result take, the result, and how many dumps there are."""
    gc.collect()
    tracemalloc.start()
    try:
        dumps = [*map(load, paths)]
        result = compare_dumps(*dumps).result
        gc.collect()
        return tracemalloc.get_traced_memory()[0], result, len(dumps)
    finally:
        tracemalloc.stop()


def test_a_pair_of_two_dumps_and_its_result_take_few_bytes(tmp_path):
    graph = small.chain(*["MatMul", "ReLU", "Tanh"] * 120)
    shots = small.shoot(graph, small.given(graph))
    other = small.shoot(graph, small.given(graph), alter={"Default/ReLU-op0": lambda x: x * 1.5})
    paths = [
        small.on_disk(tmp_path / name, some, graph) for name, some in (("a", other), ("b", shots))
    ]
    compare_dumps(*map(load, paths))  # what is kept for every comparison is no part of this one
    # Python's own table of names may grow at any moment, by megabytes: not in both
    held, result, dumps = min((bytes_held(paths) for _ in range(2)), key=lambda found: found[0])
    pairs = result.coverage.matched
    assert (pairs > 900, result.verdict, dumps) == (True, "fail", 2)
    assert held / pairs < MOST
    assert len(pickle.dumps(result)) / pairs < MOST_PICKLED
