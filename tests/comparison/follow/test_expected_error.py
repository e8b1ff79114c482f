"""Limits of noise in updates and masks, against two steps that are really taken apart by noise."""

from __future__ import annotations

import math
import statistics
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.build import small_dumps as small
from kit.build.small_dumps import Net
from workbench.comparison.follow.carry import Carry, ForecastFit
from workbench.comparison.follow.expected_error import (
    doubt_of_figures,
    is_as_others,
    own_excess,
    shown_by_others,
    step_limit,
)
from workbench.comparison.limits import LIMITS
from workbench.comparison.measure.measure import Measured
from workbench.comparison.measure.noise import jump_limit
from workbench.comparison.measure.tensors import measure_arrays
from workbench.comparison.trust import BORROWED, OWN

SIZE = 256
RATE = 0.1


def momentum(w, a, rate, g):
    return w - rate * (0.9 * a + g)


def moved(m, v, g):
    return 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g


def adam(w, m, v, rate, g):
    m, v = moved(m, v, g)
    return w - rate * math.sqrt(1 - 0.999**TURN) / (1 - 0.9**TURN) * m / (np.sqrt(v) + 1e-8)


def adam_weight_decay(w, m, v, rate, g):
    m, v = moved(m, v, g)
    return w - rate * m / (np.sqrt(v) + 1e-8)


TURN = 6
"""The step is the sixth: moments are those that five gradients leave."""

RULES = {
    "ApplyMomentum": (momentum, ("w", "a", "rate", "g")),
    "SGD": (momentum, ("w", "a", "rate", "g")),
    "Adam": (adam, ("w", "m", "v", "rate", "g")),
    "AdamWeightDecay": (adam_weight_decay, ("w", "m", "v", "rate", "g")),
}

ORDERS = {
    "ApplyMomentum": ("w", "a", "rate", "g"),
    "SGD": ("w", "g", "rate", "a"),
    "Adam": ("w", "m", "v", "p1", "p2", "rate", "b1", "b2", "e", "g"),
    "AdamWeightDecay": ("w", "m", "v", "rate", "b1", "b2", "e", "d", "g"),
}
"""Type → its inputs as MindSpore has them."""


def pair(target, golden):
    arrays = (np.asarray(target, np.float64), np.asarray(golden, np.float64))
    return Measured(None, measure_arrays(*arrays))  # type: ignore[arg-type]


def step(kind, noise, *, seed=0, scale=1.0, rate=RATE, without=()):
    """Return the limit for a gradient that is off by ``noise``, and the error that noise really makes."""
    rng = np.random.default_rng(seed)
    given = {name: rng.standard_normal(SIZE) for name in ("w", "a", "g")}
    moments = (0.0, 0.0)
    for _ in range(TURN - 1):
        moments = moved(*moments, rng.standard_normal(SIZE))
    given |= {"m": moments[0], "v": moments[1], "rate": np.float64(RATE)}
    off = rng.standard_normal(SIZE)
    off *= noise * np.linalg.norm(given["g"]) / np.linalg.norm(off)
    taken = {**given, "g": scale * (given["g"] + off), "rate": np.float64(rate)}
    rule, names = RULES[kind]
    golden, target = (rule(*(one[name] for name in names)) for one in (given, taken))
    net = Net()
    net.op(
        kind,
        *(net.feed(name, np.shape(given.get(name, 0.0))) for name in ORDERS[kind]),
        shape=(SIZE,),
    )
    measured = {
        ("input", slot): pair(taken[name], given[name])
        for slot, name in enumerate(ORDERS[kind])
        if name in given and name not in without
    }
    variable = pair(target, golden)
    known = 2.0**-24 + noise * (LIMITS.amplification + noise)
    return step_limit(net.ops[0], measured, variable, 0.0, known), variable.error


@pytest.mark.parametrize("kind", ORDERS)
@settings(max_examples=25, deadline=None)
@given(noise=st.floats(1e-6, 0.3), seed=st.integers(0, 99))
def test_noise_of_a_gradient_stays_within_the_limit_of_its_step(kind, noise, seed):
    limit, error = step(kind, noise, seed=seed)
    assert error <= limit


@pytest.mark.parametrize("kind", ORDERS)
def test_the_limit_grows_with_the_noise_and_never_beyond_turned_signs(kind):
    limits = [step(kind, noise)[0] for noise in (1e-6, 1e-4, 1e-2, 1.0, 100.0)]
    assert limits == sorted(limits)
    assert limits[0] < limits[2]
    assert limits[-1] == pytest.approx(limits[-2], rel=1e-3)


@pytest.mark.parametrize("kind", ["ApplyMomentum", "SGD"])
@pytest.mark.parametrize("wrong", [{"scale": -1.0}, {"rate": 3 * RATE}])
def test_a_wrong_step_is_beyond_what_little_noise_explains(kind, wrong):
    limit, error = step(kind, 1e-4, **wrong)
    assert error > limit


def test_a_step_of_adam_has_no_length_beyond_its_rate():
    limit, error = step("Adam", 1e-6, rate=30 * RATE)
    assert error > limit


@pytest.mark.parametrize(("kind", "without"), [
    ("ApplyMomentum", ("rate",)), ("ApplyMomentum", ("g",)), ("SGD", ("a",)), ("Adam", ("rate",)),
])  # fmt: skip
def test_what_was_not_dumped_leaves_the_limit_unknown(kind, without):
    assert step(kind, 1e-4, without=without)[0] is None


