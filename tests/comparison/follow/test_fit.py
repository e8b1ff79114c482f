"""What may be expected of an operator behind others that a forecast has reproduced."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from workbench.comparison.follow.expected_error import ENOUGH, LEAST, WIDER, ForecastFit
from workbench.core.tensors import TensorSpec
from workbench.graph.nodes import Op

CONV, CAST, RESHAPE = (Op("x", kind, (), {}, (), ()) for kind in ("Conv2D", "Cast", "Reshape"))
FLOOR = 1e-3


def event(error=0.0, *, forecast=0.0, inherited=0.0, size=9, **more):
    worst = SimpleNamespace(error=error, forecast=forecast, divergence=SimpleNamespace(size=size))
    state = {"guilty": False, "tainted": False, **more}
    return SimpleNamespace(worst=worst, own_floor=FLOOR, inherited=inherited, factor=4.0, **state)


def after(*errors, op=CONV, **more):
    fit = ForecastFit()
    for error in errors:
        fit.learn(event(error, **more), op, FLOOR)
    return fit


def test_a_fit_to_the_last_figure_leaves_the_least():
    assert after(*[0.0] * ENOUGH).floor(event(), CONV) == LEAST


def test_the_worst_forerunner_counts():
    assert after(*[0.0] * ENOUGH, 1e-4).floor(event(), CONV) == pytest.approx(WIDER * 1e-4)


def test_another_type_may_round_once_more():
    half = TensorSpec("float16", (3, 3))
    tanh = Op("x", "Tanh", (), {}, (half,), (half,))
    fit = after(*[0.0] * ENOUGH)
    assert fit.floor(event(), tanh) == 2.0**-11 / 4
    fit.learn(event(), tanh, FLOOR)
    assert fit.floor(event(), tanh) == LEAST


def test_more_than_the_number_format_is_never_asked():
    assert after(*[5.0] * ENOUGH).floor(event(), CONV) == FLOOR


@pytest.mark.parametrize(
    "fit",
    [
        after(*[0.0] * (ENOUGH - 1)),
        after(*[0.0] * ENOUGH, op=RESHAPE),
        after(*[0.0] * ENOUGH, size=1),
        after(*[0.0] * ENOUGH, forecast=None),
        after(*[0.0] * ENOUGH, guilty=True),
        after(*[0.0] * ENOUGH, tainted=True),
    ],
    ids=["few", "movers", "numbers", "no forecast", "guilty", "tainted"],
)
def test_what_proves_nothing_tightens_nothing(fit):
    assert fit.floor(event(), CONV) == FLOOR


def test_nothing_is_expected_of_what_reads_other_numbers_or_casts_or_has_no_forecast():
    fit = after(*[0.0] * ENOUGH)
    assert fit.floor(event(inherited=1e-7), CONV) == FLOOR
    assert fit.floor(event(), CAST) == FLOOR
    assert fit.floor(event(forecast=None), CONV) == FLOOR
