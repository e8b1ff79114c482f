"""How an operator is computed where nobody says so: the arithmetic that most of its elements speak for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from workbench.compare.hypotheses.case import FAILURES, Case
from workbench.compare.replay.trial import EXACT, Arithmetic, Change, distance
from workbench.core.dtypes import roundoff
from workbench.run.cube import CUBE
from workbench.run.profiles import HF32, HF32_AWAY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.compare.replay.trial import Trial

FORMATS = (
    ("", ""), ("float16", "float16"), ("float16", ""), (HF32, ""), (HF32_AWAY, ""), ("bfloat16", "bfloat16")
)  # fmt: skip
"""Inputs and outputs of units as devices have them, beyond the operators' own dtypes."""

_CLOSER = 4.0  # the floor is lowered by no more than so much
_SPREAD = 2.0  # times the noise that is measured


def settled(trial: Trial, budget: float) -> Case:
    """Return the case of a trial, computed as most elements of the output say if that is not known.

    An arithmetic counts only if it differs from what was expected by no more than the floor: it explains
    noise, not the operator's own error.
    """
    case = Case(trial, budget)
    coarse = case.is_float and case.floor > _CLOSER * roundoff(trial.given.dtype.name)
    if trial.arithmetic != EXACT or not coarse or not case.error > case.floor:
        return case
    least, best = case.surprise(trial.expected), trial
    for other in _others(trial):
        case.left -= case.cost
        if case.left < budget / 2:
            break
        surprise = case.surprise(other.expected)
        if surprise < least:
            least, best = surprise, other
    if best is trial:
        return case
    found = Case(best, case.left)
    return Case(replace(best, floor=_measured(found)), case.left)


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


def _measured(case: Case) -> float:
    """Noise of the elements that are not off, within what the floor was."""
    near = ~case.off
    if not near.any():
        return case.floor
    gap = (case.given[near] - case.expected[near]).astype(np.float64)
    gap = gap[np.isfinite(gap)]
    noise = float(np.sqrt(np.mean(gap**2))) / case.rms if gap.size else case.floor
    return min(max(_SPREAD * noise, case.floor / _CLOSER), case.floor)
