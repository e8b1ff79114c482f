"""The envelope of a network: oracles in plain NumPy, and where it says nothing."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.core.errors import FormatError, GraphError
from workbench.network.nn import functional as ops
from workbench.run.envelope import Place, disturbed, measure_envelope, spread


class Scaled(nn.Cell):
    """y = x · w."""

    def __init__(self):
        self.w = nn.Parameter(np.full((4, 16), 3.0, np.float32))

    def construct(self, x):
        return x * self.w


X = np.random.default_rng(1).standard_normal((4, 16)).astype(np.float32)


def traced(cell=None, x=X):
    return wb.trace(cell or Scaled(), x)


@pytest.mark.parametrize(
    ("kind", "epsilon"),
    [
        (np.float32, 2.0**-23),
        (np.float16, 2.0**-10),
        (ml_dtypes.bfloat16, 2.0**-7),
        (np.float64, 2.0**-52),
    ],
)
def test_every_element_moves_by_one_step_of_its_format(kind, epsilon):
    x = np.array([1.0, -1.5, 2.0, 0.0], kind)
    moved = disturbed(x, epsilon, (0, 1))
    assert moved.dtype == x.dtype
    off = np.abs(moved.astype(np.float64) - x.astype(np.float64))
    assert (off <= 1.5 * epsilon * np.abs(x.astype(np.float64))).all()
    assert (off[:3] > 0).all()
    assert off[3] == 0
    assert {*np.sign(disturbed(np.ones(999, kind), epsilon, (0, 2)).astype(np.float64) - 1)} == {
        -1.0,
        1.0,
    }


@pytest.mark.parametrize("x", [np.arange(5), np.array([True, False]), np.array([7], np.int8)])
def test_integers_and_truth_values_do_not_move(x):
    assert disturbed(x, 0.5, (0,)) is x


SPREADS = {
    "equal": ([[1, 2], [3, 4]], [[1, 2], [3, 4]], (0.0, (0.0, 0.0))),
    "one row": (
        [[1, 2], [3, 5]],
        [[1, 2], [3, 4]],
        (math.sqrt(1 / 30), (math.sqrt(1 / 25), math.sqrt(1 / 20))),
    ),
    "a row of zeros": (
        [[0, 0], [3, 4]],
        [[3, 4], [3, 4]],
        (math.sqrt(1 / 2), (1.0, math.sqrt(1 / 2))),
    ),
    "beside zeros": ([[1, 0], [3, 4]], [[0, 0], [3, 4]], (0.2, (math.inf, 1 / 3))),
    "the same infinity": ([[math.inf, 2], [3, 4]], [[math.inf, 2], [3, 4]], (0.0, (0.0, 0.0))),
    "the same nan": ([[math.nan, 2], [3, 4]], [[math.nan, 2], [3, 4]], (0.0, (0.0, 0.0))),
    "a new nan": ([[math.nan, 2], [3, 4]], [[1, 2], [3, 4]], (math.inf, (math.inf, math.inf))),
    "one slice": ([[1, 2]], [[1, 4]], (2 / math.sqrt(17), (None, 0.5))),
}


@pytest.mark.parametrize("case", SPREADS)
def test_the_spread_is_that_of_the_norm_and_of_the_worst_slices(case):
    moved, still, (norm, slices) = SPREADS[case]
    found = spread(np.array(moved, np.float32), np.array(still, np.float32))
    assert found.norm == pytest.approx(norm)
    assert found.slices == pytest.approx(slices)


def test_the_envelope_of_a_product_is_that_of_both_factors():
    """x(1 ± ε) · w(1 ± ε): off by 2ε, 0 or -2ε, so √2 ε at the median; and nothing moves without a run."""
    found = measure_envelope(traced(), seed=3)
    place = next(
        place
        for place in found.spreads
        if (place.io, place.slot) == ("output", 0) and "Mul" in place.op_name
    )
    epsilon = 2.0**-23
    assert 0.8 * epsilon < found.spreads[place].norm < 2.0 * epsilon
    assert all(one.norm >= 2.0**-24 for one in found.spreads.values())
    assert found.find(place._replace(graph_id=77)) is found.spreads[place], (
        "the number of the only graph"
    )
    assert found.find(place._replace(iteration=5)) is None
    assert found.find(Place(0, 0, "another", "output", 0)) is None


def test_more_runs_only_widen_it_and_a_seed_gives_it_again():
    one, three, again = (measure_envelope(traced(), runs=runs, seed=4) for runs in (1, 3, 3))
    assert dict(three.spreads) == dict(again.spreads)
    assert all(three.spreads[place].norm >= found.norm for place, found in one.spreads.items())


class Half(nn.Cell):
    """Computes in bfloat16 what is stored in float32."""

    def construct(self, x):
        return ops.relu(x.astype("bfloat16"))


def test_an_input_that_is_cast_moves_by_a_step_of_the_coarser_format():
    """A step of float32 would vanish in the cast, and everything would be beyond the envelope."""
    found = measure_envelope(traced(Half(), X))
    norms = {
        place.op_name.split("/")[-1].split("-")[0]: one.norm for place, one in found.spreads.items()
    }
    assert 2.0**-8 < norms["ReLU"] < 2.0**-5


def test_the_format_of_the_device_can_be_given():
    usual, half = measure_envelope(traced()), measure_envelope(traced(), dtype="float16")
    ratios = [half.spreads[place].norm / one.norm for place, one in usual.spreads.items()]
    assert 1000 < np.median(ratios) < 20_000


def test_a_training_is_disturbed_once_and_goes_its_own_way():
    graph = wb.models.load_graph("mlp_train", 0)
    found = measure_envelope(graph, iterations=2)
    assert {place.iteration for place in found.spreads} == {0, 1}


REFUSED = {
    "no run": ({"runs": 0}, GraphError, "run/envelope-runs"),
    "too many": ({"runs": 4}, GraphError, "run/envelope-runs"),
    "no iteration": ({"iterations": 0}, GraphError, "run/envelope-iterations"),
    "integers": ({"dtype": "int32"}, GraphError, "core/choice"),
    "unknown": ({"dtype": "float7"}, FormatError, "core/choice"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_makes_no_envelope_is_refused(case):
    options, kind, code = REFUSED[case]
    with pytest.raises(kind) as error:
        measure_envelope(traced(), **options)
    assert error.value.code == code


def test_control_flow_has_none():
    def branching(p, x):
        return ops.cond(p, lambda x: ops.relu(x), lambda x: x, x)

    with pytest.raises(GraphError) as error:
        measure_envelope(wb.trace(branching, np.bool_(True), X))
    assert error.value.code == "run/envelope-flow"
