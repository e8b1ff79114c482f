"""Likely causes: what is said of edited outputs, what the data on disk deny, and what is left unsaid."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kit.build.small_dumps import Net, in_memory, shoot
from workbench.comparison.engine import compare_dumps
from workbench.comparison.explain.case import Candidate, Evaluation
from workbench.comparison.explain.explain import explain
from workbench.comparison.explain.table import HYPOTHESES
from workbench.comparison.replay.kernel import Trial, plain_kernel
from workbench.core.words import Message
from workbench.graph.graph import Const, Op, Param

RNG = np.random.default_rng(9)
LEFT = RNG.standard_normal((48, 24)).astype(np.float32)
WEIGHT = RNG.standard_normal((24, 40)).astype(np.float32)
RIGHT = (LEFT.astype(np.float64) @ WEIGHT).astype(np.float32)
OTHER = RNG.standard_normal(RIGHT.shape).astype(np.float32) * 5
PRODUCT = plain_kernel(Op("op", "MatMul", (Param(0), Param(1), Const(False), Const(False))))
WHOLE = frozenset((0, 1))


def put(place, values):
    found = RIGHT.copy()
    found[place] = values
    return found


def trial(given, dumped=WHOLE, **more):
    return Trial(PRODUCT, {0: LEFT, 1: WEIGHT}, 0, given, RIGHT, 1e-6, dumped=dumped, **more)


def with_weight(row, column, value):
    """What the operator gives with another element of its weight."""
    wrong = WEIGHT.astype(np.float64)
    wrong[row, column] = value
    return (LEFT.astype(np.float64) @ wrong).astype(np.float32)


CAUSES = {
    "a column zero": (put(np.s_[:, 5], 0), "unwritten-tile"),
    "two rows zero": (put([3, 7], 0), "unwritten-tile"),
    "a tile zero": (put(np.s_[16:32, 0:16], 0), "unwritten-tile"),
    "a tile of one number": (put(np.s_[16:32, 0:16], 1.5), "unwritten-tile"),
    "a row twice": (put(0, RIGHT[9]), "misplaced-tile"),
    "another row twice": (put(30, RIGHT[9]), "misplaced-tile"),
    "two columns exchanged": (put(np.s_[:, [3, 9]], RIGHT[:, [9, 3]]), "misplaced-tile"),
    "a column times 1.1": (put(np.s_[:, 7], RIGHT[:, 7] * np.float32(1.1)), "scaled-tile"),
    "rows with the other sign": (put([3, 7, 9], -RIGHT[[3, 7, 9]]), ""),
    "a row times -1.1": (put(5, RIGHT[5] * np.float32(-1.1)), ""),
    "everything times 1.05": (RIGHT * np.float32(1.05), "scaled-output"),
    "an element": (put((3, 4), 9.0), "overwritten-element"),
    "a tile of other numbers": (put(np.s_[16:32, 0:16], OTHER[:16, :16]), ""),
    "a row of other numbers": (put(3, OTHER[3]), ""),
    "noise": ((RIGHT * (1 + 0.05 * OTHER)).astype(np.float32), ""),
    "an offset": (RIGHT + np.float32(0.3), ""),
    "other numbers": (OTHER, ""),
    "compressed": (np.tanh(RIGHT / 4) * 4, ""),
}
"""What the operator gave, all inputs dumped → the cause that is stated, or none."""


@pytest.mark.parametrize("name", CAUSES)
def test_a_cause_is_stated_or_nothing_is(name):
    given, kind = CAUSES[name]
    found = [one.cause.kind for one in explain(trial(given)) if one.cause is not None]
    assert found == ([kind] if kind else [])


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_nothing_is_said_where_both_sides_are_not_numbers_at_other_places(number):
    given, expected = put((3, 4), np.nan), put((20, 9), number)
    found = explain(replace(trial(given), expected=expected))
    assert [one.cause for one in found if one.cause is not None] == []


SHOWN = {
    "a column zero": put(np.s_[:, 5], 0),
    "a column of other numbers": put(np.s_[:, 5], OTHER[:, 5]),
    "a wrong element": with_weight(4, 7, 8.0),
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_weight_that_lies_unharmed_in_the_dump_is_never_a_cause(name):
    assert "wrong-weight-element" not in {one.kind for one in explain(trial(SHOWN[name]))}


@pytest.mark.parametrize("dumped", [frozenset(), frozenset((0,))])
def test_a_weight_that_nobody_dumped_may_be_the_cause(dumped):
    first = explain(trial(SHOWN["a wrong element"], dumped))[0]
    assert first.kind == "wrong-weight-element"
    assert first.text.values["slot"] == 1


@pytest.mark.parametrize("row", [0, 30])
def test_a_row_that_belongs_elsewhere_in_the_output_is_no_overrun(row):
    given, held = put(row, RIGHT[9]), (RIGHT[9:].copy(),)
    for late in (False, True):
        found = explain(trial(given, earlier=held, read_later=late))
        assert "overrun" not in {one.kind for one in found}


def test_what_lay_there_when_the_operator_was_done_is_no_overrun():
    given = put((0, np.s_[:32]), OTHER[7, :32])
    late, at_once = (
        explain(trial(given, earlier=(OTHER[7:8].copy(),), read_later=late))
        for late in (True, False)
    )
    assert "overrun" in {one.kind for one in late}
    assert "overrun" not in {one.kind for one in at_once}


def denied(name, given=RIGHT, accuses=-1, **more):
    case = Evaluation(trial(given, **more))
    guess = Candidate(name, RIGHT, Message("compare/fault-sign"), accuses=accuses)
    return HYPOTHESES[name].denied(case, guess)


MOVED = put(30, RIGHT[9])
DENIED = [
    ("wrong-weight-element", {"accuses": 1}, {"accuses": 1, "dumped": frozenset((0,))}),
    ("overrun", {}, {"read_later": True}),
    ("overrun", {"read_later": True, "given": MOVED}, {"read_later": True}),
    *((name, {"given": MOVED}, {}) for name in ("unwritten-tile", "unwritten-tail-tile", "stale-output")),
    *((name, {"given": MOVED}, {}) for name in ("scaled-tile", "wrong-weight-element")),
    *(
        (name, {"given": put(np.s_[8:12, 8:12], 9.0)}, {"given": put(np.s_[3, 8:12], 9.0)})
        for name in ("bit-flip", "overwritten-element")
    ),
]  # fmt: skip
"""Kind of fault, what denies it, and what does not."""


@pytest.mark.parametrize(("name", "where", "elsewhere"), DENIED)
def test_the_data_deny_a_kind(name, where, elsewhere):
    assert denied(name, **where)
    assert not denied(name, **elsewhere)


# --- in a comparison ---------------------------------------------------------------------------------


def compared(alter):
    """A product of 48 × 24 and 24 × 40, and its ReLU, against a golden without the change."""
    net = Net()
    left = net.feed("x", (48, 24))
    value = net.op("MatMul", left, net.weight("w", (24, 40)), shape=(48, 40))
    net.op("Neg", value, shape=(48, 40))
    graph = net.graph()
    values = {"x": LEFT, "w": WEIGHT}
    golden = in_memory(shoot(graph, values), graph)
    return compare_dumps(
        in_memory(shoot(graph, values, alter=alter), graph), golden
    ).result.findings


def test_a_zeroed_channel_is_a_symptom_first_and_no_wrong_weight():
    def zeroed(array):
        found = array.copy()
        found[:, 5] = 0
        return found

    first = compared({"Default/MatMul-op0": zeroed})[0]
    assert (first.symptom.kind, first.symptom.where.values["places"]) == ("zero", [5])
    assert [one.kind for one in first.causes] == ["unwritten-tile"]
    assert (first.fault, first.probability) == ("unwritten-tile", first.causes[0].probability)
    codes = [one.code for one in first.evidence]
    assert codes.index("compare/symptom") < codes.index("compare/likely")


def test_where_no_cause_is_known_none_is_stated_and_the_symptom_stays():
    def mixed(array):
        return np.random.default_rng(0).permutation(array.reshape(-1)).reshape(array.shape)

    first = compared({"Default/MatMul-op0": mixed})[0]
    assert first.symptom.kind == "permuted"
    assert (first.causes, first.fault, first.probability) == ((), "", 0.0)


def test_a_healthy_operator_has_no_finding():
    assert not compared(None)


def test_probabilities_of_an_explained_error_are_of_causes_alone():
    assert explain(trial((RIGHT * (1 + 0.05 * OTHER)).astype(np.float32)))[0].probability == 0.0
    assert explain(trial(RIGHT)) == []
