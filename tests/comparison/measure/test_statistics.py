"""What two rows of statistics may say about their tensors, and what they may not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.comparison.measure.measure import measure_pair
from workbench.comparison.measure.statistics import measure_statistics, with_padding
from workbench.comparison.pair.pairing import Pair
from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec
from workbench.core.words import Message
from workbench.dump.tables.statistic import TITLES, statistics_of

ROW = {"Max Value": 4.0, "Min Value": -2.0, "Avg Value": 1.0, "L2Norm Value": 10.0}


def measured(target, golden=ROW, size=6):
    return measure_statistics(target, golden, size)


def test_equal_digests_prove_equality():
    found = measured(ROW | {"MD5": "a"}, ROW | {"MD5": "a"})
    assert (found.equal, found.error, found.size) == (True, 0.0, 6)


def test_equal_figures_without_a_digest_prove_nothing_but_no_difference():
    found = measured(dict(ROW))
    assert (found.equal, found.error, found.reason) == (False, 0.0, None)


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
    assert (found.mismatch, found.reason) == (1, None)


def test_counts_without_nan_say_nothing_of_the_values():
    assert measured({"NaN Count": 0.0}, {"NaN Count": 0.0}).reason


def test_without_a_common_statistic_nothing_is_measured():
    found = measured({"Max Value": 1.0}, {"Min Value": 1.0})
    assert found.reason == Message("compare/no-statistic")


def test_digests_alone_can_tell_that_tensors_differ_but_not_by_how_much():
    found = measured({"MD5": "a"}, {"MD5": "b"})
    assert (found.equal, found.reason) == (False, Message("compare/digests-differ"))


def test_text_that_is_no_number_counts_as_nan():
    assert measured(ROW | {"Max Value": "garbage"}).mismatch == 1


FLOATS = st.floats(-100, 100, width=32) | st.sampled_from([math.nan, math.inf, -math.inf])


@given(st.lists(FLOATS, min_size=1, max_size=9), st.integers(0, 9))
def test_padding_changes_figures_as_zeros_behind_the_elements_do(values, more):
    array = np.float32(values)
    plain = statistics_of(array, TITLES)
    expected = statistics_of(np.append(array, np.zeros(more, np.float32)), TITLES)
    found = with_padding(plain, array.size, array.size + more)
    assert found.keys() == expected.keys() - {"MD5", "SHA1"}
    for title, value in found.items():
        assert value == pytest.approx(expected[title], rel=1e-12, nan_ok=True), title


def test_padding_of_figures_that_are_missing_or_text_is_none():
    assert with_padding({"Max Value": "x", "MD5": "a"}, 2, 4) == {"Max Value": "x"}
    assert with_padding({}, 2, 4) == {}


KEY = TensorKey("Conv2D", "conv", "output", 0)
TENSOR = TensorRecord(
    KEY, TensorSpec("float32", None), ArraySource(np.float32([[[[3]], [[5]], [[-2]]]]))
)


def summed(form, shape, **figures):
    return TensorRecord(KEY, TensorSpec("float32", shape, form), None, figures)


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(
    ("form", "shape", "average", "reason", "error"),
    [
        ("NC1HWC0", (1, 1, 1, 1, 16), 6 / 16, "", 0.0),
        ("NC1HWC0", (1, 1, 1, 1, 16), 6 / 3, "", 0.325),
        ("FRACTAL_Z", (1, 1, 16, 16), 6 / 256, "", 0.0),
        ("NC1HWC0", (1, 2, 1, 1, 16), 6 / 32, "compare/sizes-differ", math.inf),
        ("", (1, 1, 1, 1, 16), 6 / 16, "compare/sizes-differ", math.inf),
        ("no format", (16,), 6 / 16, "compare/sizes-differ", math.inf),
        ("ND", (16,), 6 / 16, "compare/sizes-differ", math.inf),
    ],
)
def test_figures_of_a_device_format_have_the_zeros_of_its_padding(
    form, shape, average, reason, error, swapped
):
    row = summed(form, shape, **{"Max Value": 5.0, "Min Value": -2.0, "Avg Value": average})
    sides = (TENSOR, row) if swapped else (row, TENSOR)
    pair = Pair(*sides, None, None, "output", 0, "exact", 1.0, "conv")
    found = measure_pair(pair, ("", ""))
    assert (found.reason.code if found.reason is not None else "") == reason
    if not reason:
        assert found.divergence.error == pytest.approx(error)
