"""The right kind of fault is told in operators of networks on the simulated device, of seeds that tuned nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from faulty_trials import KINDS, VISIBLE, clean_trials, planted

from workbench.compare.hypotheses.explain import explain
from workbench.compare.hypotheses.table import HYPOTHESES

AMBIGUOUS = {
    "dropped-k-tail",
    "wrong-layout-lanes",
    "unwritten-tail-tile",
    "stale-output",
    "overrun",
    "wrong-weight-element",
}
"""Kinds that may leave nothing but zeros, or a few elements, of which any of several may be the cause."""


def test_every_kind_that_a_device_can_have_has_a_hypothesis():
    assert set(KINDS) <= HYPOTHESES.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_the_right_kind_wins(kind):
    found = Counter()
    for seed in range(5, 8):
        for one in planted(kind, seed):
            if one.trial.error > VISIBLE * one.trial.floor:
                best = explain(one.trial)[0]
                found[best.kind == kind] += 1
                assert 0 <= best.probability <= 1
                assert best.text
    assert found[True] >= (0.5 if kind in AMBIGUOUS else 0.9) * found.total()


@pytest.mark.parametrize("model", ["lenet", "transformer"])
def test_a_clean_device_gives_nothing(model):
    count = 0
    for trial in clean_trials(model, 3):
        assert explain(trial) == []
        count += 1
    assert count > 20


def test_nothing_is_made_of_an_empty_output():
    trial = next(iter(planted("scaled-output", 5))).trial
    none = np.zeros((0, 3), np.float32)
    assert explain(replace(trial, given=none, expected=none)) == []
