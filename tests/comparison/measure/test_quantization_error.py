"""Steps of a quantization, against an error that rounding to them really leaves."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from workbench.comparison.measure.measure import Measured
from workbench.comparison.measure.noise import INT8
from workbench.comparison.measure.quantization_error import (
    QuantizationError,
    quantization_error,
    rounded,
    steps_of,
)
from workbench.comparison.measure.tensors import measure_arrays
from workbench.graph.graph import Op, Param, Value

X = np.random.default_rng(8).normal(0, 3.0, 4096)
READ = Measured(None, measure_arrays(X, X))


def quant(read, **attrs):
    return Op("quant", "AscendQuant", (read,), attrs)


def layer(**attrs):
    """A quantization, a pooling of its integers, and a layer that reads them."""
    pooled = Op("pool", "MaxPool", (Value(0),), {})
    return (
        quant(Param(0), **attrs),
        pooled,
        Op("conv", "Conv2D", (Param(1), Value(1)), {}),
    )


def steps(ops, *, integers=(0, 1), dequant=(2,), item=READ):
    found = SimpleNamespace(
        target=SimpleNamespace(graph=SimpleNamespace(ops=ops)),
        quantised=SimpleNamespace(dequant=dequant, integers={Value(n) for n in integers}),
    )
    return quantization_error(found, 2, lambda number: {("input", 0): item} if number == 0 else {})


@pytest.mark.parametrize("scale", [4.0, 40.0])
def test_the_error_is_that_of_rounding_to_the_steps(scale):
    left = np.round(X * scale) / scale - X
    found = steps_of(scale, READ)
    assert found.size == 1 / scale
    assert found.error == pytest.approx(np.linalg.norm(left) / np.linalg.norm(X), rel=0.05)


@pytest.mark.parametrize(
    ("scale", "item"),
    [(0.0, READ), (-4.0, READ), (4.0, None), (4.0, Measured(None, measure_arrays(0 * X, 0 * X)))],
)
def test_steps_without_a_scale_or_a_norm_are_not_known(scale, item):
    assert steps_of(scale, item) is None


@pytest.mark.parametrize(
    ("attrs", "scale"),
    [
        ({"scale": 8.0}, 8.0),
        ({"scale": 8.0, "sqrt_mode": False}, 8.0),
        ({"scale": 8.0, "sqrt_mode": True}, 64.0),
        ({}, None),
        ({"scale": "8"}, None),
        ({"scale": math.inf}, None),
    ],
)
def test_the_quantization_behind_other_integers_tells_the_scale(attrs, scale):
    assert steps(layer(**attrs)) == (None if scale is None else steps_of(scale, READ))


@pytest.mark.parametrize(
    "more",
    [{"integers": (0,)}, {"integers": ()}, {"dequant": ()}, {"item": None}],
    ids=["floats between", "no integers", "no such layer", "not measured"],
)
def test_what_reads_no_integers_has_no_steps(more):
    assert steps(layer(scale=8.0), **more) is None


def test_without_an_alignment_there_are_no_steps():
    assert quantization_error(None, 2, dict) is None


@pytest.mark.parametrize(
    ("own", "of_steps", "floor"),
    [(0.5, None, 0.5), (0.5, 0.1, 0.5), (1e-4, 0.1, math.hypot(0.1, INT8)), (1e-4, 0.0, INT8)],
)
def test_a_layer_in_int8_is_as_coarse_as_its_inputs_and_weights(own, of_steps, floor):
    known = None if of_steps is None else QuantizationError(1.0, of_steps)
    assert rounded(own, known) == pytest.approx(floor)
