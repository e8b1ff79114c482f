"""The logistic model of how far a guess can be trusted."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from workbench.comparison.explain.calibration import WEIGHTS, features, probability
from workbench.comparison.explain.case import Candidate, Evaluation, ScoredCandidate
from workbench.comparison.replay.kernel import Kernel, Trial

WANTED = np.random.default_rng(5).normal(size=(16, 32)).astype(np.float32)
CASE = Evaluation(Trial(Kernel((), ()), {}, 0, WANTED * 2, WANTED, 1e-4))


def tried(*scores, parameters=0.0):
    return [
        ScoredCandidate(Candidate(f"kind {n}", WANTED, "", parameters), 1e-5, 0.5, score)
        for n, score in enumerate(scores)
    ]


def test_a_guess_that_leads_far_is_likelier_than_one_that_does_not():
    far, near = probability(CASE, tried(10, 5000)), probability(CASE, tried(10, 10.5))
    assert far[0] > near[0] > near[1] > far[1] > 0


def test_free_numbers_make_a_guess_unlikelier():
    few, many = tried(10, 50), tried(10, 50, parameters=400)
    assert probability(CASE, few)[0] > probability(CASE, many)[0]


def test_probabilities_are_those_of_exclusive_kinds():
    for scores in ((1,), (1, 1, 1, 1), (0, 3, 1e9)):
        found = probability(CASE, tried(*scores))
        assert all(0 <= one <= 1 for one in found)
        assert sum(found) <= 1 + 1e-9
    assert probability(CASE, []) == []


def test_every_feature_has_a_weight():
    assert features(CASE, tried(1, 2)).keys() == WEIGHTS.keys()
    exact = Evaluation(replace(CASE.trial, floor=0.0))
    assert all(math.isfinite(value) for value in features(exact, tried(0, 0)).values())
