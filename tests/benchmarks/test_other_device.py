"""The second numeric model of the benchmark: healthy, and not the first one."""

import math
from fractions import Fraction

import numpy as np
import pytest
from clearing.other_device import bell, computing_otherwise, exponential, lane_sum, off_by, tangent
from diagnosing.cases import Setting
from diagnosing.runs import device_run

U = 2.0**-24


@pytest.mark.parametrize(
    ("function", "oracle"),
    [
        (exponential, math.exp),
        (tangent, math.tanh),
        (bell, lambda x: 1 / (1 + math.exp(-x))),
    ],
)
def test_what_is_approximated_is_good_to_some_last_bits(function, oracle):
    x = np.concatenate([np.linspace(-20, 20, 4000), np.geomspace(1e-6, 1, 200)]).astype(np.float32)
    expected = np.array([oracle(float(one)) for one in x])
    assert np.max(np.abs(function(x) - expected) / np.abs(expected)) < 8 * U


@pytest.mark.parametrize("axes", [None, 0, 1, (0, 2), -1])
def test_sums_are_sums_in_another_order(axes):
    x = np.random.default_rng(0).standard_normal((5, 131, 7)).astype(np.float32)
    total = lane_sum(x, axes)
    exact = np.sum(x.astype(np.float64), axis=axes)
    whole = np.sum(np.abs(x.astype(np.float64)), axis=axes)
    assert total.shape == exact.shape
    assert np.all(np.abs(total - exact) <= x.size / exact.size * U * whole)
    assert lane_sum(x, axes, keep=True).shape == np.sum(x, axis=axes, keepdims=True).shape


def test_the_order_of_a_sum_is_each_lane_first_and_then_from_the_last_lane():
    x = np.random.default_rng(1).standard_normal(100).astype(np.float32)
    lanes = [np.float32(0)] * 48
    for place, one in enumerate(x):
        lanes[place % 48] += one
    total = np.float32(0)
    for lane in reversed(lanes):
        total += lane
    assert lane_sum(x, None) == total
    assert total != float(sum(map(Fraction, x.tolist())))


def test_noise_has_the_size_that_it_is_told():
    x = np.full(100_000, 3.0, np.float32)
    error = off_by(x, 1e-3, np.random.default_rng(0)) / 3.0 - 1
    assert np.sqrt(np.mean(error**2)) == pytest.approx(1e-3, rel=0.02)
    assert np.max(np.abs(error)) <= 1.74e-3


def outputs(noise, mode="must_keep_origin_dtype", model="transformer"):
    setting = Setting(model, 3, "a2", "mindspore-o0o1", "npy", mode, 1)
    with computing_otherwise(noise, 3):
        run = device_run(setting)
    return {
        (r.key.op_type, r.key.op_name, r.key.slot): r.source.array().astype(np.float64)
        for r in run.records
        if r.key.io == "output"
    }


def relative(one, other):
    return np.linalg.norm(one - other) / np.linalg.norm(other)


def test_the_first_product_is_off_by_the_noise_and_the_same_every_time():
    plain, other, again = outputs(None), outputs(2e-6), outputs(2e-6)
    key = next(key for key in plain if key[0] == "MatMul")
    assert 1e-6 < relative(other[key], plain[key]) < 4e-6
    assert np.array_equal(other[key], again[key])
    assert np.array_equal(outputs(None)[key], plain[key])


def test_formats_of_16_bits_are_off_by_last_bits():
    plain, other = (outputs(noise, "force_fp16", "mlp") for noise in (None, 1e-6))
    key = next(key for key in plain if key[0] == "MatMul")
    assert 2.0**-13 < relative(other[key], plain[key]) < 2.0**-10
