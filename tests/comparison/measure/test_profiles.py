"""Every profile against figures computed by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from workbench.comparison.measure.metrics import METRICS
from workbench.comparison.measure.profiles import DERIVED, PROFILES, Either, Limit
from workbench.comparison.measure.statistics import measure_statistics
from workbench.comparison.measure.tensors import measure_arrays


def passes(name: str, target, golden) -> bool:
    target, golden = np.asarray(target, np.float64), np.asarray(golden, np.float64)
    metrics = measure_arrays(target, golden).metrics
    assert not [limit.missing(metrics) for limit in PROFILES[name].limits if limit.missing(metrics)]
    return all(limit.holds(metrics) for limit in PROFILES[name].limits)


# (4, 3) has norm 5; (3, 4) against it: cosine 24/25 = 0.96
TURNED = ((3, 4), (4, 3))

# A thousand ones of which one is 1.01: RMSE = 0.01/sqrt(1000), all other errors 0.01 at most.
ONES = np.ones(1000)


def ones(value: float, count: int = 1):
    changed = ONES.copy()
    changed[:count] = value
    return changed


CASES = [
    # cosine 0.96 is below 0.99
    ("msaccucmp", *TURNED, False),
    # cosine 1, ‖d‖/‖g‖ = 0.04, RMSE = 0.04, mean |d|/|g| = 0.04
    ("msaccucmp", ONES * 1.04, ONES, True),
    # ‖d‖/‖g‖ = 0.06 > 0.05
    ("msaccucmp", ONES * 1.06, ONES, False),
    # ‖d‖/‖g‖ = 0.04, but RMSE = 1.04·… = 40 · 0.04 = 1.6 > 1
    ("msaccucmp", ONES * 41.6, ONES * 40, False),
    # mean |d|/|g| = 0.5·(0 + 3) = 1.5 > 1; cosine and norm barely see the small element
    ("msaccucmp", (100, 0.04), (100, 0.01), False),
    ("msprobe", ONES * 1.0009, ONES, True),
    ("msprobe", ONES * 1.0011, ONES, False),
    ("msprobe", (3e-4, 4e-4), (4e-4, 3e-4), False),  # max|d| = 1e-4, cosine 0.96
    # Accuracy: cosine 0.96 with max|d| = 1e-4 is taken, with max|d| = 1 is not; cosine 0.8 never is
    ("msprobe-mindspore", (3e-4, 4e-4), (4e-4, 3e-4), True),
    ("msprobe-mindspore", *TURNED, False),
    ("msprobe-mindspore", (4e-4, -3e-4), (5e-4, 0), False),
    ("msprobe-mindspore", ONES * 41.1, ONES * 40, False),  # cosine 1, max|d| = 1.1
    ("msprobe-mindspore", ONES * 40.9, ONES * 40, True),
    ("msprobe-torchair", ones(1.009), ONES, True),
    ("msprobe-torchair", ones(1.011), ONES, False),
    # 1 of 1000 off by over a thousandth leaves exactly 0.999; 2 leave 0.998
    ("msprobe-check", ones(1.01), ONES, True),
    ("msprobe-check", ones(1.01, 2), ONES, False),
    # max 1.4 against 1, min and norm: |‖t‖ - ‖g‖|/‖g‖ = sqrt((999 + 1.96)/1000) - 1 < 0.001
    ("msprobe-statistics", ones(1.4), ONES, True),
    ("msprobe-statistics", ones(1.6), ONES, False),
    ("msprobe-statistics", ones(0.4), ONES, False),  # min 0.4 against 1
    ("msprobe-statistics", ones(1.45, 999), ones(1, 0), True),  # norm 1.4497
    ("msprobe-statistics", ONES * 1.51, ONES, False),
    ("polygraphy", ONES + 9e-6, ONES, True),
    ("polygraphy", ONES + 2e-5, ONES, False),
    ("polygraphy", 1e3 * ONES + 9e-3, 1e3 * ONES, True),  # absolute 9e-3, relative 9e-6
    ("polygraphy", 1e-6 * ONES, 2e-6 * ONES, True),  # relative 0.5, absolute 1e-6
    # ‖d‖/‖(t + g)/2‖ = 0.009/1.0045 < 0.01; 0.011/1.0055 > 0.01
    ("tpu-mlir", ONES * 1.009, ONES, True),
    ("tpu-mlir", ONES * 1.011, ONES, False),
    ("tpu-mlir", *TURNED, False),
    # peak 1, noise 0.0099²: 40.09 dB; 0.0101²: 39.91 dB
    ("coremltools", ONES + 0.0099, ONES, True),
    ("coremltools", ONES + 0.0101, ONES, False),
]


@pytest.mark.parametrize(("name", "target", "golden", "kept"), CASES)
def test_profiles_decide_as_by_hand(name, target, golden, kept):
    assert passes(name, target, golden) is kept


def test_every_profile_is_tried_on_both_sides():
    tried = {(name, kept) for name, _, _, kept in CASES}
    field = {name for name, one in PROFILES.items() if one.limits}
    assert tried == {(name, kept) for name in field for kept in (True, False)}


RNG = np.random.default_rng(3)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_derived_figures_are_those_of_the_elements(scale):
    golden = RNG.standard_normal(257) * scale
    target = golden + RNG.standard_normal(257) * 0.03 * scale
    metrics = measure_arrays(target, golden).metrics
    off = target - golden
    noise = np.mean(off**2)
    expected = {
        "EuclideanSimilarity": 1 - np.linalg.norm(off) / np.linalg.norm((target + golden) / 2),
        "PSNR": 10 * np.log10((np.max(golden**2) + 1e-5) / (noise + 1e-10)),
        "MaxChange": abs(target.max() - golden.max()) / abs(golden.max()),
        "MinChange": abs(target.min() - golden.min()) / abs(golden.min()),
        "NormChange": abs(np.linalg.norm(target) - np.linalg.norm(golden)) / np.linalg.norm(golden),
    }
    assert expected.keys() == DERIVED.keys()
    for title, value in expected.items():
        assert Limit(title).value(metrics) == pytest.approx(value, rel=1e-9), title


def test_statistics_suffice_for_their_own_profile():
    (target, golden) = (
        {"Max Value": 1.4, "Min Value": -1.0, "L2Norm Value": n} for n in (10.0, 10.0)
    )
    golden["Max Value"] = 1.0
    limits = PROFILES["msprobe-statistics"].limits
    assert all(limit.holds(measure_statistics(target, golden).metrics) for limit in limits)
    target["Max Value"] = 1.6
    assert not all(limit.holds(measure_statistics(target, golden).metrics) for limit in limits)
    metrics = measure_statistics(target, golden).metrics
    lacking = {name for name, one in PROFILES.items() for lim in one.limits if lim.missing(metrics)}
    assert lacking == PROFILES.keys() - {"noise-floor", "msprobe-statistics"}


def test_zeros_against_zeros_change_nothing_and_against_others_everything():
    zeros = measure_arrays(np.zeros(4), np.zeros(4)).metrics
    ones_ = measure_arrays(np.ones(4), np.zeros(4)).metrics
    for title in ("MaxChange", "MinChange", "NormChange"):
        assert Limit(title).value(zeros) == 0
        assert Limit(title).value(ones_) == math.inf
    assert Limit("EuclideanSimilarity").value(zeros) == 1


def test_one_of_two_thresholds_is_enough_and_an_unknown_one_is_told():
    either = Either((Limit("a", low=1), Limit("b", high=1)))
    assert either.holds({"a": 0, "b": 0})
    assert either.holds({"a": 2, "b": 2})
    assert not either.holds({"a": 0, "b": 2})
    assert not either.holds({"a": math.nan, "b": math.nan})
    assert either.missing({"a": 0}) == "b"
    assert either.missing({"a": 0, "b": 0}) == ""
    assert str(either) == "a ≥ 1 or b ≤ 1"


def test_every_figure_of_a_profile_is_defined():
    titles = {title for one in PROFILES.values() for limit in one.limits for title in limit.titles}
    assert titles <= METRICS.keys() | DERIVED.keys()
