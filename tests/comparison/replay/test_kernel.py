"""One operator on trial: numbers that a hand or NumPy computes."""

from __future__ import annotations

import math
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from kit.words import refused
from workbench.comparison.replay.kernel import (
    Change,
    Trial,
    cast_like,
    compute_kernel,
    compute_update,
    distance,
    plain_kernel,
)
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Const, Kernel, Op, Param, Value
from workbench.npu.arithmetic import EXACT, Arithmetic

X = np.array([[1.0, 2.0], [3.0, -4.0]], np.float32)
W = np.array([[0.5, 1.0], [-1.0, 2.0]], np.float32)
PRODUCT = np.array([[-1.5, 5.0], [5.5, -5.0]])


def op(op_type, *inputs, **attrs):
    return Op("op", op_type, inputs, attrs, (TensorSpec("float32", (2, 2)),))


def matmul(**attrs):
    return plain_kernel(op("MatMul", Param(7), Value(3), **attrs))


def tried(given, **changes):
    expected = PRODUCT.astype(given.dtype)
    trial = Trial(matmul(), {0: X, 1: W}, 0, given, expected, 1e-6)
    return replace(trial, **changes)


@pytest.mark.parametrize(
    ("op_type", "inputs", "attrs"),
    [
        ("Gather", (X, np.array([[0, 1], [1, 0]])), {"axis": 1, "batch_dims": 1}),
        ("BatchNorm", (X.reshape(1, 1, 2, 2), *np.ones((4, 2), np.float32)), {"data_format": 1}),
        ("MaxPool", (X.reshape(1, 1, 2, 2),), {"data_format": "NHWC"}),
        ("AdamWeightDecay", (X, X, X, *np.ones(5, np.float32), X), {"clip": True}),
    ],
)
def test_what_a_kernel_does_not_do_is_refused(op_type, inputs, attrs):
    kernel = plain_kernel(op(op_type, *map(Param, range(len(inputs))), **attrs))
    with refused("graph/only", GraphError):
        compute_kernel(kernel, dict(enumerate(inputs)))


# --- distance ----------------------------------------------------------------------------------


def test_distance_is_relative_to_what_is_expected():
    assert distance(np.array([3.0, 4.5]), np.array([3.0, 4.0])) == pytest.approx(0.5 / 5.0)


@pytest.mark.parametrize(
    ("given", "expected", "off"),
    [
        ([0.0, 0.0], [0.0, 0.0], 0.0),
        ([], [], 0.0),
        ([0.0, 1.0], [0.0, 0.0], math.inf),
        ([np.nan, 1.0], [np.nan, 1.0], 0.0),
        ([np.inf, 1.0], [np.inf, 1.0], 0.0),
        ([np.inf, 1.0], [-np.inf, 1.0], math.inf),
        ([np.nan, 1.0], [1.0, 1.0], math.inf),
        ([1.0, 1.0], [np.nan, 1.0], math.inf),
        ([np.inf, 3.0], [np.inf, 4.0], 0.25),
        ([1.0, 2.0], [1.0], math.inf),
    ],
)
def test_distance_where_numbers_are_special(given, expected, off):
    assert distance(np.array(given), np.array(expected)) == off


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_distance_survives_squares_that_no_number_holds(scale):
    assert distance(np.array([3.0, 4.5]) * scale, np.array([3.0, 4.0]) * scale) == pytest.approx(
        0.1
    )


def test_distance_of_single_numbers_integers_and_small_formats():
    assert distance(np.float32(5).reshape(()), np.float32(4).reshape(())) == 0.25
    assert distance(np.array([True, False]), np.array([True, True])) == pytest.approx(2**-0.5)
    half = np.array([2.0, 4.0], ml_dtypes.bfloat16)
    assert distance(half, half.astype(np.float64) * 2) == 0.5


# --- stored ------------------------------------------------------------------------------------


def test_stored_rounds_and_shapes_like_the_file():
    found = cast_like(np.array([2049.0, 1.0]), np.zeros((2, 1), np.float16))
    assert found.dtype == np.float16
    assert found.tolist() == [[2048.0], [1.0]]  # 2049 lies between 2048 and 2050: ties to even


