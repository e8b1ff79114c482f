"""Which fault explains best what an operator gave, and how likely that is."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from workbench.comparison.explain.arithmetic import with_fitted_arithmetic
from workbench.comparison.explain.calibration import probability
from workbench.comparison.explain.case import BUDGET, FAILURES, OverBudgetError, ScoredCandidate
from workbench.comparison.explain.pattern import describe
from workbench.comparison.explain.table import HYPOTHESES
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.comparison.explain.case import Candidate, Evaluation
    from workbench.comparison.replay.kernel import Trial

UNEXPLAINED = "unexplained"
"""Kind of an error that no guess comes near; its text says where it sits and what it is made of."""

_FREE, _CLEAR = 2.0, 100.0  # free numbers and floors
_LIKELY = 0.5
_HALF = 0.5  # of the error: less is explained by chance
_MOST = 0.8  # of the error: a guess that leaves more explains nothing
_JUDGING = 20.0  # operations an element
_ENOUGH = 32  # elements of which all are equal before nothing further is tried


@dataclass(frozen=True, slots=True)
class Explanation:
    """A kind of fault that explains an operator's own error.

    Attributes
    ----------
    share : float
        How much of the own error it explains: 1 - what it leaves over / the error.
    exact : float
        Share of the elements whose value it gives to the last bit.
    probability : float
        That this is the kind, calibrated on faults in the simulated device.
    """

    kind: str
    share: float
    exact: float
    text: Message
    probability: float

    @property
    def said(self) -> Message | None:
        """What it looks like and how surely, or how the error looks if no kind explains it; unlikely: nothing."""
        if self.kind == UNEXPLAINED:
            return Message("compare/not-identified", text=self.text)
        if self.probability < _LIKELY:
            return None
        chance = self.probability
        return Message("compare/likely", kind=self.kind, text=self.text, probability=chance)


def explain(trial: Trial, budget: float = BUDGET) -> list[Explanation]:
    """Return the kinds of faults that explain an operator's own error, best first.

    Nothing where the error is within the trial's floor. ``budget`` bounds the operations on numbers; kinds that
    it did not suffice for are named in the first text.
    """
    if trial.given.shape != trial.expected.shape or not trial.given.size:
        return []
    with np.errstate(all="ignore"):
        case = with_fitted_arithmetic(trial, budget)
        if not case.error > case.floor or not trial.error > trial.floor:
            return []
        tried, missed = attempts(case)
        return _ranked(case, tried, missed)


def _ranked(case: Evaluation, tried: list[ScoredCandidate], missed: list[str]) -> list[Explanation]:
    chances = probability(case, tried)
    found = [
        Explanation(one.guess.kind, _share(one, case), one.exact, one.guess.said, chance)
        for one, chance in zip(tried, chances, strict=True)
    ]
    found.sort(key=lambda one: -one.probability)
    rest = max(1.0 - sum(chances), 0.0)
    if not found or found[0].share < _HALF:
        found.insert(0, Explanation(UNEXPLAINED, 0.0, 0.0, describe(case), rest))
    if missed:
        said = Message("compare/not-tried", text=found[0].text, kinds=tuple(missed))
        found[0] = replace(found[0], text=said)
    return found


def attempts(case: Evaluation) -> tuple[list[ScoredCandidate], list[str]]:
    """Return the best guess of every kind that explains anything, best first, and the kinds not tried."""
    best: dict[str, ScoredCandidate] = {}
    missed: list[str] = []
    nothing = case.surprise(case.trial.expected)
    for name, row in HYPOTHESES.items():
        if row.made_from == "computed" and any(_settles(one, case) for one in best.values()):
            break
        if not row.applies(case):
            continue
        try:
            for guess in _guesses(row.guesses(case)):
                one = judged(guess, case)
                least = best[guess.kind].score if guess.kind in best else nothing
                if one is not None and one.score < least:
                    best[guess.kind] = one
                    if row.made_from == "computed" and _settles(one, case):
                        break
        except OverBudgetError:
            missed.append(name)
    return sorted(best.values(), key=lambda one: one.score), missed


def _guesses(guesses: Iterator[Candidate]) -> Iterator[Candidate]:
    """Guesses up to one that cannot be computed: untrusted inputs end a kind, not the rest."""
    try:
        yield from guesses
    except FAILURES:
        return


def judged(guess: Candidate, case: Evaluation) -> ScoredCandidate | None:
    """Score a guess; ``None`` if it leaves most of the error, or is what was expected."""
    case.spend(_JUDGING * case.given.size)
    remains = case.remains(guess.output)
    if math.isfinite(case.error) and not remains <= _MOST * case.error:
        return None
    if not case.differs(guess.output) or not case.meets(guess.output):
        return None
    fitted = guess.parameters * case.number
    score = case.surprise(guess.output, loose=guess.loose) + fitted
    return ScoredCandidate(guess, remains, case.exact(guess.output), score)


def _settles(one: ScoredCandidate, case: Evaluation) -> bool:
    """Whether a guess with next to no free numbers explains everything, to the last bit or far down into noise.

    One number everywhere can have many causes, and so can few elements.
    """
    if one.guess.parameters > _FREE or case.given.size < _ENOUGH or not np.ptp(case.given):
        return False
    return one.exact == 1.0 or (one.remains <= case.floor and case.error > _CLEAR * case.floor)


def _share(one: ScoredCandidate, case: Evaluation) -> float:
    if math.isinf(case.error):
        return max(1.0 - one.remains, 0.0)
    return max(1.0 - one.remains / case.error, 0.0)
