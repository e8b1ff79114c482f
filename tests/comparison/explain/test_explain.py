"""The right kind of fault is told in operators of networks on the simulated device, of seeds that tuned nothing."""

from __future__ import annotations

import math
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest

from kit.build.runs import KINDS, clean_trials
from kit.build.runs import planted as make_planted
from workbench.comparison.explain import explain as module
from workbench.comparison.explain.case import (
    FAILURES,
    Budget,
    Candidate,
    Evaluation,
    OverBudgetError,
    ScoredCandidate,
)
from workbench.comparison.explain.explain import WEIGHTS, explain, features, probability
from workbench.comparison.explain.table import HYPOTHESES
from workbench.comparison.replay.kernel import Change, Trial, plain_kernel
from workbench.core.words import Message
from workbench.core.words.compare_faults import FAULTS
from workbench.graph.graph import Const, Kernel, Op, Param

SEEDS = (5, 6, 7)

planted = cache(lambda kind, seed: [*make_planted(kind, seed)])
"""The trials with a fault of a kind, made once for all who look at them."""


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


@cache
def guesses(name, seeds=SEEDS[:1]):
    """What one row guesses of every planted fault, and whether it applies there; a guess may fail."""
    row, found = HYPOTHESES[name], []
    for kind, seed in product(KINDS, seeds):
        for one in planted(kind, seed):
            case = Evaluation(one.trial, Budget(1e8))
            with np.errstate(all="ignore"), suppress(*FAILURES, OverBudgetError):
                found += [(row.applies(case), guess) for guess in row.guesses(case)]
    return found


@pytest.mark.parametrize("name", HYPOTHESES)
def test_a_row_says_what_its_function_guesses(name):
    row = HYPOTHESES[name]
    assert {guess.said.code for _, guess in guesses(name)} <= set(row.words)
    if row.made_from != "handed":
        assert {guess.kind for _, guess in guesses(name)} <= {name}


@pytest.mark.parametrize("name", [name for name, row in HYPOTHESES.items() if row.types])
def test_where_a_row_does_not_apply_for_its_types_there_is_nothing_to_guess(name):
    applies = {applies for applies, _ in guesses(name, SEEDS)}
    assert applies == {True}


KERNELS = {
    "float": plain_kernel(Op("op", "Add", (Param(0), Param(1)))),
    "chain": Kernel((Op("a", "Neg", (Param(0),)), Op("b", "Neg", (Param(0),))), ()),
    "product": plain_kernel(Op("op", "MatMul", (Param(0), Param(1), Const(False), Const(False)))),
    "formula": plain_kernel(Op("op", "Exp", (Param(0),))),
}
APPLIES = [
    ("nan-output", "float", np.float32, 0, True),
    ("nan-output", "float", np.int32, 0, False),
    ("saturated", "float", np.int32, 0, True),
    ("saturated", "float", np.bool_, 0, False),
    ("integer-wrap", "float", np.uint8, 0, True),
    ("integer-wrap", "float", np.uint8, -1, False),
    ("integer-wrap", "float", np.float16, 0, False),
    ("faults between steps", "chain", np.float32, 0, True),
    ("faults between steps", "chain", np.float32, -1, False),
    ("faults between steps", "float", np.float32, 0, False),
    ("half-accumulation", "product", np.float32, 0, True),
    ("half-accumulation", "product", np.int32, 0, False),
    ("half-accumulation", "float", np.float32, 0, False),
    ("dropped-k-tail", "product", np.int32, 0, True),
    ("dropped-k-tail", "formula", np.float32, 0, False),
    ("fast-approximation", "formula", np.float32, 0, True),
    ("fast-approximation", "product", np.float32, 0, False),
    ("wrong-attribute", "float", np.bool_, -1, True),
]


