"""The noise floor four ways, against numbers that NumPy computes and errors that rounding really makes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from workbench.comparison.bind.binding import Execution
from workbench.comparison.measure.noise import any_order
from workbench.comparison.replay.attempt import Attempt
from workbench.comparison.replay.floors import (
    Floor,
    careful_floor,
    condition,
    quick_floor,
    unit_inside,
    unit_of,
    written_unit,
)
from workbench.comparison.replay.kernel import distance, plain_kernel
from workbench.comparison.replay.own_error import assess_own_error
from workbench.core.tensors import TensorSpec
from workbench.core.words import Message
from workbench.graph.graph import Const, Kernel, Op, Param, Value
from workbench.npu.arithmetic import EXACT, Arithmetic

RNG = np.random.default_rng(23)
BLOCK = Execution(0, "Net", 0, 0, 0)
U32, U16, UB16 = 2.0**-24, 2.0**-11, 2.0**-8


def attempt(op_type, inputs, like, *, stated="", settings=(), attrs=None):
    inputs = list(map(np.asarray, inputs))
    specs = tuple(TensorSpec(a.dtype.name, a.shape) for a in inputs)
    operands = (*(Param(n) for n in range(len(inputs))), *(Const(s) for s in settings))
    out = TensorSpec(stated or like.dtype.name, like.shape)
    op = Op("op", op_type, operands, attrs or {}, (out,), (*specs, *(None,) * len(settings)))
    return Attempt(plain_kernel(op), dict(enumerate(inputs)), {0: like}, BLOCK, 0, op, "table")


def product(x, w, dtype=np.float32):
    return attempt("MatMul", [x, w], np.zeros((len(x), w.shape[1]), dtype))


def careful(one, arithmetic=EXACT, **more):
    return careful_floor(one, 0, one.results(arithmetic)[0], arithmetic, **more)


def test_a_floor_names_the_largest_of_three():
    assert Floor(1e-7, 1e-6).largest == 1e-6
    assert Floor(1e-3, 1e-6, 1e-4).reason == Message("compare/floor-ulp")
    assert Floor(1e-7, 1e-6, 1e-4).reason == Message("compare/floor-model")
    assert Floor(1e-7, 1e-6).reason == Message("compare/floor-bound")


def test_a_sum_in_any_order_is_expected_to_be_off_by_more():
    floor = Floor(1e-7, 2e-7, 1e-4, order=3e-6)
    assert (floor.rounding, floor.of_any_order.rounding) == (2e-7, 3e-6)
    assert Floor(1e-3, 1e-6, order=3e-6).of_any_order.rounding == 1e-3


@pytest.mark.parametrize("inner", [8, 64, 4096])
def test_the_order_of_a_product_leaves_its_share_for_every_length(inner):
    rng = np.random.default_rng(inner)
    x, w = (rng.standard_normal(shape).astype(np.float32) for shape in ((40, inner), (inner, 30)))
    floor = careful(product(x, w))
    assert 1.2 * any_order(inner) < floor.order < 1.8 * any_order(inner)  # κ of two factors is √2
    cancelling = careful(product(np.concatenate([x, x], 1), np.concatenate([w, -0.999 * w])))
    assert cancelling.order > 100 * floor.order


def test_what_sums_nothing_has_no_order():
    x = RNG.standard_normal((9, 8)).astype(np.float32)
    assert careful(attempt("Tanh", [x], x)).order == 0.0


def test_units_of_dtypes():
    found = [unit_of(np.zeros(1, kind)) for kind in (np.float32, np.float16, np.int32, bool)]
    assert found == [U32, U16, 0.0, 0.0]


def test_the_coarsest_format_that_a_result_passed_counts():
    x = np.ones(4, np.float32)
    one = attempt("Neg", [x], x)
    assert written_unit(one, 0, EXACT) == U32
    assert written_unit(one, 0, Arithmetic(output="bfloat16")) == UB16
    assert written_unit(attempt("Neg", [x], x, stated="float16"), 0, EXACT) == U16
    counts = np.ones(4, np.int32)
    assert written_unit(attempt("Neg", [counts], counts), 0, Arithmetic(output="float16")) == 0.0


def test_what_only_moves_has_one_rounding():
    x = np.ones((2, 3), np.float32)
    assert quick_floor(attempt("Transpose", [x], x.T, settings=((1, 0),)), 0) == U32


def test_a_product_of_length_64_has_eight_times_two_units_more():
    one = product(np.ones((3, 64), np.float32), np.ones((64, 5), np.float32))
    assert quick_floor(one, 0) == pytest.approx(U32 * (1 + 2 * 8))


def test_approximated_functions_may_be_off_by_more():
    x = np.ones(4, np.float32)
    assert quick_floor(attempt("Neg", [x], x), 0) == pytest.approx(3 * U32)
    assert quick_floor(attempt("Exp", [x], x), 0) == pytest.approx((3 + 12) * U32)


# --- condition -----------------------------------------------------------------------------------


def test_a_sum_of_positive_numbers_does_not_magnify():
    x = RNG.uniform(1, 2, (64, 32)).astype(np.float32)
    one = attempt("ReduceSum", [x], np.zeros(64, np.float32), settings=((1,),))
    assert condition(one, 0) == 1.0
    assert careful(one).largest < 2e-6


def test_a_sum_that_cancels_magnifies_by_what_is_left():
    x = RNG.standard_normal((256, 32))
    x = (x - x.mean(1, keepdims=True) + 1e-5).astype(np.float32)
    left = x.astype(np.float64).sum(1)
    expected = np.linalg.norm(x) / np.linalg.norm(left)
    one = attempt("ReduceSum", [x], left.astype(np.float32), settings=((1,),))
    assert expected > 1e3
    assert condition(one, 0) == pytest.approx(expected, rel=0.2)
    assert careful(one).largest > 100 * U32
    assert careful(one).reason == Message("compare/floor-bound")


def test_an_exponential_magnifies_by_its_argument():
    x = np.full(20_000, 10.0, np.float32)
    one = attempt("Exp", [x], np.exp(x))
    assert condition(one, 0) == pytest.approx(10.0, rel=0.05)


@pytest.mark.parametrize(("exponent", "magnified"), [(2.0, 2.0), (3.0, 3.0)])
def test_a_power_of_negative_numbers_magnifies_by_its_exponent(exponent, magnified):
    """A whole exponent has no error: with one, such a power would be no number."""
    x = RNG.uniform(-2, 2, 20_000).astype(np.float32)
    one = attempt("Pow", [x, np.float32(exponent)], x**exponent)
    assert condition(one, 0) == pytest.approx(magnified, rel=0.1)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0)])
def test_conditions_of_odd_shapes(shape):
    x = np.ones(shape, np.float32)
    assert condition(attempt("Neg", [x], x), 0) == 1.0
    assert math.isfinite(careful(attempt("Neg", [x], x)).largest)


def test_inputs_that_are_not_finite_give_a_finite_floor():
    x = np.array([np.nan, np.inf, 1.0], np.float32)
    assert math.isfinite(careful(attempt("Exp", [x], x)).largest)
    huge = np.full(3, 3e38, np.float32)
    assert math.isfinite(careful(attempt("Exp", [huge], huge)).largest)


# --- the careful floor covers what rounding really does --------------------------------------------


@pytest.mark.parametrize("k", [1, 16, 256, 4096])
def test_sums_in_float32_stay_within_three_floors(k):
    x, w = RNG.standard_normal((8, k)).astype(np.float32), RNG.standard_normal((k, 8))
    w = w.astype(np.float32)
    sums = np.zeros((8, 8), np.float32)
    for n in range(k):  # one by one, the worst order there is
        sums += np.outer(x[:, n], w[n])
    exact = x.astype(np.float64) @ w.astype(np.float64)
    error = np.linalg.norm(sums - exact) / np.linalg.norm(exact)
    floor = careful(product(x, w)).largest
    assert error <= 3 * floor
    assert floor < 1e-4  # and it is no excuse for float16


def test_a_floor_of_integers_is_nothing():
    x = np.arange(6)
    assert careful(attempt("Neg", [x], -x)) == Floor(0.0, 0.0)


def test_a_vector_unit_of_16_bits_may_round_on_its_way_and_a_wide_one_may_not():
    x = RNG.uniform(1, 2, 64).astype(np.float16)
    one = attempt("Sigmoid", [x], x)
    narrow, wide = careful(one), careful(one, wide=True)
    assert narrow.bound >= 3 * U16
    assert wide.bound < 1.1 * U16
    assert narrow.ulp == wide.ulp == U16


HALF = {0: np.ones(4, np.float16)}


@pytest.mark.parametrize(
    ("op_type", "formats", "wide", "unit"),
    [
        ("Sigmoid", {}, False, U16),
        ("Sigmoid", {}, True, U32),
        ("Sigmoid", {"output": "bfloat16"}, False, U16),
        ("MatMul", {}, False, U32),
        ("MatMul", {"inputs": "bfloat16"}, True, U32),
        ("LSTM", {}, False, U16),
        ("LSTM", {}, True, U16),
        ("LSTM", {"output": "bfloat16"}, True, UB16),
    ],
)
def test_in_which_format_an_operator_rounds_on_its_way(op_type, formats, wide, unit):
    op = Op("op", op_type, (Param(0),), {})
    assert unit_inside(op, HALF, Arithmetic("cube", **formats), wide=wide) == unit


def test_an_operator_without_floats_rounds_as_float32_does():
    assert unit_inside(Op("op", "Cast", (), {}), {}, EXACT, wide=False) == U32


def test_the_model_says_what_formats_cost():
    x, w = (RNG.standard_normal(s).astype(np.float32) for s in ((16, 32), (32, 16)))
    narrow = (a.astype(np.float16).astype(np.float64) for a in (x, w))
    exact = x.astype(np.float64) @ w.astype(np.float64)
    lowered = np.matmul(*narrow)
    expected = np.linalg.norm(lowered - exact) / np.linalg.norm(exact)
    floor = careful(product(x, w), Arithmetic("cube", inputs="float16"))
    assert floor.model == pytest.approx(expected, rel=0.01)
    assert floor.reason == Message("compare/floor-model")
    assert careful(product(x, w)).model == 0.0


# --- kernels that round a product before they go on with it -----------------------------------------


WIDE = RNG.standard_normal((500, 24)).astype(np.float32)
FACTOR = RNG.standard_normal((24, 16)).astype(np.float32)
EXACT_PRODUCT = WIDE.astype(np.float64) @ FACTOR


def summed_product(stored, sums):
    """A kernel of a product and the sums of its columns, which nearly cancel; both are written."""
    specs = tuple(TensorSpec("float32", array.shape) for array in (WIDE, FACTOR))
    whole = TensorSpec("float32", EXACT_PRODUCT.shape)
    first = Op("p", "MatMul", (Param(0), Param(1)), {}, (whole,), specs)
    total = TensorSpec("float32", (EXACT_PRODUCT.shape[1],))
    axis = Const((0,))
    second = Op("s", "ReduceSum", (Value(0), axis), {}, (total,), (whole, None))
    kernel = Kernel((first, second), (Value(0), Value(1)))
    op = Op("op", "MatMul", first.inputs, {}, (whole, total), specs)
    given = {0: np.asarray(stored), 1: np.asarray(sums, np.float32)}
    return Attempt(kernel, {0: WIDE, 1: FACTOR}, given, BLOCK, 0, op, "fusion")


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_sums_of_what_a_kernel_has_written_are_explained(dtype):
    stored = EXACT_PRODUCT.astype(dtype)
    sums = stored.sum(0, dtype=np.float64)
    exact = EXACT_PRODUCT.sum(0)
    error = np.linalg.norm(sums - exact) / np.linalg.norm(exact)
    found = assess_own_error(summed_product(stored, sums), EXACT, wide=True)
    assert found.suspect == 0.0
    if dtype is np.float16:  # one rounding each, by a sum that keeps little of them
        assert error > 10 * 3 * U32 * math.sqrt(500)
        assert found.floor.bound > 0.3 * error
        without = assess_own_error(summed_product(stored, sums), EXACT, wide=True, unrounded=True)
        assert without.suspect > 10


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize(("slot", "by"), [(1, 1.02), (0, 1.02)])
def test_neither_results_are_explained_that_are_off_by_more(dtype, slot, by):
    """What is written is looked at although its sums are farther beyond what rounding costs without a look."""
    given = [EXACT_PRODUCT.astype(dtype)]
    given.append(given[0].sum(0, dtype=np.float64))
    given[slot] = (given[slot] * by).astype(given[slot].dtype)
    found = assess_own_error(summed_product(*given), EXACT, wide=True)
    assert (found.slot, found.suspect > 3) == (slot, True)


def test_what_a_product_hands_on_costs_the_product_nothing():
    stored = EXACT_PRODUCT.astype(np.float16)
    one = summed_product(stored, stored.sum(0, dtype=np.float64))
    floors = [
        careful_floor(one, 0, one.results()[0], EXACT, wide=True, unrounded=unrounded)
        for unrounded in (False, True)
    ]
    assert floors[0] == floors[1]


@pytest.mark.parametrize("off", [0, 1])
def test_rounding_to_integers_may_move_single_elements_by_a_step_and_no_more(off):
    """Values on an edge: what is read may be rounded either way."""
    x = np.array([[0.5, 1.5, 20.25, -63.0, 100.0, -100.0]], np.float16)
    given = np.rint(x.astype(np.float64)).astype(np.int8)
    given[0, 0] += off
    one = attempt("AscendQuant", [x], given)
    floor = careful_floor(one, 0, one.results(EXACT)[0], EXACT)
    norm = np.linalg.norm(np.rint(x.astype(np.float64)))
    assert floor.ulp == pytest.approx(1 / norm)
    assert 1 / norm <= floor.bound < 3 / norm
    assert distance(given, one.results(EXACT)[0]) <= floor.rounding


def test_other_integers_have_no_floor():
    x = np.arange(6, dtype=np.int8).reshape(2, 3)
    one = attempt("Neg", [x], -x)
    assert careful_floor(one, 0, one.results(EXACT)[0], EXACT).rounding == 0.0
