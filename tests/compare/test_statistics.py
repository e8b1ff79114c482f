"""What two rows of statistics may say about their tensors, and what they may not."""

from __future__ import annotations

import math

import pytest

from workbench.compare.statistics import measure_statistics

ROW = {"Max Value": 4.0, "Min Value": -2.0, "Avg Value": 1.0, "L2Norm Value": 10.0}


def measured(target, golden=ROW, size=6):
    return measure_statistics(target, golden, size)


def test_equal_digests_prove_equality():
    found = measured(ROW | {"MD5": "a"}, ROW | {"MD5": "a"})
    assert (found.equal, found.error, found.size) == (True, 0.0, 6)


def test_equal_figures_without_a_digest_prove_nothing_but_no_difference():
    found = measured(dict(ROW))
    assert (found.equal, found.error, found.reason) == (False, 0.0, "")


@pytest.mark.parametrize(
    ("title", "value", "error"),
    [
        ("Max Value", 4.4, 0.1),  # against the largest magnitude, 4
        ("Min Value", -2.4, 0.1),
        ("Avg Value", 1.4, 0.1),
        ("L2Norm Value", 11.0, 0.1),  # against the norm itself
    ],
)
def test_the_largest_relative_difference_of_a_figure_is_the_error(title, value, error):
    found = measured(ROW | {title: value})
    assert found.error == pytest.approx(error)
    assert found.mismatch == 0


@pytest.mark.parametrize(("a", "b", "error"), [(1.23456, 1.23457, 0.0), (1.23456, 1.23459, 2.4e-5)])
def test_the_last_printed_digit_is_no_difference(a, b, error):
    """Six digits are printed: 1.234564999 and 1.234565001 come out a unit apart."""
    assert measured({"Max Value": a}, {"Max Value": b}).error == pytest.approx(error, rel=0.1)


def test_a_zero_tensor_against_another_one_is_infinitely_far():
    zero = dict.fromkeys(ROW, 0.0)
    assert measured(ROW, zero).error == math.inf
    assert measured(zero, zero).error == 0.0


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("side", ["target", "golden"])
def test_a_non_finite_figure_against_a_finite_one_is_a_mismatch(value, side):
    odd = ROW | {"Max Value": value}
    found = measured(odd) if side == "target" else measured(ROW, odd)
    assert found.mismatch == 1
    assert not found.equal


def test_infinity_agrees_with_infinity_even_where_nothing_finite_is_left():
    row = {"Max Value": math.inf, "Min Value": math.inf}
    assert (measured(row, row).mismatch, measured(row, row).error) == (0, 0.0)


@pytest.mark.parametrize("proof", [{}, {"MD5": "a"}])
def test_nan_on_both_sides_is_never_agreement_not_even_with_equal_digests(proof):
    row = ROW | {"Max Value": math.nan} | proof
    found = measured(row, row)
    assert found.mismatch > 0
    assert not found.equal


@pytest.mark.parametrize("proof", [{}, {"MD5": "a"}])
def test_counted_nan_on_both_sides_is_never_agreement(proof):
    row = ROW | {"NaN Count": 3.0} | proof
    found = measured(row, row)
    assert found.mismatch > 0
    assert not found.equal


def test_different_counts_of_nan_are_a_mismatch_even_alone():
    found = measured({"NaN Count": 2.0}, {"NaN Count": 0.0})
    assert (found.mismatch, found.reason) == (1, "")


def test_counts_without_nan_say_nothing_of_the_values():
    assert measured({"NaN Count": 0.0}, {"NaN Count": 0.0}).reason


def test_without_a_common_statistic_nothing_is_measured():
    assert "in common" in measured({"Max Value": 1.0}, {"Min Value": 1.0}).reason


def test_digests_alone_can_tell_that_tensors_differ_but_not_by_how_much():
    found = measured({"MD5": "a"}, {"MD5": "b"})
    assert (found.equal, found.reason) == (False, "digests differ, no other statistic")


def test_text_that_is_no_number_counts_as_nan():
    assert measured(ROW | {"Max Value": "garbage"}).mismatch == 1
