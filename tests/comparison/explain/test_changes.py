"""How a weight was changed: every kind by an example made with NumPy, and healthy ones that resemble it."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import workbench as wb
from kit.build import small_dumps as small
from kit.build.small_dumps import Net, in_memory, shoot
from kit.evidence import codes, defects
from workbench.comparison.explain.changes import RECOGNIZERS, weight_change

RNG = np.random.default_rng(7)
WEIGHT = RNG.standard_normal((24, 40)).astype(np.float32)
SQUARE = RNG.standard_normal((32, 32)).astype(np.float32)
KERNEL = RNG.standard_normal((8, 4, 3, 3)).astype(np.float32)
BIAS = RNG.standard_normal(40).astype(np.float32)


def with_rows(rows, value, axis=0):
    changed = np.moveaxis(WEIGHT.copy(), axis, 0)
    changed[rows] = value
    return np.moveaxis(changed, 0, axis)


def exchanged(first, second, axis=0):
    order = list(range(WEIGHT.shape[axis]))
    order[first], order[second] = second, first
    return WEIGHT.take(order, axis)


def quantized(bits, axis=None, array=WEIGHT):
    """Symmetric steps, of the whole tensor or along an axis."""
    axes = None if axis is None else tuple(n for n in range(array.ndim) if n != axis)
    step = np.abs(array).max(axis=axes, keepdims=axis is not None) / (2 ** (bits - 1) - 1)
    return (np.rint(array / step) * step).astype(np.float32)


def truncated(array):
    return (array.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


LARGE = RNG.standard_normal((16, 512)).astype(np.float32)
GAIN = (1 + 0.02 * RNG.standard_normal(768)).astype(np.float32)
LEVELS = np.float32([-3, -1.7, -0.9, -0.4, 0, 0.3, 0.8, 1.4, 2.6])

CASES = {
    "bfloat16": (
        WEIGHT.astype(ml_dtypes.bfloat16).astype(np.float32),
        WEIGHT,
        "rounded",
        {"dtype": "bfloat16", "side": "target"},
    ),
    "float16": (
        WEIGHT.astype(np.float16).astype(np.float32),
        WEIGHT,
        "rounded",
        {"dtype": "float16", "side": "target"},
    ),
    "the golden in float16": (
        WEIGHT,
        WEIGHT.astype(np.float16).astype(np.float32),
        "rounded",
        {"side": "golden"},
    ),
    "stored in float16": (WEIGHT.astype(np.float16), WEIGHT, "rounded", {"dtype": "float16"}),
    "truncated": (truncated(WEIGHT), WEIGHT, "truncated", {"dtype": "bfloat16"}),
    "transposed": (np.ascontiguousarray(WEIGHT.T), WEIGHT, "transposed", {"axes": (1, 0)}),
    "transposed square": (np.ascontiguousarray(SQUARE.T), SQUARE, "transposed", {"axes": (1, 0)}),
    "transposed in the old shape": (
        WEIGHT.T.reshape(WEIGHT.shape).copy(),
        WEIGHT,
        "transposed",
        {"axes": (1, 0)},
    ),
    "kernel laid otherwise": (
        np.ascontiguousarray(KERNEL.transpose(0, 2, 3, 1)),
        KERNEL,
        "transposed",
        {"axes": (0, 2, 3, 1)},
    ),
    "zero rows": (
        with_rows([3, 7], 0),
        WEIGHT,
        "zeroed",
        {"axis": 0, "rows": [3, 7], "side": "target"},
    ),
    "zero column": (with_rows([5], 0, axis=1), WEIGHT, "zeroed", {"axis": 1, "rows": [5]}),
    "zero row of the golden": (
        WEIGHT,
        with_rows([2], 0),
        "zeroed",
        {"axis": 0, "rows": [2], "side": "golden"},
    ),
    "exchanged rows": (
        exchanged(3, 9),
        WEIGHT,
        "exchanged",
        {"axis": 0, "count": 2, "row": 3, "other": 9},
    ),
    "exchanged columns": (
        exchanged(1, 4, axis=1),
        WEIGHT,
        "exchanged",
        {"axis": 1, "count": 2, "row": 1, "other": 4},
    ),
    "permuted": (RNG.permutation(WEIGHT.ravel()).reshape(WEIGHT.shape), WEIGHT, "permuted", {}),
    "scaled": (
        WEIGHT * np.float32(1.31),
        WEIGHT,
        "scaled",
        {"factor": pytest.approx(1.31, rel=1e-5)},
    ),
    "sign": (-WEIGHT, WEIGHT, "scaled", {"factor": pytest.approx(-1.0)}),
    "scaled bias": (BIAS * np.float32(0.5), BIAS, "scaled", {"factor": pytest.approx(0.5)}),
    "eight bits": (quantized(8, array=LARGE), LARGE, "quantized", {"bits": 8, "side": "target"}),
    "eight bits a channel": (quantized(8, 0, LARGE), LARGE, "quantized", {"bits": 8}),
    "four bits": (quantized(4, array=LARGE), LARGE, "quantized", {"bits": 4}),
    "steps of another weight": (
        quantized(4, array=LARGE),
        LARGE[::-1] * np.float32(1.1),
        "uncorrelated",
        {},
    ),
    "another checkpoint": (
        RNG.standard_normal(LARGE.shape).astype(np.float32),
        LARGE,
        "uncorrelated",
        {},
    ),
}
"""Target, golden, and what is said of it with which values."""


@pytest.mark.parametrize("case", CASES)
def test_a_change_is_recognized(case):
    target, golden, code, values = CASES[case]
    said = weight_change(target, golden)
    assert said is not None
    assert said.code == f"compare/change-{code}"
    assert {name: said.values[name] for name in values} == values


SYMMETRIC = SQUARE + SQUARE.T
HEALTHY = {
    "equal": (WEIGHT, WEIGHT.copy()),
    "noise": (WEIGHT * (1 + 1e-5 * RNG.standard_normal(WEIGHT.shape)).astype(np.float32), WEIGHT),
    "a symmetric one and noise": (SYMMETRIC * np.float32(1 + 1e-7), SYMMETRIC),
    "a few elements": (
        np.where(np.arange(WEIGHT.size).reshape(WEIGHT.shape) == 9, 4, WEIGHT).astype(np.float32),
        WEIGHT,
    ),
    "a row of other numbers": (with_rows([3], 0.5), WEIGHT),
    "half related": (LARGE + 3 * RNG.standard_normal(LARGE.shape).astype(np.float32), LARGE),
    "fine-tuned": (LARGE + 0.01 * RNG.standard_normal(LARGE.shape).astype(np.float32), LARGE),
    "constant times a factor": (np.full(64, 1.1, np.float32), np.ones(64, np.float32)),
    "zeros against ones": (np.zeros(64, np.float32), np.ones(64, np.float32)),
    "few numbers without relation": (BIAS[:16], RNG.standard_normal(16).astype(np.float32)),
    "other size": (BIAS[:16], BIAS),
    "integers": (np.arange(64), np.arange(64) + 1),
    "not finite": (np.full(64, np.inf, np.float32), BIAS[:1].repeat(64)),
    "few levels in both": (quantized(4, array=LARGE), quantized(4, array=LARGE) + np.float32(0.02)),
    "a norm's gain in bfloat16, trained on": (
        GAIN.astype(ml_dtypes.bfloat16).astype(np.float32),
        GAIN * (1 + 1e-3 * RNG.standard_normal(GAIN.size).astype(np.float32)),
    ),
    "signs of rows": (LARGE * np.resize([1, -1], (16, 1)).astype(np.float32), LARGE),
    "magnitudes": (np.abs(LARGE), LARGE),
    "transposed and noise": (
        SQUARE.T * (1 + 1e-5 * RNG.standard_normal(SQUARE.shape)).astype(np.float32),
        SQUARE + SQUARE.T,
    ),
    "zero rows and noise": (
        with_rows([3], 0) * (1 + 1e-5 * RNG.standard_normal(WEIGHT.shape)).astype(np.float32),
        WEIGHT,
    ),
    "one hot at another place": (np.eye(64, dtype=np.float32)[3], np.eye(64, dtype=np.float32)[9]),
    "two numbers": (np.float32([1, 2]), np.float32([1.5, 3])),
    "steps that are not even": (LEVELS[np.abs(LARGE[..., None] - LEVELS).argmin(axis=-1)], LARGE),
    "scaled by a row": (WEIGHT * np.linspace(1, 2, 24, dtype=np.float32)[:, None], WEIGHT),
    "empty": (np.zeros(0, np.float32), np.zeros(0, np.float32)),
}
"""Target and golden of which nothing is certain but their difference."""


@pytest.mark.parametrize("case", HEALTHY)
def test_what_only_resembles_a_change_is_not_told(case):
    assert weight_change(*HEALTHY[case]) is None


def test_every_recognizer_has_a_reason_of_its_own():
    assert (
        len({one.why for one in RECOGNIZERS})
        == len({one.name for one in RECOGNIZERS})
        == len(RECOGNIZERS)
    )


WHOLE = {
    "rounded": lambda weight: weight.astype(ml_dtypes.bfloat16).astype(np.float32),
    "truncated": truncated,
    "transposed": lambda weight: np.ascontiguousarray(weight.T),
    "zeroed": lambda weight: np.where(np.arange(len(weight))[:, None] == 3, 0, weight),
    "exchanged": lambda weight: weight[[1, 0, *range(2, len(weight))]],
    "permuted": lambda weight: weight.ravel()[::-1].reshape(weight.shape).copy(),
    "scaled": lambda weight: weight * np.float32(1.31),
    "quantized": lambda weight: quantized(4, array=weight),
    "uncorrelated": lambda weight: RNG.standard_normal(weight.shape).astype(np.float32),
}
"""What is said of a weight, and how it comes about."""


@pytest.mark.parametrize("code", WHOLE)
def test_a_comparison_says_how_a_weight_was_changed(code):
    net, shape = Net(), (32, 32)
    value = net.op("MatMul", net.feed("x", shape), net.weight("w", shape), shape=shape)
    net.op("ReLU", value, shape=shape)
    graph = net.graph()
    values = small.given(graph)
    changed = values | {"w": WHOLE[code](values["w"])}
    found = wb.compare(*(in_memory(shoot(graph, one), graph) for one in (changed, values)))
    (first,) = defects(found)
    assert (first.kind, first.op_type) == ("parameter", "MatMul")
    said = [one for one in codes(first.evidence) if one.startswith("change-")]
    assert said == [f"change-{code}"]


def test_every_kind_is_said_of_a_whole_comparison():
    assert {one.name for one in RECOGNIZERS} <= WHOLE.keys()
