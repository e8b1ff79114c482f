"""What `benchmarks/growth.py` measures and prints."""

from __future__ import annotations

import growth
import pytest
from growing import stages
from growing.trees import BLOCK, trees

import workbench as wb


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_exponent_is_that_of_the_power(power):
    assert growth.exponent((10, 3.0), (70, 3.0 * 7**power)) == pytest.approx(power)


def test_a_table_says_no_exponent_of_what_is_too_short_to_be_timed():
    text = growth.table(
        "plain", "s", {10: {"bind": 1.0, "pair": 0.01}, 100: {"bind": 10.0, "pair": 0.02}}
    )
    assert "| bind | 1.00 | 10.00 | 1.00 |" in text
    assert "| pair | 0.01 | 0.02 |  |" in text


@pytest.mark.parametrize("kind", growth.KINDS)
def test_every_stage_is_timed_and_every_pair_compared(tmp_path, kind):
    target, golden = trees(kind, 2 * BLOCK, tmp_path)
    assert stages.times(target, golden, tmp_path).keys() == set(stages.STAGES)
    comparison = wb.compare(target, golden)
    assert comparison.coverage.compared == 2 * BLOCK
    assert not comparison.coverage.skipped
