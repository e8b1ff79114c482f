"""Slices of a result that rounding does not explain: found beside outliers, never where a sum merely cancels."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from comparison.replay.test_floors import attempt

from workbench.comparison.limits import Limits, using
from workbench.comparison.measure.slices import Slice
from workbench.comparison.replay.slices import copied_slices, slice_error
from workbench.core.tensors import ArraySource
from workbench.npu.arithmetic import EXACT

SHAPE = (64, 256)


def scaled(kind=np.float16):
    """A product with an outlier channel: what it reads, and what it gives."""
    rng = np.random.default_rng(0)
    scale = np.full(SHAPE[1], 0.05, kind)
    scale[7] = 300
    x = rng.uniform(0.5, 2, SHAPE).astype(kind)
    return (x, scale), (x * scale).astype(kind)


def judged(op_type, read, given, **more):
    return slice_error(attempt(op_type, read, given), 0, EXACT, npu=more.pop("npu", False))


def test_what_an_operator_gives_as_it_has_to_has_no_wrong_slices():
    read, given = scaled()
    assert judged("Mul", read, given) is None


@pytest.mark.parametrize(
    ("place", "worst", "wrong", "begin", "elements"),
    [
        (np.s_[:, 20:28], 1, 8, (), 64 * 8),
        (np.s_[9, 8:], 0, 1, (), 248),
        (np.s_[16:32, 32:48], -1, 1, (16, 32), 256),
    ],
    ids=["channels", "token", "tile"],
)
def test_wrong_slices_are_counted_and_the_worst_is_placed(place, worst, wrong, begin, elements):
    read, given = scaled()
    given[place] = 0
    found = judged("Mul", read, given)
    assert (found.worst.axis, found.wrong, found.begin) == (worst, wrong, begin)
    assert (found.elements, found.size) == (elements, given.size)
    assert found.times == pytest.approx(found.error / found.floor)
    assert found.times > 8


def test_what_should_be_zero_has_no_scale():
    read, given = scaled()
    read[0][:, 20] = 0
    found = judged("Mul", read, given)
    assert (found.worst, found.error, found.floor) == (Slice(1, 20), np.inf, 0.0)


def test_a_slice_has_the_noise_of_what_cancels_in_it():
    """One rounding of what came in, which float64 does not see, may be all that is left of a difference."""
    rng = np.random.default_rng(1)
    x = rng.uniform(1, 2, SHAPE)
    y = x.copy()
    y[:32] *= 1 + 1e-4 * rng.standard_normal((32, SHAPE[1]))
    y[32:] += 1.0
    x, y = x.astype(np.float32), y.astype(np.float32)
    rounded = [(a.view(np.uint32) & np.uint32(0xFFFFF800)).view(np.float32) for a in (x, y)]
    given = rounded[0] - rounded[1]
    error = np.abs(given - (x - y))[:32].sum() / np.abs(x - y)[:32].sum()
    assert error > 0.1
    with using(Limits(slice_factor=1.0)):
        assert judged("Sub", (x, y), given) is not None  # of float32 that is no rounding
    wide = [a.astype(np.float16) for a in (x, y)]
    given = (wide[0] - wide[1]).astype(np.float16)
    given[:32] += (2.0**-11 * rng.choice([-1, 1], (32, SHAPE[1]))).astype(np.float16)
    assert judged("Sub", wide, given) is None  # of float16 it is one


def test_a_row_of_a_product_has_the_noise_of_the_outlier_that_it_reads():
    """Σ|a||b| bounds what rounding leaves in an element, and does not show in the element."""
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((64, 512)), rng.standard_normal((512, 128)) * 0.05
    a[5, 3], a[5, 4] = 3e5, 3e5
    b[4] = -b[3]  # the two cancel, but for rounding
    a, b = a.astype(np.float32), b.astype(np.float32)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    given = exact.astype(np.float32)
    given[5] += np.float32(3e5 * 0.05 * 2.0**-21) * rng.choice([-1, 1], 128).astype(np.float32)
    assert np.abs(given - exact)[5].sum() / np.abs(exact)[5].sum() > 2.0**-8
    assert judged("MatMul", (a, b), given) is None
    given[5] = 0
    assert judged("MatMul", (a, b), given, npu=False) is not None


def test_jumps_integers_assumed_inputs_and_small_results_are_not_judged():
    read, given = scaled()
    wrong = given.copy()
    wrong[:, 20] = 0
    one = attempt("Mul", read, wrong)
    assert slice_error(one, 0, EXACT, npu=False) is not None
    assert slice_error(one, 1, EXACT, npu=False) is None
    assert slice_error(one, -1, EXACT, npu=False) is None
    assert slice_error(dataclasses.replace(one, invented=(1,)), 0, EXACT, npu=False) is None
    assert judged("Floor", (given,), wrong) is None
    assert judged("Neg", (np.ones(SHAPE, np.int32),), np.ones(SHAPE, np.int32)) is None
    assert judged("Neg", (given[:4, :128],), given[:4, :128]) is None


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_a_copy_has_the_noise_of_the_formats_it_went_through(kind):
    (golden, _), _ = scaled(np.float32)
    golden[:, 3] *= 1000
    target = golden.astype(np.float16).astype(kind)
    assert copied_slices(ArraySource(target), ArraySource(golden), 2.0**-11) is None
    target[:, 20] *= -1
    found = copied_slices(ArraySource(target), ArraySource(golden), 2.0**-11)
    assert (found.worst, found.wrong) == (Slice(1, 20), 1)
    assert copied_slices(ArraySource(target), ArraySource(golden), 1 / 254) is None


def test_numbers_too_small_for_a_format_are_no_fault_of_a_copy():
    (golden, _), _ = scaled(np.float32)
    golden[:, 20] = 1e-8
    target = golden.astype(np.float16)
    assert not target[:, 20].any()
    assert copied_slices(ArraySource(target), ArraySource(golden), 2.0**-11) is None


def test_other_shapes_are_not_judged():
    golden = np.ones((64, 64), np.float32)
    for other in (np.zeros((32, 128), np.float32), np.zeros((64, 64), np.int32)):
        assert copied_slices(ArraySource(other), ArraySource(golden), 2.0**-24) is None
