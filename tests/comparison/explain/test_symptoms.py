"""What is certain about a wrong tensor: each symptom on the smallest tensor that shows it."""

from __future__ import annotations

from itertools import pairwise

import ml_dtypes
import numpy as np
import pytest

from workbench.comparison.explain import symptoms as module
from workbench.comparison.explain.symptoms import SYMPTOMS, describe_symptom
from workbench.comparison.limits import limits, using

RNG = np.random.default_rng(33)
X = RNG.standard_normal((64, 96)).astype(np.float32)
OTHER = RNG.standard_normal((64, 96)).astype(np.float32)
IMAGES = RNG.standard_normal((2, 32, 6, 5)).astype(np.float32)
TOKENS = RNG.standard_normal((2, 10, 24)).astype(np.float32)
SQUARE = RNG.standard_normal((24, 24)).astype(np.float32)
NOISE = 1e-6


def with_noise(array):
    return (
        array * (1 + 1e-7 * np.sign(OTHER.reshape(-1)[: array.size].reshape(array.shape)))
    ).astype(array.dtype)


def put(array, place, values):
    """An array as it has to be but for noise, with something else in some places."""
    found = with_noise(array)
    found[place] = values
    return found


def multiplied(array, place, factor):
    return put(array, place, array[place] * np.float32(factor))