def test_overflow_is_infinite_or_the_largest_number():
    like = np.zeros(2, np.float16)
    wide = np.array([1e6, -1e6])
    assert cast_like(wide, like).tolist() == [np.inf, -np.inf]
    assert cast_like(wide, like, saturates=True).tolist() == [65504.0, -65504.0]


def test_stored_keeps_a_shape_that_does_not_fit():
    assert cast_like(np.zeros(3), np.zeros((2, 2), np.float32)).shape == (3,)


# --- kernels -----------------------------------------------------------------------------------


def test_a_plain_kernel_reads_the_operators_own_slots():
    kernel = matmul()
    assert kernel.needed == {0, 1}
    np.testing.assert_array_equal(compute_kernel(kernel, {0: X, 1: W})[0], PRODUCT)


def test_constants_that_are_settings_stay_and_tensors_are_read():
    kernel = plain_kernel(op("Transpose", Param(0), Const((1, 0), "int64")))
    assert kernel.needed == {0}
    np.testing.assert_array_equal(compute_kernel(kernel, {0: X})[0], X.T)
    kernel = plain_kernel(op("Add", Param(0), Const(1.0, "float32")))
    assert kernel.needed == {0, 1}  # a dump has more digits than the graph prints
    np.testing.assert_array_equal(compute_kernel(kernel, {0: X, 1: np.float32(0.25)})[0], X + 0.25)


def test_settings_may_be_computed():
    kernel = plain_kernel(op("Reshape", Param(0), Param(1)))
    shape = np.array([4, 1], np.int64)
    assert compute_kernel(kernel, {0: X, 1: shape})[0].tolist() == [[1.0], [2.0], [3.0], [-4.0]]


def test_a_chain_hands_its_results_on():
    ops = (op("MatMul", Param(0), Param(1)), op("ReLU", Value(0)))
    kernel = Kernel(ops, (Value(1), Value(0)))
    relu, product = compute_kernel(kernel, {0: X, 1: W})
    np.testing.assert_array_equal(product, PRODUCT)
    np.testing.assert_array_equal(relu, [[0.0, 5.0], [5.5, 0.0]])


def test_what_an_update_leaves():
    rule = plain_kernel(op("AssignAdd", Param(0), Param(1)))
    left = compute_update(rule.ops[0], {0: X, 1: W})
    assert left.keys() == {0}
    np.testing.assert_array_equal(left[0], X + W)


@pytest.mark.parametrize("op_type", ["NoSuchOperator", ""])
def test_an_unknown_type_is_refused(op_type):
    kernel = Kernel((op(op_type, Param(0)),), (Value(0),))
    with refused("compare/no-kernel", GraphError, op_type=op_type):
        compute_kernel(kernel, {0: X})


def test_a_missing_input_is_refused():
    with refused("compare/input-missing", GraphError, slot=1):
        compute_kernel(matmul(), {0: X})


# --- arithmetic --------------------------------------------------------------------------------

NEAR_ONE = np.float32(1 + 2.0**-11)  # half way between 1 and the next float16


SMALL = np.float32(2.0**-11)  # half of what float16 tells from 1

ROUNDINGS = {
    "operands are exact": ("Add", (NEAR_ONE, 0), {}, NEAR_ONE),
    "operands are rounded": ("Add", (NEAR_ONE, 0), {"inputs": "float16"}, 1.0),
    "results are rounded": ("Add", (1, SMALL), {"output": "float16"}, 1.0),
    "overflow is infinite": ("Mul", (300, 300), {"output": "float16"}, np.inf),
    "overflow saturates": ("Mul", (300, 300), {"output": "float16", "saturates": True}, 65504.0),
    "float64 sums keep": ("Sub", (1, SMALL**3), {}, 1 - 2.0**-33),
    "float32 sums lose": ("Sub", (1, SMALL**3), {"precision": "float32"}, 1.0),
}


@pytest.mark.parametrize("case", ROUNDINGS)
def test_what_an_arithmetic_makes_of_single_numbers(case):
    op_type, operands, arithmetic, expected = ROUNDINGS[case]
    kernel = plain_kernel(op(op_type, Param(0), Param(1)))
    read = {slot: np.array([value], np.float32) for slot, value in enumerate(operands)}
    assert compute_kernel(kernel, read, Arithmetic(**arithmetic))[0] == expected


