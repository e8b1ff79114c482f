"""How likely the best guess is right: a logistic model of what it leaves over and how far it leads."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.comparison.explain.case import Evaluation, ScoredCandidate

_RIVAL = 4.0  # more free numbers than the best guess
_NONE = 0.1  # weight of everything that nobody has thought of

WEIGHTS: dict[str, float] = {
    "one": 2.213,
    "left": 0.049,
    "visible": 0.361,
    "lead": 0.261,
    "rivals": 0.115,
    "free": -1.944,
    "few": -0.25,
    "exact": 0.707,
    "blank": -3.799,
}
"""Weights of `features`, fitted by `fit` to faults of seeds 1000 to 1029 of `benchmarks/hypotheses.py`."""


def features(case: Evaluation, tried: Sequence[ScoredCandidate]) -> dict[str, float]:
    """What tells how far the best of several guesses can be trusted.

    ``left``: what it leaves over, ``visible``: the error, both in floors; ``lead``: how much longer the second
    best's description is; ``rivals``: how many others leave no more over than noise, with few free numbers;
    ``free``: its own free numbers; ``few``: elements there are; ``exact``: the share it gives to the last bit;
    ``blank``: whether the output is one number everywhere.
    """
    first = tried[0]
    second = tried[1].score if len(tried) > 1 else math.inf
    size = case.given.size
    return {
        "one": 1.0,
        "left": _log(first.remains, case.floor),
        "visible": _log(case.error, case.floor),
        "lead": math.log1p(min(second - first.score, 1e4)),
        "rivals": float(min(sum(_fits(one, first, case) for one in tried[1:]), 3)),
        "free": math.log1p(min(first.guess.parameters, size)),
        "few": math.log(1 + 1e4 / size),
        "exact": first.exact,
        "blank": float(not np.ptp(case.given)),
    }


def _fits(one: ScoredCandidate, first: ScoredCandidate, case: Evaluation) -> bool:
    few = one.guess.parameters <= first.guess.parameters + _RIVAL
    return few and one.remains <= max(case.floor, 2 * first.remains)


def _log(error: float, floor: float) -> float:
    return math.log(min(max(error / floor, 0.1), 1e3)) if floor else (3.0 if error else 0.0)


def probability(case: Evaluation, tried: Sequence[ScoredCandidate]) -> list[float]:
    """Return the probability of every guess; the first one's is calibrated, the others share what is left.

    Those behind weigh the less, the longer their descriptions are.
    """
    if not tried:
        return []
    values = features(case, tried)
    first = _logistic(sum(WEIGHTS[name] * value for name, value in values.items()))
    weights = [1.0 / (1.0 + one.score - tried[0].score) for one in tried[1:]]
    rest, total = 1.0 - first, sum(weights) + _NONE
    return [first, *(min(rest * weight / total, 0.99 * first) for weight in weights)]


def _logistic(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(min(value, 30.0), -30.0)))
