"""Geometry of the plot on results small enough to draw by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.build.sample_results import make_finding, make_result, make_row
from workbench.core.words import Message
from workbench.show.plots.series import MAX_DECADES, positions, series


def drawn(*errors, **changes):
    rows = tuple(make_row(error=e, order=n, **changes) for n, e in enumerate(errors))
    return series(make_result(rows=rows))


def test_rows_of_one_operator_share_a_place_and_gaps_close():
    rows = [make_row(order=n, slot=s) for n, s in ((7, 0), (7, 1), (3, 0), (900, 0))]
    assert positions(rows) == [1, 1, 0, 2]


def test_tensors_without_a_partner_have_no_place():
    assert positions([make_row(), make_row(match_rule="", golden_spec=None)]) == [0, None]


def test_every_kind_of_error_has_its_lane():
    points = drawn(1e-3, math.nan, math.inf, 0.0, None).points
    assert points.lane.tolist() == ["scale", "top", "top", "zero", "none"]
    assert points.y[0] == pytest.approx(-3)
    assert np.isnan(points.y[[1, 2, 3, 4]]).all()


def test_only_points_on_the_scale_show_where_their_error_comes_from():
    points = drawn(1e-3, math.nan, 0.0, None, inherited_error=1e-4, own_error=1e-2).points
    assert points.came.tolist() == pytest.approx([-4, *[math.nan] * 3], nan_ok=True)
    assert points.own.tolist() == pytest.approx([-2, *[math.nan] * 3], nan_ok=True)
    points = drawn(1e-3, 1e-3, 1e-3, inherited_error=0.0, own_error=math.inf).points
    assert np.isnan([points.came, points.own]).all()


@given(st.lists(st.floats(min_value=5e-324, allow_infinity=False, allow_nan=False), max_size=9))
def test_the_axis_is_usable_whatever_the_errors(errors):
    picture = drawn(*errors)
    assert 3 <= picture.high - picture.low <= MAX_DECADES
    if errors:
        assert math.log10(max(errors)) <= picture.high


def test_the_floor_of_an_operator_is_that_of_its_largest_output():
    rows = (
        make_row(io="input", noise_floor=1.0),
        make_row(io="output", noise_floor=1e-4),
        make_row(io="output", slot=1, noise_floor=1e-3),
        make_row(order=1, io="input", noise_floor=1e-2),
        make_row(order=2, noise_floor=None),
        make_row(order=3, noise_floor=math.nan),
    )
    floor = series(make_result(rows=rows)).floor
    assert [*zip(floor.x.tolist(), floor.y.tolist(), strict=True)] == [(0, -3.0), (1, -2.0)]


def test_iterations_are_spans_that_do_not_overlap():
    rows = tuple(make_row(iteration=i, order=n) for i in (0, 1) for n in range(3))
    spans = series(make_result(rows=rows)).segments
    assert [(s.start, s.end, s.label) for s in spans] == [
        (0, 2, Message("show/iteration", iteration=0)),
        (3, 5, Message("show/iteration", iteration=1)),
    ]


def test_ranks_are_named_when_there_are_several():
    rows = tuple(make_row(rank=rank) for rank in (0, 3))
    labels = [segment.label for segment in series(make_result(rows=rows)).segments]
    assert labels == [Message("show/rank-iteration", rank=rank, iteration=0) for rank in (0, 3)]


def test_defects_are_marked_at_their_operator_and_others_are_not():
    rows = (make_row(op_name="a/b"), make_row(op_name="a/c", order=1))
    findings = (
        make_finding(op_name="a/c"),
        make_finding(op_name="a/b", kind="precision"),
        make_finding(op_name="unknown"),
        make_finding(op_name="a/b", kind="shape"),
    )
    marks = series(make_result(rows=rows, findings=findings)).marks
    assert [(m.x, m.number, m.label) for m in marks] == [(1, 1, "a/c"), (0, 4, "a/b")]


@pytest.mark.parametrize(("rank", "place"), [(0, 0), (1, 1), (7, 0)])
def test_a_defect_is_marked_on_its_own_rank_or_on_the_one_that_was_compared_with_it(rank, place):
    rows = (make_row(rank=0), make_row(rank=1))
    result = make_result(rows=rows, findings=(make_finding(rank=rank),))
    assert [mark.x for mark in series(result).marks] == [place]
