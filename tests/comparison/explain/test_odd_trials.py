"""Trials that real dumps may bring: every dtype, no axes, a great many elements, NaN, kernels that fail."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from kit.words import check_said
from workbench.comparison.explain.explain import UNEXPLAINED, explain
from workbench.comparison.replay.kernel import Change, Trial, plain_kernel
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Const, Kernel, Op, Param, Value

FLOATS = (np.float16, np.float32, np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn)


def relu(shape, dtype="float32"):
    spec = TensorSpec(dtype, shape)
    return plain_kernel(Op("relu", "ReLU", (Param(0),), outputs=(spec,), input_specs=(spec,)))


def random(shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def relu_trial(x):
    expected = np.maximum(x, 0)
    return Trial(relu(x.shape), {0: x}, 0, expected, expected, 1e-7)


def trial_of(expected, given, floor=1e-7, earlier=()):
    expected = np.asarray(expected)
    return Trial(
        relu(expected.shape), {0: expected}, 0, np.asarray(given), expected, floor, earlier=earlier
    )


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda one: np.dtype(one).name)
def test_a_wrong_sign_is_told_in_every_float(dtype):
    expected = random((40, 30)).astype(dtype)
    assert explain(trial_of(expected, -expected))[0].kind == "wrong-sign"


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64])
def test_an_overwritten_integer_is_told(dtype):
    expected = np.random.default_rng(0).integers(0, 100, (40, 30)).astype(dtype)
    given = expected.copy()
    given[7, 5] = 119 - expected[7, 5]
    best = explain(trial_of(expected, given, 0.0))[0]
    assert best.kind in ("overwritten-element", "bit-flip")
    where = best.text.values["where"]
    check_said(where, "compare/element", index=[7, 5])


def test_a_negated_mask_is_told():
    expected = random((40, 30)) > 0
    assert explain(trial_of(expected, ~expected, 0.0))[0].kind == "wrong-sign"


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_infinities_that_belong_there_are_no_error(value):
    expected = random((40, 30)).astype(np.float32)
    expected[3] = value
    assert explain(trial_of(expected, expected.copy())) == []
    given = np.where(np.isfinite(expected), expected * np.float32(1.25), expected)
    assert explain(trial_of(expected, given))[0].kind == "scaled-output"


@pytest.mark.parametrize("given", [0.0, -2.5, np.nan, np.inf, 2.5001])
def test_a_number_without_axes_is_explained_or_not_but_no_error(given):
    found = explain(trial_of(np.float32(2.5), np.float32(given)))
    assert found
    assert all(str(one.text) for one in found)


def test_equal_numbers_give_nothing():
    assert explain(trial_of(np.float32(2.5), np.float32(2.5))) == []


def test_an_output_of_another_shape_gives_nothing():
    assert explain(trial_of(np.zeros((2, 3), np.float32), np.zeros((3, 2), np.float32))) == []


def test_noise_that_nothing_explains_is_described():
    expected = random((64, 64)).astype(np.float32)
    given = expected + (random((64, 64), 1) * 0.05).astype(np.float32)
    found = explain(trial_of(expected, given))
    assert found[0].kind == UNEXPLAINED
    assert found[0].text.code == "compare/pattern"
    assert (found[0].probability, found[0].cause) == (0.0, None)


@pytest.mark.parametrize("op_type", ["NoSuchOperator", "MatMul", "Conv2D"])
def test_a_kernel_that_cannot_be_computed_leaves_the_other_guesses(op_type):
    expected = random((40, 30)).astype(np.float32)
    op = Op("odd", op_type, (Param(0), Param(5), Const(3)))
    trial = Trial(Kernel((op,), (Value(0),)), {0: expected}, 0, -expected, expected, 1e-7)
    assert explain(trial)[0].kind == "wrong-sign"


def test_an_updated_weight_is_told_by_what_is_left_in_it():
    rng = np.random.default_rng(3)
    weight, step = (rng.normal(size=(20, 30)).astype(np.float32) for _ in range(2))
    specs = (TensorSpec("float32", (20, 30)),) * 2
    op = Op("update", "AssignSub", (Param(0), Param(1)), outputs=specs[:1], input_specs=specs)
    trial = Trial(plain_kernel(op), {0: weight, 1: step}, -1, step - weight, weight - step, 1e-7)
    assert explain(trial)[0].kind == "wrong-sign"
    assert np.array_equal(trial.recompute(Change()), weight - step)


def test_the_first_elements_are_enough():
    x = random((40, 30)).astype(np.float32)
    trial = relu_trial(x)
    given = (
        (trial.expected.reshape(-1)[:200] > 0) * np.float32(1.5) * trial.expected.reshape(-1)[:200]
    )
    cut = replace(trial, given=given, expected=trial.expected.reshape(-1)[:200])
    assert explain(cut)[0].kind == "scaled-output"
    assert cut.recompute(Change()).shape == (200,)


def test_what_takes_too_long_is_left_out_and_named():
    expected = random((64, 64)).astype(np.float32)
    given = expected + (random((64, 64), 1) * 0.05).astype(np.float32)
    said = explain(trial_of(expected, given), budget=1000)[0].text
    assert said.code == "compare/not-tried"
    assert said.values["kinds"]


@pytest.mark.slow
def test_ten_million_elements_take_bounded_memory():
    import tracemalloc

    expected = random((10, 1000, 1000)).astype(np.float16)
    given = expected.copy()
    given[3, 500] = 0
    tracemalloc.start()
    found = explain(trial_of(expected, given))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    said = found[0].text.values.get("text", found[0].text)  # some kinds are not tried
    assert (
        0 in [one.values.get("axis") for one in said.values.get("parts", ())]
        or found[0].kind != UNEXPLAINED
    )
    assert peak < 1.5e9


def test_zeros_that_are_right_do_not_make_noise_an_error():
    x = random((60, 50)).astype(np.float32)
    trial = relu_trial(x)
    noisy = -trial.expected * (1 + 1e-3 * random((60, 50), 1)).astype(np.float32)
    found = explain(replace(trial, given=noisy + np.float32(0), floor=2e-3))
    assert found[0].kind == "wrong-sign"


def test_an_output_that_should_be_zero_has_an_error_too():
    nothing = np.zeros((40, 30), np.float32)
    assert explain(trial_of(nothing, nothing)) == []
    assert explain(trial_of(nothing, random((40, 30)).astype(np.float32)))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn])
def test_not_a_number_of_few_bits_is_told(dtype):
    expected = random((40, 30)).astype(dtype)
    given = expected.copy()
    given[3, 4] = np.nan
    assert explain(trial_of(expected, given, 0.0))[0].kind == "nan-output"
