"""Single guesses at a fault, each on arrays of a few elements: which are made, and what they would have given."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest

from kit.words import check_said
from workbench.comparison.explain.case import Candidate, Evaluation, ScoredCandidate
from workbench.comparison.explain.explain import RIGHT_OF_STATED, chance_of, features
from workbench.comparison.explain.hypotheses import inside
from workbench.comparison.explain.hypotheses.attributes import _solved_scalars
from workbench.comparison.explain.hypotheses.operands import transposed_output
from workbench.comparison.explain.inferred import Head, _guessed
from workbench.comparison.limits import LIMITS
from workbench.comparison.replay.kernel import Trial
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Kernel, Op, Param, Value


def in_order(array, axes):
    """Elements with the last of the axes running fastest."""
    found = []
    for place in itertools.product(*(range(array.shape[axis]) for axis in axes)):
        index = dict(zip(axes, place, strict=True))
        found.append(array[tuple(index[axis] for axis in range(array.ndim))])
    return found


@pytest.mark.parametrize(
    ("shape", "orders"),
    [
        ((6,), 0),
        ((1, 6), 0),
        ((2, 3), 1),
        ((2, 1, 3), 1),
        ((2, 3, 4), 5),
        ((2, 3, 2, 3), 23),
        ((2, 2, 2, 2, 2), 0),  # as many orders as an output has few elements
    ],
)
def test_an_output_may_lie_with_up_to_four_axes_in_another_order(shape, orders):
    expected = np.arange(math.prod(shape)).reshape(shape)
    case = SimpleNamespace(trial=SimpleNamespace(expected=expected))
    found = {tuple(one.said.values["axes"]): one for one in transposed_output(case)}
    assert len(found) == orders
    for axes, one in found.items():
        assert axes != tuple(range(expected.ndim))
        assert all(axes[n] == n for n, size in enumerate(shape) if size == 1)
        assert one.output.shape == shape
        assert one.output.ravel().tolist() == in_order(expected, axes)
        assert (one.kind, one.parameters) == ("transposed-output", LIMITS.rare_numbers)


def step(off, shape):
    """Two by three numbers that are handed on, and where the output behind them is off."""
    off = np.array(off, bool)
    behind = SimpleNamespace(off=off.ravel(), shape=off.shape, places=np.flatnonzero(off))
    given = np.zeros(shape, np.float32)
    return SimpleNamespace(
        op=SimpleNamespace(op_type="Mul"),
        given=given,
        behind=behind,
        handing=lambda made: made(given),
    )


NANS = {
    "some elements": ([[1, 1, 0], [0, 0, 1]], (2, 3), [[1, 1, 0], [0, 0, 1]], 1.5),
    "a channel of the output": ([0, 1, 0], (2, 3), [[0, 1, 0], [0, 1, 0]], 1.0),
    "nothing": ([[0, 0, 0], [0, 0, 0]], (2, 3), None, 0),
    "everything": ([[1, 1, 1], [1, 1, 1]], (2, 3), None, 0),
    "of another shape": ([1, 0], (2, 3), None, 0),
    "of one axis": ([1, 0], (3,), None, 0),
}
"""Where an output is off → shape of what an operator hands on, where that is NaN, and free numbers."""


@pytest.mark.parametrize("case", NANS)
def test_nan_may_be_handed_on_where_the_output_is_off(case):
    off, shape, places, numbers = NANS[case]
    found = list(inside._nan(step(off, shape)))
    assert [np.isnan(one.output).tolist() for one in found] == (
        [] if places is None else [np.array(places, bool).tolist()]
    )
    assert [one.parameters for one in found] == ([] if places is None else [numbers])
    for one in found:
        assert one.output.dtype == np.float32
        check_said(one.said, "compare/inside-nan", op_type="Mul")


def scored(remains, parameters=0.0, score=0.0, kind="kind"):
    return ScoredCandidate(Candidate(kind, np.zeros(1), None, parameters), remains, 0.5, score)


MORE = LIMITS.rival_numbers
RIVALS = {
    "none": ([scored(0.1)], 0),
    "one that leaves twice as much": ([scored(0.1), scored(0.2)], 1),
    "one that leaves more": ([scored(0.1), scored(0.21)], 0),
    "one that leaves no more than noise": ([scored(0.001), scored(0.01)], 1),
    "one with few numbers more": ([scored(0.1, 1.0), scored(0.1, 1.0 + MORE)], 1),
    "one with many numbers more": ([scored(0.1, 1.0), scored(0.1, 1.1 + MORE)], 0),
    "five, of which three count": ([scored(0.1) for _ in range(6)], 3),
}
"""Guesses, the best one first → rivals of the best, where noise is 0.01."""


@pytest.mark.parametrize("case", RIVALS)
def test_rivals_explain_as_much_with_as_few_numbers(case):
    tried, rivals = RIVALS[case]
    known = SimpleNamespace(given=np.arange(8.0), floor=0.01, error=0.5, still_off=lambda _: 0.0)
    assert features(known, tried)["rivals"] == rivals


@pytest.mark.parametrize(
    ("given", "floor", "error", "tried", "expected"),
    [
        (np.ones(4), 0.01, 0.5, [scored(0.1, 2.0)],
         {"left": math.log(10), "beyond": math.log(10), "loose": math.log(3) * math.log(2501),
          "visible": math.log(50), "lead": math.log1p(1e4), "free": math.log(3), "places": 0.0, "blank": 1.0,
          "few": math.log(2501), "exact": 0.5, "one": 1.0, "rivals": 0.0, "rest": 0.25, "solved": 0.0}),
        (np.arange(4.0), 0.01, 50.0, [scored(1e-9, 9.0, -1.0), scored(9.0, 0.0, 2.0)],
         {"left": math.log(0.1), "beyond": 0.0, "loose": math.log(5) * math.log(2501),
          "visible": math.log(1e3), "lead": math.log(4), "free": math.log(5), "places": 0.0, "blank": 0.0,
          "few": math.log(2501), "exact": 0.5, "one": 1.0, "rivals": 0.0, "rest": 0.25, "solved": 1.0}),
        (np.arange(4.0), 0.0, 0.5, [scored(0.0)],
         {"left": 0.0, "beyond": 0.0, "loose": 0.0,
          "visible": 3.0, "lead": math.log1p(1e4), "free": 0.0, "places": 0.0, "blank": 0.0,
          "few": math.log(2501), "exact": 0.5, "one": 1.0, "rivals": 0.0, "rest": 0.25, "solved": 1.0}),
    ],
    ids=["one", "two", "without noise"],
)  # fmt: skip
def test_features_of_the_best_guess(given, floor, error, tried, expected):
    case = SimpleNamespace(given=given, floor=floor, error=error, still_off=lambda _: 0.25)
    found = {name: value for name, value in features(case, tried).items() if " " not in name}
    assert found == pytest.approx(expected)


PRODUCTS = {"exact solved": 0.5, "blank few": math.log(2501), "blank free": math.log(3)}
LOOSE = math.log(3) * math.log(2501)
SEEN_TOGETHER = {
    "one number everywhere": (np.ones(4), "kind", 1e-9, PRODUCTS | {"stale loose": 0.0}),
    "an old output": (np.ones(4), "stale-output", 1e-9, PRODUCTS | {"stale loose": LOOSE}),
    "something is left": (np.ones(4), "kind", 0.1, PRODUCTS | {"exact solved": 0.0, "stale loose": 0.0}),
    "many numbers": (np.arange(4.0), "stale-output", 1e-9,
                     {"exact solved": 0.5, "blank few": 0.0, "blank free": 0.0, "stale loose": LOOSE}),
}  # fmt: skip
"""Output of four elements, kind, what is left where noise is 0.01 → features that weigh otherwise beside another."""


@pytest.mark.parametrize("name", SEEN_TOGETHER)
def test_features_that_weigh_otherwise_beside_another(name):
    given, kind, remains, expected = SEEN_TOGETHER[name]
    case = SimpleNamespace(given=given, floor=0.01, error=50.0, still_off=lambda _: 0.0)
    found = features(case, [scored(remains, 2.0, kind=kind)])
    assert {one: found[one] for one in expected} == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["nan-output", "bit-flip", "overwritten-element"])
def test_numbers_that_are_read_off_at_their_places_are_no_fitted_ones(kind):
    case = SimpleNamespace(given=np.arange(4.0), floor=0.01, error=50.0, still_off=lambda _: 0.0)
    found = features(case, [scored(1e-9, 9.0, kind=kind)])
    assert (found["places"], found["free"], found["loose"]) == (
        pytest.approx(math.log(5)),
        0.0,
        0.0,
    )


def test_what_may_lie_at_the_beginning_of_an_input():
    head = Head(0, np.arange(3))
    outputs = [np.arange(3, dtype=np.float16)]
    found = [one.tolist() for one in _guessed(np.zeros(4, np.float16), head, outputs)]
    numbers = [0.0, *(sign * 10.0**n for n in (-2, -1, 0, 1, 2, 3, 4) for sign in (1, -1))]
    assert found[:-3] == [[float(np.float16(number))] * 3 for number in numbers]
    assert found[-3:] == [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    assert list(_guessed(np.zeros(4, np.int32), head, outputs)) == []


ROW = np.array([0.5, -1.25, 3.0, 7.0], np.float32)
SCALARS = {
    "a number": (np.float32([2.0]), ROW, [3.0]),
    "an integer": (np.int32([2]), ROW, []),
    "of two elements": (np.float32([2.0, 2.0]), ROW[:2], []),
    "one element of one": (np.float32([2.0]), ROW[:1], []),
    "no number": (np.float32([math.inf]), ROW, []),
}
"""What x was multiplied by → that, x, and what it must have been where three times x was given."""


@pytest.mark.parametrize("case", SCALARS)
def test_a_number_that_was_read_is_solved_for(case):
    factor, x, expected = SCALARS[case]
    op = Op("m", "Mul", (Param(0), Param(1)), outputs=(TensorSpec("float32", x.shape),))
    kernel = Kernel((op,), (Value(0),))
    with np.errstate(all="ignore"):
        wrong = (x * factor).astype(np.float32)
    trial = Trial(kernel, {0: x, 1: factor}, 0, 3 * x, wrong, 1e-7)
    found = list(_solved_scalars(Evaluation(trial), 0, op))
    values = {float(one.said.values["used"]) for one in found}
    assert sorted(values) == expected
    for one in found:
        assert one.output.tolist() == pytest.approx((3 * x).tolist(), rel=1e-5)
        assert (one.said.values["slot"], one.said.values["value"]) == (1, "2")


def test_what_two_operators_hand_on_stands_beside_what_others_read():
    x, y = ROW, ROW[::-1].copy()
    spec = (TensorSpec("float32", (4,)),)
    ops = (
        Op("a", "Tanh", (Param(0),), outputs=spec),
        Op("b", "Neg", (Param(0),), outputs=spec),
        Op("c", "Add", (Value(0), Value(1)), outputs=spec),
        Op("d", "Mul", (Value(2), Param(1)), outputs=spec),
    )
    given = ((np.tanh(x) - x) * y).astype(np.float32)
    case = Evaluation(Trial(Kernel(ops, (Value(3),)), {0: x, 1: y}, 0, given, given, 1e-6))
    step = inside.step_at(case, 1, ops[1])
    assert step.given.tolist() == (-x).tolist()
    twice = step.handing(lambda array: 2 * array)
    assert twice == pytest.approx((np.tanh(x) - 2 * x) * y, rel=1e-5)


def test_the_map_onto_what_was_right_never_falls_and_keeps_its_ends():
    stated, right = zip(*RIGHT_OF_STATED, strict=True)
    assert [*stated] == sorted(set(stated))
    assert [*right] == sorted(right)
    assert RIGHT_OF_STATED[0] == (0.0, 0.0)
    assert RIGHT_OF_STATED[-1] == (1.0, 1.0)
    assert chance_of({"one": 0.0}) == pytest.approx(
        0.56, abs=0.03
    )  # as likely as not, to the model
