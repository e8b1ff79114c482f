"""The right kind of fault is told in operators of networks on the simulated device, of seeds that tuned nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from kit.build.runs import KINDS, clean_trials, planted
from workbench.comparison.explain.explain import explain
from workbench.comparison.explain.table import HYPOTHESES

SEEDS = (5, 6, 7)


@cache
def answers(kind):
    """How often each kind is the answer to visible faults of one kind."""
    found = Counter()
    for seed in SEEDS:
        for one in planted(kind, seed):
            if one.trial.error > one.visible * one.trial.floor:
                explained = explain(one.trial)
                assert all(0 <= each.probability <= 1 and str(each.text) for each in explained)
                assert sum(each.probability for each in explained) < 1 + 1e-9
                found[explained[0].kind] += 1
    return found


def test_every_kind_that_a_device_can_have_has_a_hypothesis():
    assert set(KINDS) <= HYPOTHESES.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_the_right_kind_is_the_most_frequent_answer(kind):
    found = answers(kind)
    assert not found or found.most_common(1)[0][0] == kind


def test_nine_of_ten_visible_faults_are_told():
    right = sum(answers(kind)[kind] for kind in KINDS)
    assert right >= 0.9 * sum(answers(kind).total() for kind in KINDS)


@pytest.mark.parametrize("model", ["lenet", "transformer"])
def test_a_clean_device_gives_nothing(model):
    found = [explain(trial) for trial in clean_trials(model, 3)]
    assert len(found) > 20
    assert not any(found)


def test_nothing_is_made_of_an_empty_output():
    trial = next(iter(planted("scaled-output", 5))).trial
    none = np.zeros((0, 3), np.float32)
    assert explain(replace(trial, given=none, expected=none)) == []
