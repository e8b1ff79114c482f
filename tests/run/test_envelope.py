"""The envelope of a network: oracles in plain NumPy, and where it says nothing."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.core.errors import FormatError, GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Graph, Op, Param, Parameter, Value
from workbench.network.nn import functional as ops
from workbench.run.envelope import (
    Envelope,
    Place,
    Spread,
    at_least,
    disturbed,
    epsilons,
    measure_envelope,
    spread,
    step,
    take,
)


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


STEPS = [
    ("float64", 2.0**-52), ("float32", 2.0**-23), ("float16", 2.0**-10), ("bfloat16", 2.0**-7),
    ("int32", 0.0), ("bool", 0.0), ("Word", 0.0),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "distance"), STEPS)
def test_the_step_of_a_format_is_that_behind_one(dtype, distance):
    assert step(dtype) == distance


def test_an_input_has_the_step_of_the_coarsest_format_that_it_is_cast_to():
    spec, half, brain = (TensorSpec(name, (3,)) for name in ("float32", "float16", "bfloat16"))
    whole = TensorSpec("int64", (3,))
    ops = (
        Op("a", "Cast", (Param(0),), {}, (half,)),
        Op("b", "Cast", (Param(0),), {}, (brain,)),
        Op("c", "Neg", (Param(1),), {}, (half,)),
        Op("d", "Cast", (Param(2),), {}, ()),
        Op("e", "Cast", (Value(0),), {}, (brain,)),
        Op("f", "Cast", (Param(3),), {}, (half,)),
        Op("g", "Cast", (Param(4),), {}, (spec,)),
    )
    parameters = tuple(
        Parameter(f"p{k}", one) for k, one in enumerate((spec, spec, spec, whole, half))
    )
    graph = Graph("g", parameters, ops)
    assert epsilons(graph) == [2.0**-7, 2.0**-23, 2.0**-23, 2.0**-10, 2.0**-10]
    assert epsilons(graph, "float16") == [2.0**-10] * 5


def test_nothing_is_nearer_than_one_rounding():
    found = at_least(Spread((2, 1), 1e-9, (1e-9, None)), 1e-3)
    assert found == Spread((2, 1), 1e-3, (1e-3, None))
    wide = Spread((2, 1), 0.5, (0.25, None))
    assert at_least(wide, 1e-3) == wide


TAKEN = [
    (np.float32([1, 2]), np.float32([1, 2.5])),
    (np.float16([1, 2]), np.float16([1, 2])),
    (np.int32([1, 2]), np.int32([1, 3])),
    (np.zeros(0, np.float32), np.zeros(0, np.float32)),
    (np.float32([1, 2]), np.float32([1, 2, 3])),
]


def test_tensors_of_floats_of_one_shape_are_taken_in_and_the_wider_spread_stays():
    spreads, places = {}, [Place(0, 0, f"o{k}", "output", 0) for k in range(len(TAKEN))]
    for place, (still, moved) in zip(places, TAKEN, strict=True):
        take(spreads, place, still, moved)
    assert list(spreads) == places[:2]
    assert spreads[places[0]].norm == pytest.approx(0.5 / math.sqrt(5))
    assert spreads[places[1]].norm == 2.0**-11
    take(spreads, places[0], np.float32([1, 2]), np.float32([1.5, 2]))
    assert spreads[places[0]].slices == (pytest.approx(0.5),)
    assert spreads[places[0]].norm == pytest.approx(0.5 / math.sqrt(5))
    take(spreads, places[0], np.float32([1, 2]), np.float32([4, 2]))
    assert spreads[places[0]].norm == pytest.approx(3 / math.sqrt(5))


def test_the_wider_of_two_spreads_is_taken_axis_by_axis():
    spreads, place = {}, Place(0, 0, "o", "output", 0)
    still = np.float32([[1, 1], [1, 1]])
    take(spreads, place, still, np.float32([[1.5, 1.5], [1, 1]]))  # one row
    take(spreads, place, still, np.float32([[1.25, 1], [1.25, 1]]))  # one column
    assert spreads[place].slices == (pytest.approx(0.5), pytest.approx(math.sqrt(0.125)))


def test_an_envelope_is_shown_with_its_size():
    place = Place(3, 0, "o", "output", 0)
    found = Envelope({place: Spread((1,), 0.5, (None,))}, runs=2, network="net")
    assert (len(found), repr(found)) == (1, "<Envelope of net: 1 tensors, 2 runs>")
    assert repr(Envelope({})) == "<Envelope of a network: 0 tensors, 1 runs>"
    assert found.find(place._replace(graph_id=9)) == found.spreads[place]
    both = Envelope({place: found.spreads[place], place._replace(graph_id=4): found.spreads[place]})
    assert both.find(place._replace(graph_id=9)) is None


def test_every_run_and_iteration_draws_its_own_signs():
    """Two weights and two iterations, and no two that move alike."""
    x = np.ones(64, np.float32)
    drawn = {
        disturbed(x, 2.0**-23, (0, *where)).tobytes()
        for where in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
    }
    assert len(drawn) == 4
