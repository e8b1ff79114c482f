"""What is looked at, from both sides: the comparison's row and the traits that views follow."""

import math

import pytest

import workbench as wb
from kit.build.sample_results import network_result
from kit.words import refused
from workbench.core.words import Message


@pytest.fixture
def comparison():
    return wb.Comparison(network_result(60, 1))


def test_a_row_an_index_and_a_name_select(comparison):
    row = comparison.rows[7]
    for wanted in (row, 7, row.op_name):
        comparison.selected = None
        assert comparison.selected is None
        comparison.selected = wanted
        assert comparison.selected is row
        assert comparison.look.selected == 7


def test_a_name_selects_the_worst_of_the_operator(comparison):
    comparison = wb.Comparison(network_result(40, 2))
    name = comparison.findings[0].op_name
    comparison.selected = name
    assert comparison.selected.op_name == name
    assert comparison.selected.status == "fail"


def test_who_follows_hears_of_it(comparison):
    heard = []
    comparison.look.observe(lambda change: heard.append(change["new"]), "selected")
    comparison.selected = 3
    comparison.selected = 3
    assert heard == [3]


@pytest.mark.parametrize("wanted", ["no such operator", 60_000, -2, 1.5])
def test_what_is_not_in_the_comparison_is_refused(comparison, wanted):
    before = comparison.selected
    with pytest.raises(wb.WorkbenchError) as caught:
        comparison.selected = wanted
    assert repr(wanted) in str(caught.value)
    assert comparison.selected is before


def test_a_threshold_must_be_a_number(comparison):
    for value in (-1.0, math.nan, math.inf):
        with refused("show/setting", name="factor", expected=Message("show/expected-number")):
            comparison.look.factor = value
    assert comparison.look.factor is None