@pytest.mark.parametrize(("name", "kernel", "dtype", "slot", "applies"), APPLIES)
def test_a_row_applies_to_operators_and_outputs_that_can_have_the_fault(
    name, kernel, dtype, slot, applies
):
    given = np.ones((2, 2), dtype)
    case = Evaluation(Trial(KERNELS[kernel], {}, slot, given, given, 1e-6))
    assert HYPOTHESES[name].applies(case) is applies


def test_rows_are_tried_from_what_was_given_before_what_is_computed():
    order = [row.made_from for row in HYPOTHESES.values()]
    assert order == sorted(order, key=["output", "handed", "computed"].index)
    assert all(row.why for row in HYPOTHESES.values())


def equally_good(names):
    """Rows of two kinds that guess the same."""
    x = np.linspace(1, 2, 64, dtype=np.float32)
    trial = Trial(KERNELS["formula"], {0: x}, 0, -np.exp(x), np.exp(x), 1e-6)

    def guess(kind):
        return lambda case: iter([Candidate(kind, trial.given, Message("compare/fault-sign"))])

    rows = {
        n: HYPOTHESES[n]._replace(
            guesses=guess(n), types=(), needs=(), denied_by=(), made_from="output"
        )
        for n in names
    }
    return trial, rows


@pytest.mark.parametrize("names", [*pairwise(HYPOTHESES)], ids=" before ".join)
def test_the_order_of_two_rows_says_which_of_two_equally_good_guesses_is_told(names, monkeypatch):
    for order in (names, names[::-1]):
        trial, rows = equally_good(order)
        monkeypatch.setattr(module, "HYPOTHESES", rows)
        assert explain(trial)[0].kind == order[0]


@pytest.mark.parametrize("names", [*pairwise(HYPOTHESES)], ids=" before ".join)
def test_the_order_of_two_rows_says_what_a_budget_still_reaches(names, monkeypatch):
    for order in (names, names[::-1]):
        trial, rows = equally_good(order)
        monkeypatch.setattr(module, "HYPOTHESES", rows)
        case = Evaluation(trial, Budget(module._JUDGING * trial.given.size))
        tried, missed = module.score_hypotheses(case)
        assert ([one.candidate.kind for one in tried], missed) == ([order[0]], [order[1]])


def test_rows_are_tried_in_this_order():
    """From what a glance at the output tells to what is computed most often."""
    assert [*HYPOTHESES] == [
        "nan-output", "bit-flip", "overwritten-element", "overrun", "unwritten-tail-tile",
        "unwritten-tile", "misplaced-tile", "scaled-tile", "wrong-sign",
        "flush-to-zero", "saturated", "scaled-output", "wrong-layout-lanes", "transposed-output", "stale-output",
        "faults between steps",
        "integer-wrap", "missing-step", "swapped-inputs", "half-accumulation", "missing-cast", "fast-approximation",
        "transposed-weight", "dropped-k-tail", "wrong-weight-element", "wrong-attribute", "shifted-output",
    ]  # fmt: skip


def test_every_sentence_about_a_fault_is_said_by_one_row():
    said = sorted(code for row in HYPOTHESES.values() for code in row.words)
    known = sorted(f"compare/{name}" for name in FAULTS if name.startswith(("fault-", "inside-")))
    assert said == known


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


# --- what a case is ----------------------------------------------------------------------------------


def test_a_case_is_read_only_and_what_it_may_cost_is_counted_beside_it():
    case = Evaluation(Trial(KERNELS["float"], {}, 0, WANTED, WANTED.copy(), 1e-4), Budget(1e4))
    before = case.budget.left
    assert case.recomputed(Change()) is None  # without inputs
    assert case.budget.left == before - case.cost
    with pytest.raises(OverBudgetError):
        case.recomputed(Change(), 10.0)
    assert case.budget.left == before - case.cost
    with pytest.raises(ValueError, match="read-only"):
        case.given[0] = 1.0
    with pytest.raises(AttributeError):
        case.trial = None


# --- how far a guess can be trusted ------------------------------------------------------------------

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