def test_sums_of_the_cube_in_float16_are_coarser():
    x = np.ones((1, 4096), np.float32)
    w = np.full((4096, 1), 1.0, np.float32)
    w[:16] = 2048.0 / 16  # the first block sums to 2048, where float16 counts in twos
    w[16:32] = 1.0 / 16  # and the next one adds 1
    w[32:] = 0.0
    kernel = plain_kernel(op("MatMul", Param(0), Param(1)))
    assert compute_kernel(kernel, {0: x, 1: w}, Arithmetic("cube"))[0] == 2049.0
    assert (
        compute_kernel(kernel, {0: x, 1: w}, Arithmetic("cube", accumulator="float16"))[0] == 2048.0
    )


def test_inside_a_chain_only_products_read_the_units_format():
    add = op("Add", Param(0), Param(1))
    kernel = Kernel((add, op("ReLU", Value(0))), (Value(1),))
    read = {0: np.array([NEAR_ONE]), 1: np.array([0.0], np.float32)}
    assert compute_kernel(kernel, read, Arithmetic(inputs="float16"))[0] == NEAR_ONE


def test_integers_are_never_rounded():
    kernel = plain_kernel(op("Add", Param(0), Param(1)))
    read = {0: np.array([2049]), 1: np.array([0])}
    assert compute_kernel(kernel, read, Arithmetic(inputs="float16", output="float16"))[
        0
    ].tolist() == [2049]


# --- changes and trials ------------------------------------------------------------------------


def test_own_error_of_an_operator_by_hand():
    spoiled = PRODUCT.astype(np.float32)
    spoiled[0, 0] += 3.0
    norm = math.sqrt(1.5**2 + 5.0**2 + 5.5**2 + 5.0**2)
    assert tried(spoiled).error == pytest.approx(3.0 / norm)
    assert tried(PRODUCT.astype(np.float32)).error == 0.0


def test_the_same_operator_with_one_thing_changed():
    trial = tried(PRODUCT.astype(np.float32))
    swapped = trial.recompute(Change(load=lambda tensors: [tensors[0], tensors[1].T]))
    np.testing.assert_array_equal(swapped, X @ W.T)
    np.testing.assert_array_equal(trial.recompute(Change(settings={"transpose_a": True})), X.T @ W)
    np.testing.assert_array_equal(trial.recompute(Change(store=lambda out: [-out[0]])), -PRODUCT)
    np.testing.assert_array_equal(
        trial.recompute(Change(part=5, store=lambda out: [-out[0]])), PRODUCT
    )


def test_a_trial_of_the_first_elements_alone():
    trial = tried(PRODUCT.astype(np.float32).reshape(-1)[:3])
    assert trial.recompute(Change()).tolist() == [-1.5, 5.0, 5.5]


def test_a_trial_of_an_updated_input():
    kernel = plain_kernel(op("AssignAdd", Param(0), Param(1)))
    left = (X + W).astype(np.float16)
    trial = Trial(kernel, {0: X, 1: W}, -1, left, left, 1e-6, EXACT)
    twice = trial.recompute(Change(load=lambda tensors: [tensors[0], 2 * tensors[1]]))
    assert twice.dtype == np.float16
    np.testing.assert_array_equal(twice, X + 2 * W)


@pytest.mark.parametrize(("dtype", "least"), [("float32", 2.0**-126), ("float16", 2.0**-14)])
def test_units_that_flush_take_subnormal_numbers_for_zero(dtype, least):
    neg = Op("op", "Neg", (Param(0),), {}, (TensorSpec(dtype, (3,)),))
    read = {0: np.array([least / 2, least, -least / 2])}
    flushing = Arithmetic(flushes=frozenset(("Neg",)))
    assert compute_kernel(plain_kernel(neg), read, flushing)[0].tolist() == [0.0, -least, 0.0]
    assert compute_kernel(plain_kernel(neg), read)[0].tolist() == [-least / 2, -least, least / 2]


def test_complex_numbers_are_refused_and_never_halved():
    kernel = plain_kernel(op("MatMul", Param(7), Value(3)))
    slots = dict(zip(sorted(kernel.needed), (X, W.astype(np.complex64)), strict=True))
    with refused("compare/not-real", GraphError, dtype="complex64"):
        compute_kernel(kernel, slots)
