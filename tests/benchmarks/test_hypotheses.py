"""The fit of the weights of the logistic model."""

import math

import numpy as np
import pytest
from hypotheses import fit


@pytest.mark.parametrize("seed", range(3))
def test_weights_that_made_the_data_are_found_again(seed):
    rng = np.random.default_rng(seed)
    true = {"one": -0.5, "lead": 1.5, "free": -2.0}
    rows = [{"one": 1.0, "lead": rng.normal(), "free": rng.normal()} for _ in range(4000)]
    chances = [1 / (1 + math.exp(-sum(true[n] * row[n] for n in true))) for row in rows]
    found = fit(rows, [bool(rng.random() < chance) for chance in chances])
    assert found == pytest.approx(true, abs=0.25)


def test_what_is_always_right_does_not_grow_without_end():
    found = fit([{"one": 1.0}] * 50, [True] * 50)
    assert 0 < found["one"] < 10
