"""Statuses by one's own thresholds, case by case."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from kit.build.sample_results import make_row, network_result
from kit.words import check_said, refused
from workbench.comparison.results.regrade import regrade

CASES = {
    # status, error, floor, factor, limit: new status
    "above the factor": ("pass", 5e-3, 1e-3, 4.0, None, "fail"),
    "on the factor": ("pass", 4e-3, 1e-3, 4.0, None, "warn"),
    "within the floor": ("fail", 5e-4, 1e-3, 4.0, None, "pass"),
    "above the limit": ("pass", 2e-3, 1e-2, None, 1e-3, "fail"),
    "one of both": ("pass", 2e-3, 1e-3, 4.0, 1e-3, "fail"),
    "neither of both": ("fail", 9e-4, 1e-3, 4.0, 1e-3, "pass"),
    "exact, and different": ("warn", 1e-9, 0.0, 4.0, None, "fail"),
    "no floor for the factor": ("fail", 5e-3, None, 4.0, None, "fail"),
    "no floor for the limit": ("fail", 5e-3, None, 4.0, 1e-2, "pass"),
    "no threshold": ("warn", 5e-3, 1e-3, None, None, "warn"),
    "NaN": ("warn", math.nan, 1e-3, None, 1e9, "fail"),
    "infinite": ("pass", math.inf, 1e-3, 1e9, None, "fail"),
    "equal": ("equal", 0.0, 1e-3, 0.0, None, "equal"),
    "uncomparable": ("uncomparable", 1.0, 1e-3, 1.0, None, "uncomparable"),
    "shapes differ": ("fail", None, None, 4.0, 1e9, "fail"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_row_gets_the_status_of_the_thresholds(case):
    status, error, floor, factor, limit, expected = CASES[case]
    row = make_row(status=status, error=error, noise_floor=floor)
    (new,) = regrade([row], factor, limit)
    assert new.status == expected


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_a_higher_threshold_never_fails_more(one, other):
    rows = network_result(60, 1).rows
    fails = [
        sum(row.status == "fail" for row in regrade(rows, factor))
        for factor in sorted([one, other])
    ]
    assert fails[0] >= fails[1]


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_a_threshold_that_is_none_is_refused(value):
    with refused("compare/threshold", subject="factor"):
        regrade([], value)
    with refused("compare/threshold", subject="limit"):
        regrade([], None, value)


def test_a_comparison_re_graded_says_so_and_keeps_its_sentence():
    comparison = wb.Comparison(network_result(60, 1))
    new = comparison.regrade(factor=4.0, limit=1e-3)
    factor, limit = new.result.facts["re-graded"].values["limits"]
    check_said(factor, "compare/grade-factor", limit=4.0)
    check_said(limit, "compare/grade-error", limit=1e-3)
    assert (new.sentence, new.verdict) == (comparison.sentence, comparison.verdict)
    assert [row.error for row in new.rows if row.status == "fail"] != []
    assert "re-graded" not in comparison.result.facts
