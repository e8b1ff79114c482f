"""What may be expected of an operator behind others that a forecast has reproduced."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from workbench.comparison.follow.carry import Carry
from workbench.comparison.follow.operators import FORECAST_RULES, ForecastFacts
from workbench.comparison.follow.rules import decide
from workbench.comparison.limits import LIMITS
from workbench.graph.graph import Op

CONV, CAST = (Op("x", kind, (), {}, (), ()) for kind in ("Conv2D", "Cast"))
FLOOR = 1e-3
STEP = 2.0**-13
"""What one number that is rounded otherwise leaves."""


def floor(fit, op=CONV, *, forecast=0.0, inherited=0.0, step=0.0):
    worst = SimpleNamespace(forecast=forecast)
    return fit.floor(op, worst, FLOOR, step=step, inherited=inherited)


def after(*errors, **more):
    """The fit behind operators with these errors against the forecast."""
    carry = Carry()
    for error in errors:
        decide(FORECAST_RULES, ForecastFacts(**{"error": error, "size": 9, **more}), carry)
    return carry.fit


def test_a_fit_to_the_last_figure_leaves_the_least():
    assert floor(after(*[0.0] * LIMITS.fit_operators)) == LIMITS.fit_least


def test_or_one_rounding_that_falls_otherwise():
    """The largest number of a tensor may be the one, and a figure shows it whole."""
    assert floor(after(*[0.0] * LIMITS.fit_operators), step=STEP) == STEP


@pytest.mark.parametrize(
    ("error", "expected"), [(LIMITS.fit_least, STEP), (1.01 * LIMITS.fit_least, FLOOR)]
)
def test_behind_an_operator_that_rounds_otherwise_number_formats_explain_what_they_can(
    error, expected
):
    assert floor(after(*[0.0] * LIMITS.fit_operators, error), step=STEP) == expected


def test_more_than_the_number_format_is_never_asked():
    assert floor(after(*[0.0] * LIMITS.fit_operators), step=1.0) == FLOOR


@pytest.mark.parametrize(
    "fit",
    [
        after(*[0.0] * (LIMITS.fit_operators - 1)),
        after(*[0.0] * LIMITS.fit_operators, moves=True),
        after(*[0.0] * LIMITS.fit_operators, size=1),
        after(*[None] * LIMITS.fit_operators),
        after(*[0.0] * LIMITS.fit_operators, wrong=True),
    ],
    ids=["few", "movers", "numbers", "no forecast", "wrong"],
)
def test_what_proves_nothing_tightens_nothing(fit):
    assert floor(fit) == FLOOR


def test_nothing_is_expected_of_what_reads_other_numbers_or_casts_or_has_no_forecast():
    fit = after(*[0.0] * LIMITS.fit_operators)
    assert floor(fit, inherited=1e-7) == FLOOR
    assert floor(fit, CAST) == FLOOR
    assert floor(fit, forecast=None) == FLOOR
