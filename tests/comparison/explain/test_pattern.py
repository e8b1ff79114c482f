"""What an error looks like, in words: against errors whose look is known."""

from __future__ import annotations

import numpy as np
import pytest

from kit.evidence import the
from workbench.comparison.explain.case import Evaluation
from workbench.comparison.explain.pattern import describe_pattern
from workbench.comparison.replay.kernel import Trial
from workbench.core.words import Message
from workbench.graph.graph import Kernel

WANTED = np.random.default_rng(5).normal(size=(16, 32)).astype(np.float32) + 4


def said_of(change, dtype=np.float32):
    wanted = WANTED.astype(dtype)
    given = change(wanted.copy())
    return describe_pattern(Evaluation(Trial(Kernel((), ()), {}, 0, given, wanted, 1e-6)))


def put(place, value):
    def change(output):
        output[place] = value(output[place]) if callable(value) else value
        return output

    return change


def value(count, name):
    return "pattern-value", {"count": count, "value": name}


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (lambda o: o * 3 + 1, [("pattern-all", {}), ("pattern-high", {})]),
        (
            put(3, lambda v: v - 1),
            [
                ("pattern-run", {"count": 32, "size": 512, "first": 96, "last": 127}),
                ("pattern-places", {"places": [3], "size": 16, "axis": 0}),
                ("pattern-low", {}),
                ("pattern-small", {}),
            ],
        ),
        (
            put((slice(None), 7), lambda v: -v),
            [("pattern-places", {"places": [7], "size": 32, "axis": 1})],
        ),
        (
            put((slice(None), slice(8, 14)), lambda v: v * 2),
            [
                ("pattern-range", {"first": 8, "last": 13, "size": 32, "axis": 1}),
                ("pattern-large", {}),
                ("pattern-ratio", {"factor": 2.0}),
            ],
        ),
        (
            put((slice(None), slice(None, None, 4)), lambda v: v + 3),
            [("pattern-period", {"period": 4, "axis": 1})],
        ),
        (put((2, 5), np.nan), [value(1, "NaN"), ("pattern-some", {"count": 1, "size": 512})]),
        (put((2, slice(0, 3)), np.inf), [value(3, "Inf")]),
        (put((2, slice(0, 3)), 0), [value(3, "zero")]),
        (
            put((2, slice(0, 3)), 65504),
            [("pattern-largest", {"count": 3, "value": 65504.0, "dtype": "float16"})],
        ),
        (put((2, slice(0, 3)), 1e-40), [value(3, "subnormal")]),
        (lambda o: o * np.float32(1 + 3e-6), [("pattern-spread", {})]),
    ],
)
def test_the_look_of_an_error_is_said(change, parts):
    said = said_of(change).values["parts"]
    for code, values in parts:
        the(said, code, **values)


def test_integers_and_masks_have_a_look_too():
    the(said_of(put((2, 5), 100), np.int32).values["parts"], "pattern-some", count=1, size=512)
    the(said_of(put(3, False), bool).values["parts"], "pattern-run", count=32, size=512)


def test_a_number_alone_has_a_look():
    one = np.float32(2)
    said = describe_pattern(Evaluation(Trial(Kernel((), ()), {}, 0, one * 2, one, 0.0)))
    the(said.values["parts"], "pattern-all")


def test_nothing_has_no_look():
    none = np.zeros(0, np.float32)
    case = Evaluation(Trial(Kernel((), ()), {}, 0, none, none, 0.0))
    assert describe_pattern(case) == Message("compare/pattern-empty")
