"""How an operator is computed where nobody says so: the arithmetic that most of its elements speak for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from workbench.comparison.explain.case import FAILURES, Budget, Evaluation
from workbench.comparison.replay.kernel import EXACT, Arithmetic, Change, distance
from workbench.run.cube import CUBE
from workbench.run.profiles import HF32, HF32_AWAY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.comparison.replay.kernel import Trial

FORMATS = (
    ("", ""), ("float16", "float16"), ("float16", ""), (HF32, ""), (HF32_AWAY, ""), ("bfloat16", "bfloat16")
)  # fmt: skip
"""Inputs and outputs of units as devices have them, beyond the operators' own dtypes."""

_CLOSER = 4.0  # the floor is lowered by no more than so much
_RIGHT = 0.5  # share of elements right to the last bit from which the others are no noise
_FLIPS = 3.0  # so many times less than a rounding still lets one pass that fell elsewhere
_SPREAD = 2.0  # times the noise that is measured


def with_fitted_arithmetic(trial: Trial, budget: float) -> Evaluation:
    """Return the case of a trial, computed as most elements of the output say if that is not known.

    An arithmetic counts only if it differs from what was expected by no more than the floor: it explains
    noise, not the operator's own error. The floor is lowered to what the right elements show of noise.
    """
    case = Evaluation(trial, Budget(budget))
    if not case.is_float or not case.error > case.floor:
        return case
    told = case.expected != 0  # zeros are right whatever the arithmetic
    if np.count_nonzero(case.given[told] == case.expected[told]) >= _RIGHT * max(told.sum(), 1):
        return _lowered(case, case.coarse / _FLIPS)
    if trial.arithmetic != EXACT or case.floor <= _CLOSER * case.coarse:
        return case
    least, best = case.surprise(trial.expected), trial
    for other in _others(trial):
        case.budget.left -= case.cost
        if case.budget.left < budget / 2:
            break
        surprise = case.surprise(other.expected)
        if surprise < least:
            least, best = surprise, other
    if best is trial:
        return case
    found = Evaluation(best, case.budget)
    return _lowered(found, _measured(found))


def _lowered(case: Evaluation, floor: float) -> Evaluation:
    """Return a case with a lower noise floor, if it is one."""
    if floor >= case.floor:
        return case
    return Evaluation(replace(case.trial, floor=floor), case.budget)


def _others(trial: Trial) -> Iterator[Trial]:
    """The same trial with other arithmetics that the floor allows for."""
    cube = any(op.op_type in CUBE for op in trial.kernel.ops)
    for inputs, output in FORMATS:
        if not cube and inputs != output:
            continue
        arithmetic = Arithmetic("cube", inputs, output)
        try:
            expected = replace(trial, arithmetic=arithmetic).again(Change())
        except FAILURES:
            return
        if distance(expected, trial.expected) <= max(trial.floor, 0.0):
            yield replace(trial, expected=expected, arithmetic=arithmetic)


def _measured(case: Evaluation) -> float:
    """Noise of the elements that are not off, within what the floor was."""
    near = ~case.off
    if not near.any():
        return case.floor
    gap = (case.given[near] - case.expected[near]).astype(np.float64)
    gap = gap[np.isfinite(gap)]
    noise = float(np.sqrt(np.mean(gap**2))) / case.rms if gap.size else case.floor
    return min(max(_SPREAD * noise, case.floor / _CLOSER), case.floor)
