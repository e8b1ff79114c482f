"""Numbers that a function has no result for."""

import numpy as np
import pytest

from workbench.comparison.follow.nan_origins import DOMAINS, misfits

NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("op_type", "read", "gave", "places"),
    [
        ("Sqrt", [4, -1, 9], [2, NAN, 3], [1]),
        ("Sqrt", [4, -1, -9], [2, 0, NAN], [1, 2]),  # a device that saturates gives zero
        ("Sqrt", [4, 1], [2, NAN], []),  # it was its own fault
        ("Sqrt", [4, -1, 1], [2, NAN, NAN], []),
        ("Sqrt", [-1, NAN], [NAN, NAN], []),
        ("Sqrt", [4, 0], [2, 0], []),
        ("Log", [1, 0, -1], [0, NAN, NAN], []),  # the logarithm of zero is infinite, rightly
        ("Log", [1, -1], [0, NAN], [1]),
        ("Log1p", [-2, 0], [NAN, 0], [0]),
        ("Asin", [0, 1.5], [0, NAN], [1]),
        ("ACos", [-1.5, 0], [NAN, 1], [0]),
        ("Acosh", [0.5, 1], [NAN, 0], [0]),
        ("Atanh", [2, 0], [NAN, 0], [0]),
        ("Rsqrt", [-4, 4], [NAN, 0.5], [0]),
        ("Exp", [-1], [NAN], []),
    ],
)
def test_a_number_without_a_result_is_found(op_type, read, gave, places):
    found = misfits(op_type, np.float32([read]), np.float16(gave))
    assert found.tolist() == places


def test_every_function_of_the_table_has_numbers_without_a_result():
    drawn = np.linspace(-4, 4, 81)
    with np.errstate(all="ignore"):
        for function in DOMAINS.values():
            share = np.isnan(function(drawn)).mean()
            assert 0 < share < 1


def test_other_sizes_tell_nothing():
    assert misfits("Sqrt", np.float32([-1, 1]), np.float32([NAN])).size == 0
