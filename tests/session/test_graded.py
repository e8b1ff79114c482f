"""A comparison as its look grades it."""

from pathlib import Path

import pytest

import workbench as wb

SAMPLES = Path(__file__).parents[2] / "sample_dumps"


@pytest.fixture(scope="module")
def real():
    return wb.compare(SAMPLES / "real_pair/dump_a", SAMPLES / "real_pair/dump_b")


def test_without_thresholds_it_is_the_comparison_itself(real):
    assert real.graded() is real


def test_thresholds_change_statuses_and_both_have_one_look(real):
    real.look.limit = 1e9
    found = real.graded()
    assert {row.status for row in real.rows} > {"fail"}
    assert "fail" not in {row.status for row in found.rows}
    assert found.original_rows == real.rows
    real.selected = 3
    assert found.selected is found.rows[3]
    found.look.limit = None
    assert real.graded() is real


def test_it_is_made_anew_only_for_other_thresholds(real):
    real.look.factor = 4.0
    found = real.graded()
    assert real.graded() is found
    real.look.factor = 5.0
    assert real.graded() is not found
    real.look.factor = None
