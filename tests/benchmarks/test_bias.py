"""A sample of the benchmark of the bias test: no healthy tensor is accused, every factor and every truncation found."""

import pytest
from bias import FACTORS, measured


@pytest.fixture(scope="module")
def found():
    return measured(range(2))


def test_no_healthy_tensor_is_accused(found):
    assert sum(found.healthy.values()) == 48
    assert sum(found.alarms.values()) == 0
    assert sum(found.taken_for_cut.values()) == 0


def test_factors_are_found_and_named(found):
    assert found.factors == dict.fromkeys(FACTORS, 48)
    assert found.within == dict.fromkeys(FACTORS, 48)


def test_truncation_is_told(found):
    narrow = {key: count for key, count in found.healthy.items() if not key.endswith("float32")}
    assert found.truncated == narrow