CASES = {
    "rows 3 and 7 zero": (put(X, [3, 7], 0), X, "zero", "where-rows", {"places": [3, 7]}, {"count": 192}),
    "a column zero": (put(X, np.s_[:, 5], 0), X, "zero", "where-columns", {"places": [5]}, {"count": 64}),
    "a channel zero": (put(IMAGES, np.s_[:, 5], 0), IMAGES, "zero", "where-channels", {"places": [5]}, {}),
    "a token zero": (put(TOKENS, np.s_[:, 4], 0), TOKENS, "zero", "where-slices", {"axis": 1, "places": [4]}, {}),
    "five rows in one piece": (put(X, np.s_[10:15], 0), X, "zero", "where-rows-range", {"first": 10, "last": 14}, {}),
    "columns in one piece": (
        put(X, np.s_[:, 10:15], 0), X, "zero", "where-columns-range", {"first": 10, "last": 14}, {},
    ),
    "channels in one piece": (
        put(IMAGES, np.s_[:, 16:32], 0), IMAGES, "zero", "where-channels-range", {"first": 16, "last": 31}, {},
    ),
    "tokens in one piece": (
        put(TOKENS, np.s_[:, 4:9], 0), TOKENS, "zero", "where-slices-range", {"axis": 1, "first": 4, "last": 8}, {},
    ),
    "a tile zero": (
        put(X, np.s_[16:32, 32:48], 0), X, "zero", "where-block", {"sizes": [16, 16], "start": [16, 32]},
        {"count": 256},
    ),
    "nothing written": (np.zeros_like(X), X, "zero", "where-whole", {}, {"count": 6144}),
    "a tile of other numbers": (
        put(X, np.s_[16:32, 32:48], OTHER[:16, :16]), X, "region", "where-block", {"sizes": [16, 16]}, {},
    ),
    "rows of other numbers": (put(X, [3, 7], OTHER[:2]), X, "region", "where-rows", {"places": [3, 7]}, {}),
    "a run of other numbers": (
        put(X.reshape(-1), np.s_[6048:], OTHER[0]), X.reshape(-1), "region", "where-run", {"first": 6048}, {},
    ),
    "a row twice": (put(X, 3, X[9]), X, "copied", "where-rows", {"places": [3]}, {}),
    "a token in the place of another": (
        put(TOKENS, np.s_[:, 4], TOKENS[:, 7]), TOKENS, "copied", "where-slices", {}, {},
    ),
    "two rows exchanged": (put(X, [3, 9], X[[9, 3]]), X, "copied", "where-rows", {}, {"axis": 0, "count": 2}),
    "channels in pairs": (
        IMAGES[:, np.arange(32) ^ 1], IMAGES, "copied", "where-whole", {}, {"axis": 1, "count": 32},
    ),
    "rows one further": (put(X, np.s_[1:], X[:-1]), X, "copied", "where-whole", {}, {"step": 1, "axis": 0}),
    "rows one further, another comes in": (
        np.concatenate([OTHER[:1], X[:-1]]), X, "copied", "where-whole", {}, {"step": 1, "axis": 0},
    ),
    "a factor": (X * np.float32(1.05), X, "scaled", "where-whole", {}, {"factor": pytest.approx(1.05)}),
    "a factor on a channel": (
        multiplied(IMAGES, np.s_[:, 5], 1.1), IMAGES, "scaled", "where-channels", {"places": [5]},
        {"factor": pytest.approx(1.1)},
    ),
    "an offset": (X + np.float32(0.3), X, "offset", "where-whole", {}, {"step": pytest.approx(0.3, rel=1e-4)}),
    "the other sign": (-with_noise(X), X, "sign-flipped", "where-whole", {}, {}),
    "the other sign in a column": (multiplied(X, np.s_[:, 4], -1), X, "sign-flipped", "where-columns", {}, {}),
    "transposed": (with_noise(SQUARE.T.copy()), SQUARE, "transposed", "where-whole", {}, {"axes": [1, 0]}),
    "read in another order": (X.T.reshape(X.shape), X, "transposed", "where-whole", {}, {"axes": [1, 0]}),
    "mixed up": (RNG.permutation(X.reshape(-1)).reshape(X.shape), X, "permuted", "where-whole", {}, {}),
    "rounded to bfloat16": (
        X.astype(ml_dtypes.bfloat16).astype(np.float32), X, "number-format", "where-whole", {}, {"dtype": "bfloat16"},
    ),
    "rounded to float16": (
        X.astype(np.float16).astype(np.float32), X, "number-format", "where-whole", {}, {"dtype": "float16"},
    ),
    "NaN and Inf": (
        put(X, ([3, 5], [4, 6]), [np.nan, np.inf]), X, "non-finite", "where-elements", {}, {"nan": 1, "inf": 1},
    ),
    "cut off": (np.clip(X, -1, 1), X, "saturated", "where-scattered", {}, {"limit": 1.0}),
    "cut off at the largest": (
        np.clip(X * 5e4, -65504, 65504).astype(np.float32), (X * 5e4).astype(np.float32), "saturated",
        "where-scattered", {}, {"dtype": "float16"},
    ),
    "small ones gone": (np.where(np.abs(X) < 0.1, 0, X), X, "flushed", "where-whole", {}, {}),
    "one number": (put(X, np.s_[20:24], 1.5), X, "constant", "where-rows", {}, {"value": 1.5}),
    "two elements": (put(X, ([3, 5], [4, 6]), [9, 8]), X, "few-elements", "where-elements", {}, {"count": 2}),
    "ten elements": (put(X, (range(10), range(10)), 50 + np.arange(10)), X, "few-elements", None, {}, {"count": 10}),
}  # fmt: skip
"""What was done → given, expected, kind, where, and of the values of where and detail what matters."""


@pytest.mark.parametrize("name", CASES)
def test_a_symptom_says_what_is_seen_and_where(name):
    given, expected, kind, code, where, detail = CASES[name]
    found = describe_symptom(given, expected, NOISE)
    assert found is not None
    assert found.kind == kind
    assert code is None or found.where.code == f"compare/{code}"
    assert {key: found.where.values[key] for key in where} == where
    assert {key: found.detail.values[key] for key in detail} == detail


def test_what_was_there_an_iteration_before_is_stale():
    found = describe_symptom(OTHER, X, NOISE, [(3, X * 2), (2, OTHER)])
    assert (found.kind, found.detail.values["iteration"]) == ("stale", 2)


NOTHING = {
    "nothing is wrong": (X, X),
    "noise": (with_noise(X), X),
    "an error everywhere": ((X * (1 + 1e-3 * OTHER)).astype(np.float32), X),
    "something else": (OTHER, X),
    "something else of the same numbers, rounded": (np.sort(OTHER), X),
    "other shapes": (X[:2], X),
    "nothing at all": (X[:0], X[:0]),
    "more than half of it": (put(X, np.s_[:40], OTHER[:40]), X),
    "NaN, and another error": (put(put(X, (0, 0), np.nan), np.s_[20:60], OTHER[20:60]), X),
    "zeros, and another error": (put(put(X, 3, 0), np.s_[20:60], OTHER[20:60]), X),
}


