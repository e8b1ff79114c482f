"""How figures are written in sentences: as they would be said, and never longer."""

import math

import pytest

from workbench.core.words.render import number

WRITTEN = {
    0.0: "0",
    -3.0: "-3",
    0.000_999: "1e-3",
    0.001: "0.001",
    0.0123: "0.012",
    99.4: "99",
    99.6: "100",
    100.4: "100",
    9999.0: "9999",
    9999.4: "9999",
    9999.6: "1e4",
    10_000.0: "1e4",
    10_000.5: "1e4",
    10_001.0: "1e4",
    -0.000_04: "-4e-5",
    math.inf: "Inf",
    -math.inf: "-Inf",
}


@pytest.mark.parametrize(("value", "text"), WRITTEN.items(), ids=map(str, WRITTEN))
def test_a_figure_has_two_digits_and_a_whole_number_all_below_ten_thousand(value, text):
    assert number(value) == text


def test_what_is_no_number_is_said_to_be_none():
    assert number(math.nan) == "NaN"
