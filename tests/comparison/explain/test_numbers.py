"""Numbers and places that hypotheses are made of, against ones known by construction."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from workbench.comparison.explain.case import Evaluation
from workbench.comparison.explain.hypotheses.attributes import fit_number
from workbench.comparison.explain.hypotheses.elements import (
    correlation,
    count_runs,
    describe_places,
    with_given,
)
from workbench.comparison.explain.hypotheses.operands import transposed_output
from workbench.comparison.explain.hypotheses.outputs import limit_between, round_numbers_near
from workbench.comparison.explain.table import is_chain, is_float, is_integer, is_number, is_result
from workbench.comparison.replay.kernel import Trial
from workbench.core.words import Message
from workbench.graph.graph import Kernel

X = np.random.default_rng(4).normal(size=(4, 6)).astype(np.float32)


def case(given, expected, slot=0, ops=()):
    return Evaluation(
        Trial(Kernel(ops, ()), {}, slot, np.asarray(given), np.asarray(expected), 1e-6)
    )


@pytest.mark.parametrize(
    ("low", "high", "limit"),
    [(3.0, 5.0, 4.0), (3.0, 4.0, 4.0), (5.0, 7.0, 6.0), (4.0, 7.0, 5.5), (0.1, 0.2, 0.125), (0.0, 3.0, 1.5)],
)  # fmt: skip
def test_a_power_of_two_between_two_magnitudes_or_their_middle(low, high, limit):
    assert limit_between(low, high) == limit


@pytest.mark.parametrize(
    ("number", "round_ones"),
    [
        (2.0, [2.0] * 4),
        (0.4999, [0.5, 0.5, 0.5, 0.4999]),
        (-0.125, [-0.125, -0.125]),
        (3.14159, [3.14, 3.142]),
        (1.0, []),
        (0.99999, []),
    ],
)
def test_round_numbers_lie_within_a_thousandth(number, round_ones):
    assert [*round_numbers_near(number)] == round_ones


@pytest.mark.parametrize(
    ("places", "shape", "said", "runs"),
    [
        ([7], (2, 4), Message("compare/element", index=[1, 3]), 1),
        ([0], (), Message("compare/element", index=[]), 1),
        ([5, 6, 7], (2, 4), Message("compare/elements", count=3, first=[1, 1]), 1),
        ([1, 3, 4, 7], (2, 4), Message("compare/elements", count=4, first=[0, 1]), 3),
    ],
)
def test_places_are_said_by_the_first_and_their_number(places, shape, said, runs):
    assert describe_places(np.array(places), shape) == said
    assert count_runs(np.array(places)) == runs


@pytest.mark.parametrize(
    ("given", "cosine"),
    [(X, 1.0), (3 * X + 7, 1.0), (-X, -1.0), (np.ones_like(X), 0.0), (np.where(X > 1, np.nan, X), 1.0)],
    ids=["same", "scaled and moved", "turned", "constant", "NaN left out"],
)  # fmt: skip
def test_how_alike_two_outputs_are_does_not_depend_on_scale_and_mean(given, cosine):
    assert correlation(case(given, X)) == pytest.approx(cosine, abs=1e-6)


def test_one_element_is_like_nothing():
    assert correlation(case(X[0, :1], X[0, :1])) == 0.0


def test_two_elements_are_alike_or_opposite():
    assert correlation(case([1.0, 2.0], [3.0, 9.0])) == pytest.approx(1.0)


def test_what_was_given_is_taken_where_it_is_asked_and_the_rest_was_expected():
    mask = np.arange(24) % 5 == 0
    mixed = with_given(case(X + 1, X), mask)
    assert np.array_equal(mixed, np.where(mask.reshape(4, 6), X + 1, X))


def test_a_transposed_output_is_found_with_the_order_of_its_axes():
    expected = np.arange(24.0).reshape(2, 1, 3, 4)
    turned = {
        tuple(one.said.values["axes"]): one.output for one in transposed_output(case(X, expected))
    }
    assert len(turned) == 5
    for axes, output in turned.items():
        assert axes[1] == 1
        assert np.array_equal(output.reshape(-1), expected.transpose(axes).reshape(-1))


@pytest.mark.parametrize("shape", [(24,), (1, 24), (2,) * 5])
def test_what_has_one_axis_or_too_many_is_not_transposed(shape):
    expected = np.zeros(shape)
    assert not [*transposed_output(case(expected, expected))]


@pytest.mark.parametrize("wanted", [0.3, -2.0, 5.0])
def test_a_number_is_fitted_to_what_was_given(wanted):
    found = case(X * wanted, X)
    fitted = fit_number(found, lambda number: X * np.float32(number), 1.0, found.error)
    assert fitted == pytest.approx(wanted, rel=1e-4)


@pytest.mark.parametrize(
    "compute",
    [lambda _: X, lambda _: None, lambda number: X if number == 1 else None],
    ids=["the same", "nothing", "nothing beside it"],
)
def test_a_number_that_changes_nothing_or_cannot_be_computed_is_not_fitted(compute):
    found = case(X * 2, X)
    assert fit_number(found, compute, 1.0, found.error) is None


@pytest.mark.parametrize(
    ("dtype", "slot", "parts", "holds"),
    [
        (np.float16, 0, 1, {is_float, is_number, is_result}),
        (np.int8, 0, 2, {is_integer, is_number, is_result, is_chain}),
        (np.uint8, -1, 1, {is_integer, is_number}),
        (np.bool_, 0, 1, {is_result}),
    ],
)
def test_what_a_hypothesis_asks_of_a_trial(dtype, slot, parts, holds):
    output = np.ones(3, dtype)
    one = case(output, output, slot, (SimpleNamespace(op_type="Tanh"),) * parts)
    asked = {is_float, is_integer, is_number, is_result, is_chain}
    assert {ask for ask in asked if ask(one)} == holds