def test_other_operators_take_no_steps():
    net = Net()
    net.op("Mul", net.feed("a", (2,)), net.feed("b", (2,)), shape=(2,))
    assert step_limit(net.ops[0], {}, pair([1, 2], [1, 2]), 0.0, 1e-7) is None


# --- masks -----------------------------------------------------------------------------------


def masked(op_type):
    net = Net()
    net.op(op_type, net.feed("g"), net.feed("x"))
    return net.ops[0]


@pytest.mark.parametrize("noise", [1e-6, 1e-4, 1e-2])
@pytest.mark.parametrize("seed", range(3))
def test_elements_that_noise_lets_pass_stay_within_the_limit(noise, seed):
    rng = np.random.default_rng(seed)
    x, gradient, off = rng.standard_normal((3, 100_000))
    golden, target = (gradient * (one > 0) for one in (x, x + noise * off))
    error = np.linalg.norm(target - golden) / np.linalg.norm(golden)
    assert error <= jump_limit(masked("ReluGrad"), noise)


@pytest.mark.parametrize("op_type", ["ReluGrad", "ReLU6Grad", "MaxPoolGrad"])
def test_a_gradient_of_the_other_sign_is_beyond_any_noise(op_type):
    gradient = np.random.default_rng(0).standard_normal(1000)
    error = np.linalg.norm(-gradient - gradient) / np.linalg.norm(gradient)
    assert jump_limit(masked(op_type), 1e9) < error


def test_comparisons_may_change_altogether():
    assert jump_limit(masked("Greater"), 1e-9) == math.inf


# --- products of one unit ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "inherited", "own"),
    [(5.0, 3.0, 4.0), (3.0, 5.0, 0.0), (0.1, 0.0, 0.1), (math.inf, 0.1, None)],
)
def test_independent_errors_add_up_as_squares(error, inherited, own):
    assert own_excess(error, inherited) == own


@pytest.mark.parametrize(
    ("before", "behind", "shown"),
    [
        ([], [], math.inf),
        ([], [0.1], math.inf),
        ([], [0.1, 0.3], 0.2),
        ([0.1], [0.3], 0.2),
        ([], [0.1, 0.3, 0.0, 0.0, 0.0], 0.2),
        ([], [0.1, 0.0, 0.0], 0.0),
        ([0.1, 0.3], [5.0, 5.0, 5.0], 0.2),
        ([0.0, 0.3], [5.0, 5.0, 5.0], 0.15),
    ],
    ids=["no others", "one", "their median", "on both sides", "hidden ones do not count", "but where all are",
         "those before say more", "hidden ones before"],
)  # fmt: skip
def test_what_the_other_products_show(before, behind, shown):
    own = {**dict(enumerate(before)), -1: 7.0, **dict(enumerate(behind, 9))}
    assert shown_by_others(own)[-1] == pytest.approx(shown)


@pytest.mark.parametrize(
    ("own", "shown", "alike"),
    [
        (0.2, 0.05, True),
        (0.21, 0.05, False),
        (0.3, math.inf, True),
        (0.31, math.inf, False),
        (0.31, 0.3, False),
    ],
)
def test_a_product_is_as_the_others_up_to_a_factor_and_as_any_format(own, shown, alike):
    assert is_as_others(own, shown) == alike


# --- statistics of what was read ---------------------------------------------------------------------

SHOWN = {
    "trust": BORROWED,
    "source": None,
    "forecast": None,
    "apart": False,
    "inherited": 1e-3,
    "error": 0.3,
}
"""Statistics that are all that there is, on a lent graph, of an operator that reads something that differs."""

UNSEEN = small.chain("Tanh", "Reshape", "Neg")


@pytest.mark.parametrize(
    ("more", "doubt"),
    [
        ({}, "figures-alone"),
        ({"trust": OWN}, ""),
        ({"source": "file"}, ""),
        ({"forecast": 0.2}, ""),
        ({"forecast": 0.2, "apart": True}, "figures-alone"),
        ({"inherited": 0.0}, ""),
        ({"inherited": 0.0, "unobserved": (0, 1)}, "inputs-unknown"),
        ({"inherited": 0.0, "unobserved": (1,)}, ""),
        ({"error": 0.31}, ""),
    ],
    ids=["weak", "own graphs", "tensors", "foretold", "foretold otherwise", "equal inputs", "nobody saw them",
         "what was moved", "beyond any format"],
)  # fmt: skip
def test_statistics_on_a_lent_graph_do_not_show_what_came_in(more, doubt):
    known = {"unobserved": (), **SHOWN, **more}
    pair = SimpleNamespace(target=SimpleNamespace(source=known["source"]))
    worst = SimpleNamespace(
        pair=pair, exact=False, forecast=known["forecast"], error=known["error"]
    )
    seen = SimpleNamespace(
        worst=worst, inherited=known["inherited"], unobserved=known["unobserved"]
    )
    scene = SimpleNamespace(trust=known["trust"], graph=UNSEEN)
    assert doubt_of_figures(scene, seen, Carry(fit=ForecastFit(9, known["apart"]))) == doubt


@given(st.lists(st.floats(0.0, math.inf) | st.just(0.0), max_size=12))
def test_what_the_others_show_is_the_median_before_or_around(errors):
    shown = shown_by_others(dict(enumerate(errors)))
    for place in range(len(errors)):
        told = errors[:place] if place > 1 else errors[:place] + errors[place + 1 :]
        seen = [one for one in told if one > 0]
        known = seen if len(seen) > 1 else told
        assert shown[place] == (statistics.median(known) if len(known) > 1 else math.inf)
