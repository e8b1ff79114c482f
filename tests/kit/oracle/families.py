"""What every family of operators is held against: its kernels, its gradients and its refusals.

A family is a module of `workbench.ops.rows`; ``tests/ops/test_<family>.py`` names its rows, its cases
(``tests/ops/<family>_cases.py``) and what its shape rules refuse, and has the tests of `FamilyTests`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from kit.oracle.operator_case import OperatorCase
from kit.words import refused
from workbench.core.dtypes import dtype
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.network.autodiff import gradients
from workbench.network.tracer import trace
from workbench.ops import OPS, infer_outputs, run_kernel
from workbench.run.reference import run_reference

Array = np.ndarray[Any, Any]
Refusal = tuple[str, tuple[TensorSpec, ...], Mapping[str, Any], str, Mapping[str, Any]]
"""Type, specs of its tensors, settings; code and some values of the error."""

Inferred = tuple[str, tuple[TensorSpec, ...], Mapping[str, Any], Sequence[TensorSpec]]
"""Type, specs of its tensors, settings; specs of its outputs."""

STEP, TOLERANCE = 1e-5, 1e-6


def spec(*shape: int, dtype: str = "float32") -> TensorSpec:
    return TensorSpec(dtype, shape)


X, IMAGE = spec(2, 3, 4), spec(2, 4, 8, 8)


class FamilyTests:
    """Tests of one family; a subclass says which."""

    rows: Mapping[str, Any]
    cases: Mapping[str, OperatorCase]
    refused: Sequence[Refusal] = ()
    inferred: Sequence[Inferred] = ()
    ranks = False
    """Whether the inputs are those of ranks, one operator's each."""

    def __init_subclass__(cls) -> None:
        if not any(case.gradient for case in cls.cases.values()):
            cls.test_a_gradient_is_the_limit_of_differences = None
        if not any(case.examples for case in cls.cases.values()):
            cls.test_a_kernel_has_every_property = None
            cls.test_other_shapes_are_refused_or_computed_as_they_are_inferred = None
            cls.test_other_settings_are_refused_or_computed_as_they_are_inferred = None
            cls.test_integers_for_floats_are_refused_or_computed_to_integers = None
        if not cls.inferred:
            cls.test_outputs_are_told_before_they_are_computed = None
        if not cls.refused:
            cls.test_inputs_that_do_not_fit_are_refused = None

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        for name, many in {
            "example": [
                (n, k) for n, case in self.cases.items() for k in range(len(case.examples))
            ],
            "slope": [(n, k) for n, case in self.cases.items() for k in range(len(case.gradient))],
            "refusal": self.refused,
            "inference": self.inferred,
        }.items():
            if name in metafunc.fixturenames:
                ids = [f"{one[0]}-{number}" for number, one in enumerate(many)]
                metafunc.parametrize(name, many, ids=ids)

    def test_every_row_has_its_case_here(self):
        assert self.cases.keys() == self.rows.keys() & OPS.keys()

    def test_a_kernel_has_every_property(self, example):
        name, number = example
        case = Example(name, self.cases[name], number)
        problems = [*filter(None, (broken(prove, case) for prove in PROPERTIES))]
        assert not problems, f"{name}, case {number}: " + "\n".join(problems)

    def test_a_gradient_is_the_limit_of_differences(self, slope):
        name, number = slope
        check_gradient(*self.cases[name].gradient[number])

    def test_other_shapes_are_refused_or_computed_as_they_are_inferred(self, example):
        name, number = example
        case = Example(name, self.cases[name], number)
        for inputs in reshaped(case.inputs, alike=self.ranks):
            assert_refused_or_inferred(name, inputs, case.settings)

    def test_other_settings_are_refused_or_computed_as_they_are_inferred(self, example):
        name, number = example
        case, row = Example(name, self.cases[name], number), OPS[name]
        for setting, value in ({**row.defaults, **case.settings}).items():
            if isinstance(value, int | float | tuple | str) and (
                setting in row.settings or setting in row.defaults
            ):
                for other in OTHERS:
                    assert_refused_or_inferred(name, case.inputs, {**case.settings, setting: other})

    def test_integers_for_floats_are_refused_or_computed_to_integers(self, example):
        name, number = example
        case = Example(name, self.cases[name], number)
        with np.errstate(all="ignore"):
            for inputs in whole(case.inputs, alike=self.ranks):
                assert_refused_or_whole(name, inputs, case.settings)

    def test_outputs_are_told_before_they_are_computed(self, inference):
        op_type, tensors, settings, outputs = inference
        assert infer_outputs(op_type, tensors, settings) == tuple(outputs)

    def test_inputs_that_do_not_fit_are_refused(self, refusal):
        op_type, tensors, settings, code, values = refusal
        with refused(code, GraphError, **values):
            infer_outputs(op_type, tensors, settings)


