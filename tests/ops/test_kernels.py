"""Every kernel against loops over indices or closed forms (`ops.cases`)."""

import json
import math
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from ops.cases import CASES, FAMILIES

import workbench.ops.rows as ops_rows
from workbench.core.tensors import TensorSpec
from workbench.ops import OPS, infer_outputs, run_kernel

PYTORCH = Path(__file__).parents[1] / "data/conformance/aclnn_torch_2.14.1_cpu.json"
EVERY = [(name, number) for name, case in CASES.items() for number in range(len(case.examples))]


def settings_of(name, settings):
    return {**OPS[name].defaults, **settings}


def results_of(name, specs, settings):
    """Specs of the outputs, then of the inputs that the operator overwrites."""
    row = OPS[name]
    writes = row.writes if settings.get(row.writes_if, not row.writes_if) else ()
    return [*infer_outputs(name, specs, settings), *(specs[place] for place in writes)]


def test_every_operator_has_an_oracle_that_is_run():
    """Where no loops of ours are, PyTorch's record is; graphs of ours do not have these operators."""
    recorded = {one["op"] for one in json.loads(PYTORCH.read_text(encoding="utf-8"))["cases"]}
    assert OPS.keys() == CASES.keys()
    for name, case in CASES.items():
        assert case.examples if case.oracle else name in recorded, name


def test_a_case_stands_in_the_family_of_its_operator():
    rows = {path.stem for path in Path(ops_rows.__file__).parent.glob("*.py")} - {"__init__"}
    assert rows == FAMILIES.keys()
    for family, cases in FAMILIES.items():
        own = import_module(f"{ops_rows.__name__}.{family}").ROWS
        assert cases.keys() == own.keys() & OPS.keys(), family


class Case:
    """One case of an operator, computed once in float64."""

    def __init__(self, name, number):
        self.name = name
        self.oracle = CASES[name].oracle
        self.inputs, self.settings = CASES[name].examples[number]
        self.before = [x.copy() for x in self.inputs]
        self.got = self.computed(self.inputs)

    def computed(self, inputs):
        return run_kernel(self.name, inputs, settings_of(self.name, self.settings))

    def inferred(self, inputs):
        specs = [TensorSpec(x.dtype.name, x.shape) for x in inputs]
        return results_of(self.name, specs, self.settings)


def comparable(array):
    return array.astype(np.int8) if array.dtype.name == "int4" else array


def float64_equals_the_loops(case):
    want = case.oracle(case.inputs, case.settings)
    near = (1e-9, 1e-10) if CASES[case.name].by_differences else (1e-12, 1e-13)
    for one, other in zip(case.got, want, strict=True):
        np.testing.assert_allclose(comparable(one), other, rtol=near[0], atol=near[1], strict=False)
        assert one.shape == other.shape


def float32_stays_in_float32_and_close(case):
    single = [x.astype(np.float32) if x.dtype == np.float64 else x for x in case.inputs]
    want = case.oracle(single, case.settings)
    specs = case.inferred(single)
    for one, other, spec in zip(case.computed(single), want, specs, strict=True):
        assert one.dtype == spec.dtype or case.name == "Cast"
        np.testing.assert_allclose(comparable(one), other, rtol=2e-5, atol=2e-5)


def shapes_are_the_inferred_ones(case):
    assert [spec.shape for spec in case.inferred(case.inputs)] == [x.shape for x in case.got]


def inputs_are_left_alone(case):
    for one, other in zip(case.inputs, case.before, strict=True):
        np.testing.assert_array_equal(one, other)


PROPERTIES = (
    inputs_are_left_alone,
    float64_equals_the_loops,
    float32_stays_in_float32_and_close,
    shapes_are_the_inferred_ones,
)


def broken(prove, case):
    """Name of a property that a case does not have, and why; empty if it has it."""
    try:
        prove(case)
    except AssertionError as error:
        return f"{prove.__name__}: {error}"
    return ""


@pytest.mark.parametrize(("name", "number"), EVERY)
def test_a_kernel_has_every_property(name, number):
    case = Case(name, number)
    problems = [*filter(None, (broken(prove, case) for prove in PROPERTIES))]
    assert not problems, f"{name}, case {number}: " + "\n".join(problems)


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
