"""Kernels where numbers end: last bits, infinities, no numbers; the cases stand in the families."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from ops.cases import CASES, FAMILIES

import workbench.ops.rows as ops_rows
from workbench.ops import OPS, run_kernel

PYTORCH = Path(__file__).parents[1] / "data/conformance/aclnn_torch_2.14.1_cpu.json"


OF_OTHER_RANKS = {"Receive"}
"""Operators without a tensor of their own rank to give: test_collective.py runs them on what was sent."""


def settings_of(name, settings):
    return {**OPS[name].defaults, **settings}


def test_every_operator_has_an_oracle_that_is_run():
    """Where no loops of ours are, PyTorch's record is; graphs of ours do not have these operators."""
    recorded = {one["op"] for one in json.loads(PYTORCH.read_text(encoding="utf-8"))["cases"]}
    assert OPS.keys() == CASES.keys()
    for name, case in CASES.items():
        if name not in OF_OTHER_RANKS:
            assert case.examples if case.oracle else name in recorded, name


def test_every_family_of_rows_has_its_cases():
    rows = {path.stem for path in Path(ops_rows.__file__).parent.glob("*.py")} - {"__init__"}
    assert rows == FAMILIES.keys()


def test_erf_is_right_to_the_last_bits_everywhere():
    x = np.concatenate([np.linspace(-7, 7, 4001), [0.0, -0.0, 1e-300, np.inf, -np.inf]])
    want = np.array([math.erf(v) for v in x.tolist()])
    got = run_kernel("Erf", [x], {})[0]
    np.testing.assert_allclose(got, want, rtol=4e-16, atol=0)
    assert np.signbit(got[-4])


def test_erf_in_single_precision_is_right_within_eight_units_of_the_last_place():
    x = np.concatenate([np.linspace(-5, 5, 20001), 10.0 ** np.linspace(-37, 1, 2001)]).astype(
        np.float32
    )
    want = np.array([math.erf(v) for v in x.astype(float).tolist()])
    got = run_kernel("Erf", [x], {})[0]
    assert got.dtype == np.float32
    unit = np.spacing(np.abs(want).astype(np.float32))
    assert np.max(np.abs(got.astype(float) - want) / unit) < 8
    assert np.max(np.abs(got)) <= 1
    assert np.isnan(run_kernel("Erf", [np.float32([np.nan])], {})[0][0])


def test_not_a_number_goes_through_and_is_not_lost():
    x = np.array([[[[np.nan, 1.0], [-1.0, 2.0]]]])
    for name in ("ReLU", "Sigmoid", "Tanh", "GeLU", "Erf", "Abs"):
        out = run_kernel(name, [x], {})[0]
        assert np.isnan(out[0, 0, 0, 0])
        assert np.isfinite(out).sum() == 3
    pooled = run_kernel("MaxPool", [x], {"kernel_size": 2, "strides": 1, "pad_mode": "valid"})[0]
    assert np.isnan(pooled).all()


def test_a_convolution_spreads_infinity_over_the_windows_that_hold_it_and_no_others():
    settings = settings_of("Conv2D", {"stride": 1, "pad_mode": "same"})
    for row in range(4):
        for column in range(5):
            x = np.zeros((1, 1, 4, 5), np.float32)
            x[0, 0, row, column] = np.inf
            out = run_kernel("Conv2D", [x, np.ones((1, 1, 3, 3), np.float32)], settings)[0][0, 0]
            near = np.zeros((4, 5), bool)
            near[max(row - 1, 0) : row + 2, max(column - 1, 0) : column + 2] = True
            np.testing.assert_array_equal(out, np.where(near, np.inf, 0))


def test_sigmoid_and_softmax_do_not_overflow():
    x = np.array([[-800.0, 0.0, 800.0]])
    with np.errstate(over="raise", invalid="raise"):
        sigmoid = run_kernel("Sigmoid", [x], {})[0]
        softmax = run_kernel("Softmax", [x], {"axis": -1})[0]
        logs = run_kernel("LogSoftmax", [x], {"axis": -1})[0]
    np.testing.assert_array_equal(sigmoid, [[0.0, 0.5, 1.0]])
    np.testing.assert_array_equal(softmax, [[0.0, 0.0, 1.0]])
    np.testing.assert_array_equal(logs, [[-1600.0, -800.0, 0.0]])


def test_sigmoid_keeps_relative_accuracy_far_on_the_negative_side():
    got = run_kernel("Sigmoid", [np.array([-50.0])], {})[0][0]
    assert got == pytest.approx(math.exp(-50), rel=1e-15)