# ---------------- kernels against oracles


class Example:
    """One example of an operator, computed once in float64."""

    def __init__(self, name: str, case: OperatorCase, number: int) -> None:
        self.name, self.case = name, case
        self.inputs, self.settings = case.examples[number]
        self.before = [x.copy() for x in self.inputs]
        self.got = self.computed(self.inputs)

    def computed(self, inputs: Sequence[Array]) -> list[Array]:
        return run_kernel(self.name, inputs, {**OPS[self.name].defaults, **self.settings})

    def inferred(self, inputs: Sequence[Array]) -> list[TensorSpec]:
        """Specs of the outputs, then of the inputs that the operator overwrites."""
        row = OPS[self.name]
        specs = [TensorSpec(x.dtype.name, x.shape) for x in inputs]
        writes = row.writes if self.settings.get(row.writes_if, not row.writes_if) else ()
        outputs = infer_outputs(self.name, specs, self.settings)
        return [*outputs, *(specs[place] for place in writes)]


def comparable(array: Array) -> Array:
    return array.astype(np.int8) if array.dtype.name == "int4" else array


def float64_equals_the_loops(case: Example) -> None:
    want = case.case.oracle(case.inputs, case.settings)
    near = (1e-9, 1e-10) if case.case.by_differences else (1e-12, 1e-13)
    for one, other in zip(case.got, want, strict=True):
        np.testing.assert_allclose(comparable(one), other, rtol=near[0], atol=near[1], strict=False)
        assert one.shape == other.shape


def float32_stays_in_float32_and_close(case: Example) -> None:
    single = [x.astype(np.float32) if x.dtype == np.float64 else x for x in case.inputs]
    want = case.case.oracle(single, case.settings)
    specs = case.inferred(single)
    for one, other, spec in zip(case.computed(single), want, specs, strict=True):
        assert one.dtype == spec.dtype or case.name == "Cast"
        np.testing.assert_allclose(comparable(one), other, rtol=2e-5, atol=2e-5)


def shapes_are_the_inferred_ones(case: Example) -> None:
    assert [spec.shape for spec in case.inferred(case.inputs)] == [x.shape for x in case.got]


def inputs_are_left_alone(case: Example) -> None:
    for one, other in zip(case.inputs, case.before, strict=True):
        np.testing.assert_array_equal(one, other)


PROPERTIES = (
    inputs_are_left_alone,
    float64_equals_the_loops,
    float32_stays_in_float32_and_close,
    shapes_are_the_inferred_ones,
)


def broken(prove: Callable[[Example], None], case: Example) -> str:
    """Name of a property that a case does not have, and why; empty if it has it."""
    try:
        prove(case)
    except AssertionError as error:
        return f"{prove.__name__}: {error}"
    return ""


# ---------------- shape rules against kernels: what is let through is computed, in the shapes that were said

OTHERS = (-1, 0, 1, 19, -19, 2.5, "word", None, (), (0,), (1, 1), (-7, 5), tuple(range(8)))
"""Values of a setting, most of them wrong for most."""

LARGE = 1 << 20


def reshaped(inputs: Sequence[Array], *, alike: bool) -> Iterator[list[Array]]:
    """Inputs of which one, or all if they are ``alike``, has an axis more, one less, or one that is longer."""
    for place in range(1 if alike else len(inputs)):
        for change in range(-2, min(x.ndim for x in inputs) if alike else inputs[place].ndim):
            yield [_reshaped(x, change) if alike or k == place else x for k, x in enumerate(inputs)]


