"""What an error looks like, in words: against errors whose look is known."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.compare.hypotheses.case import Case
from workbench.compare.hypotheses.pattern import describe
from workbench.compare.replay.trial import Kernel, Trial

WANTED = np.random.default_rng(5).normal(size=(16, 32)).astype(np.float32) + 4


def said(change, dtype=np.float32):
    wanted = WANTED.astype(dtype)
    given = change(wanted.copy())
    return describe(Case(Trial(Kernel((), ()), {}, 0, given, wanted, 1e-6)))


def put(place, value):
    def change(output):
        output[place] = value(output[place]) if callable(value) else value
        return output

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda o: o * 3 + 1, ["every element is off", "all too large"]),
        (put(3, lambda v: v - 1), ["32 of 512", "one run of neighbors", "places 3 of 16", "all too small"]),
        (put((slice(None), 7), lambda v: -v), ["places 7 of 32 along axis 1"]),
        (put((slice(None), slice(8, 14)), lambda v: v * 2), ["places 8 to 13 of 32", "about 2 times"]),
        (put((slice(None), slice(None, None, 4)), lambda v: v + 3), ["repeats every 4 places along axis 1"]),
        (put((2, 5), np.nan), ["1 is NaN", "1 of 512"]),
        (put((2, slice(0, 3)), np.inf), ["3 are Inf"]),
        (put((2, slice(0, 3)), 0), ["3 are zero"]),
        (put((2, slice(0, 3)), 65504), ["3 are 65504, the largest float16"]),
        (put((2, slice(0, 3)), 1e-40), ["3 are subnormal"]),
        (lambda o: o * np.float32(1 + 3e-6), ["spread over all"]),
    ],
)  # fmt: skip
def test_the_look_of_an_error_is_said(change, words):
    text = said(change)
    assert all(word in text for word in words), text


def test_integers_and_masks_have_a_look_too():
    assert "1 of 512" in said(put((2, 5), 100), np.int32)
    assert "32 of 512" in said(put(3, False), bool)


def test_a_number_alone_has_a_look():
    one = np.float32(2)
    assert "every element is off" in describe(Case(Trial(Kernel((), ()), {}, 0, one * 2, one, 0.0)))
