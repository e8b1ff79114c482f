"""How likely the best guess is right: a logistic model of what it leaves over and how far it leads."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from workbench.compare.hypotheses.case import Case
    from workbench.compare.hypotheses.explain import Tried

WEIGHTS: dict[str, float] = {
    "one": 0.0,
    "left": -0.5,
    "visible": 0.3,
    "lead": 1.0,
    "exact": 1.0,
}
"""Weights of `features`, fitted by `fit` to faults of seeds 1000 to 1099 of `benchmarks/hypotheses.py`."""


def features(case: Case, tried: Sequence[Tried]) -> dict[str, float]:
    """What tells how far the best of several guesses can be trusted."""
    first = tried[0]
    second = tried[1].score if len(tried) > 1 else math.inf
    error = min(case.error, 1e6)
    return {
        "one": 1.0,
        "left": _log(first.remains / case.floor) if case.floor else float(first.remains > 0),
        "visible": _log(error / case.floor) if case.floor else 3.0,
        "lead": math.log1p(min(second - first.score, 1e4)),
        "exact": first.exact,
    }


def _log(ratio: float) -> float:
    return math.log(min(max(ratio, 0.1), 1e3))


def probability(case: Case, tried: Sequence[Tried]) -> list[float]:
    """Return the probability of every guess; the first one's is calibrated, the others share what is left.

    Those behind weigh as much as their scores say: e to minus their distance from the first.
    """
    if not tried:
        return []
    values = features(case, tried)
    first = _logistic(sum(WEIGHTS[name] * value for name, value in values.items()))
    weights = [math.exp(max(tried[0].score - one.score, -50.0)) for one in tried[1:]]
    rest = (1.0 - first) * 0.8
    total = sum(weights) + 1.0
    return [first, *(rest * weight / total for weight in weights)]


def _logistic(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(min(value, 30.0), -30.0)))


def fit(
    rows: Sequence[dict[str, float]], right: Sequence[bool], ridge: float = 1.0
) -> dict[str, float]:
    """Return the weights that make rows of features say best whether a guess was right.

    Newton's method for the logistic model, with a ridge against weights that grow without end.
    """
    names = list(rows[0])
    matrix: NDArray[np.float64] = np.array([[row[name] for name in names] for row in rows])
    target = np.array(right, np.float64)
    weights = np.zeros(len(names))
    for _ in range(50):
        chance = 1.0 / (1.0 + np.exp(-np.clip(matrix @ weights, -30, 30)))
        slope = matrix.T @ (target - chance) - ridge * weights
        bend = (matrix * (chance * (1 - chance))[:, None]).T @ matrix + ridge * np.eye(len(names))
        move = np.linalg.solve(bend, slope)
        weights += move
        if float(np.abs(move).max()) < 1e-8:
            break
    return dict(zip(names, (round(float(w), 3) for w in weights), strict=True))
