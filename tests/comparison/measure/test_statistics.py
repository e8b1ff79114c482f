"""What two rows of statistics may say about their tensors, and what they may not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.comparison.measure.measure import measure_pair
from workbench.comparison.measure.statistics import measure_statistics, with_padding
from workbench.comparison.pair.pairing import Pair
from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec
from workbench.core.words import Message
from workbench.dump.statistics.compute import statistics_of
from workbench.dump.statistics.dialects import TITLES

ROW = {"Max Value": 4.0, "Min Value": -2.0, "Avg Value": 1.0, "L2Norm Value": 10.0}


def measured(target, golden=ROW, size=6):
    return measure_statistics(target, golden, size)


INF, NAN = math.inf, math.nan
DIGEST, OTHER, NO_NUMBER = {"MD5": "a"}, {"MD5": "b"}, {"Max Value": "garbage"}
ENDS = {"Max Value": INF, "Min Value": INF}
NOT, SOME, NONE = {"Max Value": NAN}, {"NaN Count": 3.0}, {"NaN Count": 0.0}
ZERO = dict.fromkeys(ROW, 0.0)
TENTH = pytest.approx(0.1)

CASES = {  # target, golden, what is measured
    "equal digests prove equality": (ROW | DIGEST, ROW | DIGEST, {"equal": True, "error": 0.0, "size": 6}),
    "equal figures prove nothing but no difference": (ROW, ROW, {"equal": False, "error": 0.0, "reason": None}),
    # the figures against the largest magnitude, 4, the norm against itself
    "the largest": (ROW | {"Max Value": 4.4}, ROW, {"error": TENTH, "mismatch": 0}),
    "the smallest": (ROW | {"Min Value": -2.4}, ROW, {"error": TENTH, "mismatch": 0}),
    "the average": (ROW | {"Avg Value": 1.4}, ROW, {"error": TENTH, "mismatch": 0}),
    "the norm": (ROW | {"L2Norm Value": 11.0}, ROW, {"error": TENTH, "mismatch": 0}),
    "a zero tensor against another one is infinitely far": (ROW, ZERO, {"error": INF}),
    "two zero tensors": (ZERO, ZERO, {"error": 0.0}),
    "infinity agrees with infinity even where nothing finite is left": (ENDS, ENDS, {"mismatch": 0, "error": 0.0}),
    "different counts of NaN are a mismatch even alone": ({"NaN Count": 2.0}, NONE, {"mismatch": 1, "reason": None}),
    "without a common statistic nothing is measured": (
        {"Max Value": 1.0}, {"Min Value": 1.0}, {"reason": Message("compare/no-statistic")},
    ),
    "digests alone can tell that tensors differ but not by how much": (
        DIGEST, OTHER, {"equal": False, "reason": Message("compare/digests-differ")},
    ),
    "text that is no number counts as NaN": (ROW | NO_NUMBER, ROW, {"mismatch": 1}),
    **{
        f"{value} of one side alone": (ROW | {"Max Value": value}, ROW, {"mismatch": 1, "equal": False})
        for value in (NAN, INF, -INF)
    },
    **{
        f"{value} of the other alone": (ROW, ROW | {"Max Value": value}, {"mismatch": 1, "equal": False})
        for value in (NAN, INF, -INF)
    },
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_two_rows_say_this_of_their_tensors(case):
    target, golden, expected = CASES[case]
    found = measured(target, golden)
    assert {name: getattr(found, name) for name in expected} == expected


@pytest.mark.parametrize("odd", [NOT, NOT | DIGEST, SOME, SOME | DIGEST])
def test_nan_on_both_sides_is_never_agreement_not_even_with_equal_digests(odd):
    found = measured(ROW | odd, ROW | odd)
    assert found.mismatch > 0
    assert not found.equal


def test_counts_without_nan_say_nothing_of_the_values():
    assert measured(NONE, NONE).reason


@pytest.mark.parametrize(("a", "b", "error"), [(1.23456, 1.23457, 0.0), (1.23456, 1.23459, 2.4e-5)])
def test_the_last_printed_digit_is_no_difference(a, b, error):
    """Six digits are printed: 1.234564999 and 1.234565001 come out a unit apart."""
    assert measured({"Max Value": a}, {"Max Value": b}).error == pytest.approx(error, rel=0.1)


FLOATS = st.floats(-100, 100, width=32) | st.sampled_from([math.nan, math.inf, -math.inf])


@given(st.lists(FLOATS, min_size=1, max_size=9), st.integers(0, 9))
def test_padding_changes_figures_as_zeros_behind_the_elements_do(values, more):
    array = np.float32(values)
    plain = statistics_of(array, TITLES)
    expected = statistics_of(np.append(array, np.zeros(more, np.float32)), TITLES)
    found = with_padding(plain, array.size, array.size + more)
    assert found.keys() == expected.keys() - {"MD5", "SHA1"}
    for title, value in found.items():
        assert value == pytest.approx(expected[title], rel=1e-12, nan_ok=True), title


def test_padding_of_figures_that_are_missing_or_text_is_none():
    assert with_padding({"Max Value": "x", "MD5": "a"}, 2, 4) == {"Max Value": "x"}
    assert with_padding({}, 2, 4) == {}


KEY = TensorKey("Conv2D", "conv", "output", 0)
TENSOR = TensorRecord(
    KEY, TensorSpec("float32", None), ArraySource(np.float32([[[[3]], [[5]], [[-2]]]]))
)


def summed(form, shape, **figures):
    return TensorRecord(KEY, TensorSpec("float32", shape, form), None, figures)


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(
    ("form", "shape", "average", "reason", "error"),
    [
        ("NC1HWC0", (1, 1, 1, 1, 16), 6 / 16, "", 0.0),
        ("NC1HWC0", (1, 1, 1, 1, 16), 6 / 3, "", 0.325),
        ("FRACTAL_Z", (1, 1, 16, 16), 6 / 256, "", 0.0),
        ("NC1HWC0", (1, 2, 1, 1, 16), 6 / 32, "compare/sizes-differ", math.inf),
        ("", (1, 1, 1, 1, 16), 6 / 16, "compare/sizes-differ", math.inf),
        ("no format", (16,), 6 / 16, "compare/sizes-differ", math.inf),
        ("ND", (16,), 6 / 16, "compare/sizes-differ", math.inf),
    ],
)
def test_figures_of_a_device_format_have_the_zeros_of_its_padding(
    form, shape, average, reason, error, swapped
):
    row = summed(form, shape, **{"Max Value": 5.0, "Min Value": -2.0, "Avg Value": average})
    sides = (TENSOR, row) if swapped else (row, TENSOR)
    pair = Pair(*sides, None, None, "output", 0, "exact", 1.0, "conv")
    found = measure_pair(pair, ((), ()))
    assert (found.reason.code if found.reason is not None else "") == reason
    if not reason:
        assert found.divergence.error == pytest.approx(error)