@pytest.mark.parametrize("name", NOTHING)
def test_where_nothing_is_certain_nothing_is_said(name):
    given, expected = NOTHING[name]
    assert describe_symptom(given, expected, NOISE) is None


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.bool_, np.float16, ml_dtypes.bfloat16])
def test_tensors_of_every_kind_are_read(dtype):
    whole = (X * 20).astype(np.int32).astype(dtype)
    given = whole.copy()
    given[[3, 7]] = 0
    found = describe_symptom(given, whole, 0.0)
    assert (found.kind, found.where.values["places"]) == ("zero", [3, 7])


BOTH = {
    ("non-finite", "stale"): (put(X, (0, 0), np.nan), X, [(0, put(X, (0, 0), np.nan))]),
    ("stale", "flushed"): (
        np.where(np.abs(X) < 0.1, 0, X),
        X,
        [(0, np.where(np.abs(X) < 0.1, 0, X))],
    ),
    ("flushed", "zero"): (np.where(np.abs(X) < 0.01, 0, X), X, []),
    ("copied", "scaled"): (put(put(X, 9, 2 * X[3]), 3, 2 * X[3]), put(X, 9, 2 * X[3]), []),
    ("transposed", "permuted"): (SQUARE.T.copy(), SQUARE, []),
    ("few-elements", "region"): (put(X, np.s_[3, 4:10], 9 + np.arange(6)), X, []),
}
"""Neighboring rows → given, expected and what was before, to which both apply."""

APART = {
    ("zero", "sign-flipped"): "zero is no other number with its sign changed",
    ("sign-flipped", "saturated"): "of numbers cut off the sign stays",
    ("constant", "number-format"): "a format is told of a whole tensor of different numbers",
    ("number-format", "copied"): "what is rounded is near the number that belongs there",
    ("scaled", "offset"): "numbers that vary do not fit both",
    ("permuted", "few-elements"): "of few elements no permutation is told",
    (
        "saturated",
        "constant",
    ): "saturated lies below what is expected; both are one number only where all are cut",
    ("offset", "transposed"): "an offset changes the sum, an order of the axes does not",
}


def test_every_two_neighboring_rows_have_a_case_or_a_reason():
    assert {*pairwise(SYMPTOMS)} <= {*BOTH, *APART}


@pytest.mark.parametrize("kinds", BOTH, ids=" before ".join)
def test_the_first_symptom_that_holds_is_told(kinds, monkeypatch):
    given, expected, before = BOTH[kinds]
    assert describe_symptom(given, expected, NOISE, before).kind == kinds[0]
    names = [*SYMPTOMS]
    at = names.index(kinds[0])
    names[at : at + 2] = kinds[::-1]
    monkeypatch.setattr(module, "SYMPTOMS", {name: SYMPTOMS[name] for name in names})
    assert describe_symptom(given, expected, NOISE, before).kind == kinds[1]


@pytest.mark.parametrize(
    ("limit", "value", "case"),
    [
        ("region_share", 1.0, "a tile of other numbers and one that is right"),
        ("region_whole", 0.1, "cut off"),
        ("slice_elements", 1000, "a row twice"),
        ("slices_unknown", 1, "two slices come in"),
        ("format_elements", 10_000, "rounded to bfloat16"),
    ],
)
def test_a_limit_decides(limit, value, case):
    right = put(X, np.s_[16:32, 32:48], OTHER[:16, :16])
    right[20, 40] = X[20, 40]
    extra = {
        "a tile of other numbers and one that is right": (right, X),
        "two slices come in": (np.concatenate([OTHER[:2], X[:-2]]), X),
    }
    given, expected = extra[case] if case in extra else CASES[case][:2]
    found = describe_symptom(given, expected, NOISE)
    with using(limits().__class__(**{limit: value})):
        other = describe_symptom(given, expected, NOISE)
    assert found is not None
    said = found.kind, found.where.code, found.detail.code
    assert other is None or (other.kind, other.where.code, other.detail.code) != said
