"""Which fault explains best what an operator gave, and how likely that is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from workbench._values import NamedTuple
from workbench.comparison.explain.case import (
    BUDGET,
    FAILURES,
    OverBudgetError,
    ScoredCandidate,
    with_fitted_arithmetic,
)
from workbench.comparison.explain.pattern import describe_pattern
from workbench.comparison.explain.table import HYPOTHESES
from workbench.comparison.limits import limits
from workbench.comparison.result import Cause
from workbench.core.long_work import checkpoint
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from workbench.comparison.explain.case import Candidate, Evaluation
    from workbench.comparison.replay.kernel import Trial

UNEXPLAINED = "unexplained"
"""Kind of an error that no guess comes near; its text says where it sits and what it is made of."""

_JUDGING = 20.0  # operations an element

WEIGHED_KINDS = (
    "stale-output", "scaled-output", "wrong-weight-element", "overwritten-element", "dropped-k-tail", "unwritten-tile",
    "missing-cast", "bit-flip",
)  # fmt: skip
"""Kinds that fit what they did not cause more often, or less often, than their numbers say; each has a weight."""

PLACED_KINDS = ("nan-output", "bit-flip", "overwritten-element")
"""Kinds whose numbers are read off at their places: many of them make the kind no less likely, as fitted ones do."""

WEIGHTS: dict[str, float] = {
    "one": 0.437,
    "left": -0.179,
    "beyond": -0.248,
    "visible": 0.505,
    "lead": 0.052,
    "rivals": -1.242,
    "free": -1.251,
    "places": -0.198,
    "few": 0.089,
    "loose": -0.435,
    "exact": 3.366,
    "blank": -5.25,
    "rest": -6.346,
    "solved": 3.139,
    "exact solved": -2.993,
    "blank few": 0.271,
    "blank free": -1.697,
    "stale loose": 0.174,
    "is stale-output": -0.405,
    "is scaled-output": -1.945,
    "is wrong-weight-element": 0.028,
    "is overwritten-element": -4.753,
    "is dropped-k-tail": 0.784,
    "is unwritten-tile": -2.39,
    "is missing-cast": 3.291,
    "is bit-flip": -2.063,
}
"""Weights of `features`, fitted by `fit` to faults and edited outputs of seeds 7300 to 8099 of
`benchmarks/hypotheses.py`."""

RIGHT_OF_STATED = (
    (0.0, 0.0), (0.01, 0.006), (0.147, 0.183), (0.242, 0.214), (0.34, 0.41), (0.459, 0.535), (0.556, 0.639),
    (0.656, 0.681), (0.756, 0.723), (0.862, 0.858), (0.929, 0.923), (0.975, 0.979), (0.998, 0.998), (1.0, 1.0),
)  # fmt: skip
"""What the logistic model says → share that was right, in seeds 7300 to 9699; between them on straight lines.

