"""A bench whose comparison is that of the real pair, for the panels that look at one; others make their own."""

from pathlib import Path

import pytest

import workbench as wb

REAL = Path(__file__).parents[3] / "sample_dumps" / "real_pair"


@pytest.fixture(scope="session")
def compared():
    return wb.compare(REAL / "dump_a", REAL / "dump_b")


@pytest.fixture
def bench(compared):
    made = wb.Workbench(graph="mlp")
    made.comparison = wb.Comparison(compared.result, compared._flow)
    return made