def _reshaped(x: Array, change: int) -> Array:
    if change == -2:
        return x[None]
    if change == -1:
        return np.resize(x, x.shape[1:])
    return np.concatenate([x, np.take(x, [0], change)], change) if x.shape[change] else x


def assert_refused_or_inferred(
    name: str, inputs: Sequence[Array], settings: Mapping[str, Any]
) -> None:
    try:
        specs = [TensorSpec(x.dtype.name, x.shape) for x in inputs]
        inferred = [one.shape for one in infer_outputs(name, specs, settings)]
        if any(math.prod(shape) > LARGE for shape in inferred):
            return
        with np.errstate(all="ignore"):
            got = run_kernel(name, [x.copy() for x in inputs], {**OPS[name].defaults, **settings})
    except GraphError:
        return
    assert [one.shape for one in got[: len(inferred)]] == inferred, (name, specs, settings)


CUT = ("Div", "RealDiv")
"""Operators whose quotients of integers are cut."""


def whole(inputs: Sequence[Array], *, alike: bool) -> Iterator[list[Array]]:
    """Inputs of which all floats, or one (unless they are ``alike``), are integers."""
    floats = [place for place, x in enumerate(inputs) if x.dtype.kind == "f"]
    for kind in (np.int32, np.uint8):
        for places in [floats] if alike else [floats, *([place] for place in floats)]:
            yield [np.abs(x).astype(kind) if k in places else x for k, x in enumerate(inputs)]


def assert_refused_or_whole(
    name: str, inputs: Sequence[Array], settings: Mapping[str, Any]
) -> None:
    try:
        specs = [TensorSpec(x.dtype.name, x.shape) for x in inputs]
        inferred = infer_outputs(name, specs, settings)
        got = run_kernel(name, [x.copy() for x in inputs], {**OPS[name].defaults, **settings})
    except GraphError:
        return
    said = [dtype(one.dtype).is_float or name in CUT for one in inferred]
    assert all(one or array.dtype.kind != "f" for one, array in zip(said, got, strict=False)), (
        name,
        specs,
        settings,
    )


# ---------------- gradients against central differences of the reference in float64


def check_gradient(function: Callable[..., Any], points: Sequence[Array]) -> None:
    loss = weighted(function)
    graph = trace(lambda *tensors: gradients(loss(*tensors), tensors), *points)
    for gradient, expected in zip(values(graph, points), differences(loss, points), strict=True):
        assert gradient.shape == expected.shape
        np.testing.assert_allclose(gradient, expected, atol=TOLERANCE, rtol=TOLERANCE)


def weighted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the sum of all outputs of a function, each element with a weight of its own."""

    def loss(*tensors: Any) -> Any:
        outputs = function(*tensors)
        rng = np.random.default_rng(1)
        total = None
        for output in outputs if isinstance(outputs, tuple) else (outputs,):
            part = (output * rng.uniform(0.5, 1.5, output.shape)).sum()
            total = part if total is None else total + part
        return total

    return loss


def values(graph: Any, points: Sequence[Array]) -> list[Array]:
    """Outputs of a graph at given inputs."""
    feeds = [parameter for parameter in graph.parameters if not parameter.is_weight]
    names = {parameter.name: point for parameter, point in zip(feeds, points, strict=True)}
    found = {record.key: record.source for record in run_reference(graph, names)}
    by_output = {(key.op_name, key.slot): s for key, s in found.items() if key.io == "output"}
    return [by_output[graph.ops[o.op].name, o.slot].array() for o in graph.outputs]


def differences(loss: Callable[..., Any], points: Sequence[Array]) -> list[Array]:
    """Gradients by central differences, one element at a time."""
    graph = trace(loss, *points)
    found = []
    for place, point in enumerate(points):
        slope = np.empty(point.shape)
        for index in np.ndindex(point.shape):
            ends = []
            for step in (STEP, -STEP):
                moved = point.copy()
                moved[index] += step
                ends.append(values(graph, [*points[:place], moved, *points[place + 1 :]])[0])
            slope[index] = (ends[0] - ends[1]) / (2 * STEP)
        found.append(slope)
    return found
