"""How far the expected rounding of a case is lowered to what its right elements show, however many are bit-equal."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.comparison.explain.case import BUDGET, with_fitted_arithmetic
from workbench.comparison.replay.kernel import Arithmetic, Trial
from workbench.graph.graph import Kernel

RNG = np.random.default_rng(7)
RIGHT = RNG.normal(size=(64, 64)).astype(np.float32)
NOISE = RNG.normal(size=RIGHT.shape)
FLOOR = 1e-3


def off_by(bits, wrong=0.1):
    """The same with normal noise of so many last bits of its elements, and a share of wrong elements."""
    given = (RIGHT + bits * NOISE * np.spacing(np.abs(RIGHT))).astype(np.float32)
    given.reshape(-1)[: int(wrong * given.size)] = 0
    return given


def noise_of(given):
    """Norm of the noise of the elements that are not wrong, as a share of the right norm of as many."""
    right = given != 0
    gap = (given.astype(np.float64) - RIGHT)[right]
    return float(np.sqrt(np.mean(gap**2) / np.mean(RIGHT.astype(np.float64) ** 2)))


def floor_of(given):
    case = Trial(Kernel((), ()), {}, 0, given, RIGHT, FLOOR, Arithmetic("cube"))
    return with_fitted_arithmetic(case, BUDGET).floor


def equal(given):
    return float(np.mean(given == RIGHT))


@pytest.mark.parametrize(
    "bits", [0.0, 0.1, 0.3, 0.5, 0.62, 0.66, 0.7, 0.74, 1.0, 1.5, 2.0, 3.0, 4.0]
)
def test_the_floor_is_lowered_to_the_noise_and_never_below(bits):
    given = off_by(bits)
    assert noise_of(given) <= floor_of(given) <= max(4 * noise_of(given), 2.0**-25)


def test_bits_equal_in_half_of_the_elements_are_no_edge():
    """The floors on both sides of it differ no more than their noise does."""
    few, many = off_by(0.78, wrong=0.02), off_by(0.72, wrong=0.02)
    assert 0.45 < equal(few) < 0.49
    assert 0.5 < equal(many) < 0.53
    assert floor_of(few) / floor_of(many) == pytest.approx(noise_of(few) / noise_of(many), rel=0.02)


@pytest.mark.parametrize("bits", [8.0, 40.0, 1000.0])
def test_noise_of_many_last_bits_tells_nothing(bits):
    assert floor_of(off_by(bits)) == FLOOR


def test_most_elements_may_be_wrong_where_the_others_are_right_to_the_bit():
    assert floor_of(off_by(0.0, wrong=0.7)) < 2.0**-24


def test_what_most_zeros_show_is_no_noise():
    """Zeros are right in any arithmetic; the elements that are computed are all far off, and none of them tells."""
    blank = np.where(np.arange(64) < 48, 0, RIGHT).astype(np.float32)
    given = (blank * (1 + 1e-4 * NOISE)).astype(np.float32)
    given[0, -1] = 9
    case = Trial(Kernel((), ()), {}, 0, given, blank, FLOOR, Arithmetic("cube"))
    assert with_fitted_arithmetic(case, BUDGET).floor == FLOOR
