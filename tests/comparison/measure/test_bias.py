"""The common factor of an error: its slope, its certainty, and what healthy operators never reach."""

import math

import ml_dtypes
import numpy as np
import pytest

from workbench.comparison.measure.bias import SHARED, bias_of, median_of, pooled
from workbench.comparison.measure.tensors import measure_arrays

RNG = np.random.default_rng(7)
Y = RNG.standard_normal((128, 96)).astype(np.float32)
FORMATS = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


def by_hand(t, y):
    """Slope, scatter, certainty, rest: one formula after the other, sums by math.fsum."""
    t, y = t.astype(float).ravel(), y.astype(float).ravel()
    d, fsum = t - y, lambda x: math.fsum(x.tolist())
    square = fsum(y * y)
    slope = fsum(d * y) / square
    rest = d - slope * y
    scatter = math.sqrt(fsum((rest * y) ** 2)) / square
    certainty = fsum(d * y) / math.sqrt(fsum((d * y) ** 2))
    return slope, scatter, certainty, math.sqrt(fsum(rest * rest) / square)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("factor", [1.0015, 0.99, 1.3])
def test_figures_are_those_of_the_formulas(name, factor):
    kind = FORMATS[name]
    y = Y.astype(kind)
    t = (y.astype(float) * factor + 1e-3 * RNG.standard_normal(y.shape)).astype(kind)
    found = bias_of(t, y)
    assert found[:4] == pytest.approx(by_hand(t, y), rel=1e-9)
    measured = measure_arrays(t, y).metrics
    assert measured["RelativeBias"] == pytest.approx(found.slope, rel=1e-9)
    assert measured["RelativeBiasZ"] == pytest.approx(found.certainty, rel=1e-9)


CASES = {
    # name: (factor before rounding, format, accuses)
    "healthy float32": (1.0, "float32", False),
    "healthy float16": (1.0, "float16", False),
    "healthy bfloat16": (1.0, "bfloat16", False),
    "a step of float32": (1 + 2.0**-24, "float32", False),
    "1.0015 in float32": (1.0015, "float32", True),
    "1.0015 in float16": (1.0015, "float16", True),
    "1.0015 in bfloat16": (1.0015, "bfloat16", True),
    "1/1.0015 in bfloat16": (1 / 1.0015, "bfloat16", True),
    "certain, but no larger than healthy operators leave": (1.0003, "bfloat16", False),
}


@pytest.mark.parametrize("case", CASES)
def test_only_what_is_certain_and_large_accuses(case):
    factor, name, accuses = CASES[case]
    exact = Y.astype(float) * 1.7
    noise = 1 + 2.0**-25 * RNG.standard_normal(Y.shape)
    found = bias_of((exact * factor * noise).astype(FORMATS[name]), exact.astype(FORMATS[name]))
    assert found.accuses is accuses
    if accuses:
        low, high = found.interval
        assert low <= factor <= high


def test_few_elements_are_never_certain():
    y = Y[:8, :8]
    assert not bias_of(y * np.float32(1.5), y).accuses  # √64 standard deviations at most


@pytest.mark.parametrize(("op_type", "axis"), [("Softmax", 0), ("BatchNorm", 1)])
def test_elements_that_share_an_error_count_as_one(op_type, axis):
    shape = [1] * Y.ndim
    shape[axis] = Y.shape[axis]
    noise = 1 + 1e-4 * np.random.default_rng(3).standard_normal(shape)
    t = (Y * noise).astype(np.float32)
    assert op_type in SHARED
    alone, together = bias_of(t, Y), bias_of(t, Y, op_type)
    assert together.slope == alone.slope
    assert abs(together.certainty) < 4
    assert together.scatter > 3 * alone.scatter


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (np.arange(4), np.arange(4)),
        (np.ones(4), np.ones(4)),
        (np.ones(4, np.float32), np.zeros(4, np.float32)),
        (np.ones(4, np.float32), np.ones((2, 2), np.float32)),
        (np.empty(0, np.float32), np.empty(0, np.float32)),
    ],
)
def test_integers_wide_floats_and_empty_references_have_none(given, expected):
    assert bias_of(given, expected) is None


def test_what_is_not_finite_is_left_out():
    y = Y.copy()
    t = y * np.float32(1.01)
    t[0, 0], y[3, 3] = np.nan, np.inf
    assert bias_of(t, y).slope == pytest.approx(0.01, rel=1e-4)


def test_pooled_certainties_add_up_as_those_of_independent_results():
    exact = Y.astype(float)
    noisy = [exact * (1.001 + 0.05 * RNG.standard_normal(Y.shape)) for _ in range(16)]
    found = [bias_of(one.astype(np.float32), Y) for one in noisy]
    pool = pooled(found)
    assert pool.certainty == pytest.approx(sum(one.certainty for one in found) / 4)
    assert pool.low <= 1.001 <= pool.high
    assert min(one.slope for one in found) <= pool.slope <= max(one.slope for one in found)


@pytest.mark.parametrize(
    "values",
    [[3.0], [3.0, 1.0], [2.0, 9.0, 1.0], [4.0, 1.0, 2.0, 1e300], [1.0, math.nan, 2.0], [0.1, 0.7]],
)
def test_the_median_is_that_of_numpy(values):
    np.testing.assert_array_equal(median_of(values), np.median(values))
    assert type(median_of(values)) is float


def test_no_numbers_have_no_median():
    assert math.isnan(median_of([]))
