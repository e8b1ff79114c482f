"""The noise floor against rounding that really happens, and κ against errors that really grow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.build.small_dumps import Net
from kit.cases import examples
from workbench.comparison.limits import LIMITS
from workbench.comparison.measure.conditioning import LARGEST, condition_number
from workbench.comparison.measure.measure import Measured
from workbench.comparison.measure.noise import (
    CUBE_INPUT,
    coarsest_roundoff,
    expected_rounding,
    is_discontinuous,
    reduction_length,
)
from workbench.comparison.measure.tensors import measure_arrays
from workbench.core.dtypes import DTYPES

HALF, SINGLE = 2.0**-11, 2.0**-24


def chain_of(*formats, op_type="Tanh"):
    net = Net()
    value = net.feed("x")
    for name in formats:
        value = net.op(op_type, value, dtype=name)
    return net.graph()


def test_a_value_once_rounded_stays_as_coarse_as_its_coarsest_ancestor():
    assert coarsest_roundoff(chain_of("float32", "float16", "float32"), npu=False) == [
        SINGLE,
        HALF,
        HALF,
    ]


def test_exact_formats_add_no_rounding():
    assert coarsest_roundoff(chain_of("float32", "int32", "float32"), npu=False) == [SINGLE] * 3


def test_cube_units_round_their_inputs_whatever_the_graph_says():
    net = Net()
    net.op("MatMul", net.feed("x"), net.weight("w"))
    assert coarsest_roundoff(net.graph(), npu=True) == [CUBE_INPUT]
    assert coarsest_roundoff(net.graph(), npu=False) == [SINGLE]


def test_updated_parameters_carry_the_coarsest_format_of_the_graph():
    net = Net()
    x, w = net.feed("x"), net.weight("w")
    net.op("Neg", w)
    step = net.op("Tanh", x, dtype="float16")
    net.op("AssignAdd", w, step)
    assert coarsest_roundoff(net.graph(), npu=False)[0] == HALF


@pytest.mark.parametrize(("k", "m", "n"), [(1, 3, 3), (64, 4, 4), (1000, 2, 5)])
def test_the_summands_of_a_product_follow_from_its_shapes(k, m, n):
    net = Net()
    net.op("MatMul", net.feed("a", (m, k)), net.feed("b", (k, n)), shape=(m, n))
    assert reduction_length(net.ops[0]) == pytest.approx(k)


def test_a_sum_over_rows_has_as_many_summands_as_elements_a_result():
    net = Net()
    net.op("ReduceSum", net.feed("a", (8, 100)), shape=(8,))
    assert reduction_length(net.ops[0]) == 100


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "float8_e8m0", "float16"])
@pytest.mark.parametrize("op", [None, *chain_of("float8_e8m0", op_type="ReduceSum").ops])
def test_no_format_is_so_coarse_that_zeros_pass(op, name):
    assert (
        expected_rounding(op, DTYPES[name].roundoff) * LIMITS.pass_factor < 1.0
    )  # the error of zeros


@pytest.mark.parametrize(("op_type", "expected"), [("Argmax", True), ("Tanh", False)])
def test_operators_that_jump_are_known(op_type, expected):
    assert is_discontinuous(chain_of("float32", op_type=op_type).ops[0]) is expected


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(1, 2000), st.integers(0, 2**32 - 1), st.sampled_from(["float16", "float32"]))
def test_rounding_of_a_product_stays_below_the_limit(k, seed, name):
    """A product in ``name`` with float32 accumulation against the same product in float64."""
    rng = np.random.default_rng(seed)
    a, b = (rng.standard_normal(shape) for shape in ((6, k), (k, 6)))
    low = (a.astype(name).astype(np.float32) @ b.astype(name).astype(np.float32)).astype(name)
    net = Net()
    ins = net.feed("a", (6, k), name), net.feed("b", (k, 6), name)
    net.op("MatMul", *ins, shape=(6, 6), dtype=name)
    graph = net.graph()
    limit = LIMITS.pass_factor * expected_rounding(
        graph.ops[0], coarsest_roundoff(graph, npu=False)[0]
    )
    error = np.linalg.norm(low.astype(np.float64) - a @ b) / np.linalg.norm(a @ b)
    assert error < limit


# --- conditioning ----------------------------------------------------------------------------


def item(golden) -> Measured:
    golden = np.asarray(golden, np.float64)
    return Measured(None, measure_arrays(golden, golden))  # type: ignore[arg-type]


def kappa(op_type, inputs, output, shape=None):
    net = Net()
    operands = [net.feed(f"i{n}", np.shape(x)) for n, x in enumerate(inputs)]
    net.op(op_type, *operands, shape=np.shape(output))
    table = {n: item(x) for n, x in enumerate(inputs)}
    return condition_number(net.ops[0], table, {0: item(output)})


def test_a_sum_that_does_not_cancel_magnifies_little():
    assert kappa("Add", ([3.0], [4.0]), [7.0]) == pytest.approx(1.0)


def test_a_difference_magnifies_by_what_cancels():
    """1 % of 100 in 100 - 99 is 100 % of the result; so is 1 % of 99."""
    assert kappa("Sub", ([100.0], [99.0]), [1.0]) == pytest.approx(199.0)


def test_cancellation_to_nothing_is_bounded():
    assert kappa("Sub", ([1.0], [1.0]), [0.0]) == LARGEST
    assert kappa("Sub", ([1e9], [1e9]), [1e-9]) == LARGEST


def test_independent_factors_of_a_product_do_not_magnify():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((50, 400)), rng.standard_normal((400, 50))
    assert kappa("MatMul", (a, b), a @ b) == pytest.approx(1.0, abs=0.1)


def test_a_product_that_cancels_magnifies():
    a = np.tile([1.0, -1.0], (4, 50))
    b = 1 + 1e-3 * np.random.default_rng(0).standard_normal((100, 4))
    assert kappa("MatMul", (a, b), a @ b) > 50


def test_centring_magnifies_by_mean_over_deviation():
    x = 100 + np.random.default_rng(0).standard_normal((8, 64))
    assert kappa("LayerNorm", (x,), (x - x.mean()) / x.std()) == pytest.approx(100, rel=0.1)


@pytest.mark.parametrize("op_type", ["ReLU", "Mul", "Reshape", "Cast"])
def test_operators_that_cannot_magnify_say_so(op_type):
    assert kappa(op_type, ([1.0],), [1.0]) == 1.0


def test_an_unknown_operator_has_no_estimate():
    assert kappa("Mystery", ([1.0],), [1.0]) is None


def test_without_data_there_is_no_estimate():
    net = Net()
    net.op("Sub", net.feed("a"), net.feed("b"))
    assert condition_number(net.ops[0], {}, {}) is None
