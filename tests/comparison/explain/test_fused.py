"""Kernels of several operators: the fault may be in any of them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from kit.words import check_said
from workbench.comparison.explain.explain import explain
from workbench.comparison.replay.kernel import Trial, cast_like, compute_kernel
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Const, Kernel, Op, Param, Value
from workbench.npu.arithmetic import Arithmetic

RNG = np.random.default_rng(11)
X, W, B = (RNG.normal(size=shape).astype(np.float32) for shape in ((30, 64), (40, 64), (40,)))
OUT = TensorSpec("float32", (30, 40))


def layer(alpha=0.5, transposed=True, biased=True, bias=B, weight=W):
    """MatMul, BiasAdd and Elu in plain NumPy."""
    y = X.astype(np.float64) @ (weight.T if transposed else weight.reshape(64, 40))
    y = y + bias if biased else y
    return np.where(y > 0, y, alpha * np.expm1(np.minimum(y, 0))).astype(np.float32)


def trial(given, arithmetic=Arithmetic("cube"), floor=1e-6):  # noqa: B008 - a constant
    kernel = Kernel(
        (
            Op("a", "MatMul", (Param(0), Param(1), Const(False), Const(True)), outputs=(OUT,)),
            Op("b", "BiasAdd", (Value(0), Param(2), Const(0)), outputs=(OUT,)),
            Op("c", "Elu", (Value(1), Const(0.5)), outputs=(OUT,)),
        ),
        (Value(2),),
    )
    inputs = {0: X, 1: W, 2: B}
    expected = cast_like(compute_kernel(kernel, inputs, arithmetic)[0], given)
    return Trial(kernel, inputs, 0, given, expected, floor, arithmetic)


def noisy(array):
    """The same as a device gives it that sums in another order: however a CPU sums, few numbers are equal."""
    noise = np.random.default_rng(12).normal(size=array.shape)
    return (array * (1 + 1e-7 * noise)).astype(np.float32)


def wrong_bias():
    bias = B.copy()
    bias[6] = 9
    return noisy(layer(bias=bias))


def half():
    sums = np.zeros((30, 40), np.float16)
    for start in range(0, 64, 16):
        part = X[:, start : start + 16] @ W[:, start : start + 16].T
        sums = (sums.astype(np.float32) + part).astype(np.float16)
    y = sums.astype(np.float32) + B
    return np.where(y > 0, y, 0.5 * np.expm1(np.minimum(y, 0))).astype(np.float32)


def cut():
    weight = W.copy()
    weight[:, 48:] = 0
    return layer(weight=weight)


@pytest.mark.parametrize(
    ("given", "kind", "code", "values"),
    [
        (lambda: layer(alpha=1.0), "wrong-attribute", "setting", {"name": "alpha", "used": "1"}),
        (
            lambda: layer(alpha=0.32),
            "wrong-attribute",
            "setting",
            {"name": "alpha", "used": "0.32"},
        ),
        (
            lambda: layer(weight=W.reshape(64, 40).T),
            "transposed-weight",
            "transposed",
            {"first": 0, "second": 1},
        ),
        (lambda: layer(biased=False), "missing-step", "missing", {"op_type": "BiasAdd"}),
        (lambda: -layer(), "wrong-sign", "sign", {}),
        (wrong_bias, "wrong-weight-element", "weight", {"index": [6]}),
        (half, "half-accumulation", "accumulation", {"op_type": "MatMul"}),
        (cut, "dropped-k-tail", "k-tail", {"count": 1, "blocks": 4, "size": 16}),
    ],
)
def test_a_fault_in_any_part_is_told(given, kind, code, values):
    found = explain(trial(given()))
    assert found[0].kind == kind, found[:3]
    check_said(found[0].text, f"compare/fault-{code}", **values)


def test_a_right_kernel_gives_nothing():
    assert explain(trial(layer())) == []


def test_a_wrong_bias_is_told_as_surely_by_either_cpu_of_which_the_sums_are_equal_in_about_half():
    few, many = (told_beside(scale) for scale in (6e-8, 5.4e-8))
    assert few.equal < 0.49
    assert many.equal > 0.51
    assert few.cause.kind == many.cause.kind == "wrong-weight-element"
    assert few.cause.probability == pytest.approx(many.cause.probability, abs=0.01)


def told_beside(scale):
    """What is told of a wrong bias beside noise, and the share of the elements that are bit-equal."""
    right = trial(np.zeros((30, 40), np.float32))
    wrong = np.where(np.arange(40) == 6, np.float32(9), B)
    given = compute_kernel(right.kernel, {**right.inputs, 2: wrong}, right.arithmetic)[0]
    noise = np.random.default_rng(12).normal(size=given.shape)
    given = (given * (1 + scale * noise)).astype(np.float32)
    (first, *_) = explain(trial(given))
    return SimpleNamespace(equal=float(np.mean(given == right.expected)), cause=first.cause)
