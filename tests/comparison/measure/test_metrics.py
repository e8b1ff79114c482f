"""Sums merge like Chan's formula says, and figures follow from sums alone."""

from __future__ import annotations

import math
import pickle
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.comparison.measure.metrics import (
    CANCELLED,
    METRICS,
    ON_DEMAND,
    Divergence,
    Sums,
    finish,
    merge,
    moments,
    unmeasured,
)

FIXED = settings(derandomize=True, deadline=None)

FIELD_TITLES = {
    "CosineSimilarity",
    "MaxAbsoluteError",
    "MeanAbsoluteError",
    "RootMeanSquareError",
    "RelativeEuclideanDistance",
    "AccumulatedRelativeError",
    "MaxRelativeError",
    "MeanRelativeError",
}


def one(t: float, g: float) -> Sums:
    """Sums of one finite pair, worked out by hand."""
    d = abs(t - g)
    return Sums(
        size=1, finite=1, worst=0 if d else -1, target_min=t, target_max=t, target_mean=t,
        golden_min=g, golden_max=g, golden_mean=g, target_golden=t * g, target_target=t * t,
        golden_golden=g * g, square=d * d, absolute=d, absolute_max=d,
        relative=d / abs(g), relative_max=d / abs(g),
        within_one=int(d < abs(g) / 1000), within_five=int(d < abs(g) / 200),
    )  # fmt: skip


def test_the_fields_titles_are_measured_and_the_rest_is_on_demand():
    assert METRICS.keys() >= FIELD_TITLES
    assert ON_DEMAND.keys() == {"KullbackLeiblerDivergence"}
    assert not METRICS.keys() & ON_DEMAND.keys()


def test_only_similarities_and_shares_are_better_when_higher():
    higher = {name for name, metric in METRICS.items() if metric.better == "higher"}
    assert higher == {"CosineSimilarity", "OneThousandthErrRatio", "FiveThousandthsErrRatio"}


def test_two_single_pairs_merge_to_the_textbook_figures():
    found = finish(merge(one(3.0, 4.0), one(4.0, 3.0)))
    assert found.size == 2
    assert found.error == pytest.approx(math.sqrt(2) / 5)
    assert found.metrics["CosineSimilarity"] == pytest.approx(24 / 25)
    assert found.metrics["RootMeanSquareError"] == 1
    assert found.metrics["AccumulatedRelativeError"] == pytest.approx(1 / 4 + 1 / 3)
    assert found.metrics["MeanRelativeError"] == pytest.approx((1 / 4 + 1 / 3) / 2)
    assert found.metrics["TargetMean"] == 3.5
    assert found.metrics["TargetStd"] == 0.5


@FIXED
@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=2, max_size=30), st.integers(1, 29))
def test_moments_of_parts_are_those_of_the_whole(values, cut):
    cut = min(cut, len(values) - 1)
    parts = [values[:cut], values[cut:]]
    state: list[float] = []
    for part in parts:
        state += [len(part), statistics.fmean(part), statistics.pvariance(part) * len(part)]
    mean, m2 = moments(*state)  # type: ignore[arg-type]
    peak = max(map(abs, values)) or 1.0
    assert mean == pytest.approx(statistics.fmean(values), abs=1e-12 * peak)
    variance = statistics.pvariance(values)
    assert m2 / len(values) == pytest.approx(variance, rel=1e-9, abs=1e-12 * peak**2)


def test_moments_keep_the_digits_of_a_large_mean():
    mean, m2 = moments(2, 1e15 + 1, 2.0, 2, 1e15 + 5, 2.0)  # 1e15 + {0, 2} and {4, 6}
    assert (mean, m2) == (1e15 + 3, 20.0)


FINITE = st.floats(0.5, 1e6)


@FIXED
@given(st.lists(st.tuples(FINITE, FINITE), min_size=1, max_size=8), st.randoms())
def test_the_order_of_merging_does_not_matter(values, random):
    parts = [one(t, g) for t, g in values]
    forward = Sums()
    for part in parts:
        forward = merge(forward, part)
    random.shuffle(parts)
    while len(parts) > 1:
        at = random.randrange(len(parts) - 1)
        parts[at : at + 2] = [merge(parts[at], parts[at + 1])]
    for a, b in zip(forward[:-1], parts[0][:-1], strict=True):
        assert a == pytest.approx(b, rel=1e-9, abs=1e-3)  # m2 of near-equal values is all rounding


def test_the_worst_place_is_that_of_the_larger_difference_and_the_first_of_equals():
    small, large = one(1.0, 2.0), one(1.0, 5.0)._replace(worst=7)
    assert merge(small, large).worst == merge(large, small).worst == 7
    assert merge(large, large._replace(worst=3)).worst == 3
    assert merge(small, one(1.0, 1.0)).worst == 0


def test_sums_and_divergences_travel_between_processes():
    sums = one(1.0, 2.0)
    assert pickle.loads(pickle.dumps(sums)) == sums
    found = finish(sums)
    assert pickle.loads(pickle.dumps(found)) == found
    with pytest.raises(AttributeError):
        found.error = 0.0  # type: ignore[misc]


def test_a_pair_that_was_not_measured_can_pass_for_nothing():
    found = unmeasured(CANCELLED, 5)
    assert found == Divergence(5, False, math.inf, 0, {}, CANCELLED)


def test_no_position_to_compare_is_an_infinite_error():
    found = finish(Sums(size=2, target_nan=2, golden_min=1.0, golden_max=2.0, golden_mean=1.5))
    assert (found.error, found.mismatch, found.equal) == (math.inf, 2, False)
    assert math.isnan(found.metrics["CosineSimilarity"])
    assert math.isnan(found.metrics["TargetMean"])
    assert found.metrics["GoldenMean"] == 1.5


def test_complex_tensors_count_elements_but_mismatch_parts():
    found = finish(Sums(size=4, finite=3, target_nan=1, worst=3, absolute_max=1.0), parts=2)
    assert (found.size, found.worst, found.mismatch) == (2, 1, 1)


def test_a_scale_is_undone_where_it_matters():
    scaled = one(1.0, 2.0)._replace(absolute_max=2.0**600, golden_max=2.0**601, golden_min=0.0)
    found = finish(scaled, scale=2.0**600)
    assert found.metrics["RootMeanSquareError"] == 2.0**600
    assert found.metrics["MeanAbsoluteError"] == 2.0**600
    assert found.metrics["MaxAbsoluteError"] == 2.0**600
    assert found.metrics["TargetMean"] == 2.0**600
    assert found.error == 0.5