Among guesses that it holds for about as likely as not it is too modest: nearly half of them are `stale-output`, of
which two thirds are outputs of nothing but zeros that no feature tells apart. A monotone map makes that smaller, as
isotonic calibration does (Zadrozny and Elkan 2002).
"""


class Explanation(NamedTuple):
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
    def cause(self) -> Cause | None:
        """The cause of a finding; ``None`` where nothing may be said of it."""
        if self.kind == UNEXPLAINED or self.probability < limits().cause_likely:
            return None
        return Cause(self.kind, self.probability, (self.text,))

    @property
    def said(self) -> Message | None:
        """What it looks like and how surely, or how the error looks if no kind explains it; unlikely: nothing."""
        if self.kind == UNEXPLAINED:
            return Message("compare/not-identified", text=self.text)
        if self.probability < limits().cause_likely:
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
        tried, missed = score_hypotheses(case)
        return rank_explanations(case, tried, missed)


def rank_explanations(
    case: Evaluation, tried: list[ScoredCandidate], missed: list[str]
) -> list[Explanation]:
    """Return what scored guesses explain, the likeliest first; ``missed`` are kinds that were not tried."""
    chances = probability(case, tried)
    found = [
        Explanation(one.candidate.kind, _share(one, case), one.exact, one.candidate.said, chance)
        for one, chance in zip(tried, chances, strict=True)
    ]
    found.sort(key=lambda one: -one.probability)
    if not found or found[0].share < limits().cause_least:
        found.insert(0, Explanation(UNEXPLAINED, 0.0, 0.0, describe_pattern(case), 0.0))
    if missed:
        said = Message("compare/not-tried", text=found[0].text, kinds=tuple(missed))
        found[0] = found[0]._replace(text=said)
    return found


def score_hypotheses(case: Evaluation) -> tuple[list[ScoredCandidate], list[str]]:
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
                checkpoint()
                if row.denied(case, guess):
                    continue
                one = score_candidate(guess, case)
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


def score_candidate(guess: Candidate, case: Evaluation) -> ScoredCandidate | None:
    """Score a guess; ``None`` if it leaves most of the error, or is what was expected."""
    case.budget.spend(_JUDGING * case.given.size)
    remains = case.remains(guess.output)
    if not math.isfinite(remains) or remains > limits().guess_leaves * case.error:
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
    few = case.given.size < limits().equal_enough
    if one.candidate.parameters > limits().settled_numbers or few or not np.ptp(case.given):
        return False
    clear = case.error > limits().settled_error * case.floor
    return one.exact == 1.0 or (one.remains <= case.floor and clear)


def _share(one: ScoredCandidate, case: Evaluation) -> float:
    if math.isinf(case.error):
        return max(1.0 - one.remains, 0.0)
    return max(1.0 - one.remains / case.error, 0.0)


def features(case: Evaluation, tried: Sequence[ScoredCandidate]) -> dict[str, float]:
    """What tells how far the best of several guesses can be trusted.

    ``left``: what it leaves over, ``visible``: the error, both in floors; ``beyond``: what it leaves above the floor,
    for rounding below it says nothing; ``lead``: how much longer the second
    best's description is; ``rivals``: how many others leave no more over than noise, with few free numbers;
    ``free``: its own free numbers, ``places``: those of a kind that reads them off at places; ``few``: elements there
    are, ``loose``: how far free numbers can be fitted to so few; ``exact``: the share it gives to the last bit;
    ``blank``: whether the output is one number everywhere; ``rest``: the share of what is off that still is, if it is
    so; ``solved``: whether it leaves nothing to explain; ``is …``: its kind, where that matters.
    Products of two, where one weighs otherwise beside the other: ``exact solved``, ``blank few`` and ``blank free``
    (many things give one number everywhere, the more so in few elements and with free numbers), and ``stale loose``
    (an output of before is taken as it is, or fitted to few elements).
    """
    first = tried[0]
    left = _log(first.remains, case.floor)
    second = tried[1].score if len(tried) > 1 else math.inf
    size = case.given.size
    numbers = math.log1p(min(first.candidate.parameters, size))
    is_placed = first.candidate.kind in PLACED_KINDS
    free = 0.0 if is_placed else numbers
    few = math.log(1 + 1e4 / size)
    blank, solved = float(not np.ptp(case.given)), float(first.remains <= case.floor)
    return {
        "one": 1.0,
        "left": left,
        "beyond": max(left, 0.0),
        "visible": _log(case.error, case.floor),
        "lead": math.log1p(min(second - first.score, 1e4)),
        "rivals": float(min(sum(_fits(one, first, case) for one in tried[1:]), 3)),
        "free": free,
        "places": numbers if is_placed else 0.0,
        "few": few,
        "loose": free * few,
        "exact": first.exact,
        "blank": blank,
        "rest": case.still_off(first.candidate.output),
        "solved": solved,
        "exact solved": first.exact * solved,
        "blank few": blank * few,
        "blank free": blank * free,
        "stale loose": free * few * (first.candidate.kind == "stale-output"),
        **{f"is {kind}": float(first.candidate.kind == kind) for kind in WEIGHED_KINDS},
    }


def _fits(one: ScoredCandidate, first: ScoredCandidate, case: Evaluation) -> bool:
    few = one.candidate.parameters <= first.candidate.parameters + limits().rival_numbers
    return few and one.remains <= max(case.floor, 2 * first.remains)


def _log(error: float, floor: float) -> float:
    return math.log(min(max(error / floor, 0.1), 1e3)) if floor else (3.0 if error else 0.0)


def probability(case: Evaluation, tried: Sequence[ScoredCandidate]) -> list[float]:
    """Return the probability of every guess; the first one's is calibrated, the others share what is left.

    Those behind weigh the less, the longer their descriptions are.
    """
    if not tried:
        return []
    first = chance_of(features(case, tried))
    weights = [1.0 / (1.0 + one.score - tried[0].score) for one in tried[1:]]
    rest, total = 1.0 - first, sum(weights) + limits().unthought_weight
    return [first, *(min(rest * weight / total, 0.99 * first) for weight in weights)]


def chance_of(values: Mapping[str, float]) -> float:
    """Return how likely the best guess is right, by its `features`."""
    value = sum(WEIGHTS[name] * one for name, one in values.items())
    stated = 1.0 / (1.0 + math.exp(-max(min(value, 30.0), -30.0)))
    known, right = np.transpose(RIGHT_OF_STATED)
    return float(np.interp(stated, known, right))
