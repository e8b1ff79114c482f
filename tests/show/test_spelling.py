"""Figures as text, against Python's own text of each."""

import json
import math
import random
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.build.sample_results import csv_text, make_result, make_row
from workbench.show.json_result import dumps
from workbench.show.spelling import AT_ONCE, spell_figures, spell_whole

WORDS = {math.inf: "Infinity", -math.inf: "-Infinity"}
EDGES = (
    0.0,
    -0.0,
    1.0,
    0.1,
    -2.5e-7,
    1e16,
    9999999999999998.0,
    1e-4,
    1e-5,
    5e-324,
    2.0**53,
    1.7976931348623157e308,
)


def said(value: float) -> str:
    """What stands for a figure, one by one."""
    return "NaN" if math.isnan(value) else WORDS.get(value) or repr(value)


def random_bits(count: int) -> list[float]:
    """Figures of any bits: every exponent, both signs, a few that are not finite."""
    rng = random.Random(5)
    return [struct.unpack("<d", rng.randbytes(8))[0] for _ in range(count)]


@given(st.lists(st.floats() | st.sampled_from(EDGES)))
def test_every_figure_has_python_s_text(values):
    assert spell_figures(np.array(values, np.float64), str).tolist() == [*map(said, values)]


@pytest.mark.parametrize("shape", [(6, 4), (24,), (2, 3, 4), (0, 5), (0,)])
def test_texts_have_the_shape_of_their_figures(shape):
    figures = np.resize(np.array([*EDGES, math.nan, -math.inf]), shape).astype(np.float64)
    for found in (figures, figures.T):
        texts = spell_figures(found, str)
        assert texts.shape == found.shape
        assert texts.ravel().tolist() == [*map(said, found.ravel().tolist())]


def test_figures_of_any_bits_have_python_s_text():
    values = random_bits(20_000)
    assert spell_figures(np.array(values), str).tolist() == [*map(said, values)]


def test_what_is_not_finite_is_written_as_asked():
    values = np.array([math.nan, 1.5, math.inf, -math.inf, math.nan])
    found = ['"NaN"', "1.5", '"Infinity"', '"-Infinity"', '"NaN"']
    assert spell_figures(values, json.dumps).tolist() == found


def test_equal_figures_share_one_text_and_zeros_of_both_signs_do_not():
    first, second, zero, minus = spell_figures(np.array([0.1, 0.1, 0.0, -0.0]), str).tolist()
    assert first is second
    assert (zero, minus) == ("0.0", "-0.0")


@pytest.mark.parametrize("value", [0, -0.0, 7, -3, 2**53, 10**16, 1e22, -(2.0**70), 1e300])
def test_whole_numbers_have_all_their_digits_and_no_point(value):
    assert spell_whole(np.array([value, 1.0], np.float64)).tolist() == [str(int(value)), "1"]


@pytest.mark.parametrize("count", [1, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 2 * AT_ONCE + 5])
def test_files_hold_every_figure_of_any_number_of_rows(count):
    values = random_bits(count)
    rows = [
        make_row(own_error=value, metrics={"MaxAbsoluteError": value, "TargetNaN": number})
        for number, value in enumerate(values)
    ]
    result = make_result(rows=rows)
    lines = [line.split(",") for line in csv_text(result).split("\r\n")]
    for title, texts in (("OwnError", map(said, values)), ("TargetNaN", map(str, range(count)))):
        at = lines[0].index(title)
        assert [line[at] for line in lines[1:-1]] == [*texts]
    operators = json.loads(dumps(result), parse_float=str, parse_int=str)["operators"]
    assert [one["own_error"] for one in operators] == [*map(said, values)]
    assert [one["metrics"]["MaxAbsoluteError"] for one in operators] == [*map(said, values)]
