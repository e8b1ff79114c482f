"""What may be expected of an operator behind others that a forecast has reproduced."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from workbench.comparison.follow.carry import Carry
from workbench.comparison.follow.operators import FORECAST_RULES, ForecastFacts
from workbench.comparison.follow.rules import decide
from workbench.comparison.limits import LIMITS
from workbench.core.tensors import TensorSpec
from workbench.graph.nodes import Op

CONV, CAST = (Op("x", kind, (), {}, (), ()) for kind in ("Conv2D", "Cast"))
FLOOR = 1e-3


def floor(fit, op=CONV, *, forecast=0.0, inherited=0.0):
    worst = SimpleNamespace(forecast=forecast)
    return fit.floor(op, worst, FLOOR, factor=4.0, inherited=inherited)


def after(*shares, **more):
    """The fit behind operators with these errors as shares of what explains them."""
    carry = Carry()
    for share in shares:
        facts = ForecastFacts(**{"op_type": "Conv2D", "share": share, "size": 9, **more})
        decide(FORECAST_RULES, facts, carry)
    return carry.fit


def test_a_fit_to_the_last_figure_leaves_the_least():
    assert floor(after(*[0.0] * LIMITS.fit_operators)) == LIMITS.fit_least


def test_the_worst_forerunner_counts():
    assert floor(after(*[0.0] * LIMITS.fit_operators, 0.1)) == pytest.approx(
        LIMITS.fit_wider * 0.1 * FLOOR
    )


def test_another_type_may_round_once_more():
    half = TensorSpec("float16", (3, 3))
    tanh = Op("x", "Tanh", (), {}, (half,), (half,))
    fit = after(*[0.0] * LIMITS.fit_operators)
    assert floor(fit, tanh) == 2.0**-11 / 4
    fit.learn("Tanh", 0.0)
    assert floor(fit, tanh) == LIMITS.fit_least


def test_more_than_the_number_format_is_never_asked():
    assert floor(after(*[5000.0] * LIMITS.fit_operators)) == FLOOR


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
