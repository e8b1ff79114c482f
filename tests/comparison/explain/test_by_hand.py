"""Faults made by hand, without the simulated device: every kind is told where it is the only one that fits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kit.words import check_said
from workbench.comparison.explain.explain import explain
from workbench.comparison.replay.kernel import Trial, cast_like, compute_kernel, plain_kernel
from workbench.core.tensors import TensorSpec
from workbench.core.words import Message
from workbench.graph.graph import Const, Op, Param
from workbench.npu.arithmetic import EXACT, Arithmetic

RNG = np.random.default_rng(7)


def normal(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def operator(
    op_type, inputs, *settings, attrs=None, given=None, arithmetic=EXACT, floor=1e-6, earlier=()
):
    """A trial of one operator: ``given`` is what it gave, or a function of what it should have given."""
    specs = [TensorSpec("float32", a.shape) for a in inputs]
    operands = [*(Param(n) for n in range(len(inputs))), *(Const(value) for value in settings)]
    op = Op("op", op_type, tuple(operands), attrs or {}, input_specs=(*specs,))
    kernel = plain_kernel(op)
    read = dict(enumerate(inputs))
    exact = compute_kernel(kernel, read, arithmetic)[0]
    expected = cast_like(exact, exact.astype(np.float32))
    output = given(expected.copy()) if callable(given) else given
    return Trial(kernel, read, 0, output.astype(np.float32), expected, floor, arithmetic, earlier)


def product(given, m=40, k=64, n=48, **settings):
    x, w = normal(m, k), normal(k, n)
    return operator("MatMul", [x, w], False, False, given=given(x, w), **settings)


def convolution(given, **settings):
    x, w = normal(2, 20, 12, 12), normal(24, 20, 3, 3)
    attrs = {
        "pad_mode": "pad",
        "pad": (1, 1, 1, 1),
        "stride": (1, 1, 1, 1),
        "dilation": (1, 1, 1, 1),
    }
    return operator("Conv2D", [x, w], attrs=attrs, given=given(x, w), **settings)


def slow_convolution(x, w, pads=(1, 1), dilation=1):
    """Sum by sum, in float64."""
    top, left = pads
    padded = np.zeros((x.shape[0], x.shape[1], x.shape[2] + 8, x.shape[3] + 8))
    padded[:, :, top : top + x.shape[2], left : left + x.shape[3]] = x
    out = np.zeros((x.shape[0], w.shape[0], x.shape[2], x.shape[3]))
    for i in range(3):
        for j in range(3):
            down, along = i * dilation, j * dilation
            seen = padded[:, :, down : down + x.shape[2], along : along + x.shape[3]]
            out += np.einsum("nchw,oc->nohw", seen, w[:, :, i, j].astype(np.float64))
    return out


def changed(place, value):
    def change(output):
        output[place] = value
        return output

    return change


def relu(change, **settings):
    return operator("ReLU", [normal(40, 48)], given=change, **settings)


def with_element(multiply, place, value):
    """A product or convolution with one element of its weight wrong."""

    def given(x, w):
        w = w.copy()
        w[place] = value
        return multiply(x, w)

    return given


def halves(x, w):
    """A product whose sums are kept in float16, block by block."""
    sums = np.zeros((40, 48), np.float16)
    for start in range(0, 64, 16):
        part = x[:, start : start + 16].astype(np.float32) @ w[start : start + 16]
        sums = (sums.astype(np.float32) + part).astype(np.float16)
    return sums


def coarse(x, w):
    """A product of operands in float16."""
    x, w = (a.astype(np.float16).astype(np.float64) for a in (x, w))
    return (x @ w).astype(np.float16)


def biased(change):
    """BiasAdd, its bias changed."""
    x, b = normal(40, 48), normal(48)
    return operator("BiasAdd", [x, b], 0, given=x + change(b))


def normalized(epsilon):
    x, scale, shift = normal(40, 48) * 0.2, normal(48), normal(48)
    mean, variance = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
    other = (x - mean) / np.sqrt(variance + epsilon) * scale + shift
    return operator("LayerNorm", [x, scale, shift], -1, -1, 1e-5, given=other)


def softmax_of_another_axis():
    x = normal(16, 20, 20)
    other = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    return operator("Softmax", [x], (-1,), given=other)


def fast_formula():
    x = normal(40, 48)
    return operator("GeLU", [x], given=x / (1 + np.exp(-1.702 * x)))


def exchanged():
    x, y = normal(40, 48), normal(40, 48) + 3
    return operator("RealDiv", [x, y], given=y / x)


def cut_product():
    factors = [normal(40, 48) * 300, normal(40, 48) * 300]
    return operator("Mul", factors, given=lambda o: o.clip(-65504, 65504))


def flipped(output):
    output.view(np.uint32)[np.unravel_index(np.argmax(output), output.shape)] ^= 1 << 27
    return output


def stale_tail():
    old = normal(1000)

    def stale(output):
        output.reshape(-1)[-64:] = old[320:384]
        return output

    return relu(stale, earlier=(old,))


def stale_inside():
    old = normal(100, 100)
    return relu(lambda o: old.reshape(-1)[80 : 80 + o.size].reshape(o.shape), earlier=(old,))


def stale_but_one():
    old = normal(1000)

    def stale(output):
        output.reshape(-1)[:-1] = old[: output.size - 1]
        return output

    return operator("ReLU", [normal(4, 60) + 5], given=stale, earlier=(old,))


def overrun():
    other = normal(77)

    def over(output):
        output.reshape(-1)[:64] = other[:64]
        return output

    return replace(relu(over, earlier=(other,)), read_later=True)


def overrun_of_a_feature_map():
    def over(output):
        output[0, :16, 0, :4] = normal(16, 4)
        return output

    return replace(operator("ReLU", [normal(1, 32, 8, 8) + 5], given=over), read_later=True)


def wrapped_integers():
    x = np.full((30, 30), 100, np.int8)
    y = RNG.integers(0, 100, (30, 30)).astype(np.int8)
    spec = TensorSpec("int8", x.shape)
    op = Op("add", "Add", (Param(0), Param(1)), outputs=(spec,), input_specs=(spec, spec))
    whole = x.astype(np.int32) + y
    expected = whole.clip(-128, 127).astype(np.int8)
    wrapped = ((whole + 128) % 256 - 128).astype(np.int8)
    return Trial(plain_kernel(op), {0: x, 1: y}, 0, wrapped, expected, 0.0)


CUBE = Arithmetic("cube")
TILE = (slice(32, 40), slice(32, 48))
ROW = (3, slice(4, 7))
THREE = Message("compare/elements", count=3, first=[3, 4])
ZERO = Message("compare/holds-number", value=0.0)
EARLIER, TENSOR = Message("compare/holds-earlier"), Message("compare/holds-tensor")
DROPPED = with_element(slow_convolution, np.s_[:, 16:, 2, 1:], 0)
KERNEL = with_element(slow_convolution, (7, 3, 1, 2), -20)
WEIGHT = with_element(np.matmul, (11, 5), 30)

FAULTS = [  # what happened, the trial, and what is told of it: kind, code, values
    ("a product by the transposed weight", lambda: product(lambda x, w: x @ w.reshape(48, 64).T),
     "transposed-weight", "transposed", {"first": 0, "second": 1}),
    ("a product without its last blocks", lambda: product(lambda x, w: x[:, :32] @ w[:32]),
     "dropped-k-tail", "k-tail", {"count": 2, "blocks": 4}),
    ("a convolution without the last taps", lambda: convolution(DROPPED),
     "dropped-k-tail", "k-tail", {"count": 2, "blocks": 18}),
    ("sums in float16", lambda: product(halves, arithmetic=CUBE),
     "half-accumulation", "accumulation", {"op_type": "MatMul"}),
    ("inputs and output in float16", lambda: product(coarse, arithmetic=CUBE),
     "missing-cast", "cast", {"dtype": "float16"}),
    ("a wrong element of a weight", lambda: product(WEIGHT),
     "wrong-weight-element", "weight", {"index": [11, 5], "value": 30.0}),
    ("a wrong element of a kernel", lambda: convolution(KERNEL),
     "wrong-weight-element", "weight", {"index": [7, 3, 1, 2], "value": -20.0}),
    ("a wrong element of a bias", lambda: biased(lambda b: changed(9, 4)(b.copy())),
     "wrong-weight-element", "weight", {"index": [9], "value": 4.0}),
    ("a window that is shifted", lambda: convolution(lambda x, w: slow_convolution(x, w, (2, 1))),
     "wrong-attribute", "convolution", {"pads": (2, 0, 1, 1)}),
    ("a kernel that is dilated", lambda: convolution(lambda x, w: slow_convolution(x, w, (2, 2), 2)),
     "wrong-attribute", "convolution", {"dilation": (2, 2)}),
    ("another epsilon", lambda: normalized(1e-3),
     "wrong-attribute", "setting", {"name": "epsilon", "used": "0.001"}),
    ("an odd epsilon", lambda: normalized(0.0271),
     "wrong-attribute", "setting", {"name": "epsilon", "used": "0.0271"}),
    ("another axis", softmax_of_another_axis,
     "wrong-attribute", "setting", {"name": "axis", "used": "(1,)"}),
    ("a fast formula", fast_formula, "fast-approximation", "formula", {"op_type": "GeLU"}),
    ("inputs exchanged", exchanged, "swapped-inputs", "swapped", {"first": 0, "second": 1}),
    ("an operator that did nothing", lambda: biased(np.zeros_like),
     "missing-step", "missing", {"slot": 0}),
    ("axes in another order", lambda: relu(lambda o: np.ascontiguousarray(o.T).reshape(o.shape)),
     "transposed-output", "order", {"axes": [1, 0]}),
    ("a factor near one", lambda: relu(lambda o: o * np.float32(1.01)),
     "scaled-output", "scale", {"factor": 1.01}),
    ("a half", lambda: relu(lambda o: o * np.float32(0.5)),
     "scaled-output", "scale", {"factor": 0.5}),
    ("a larger factor", lambda: relu(lambda o: o * np.float32(3.3)),
     "scaled-output", "scale", {"factor": 3.3}),
    ("the smallest are gone", lambda: relu(lambda o: np.where(o < 0.25, 0, o)),
     "flush-to-zero", "flush", {"limit": 0.25}),
    ("the largest are cut", lambda: relu(lambda o: np.minimum(o, 1.5)),
     "saturated", "saturated", {"limit": 1.5}),
    ("the largest are cut where a format ends", cut_product,
     "saturated", "saturated-at", {"limit": 65504.0, "dtype": "float16"}),
    ("lanes exchanged", lambda: relu(lambda o: o[:, np.arange(48) ^ 4]),
     "wrong-layout-lanes", "lanes", {"distance": 4}),
    ("a bit", lambda: relu(flipped), "bit-flip", "bit", {"bit": 27}),
    ("not a number", lambda: relu(changed(ROW, np.nan)), "nan-output", "nan", {"where": THREE}),
    ("few neighbors", lambda: relu(changed(ROW, [9.0, 8.5, -3])),
     "overwritten-element", "overwritten", {"where": THREE}),
    ("the last tile of a product", lambda: product(lambda x, w: changed(TILE, 0)(x @ w)),
     "unwritten-tail-tile", "tile", {"content": ZERO}),
    ("the last bytes of a vector", stale_tail,
     "unwritten-tail-tile", "tail", {"size": 256, "content": EARLIER}),
    ("nothing written", lambda: relu(np.zeros_like), "stale-output", "zero", {}),
    ("what another operator wrote", stale_inside, "stale-output", "stale", {}),
    ("what another wrote, one element right by chance", stale_but_one, "stale-output", "stale", {}),
    ("what another operator wrote over the beginning", overrun,
     "overrun", "overrun", {"size": 256, "content": TENSOR}),
    ("what was written over the beginning of a feature map", overrun_of_a_feature_map,
     "overrun", "overrun-in", {"format": "NC1HWC0"}),
    ("integers that wrap", wrapped_integers, "integer-wrap", "wrapped", {"dtype": "int8"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("trial", "kind", "code", "values"), [pytest.param(*rest, id=name) for name, *rest in FAULTS]
)
def test_the_best_explanation_is_the_fault_that_was_made(trial, kind, code, values):
    """It says what was made; close numbers are the same."""
    trial = trial()
    best = explain(trial)[0]
    assert (best.kind, best.share > 0.9) == (kind, True), explain(trial)[:3]
    close = {
        name: pytest.approx(value, rel=1e-3) if isinstance(value, float) else value
        for name, value in values.items()
    }
    check_said(best.text, f"compare/fault-{code}", **close)
