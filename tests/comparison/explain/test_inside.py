"""Faults between the operators of one kernel: what they do to the output, each worked out in plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from kit.words import check_said
from workbench.comparison.explain.explain import explain
from workbench.comparison.replay.kernel import Trial, cast_like, compute_kernel
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Const, Kernel, Op, Param, Value
from workbench.npu.arithmetic import Arithmetic

RNG = np.random.default_rng(3)
X, W, B = (RNG.normal(size=shape).astype(np.float32) for shape in ((12, 32), (40, 32), (40,)))
OUT = TensorSpec("float32", (12, 40))
CUBE = Arithmetic("cube")


def product():
    return (X.astype(np.float64) @ W.T.astype(np.float64)).astype(np.float32)


def finished(y, dtype=np.float32):
    """BiasAdd and ReLU."""
    return np.maximum(y + B, 0).astype(dtype)


def told(given, arithmetic=CUBE, floor=2e-6):
    kernel = Kernel(
        (
            Op("a", "MatMul", (Param(0), Param(1), Const(False), Const(True)), outputs=(OUT,)),
            Op("b", "BiasAdd", (Value(0), Param(2), Const(0)), outputs=(OUT,)),
            Op("c", "ReLU", (Value(1),), outputs=(OUT,)),
        ),
        (Value(2),),
    )
    inputs = {0: X, 1: W, 2: B}
    expected = cast_like(compute_kernel(kernel, inputs, arithmetic)[0], given)
    return explain(Trial(kernel, inputs, 0, given, expected, floor, arithmetic))


def flipped(y, bit):
    words = y.copy().view(np.uint32)
    words.reshape(-1)[np.argmax(y)] ^= np.uint32(1 << bit)
    return words.view(np.float32)


def put(y, value):
    y = y.copy()
    y[3, 4:9] = value
    return y


def swapped_pairs(y):
    return y[:, np.arange(40) ^ 2]


@pytest.mark.parametrize(
    ("given", "kind", "code", "values"),
    [
        (lambda y: finished(-y), "wrong-sign", "inside-sign", {"op_type": "MatMul"}),
        (lambda y: finished(y * 1.25), "scaled-output", "inside-scale", {"factor": 1.25}),
        (
            lambda y: finished(np.where(np.abs(y) < 0.5, 0, y)),
            "flush-to-zero",
            "inside-flush",
            {"limit": 0.5},
        ),
        (lambda y: finished(np.clip(y, -4, 4)), "saturated", "inside-saturated", {"limit": 4.0}),
        (
            lambda y: finished(swapped_pairs(y)),
            "wrong-layout-lanes",
            "inside-lanes",
            {"distance": 2},
        ),
        (lambda y: finished(flipped(y, 23)), "bit-flip", "inside-bit", {"bit": 23}),
        (
            lambda y: finished(put(y, 60.0)),
            "overwritten-element",
            "inside-overwritten",
            {"value": 60.0},
        ),
    ],
)
def test_what_one_operator_handed_on_is_told(given, kind, code, values):
    found = told(given(product()))
    assert found[0].kind == kind, found[:3]
    assert found[0].share > 0.99
    check_said(found[0].text, f"compare/{code}", **values)


def test_nan_inside_is_told_where_the_device_writes_zero_for_it():
    given = finished(product())
    rows = np.argsort(-given[:, 5])[:2]  # where something is lost
    given[rows, 5] = 0
    found = told(given, Arithmetic("cube", saturates=True))
    assert found[0].kind == "nan-output", found[:3]


def test_a_kernel_that_stores_as_coarsely_as_it_computes_misses_a_cast():
    def coarse(array):
        words = np.ascontiguousarray(array, np.float32).view(np.uint32)
        even = (words >> np.uint32(16)) & np.uint32(1)
        rounded = (words + np.uint32(0x7FFF) + even) & np.uint32(0xFFFF0000)
        return rounded.view(np.float32)

    y = (coarse(X).astype(np.float64) @ coarse(W).T.astype(np.float64)).astype(np.float32)
    found = told(coarse(np.maximum(coarse(y) + B, 0)))
    assert found[0].kind == "missing-cast", found[:3]
    assert found[0].exact > 0.9
