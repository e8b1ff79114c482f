"""Faults made by hand, without the simulated device: every kind is told where it is the only one that fits."""

from __future__ import annotations

import numpy as np
import pytest

from kit.words import check_said
from workbench.comparison.explain.explain import explain
from workbench.comparison.replay.kernel import EXACT, Arithmetic, Trial, cast_like, plain_kernel
from workbench.core.tensors import TensorSpec
from workbench.core.words import Message
from workbench.graph.nodes import Const, Op, Param

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
    exact = kernel.run(read, arithmetic)[0]
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


def told(trial, kind, code, **values):
    """The best explanation must be of this kind and say this; close numbers are the same."""
    best = explain(trial)[0]
    assert (best.kind, best.share > 0.9) == (kind, True), explain(trial)[:3]
    close = {
        name: pytest.approx(value, rel=1e-3) if isinstance(value, float) else value
        for name, value in values.items()
    }
    check_said(best.text, f"compare/fault-{code}", **close)
    return best.text


def changed(place, value):
    def change(output):
        output[place] = value
        return output

    return change


def relu(change, **settings):
    return operator("ReLU", [normal(40, 48)], given=change, **settings)


def test_a_product_by_the_transposed_weight():
    told(
        product(lambda x, w: x @ w.reshape(48, 64).T),
        "transposed-weight",
        "transposed",
        first=0,
        second=1,
    )


def test_a_product_without_its_last_blocks():
    told(product(lambda x, w: x[:, :32] @ w[:32]), "dropped-k-tail", "k-tail", count=2, blocks=4)


def test_a_convolution_without_the_last_taps():
    def cut(x, w):
        w = w.copy()
        w[:, 16:, 2, 1:] = 0
        return slow_convolution(x, w)

    told(convolution(cut), "dropped-k-tail", "k-tail", count=2, blocks=18)


def test_sums_in_float16():
    def halves(x, w):
        sums = np.zeros((40, 48), np.float16)
        for start in range(0, 64, 16):
            part = x[:, start : start + 16].astype(np.float32) @ w[start : start + 16]
            sums = (sums.astype(np.float32) + part).astype(np.float16)
        return sums

    told(
        product(halves, arithmetic=Arithmetic("cube")),
        "half-accumulation",
        "accumulation",
        op_type="MatMul",
    )


def test_inputs_and_output_in_float16():
    def coarse(x, w):
        x, w = (a.astype(np.float16).astype(np.float64) for a in (x, w))
        return (x @ w).astype(np.float16)

    told(product(coarse, arithmetic=Arithmetic("cube")), "missing-cast", "cast", dtype="float16")


def test_a_wrong_element_of_a_weight():
    def wrong(x, w):
        w = w.copy()
        w[11, 5] = 30
        return x @ w

    told(product(wrong), "wrong-weight-element", "weight", index=[11, 5], value=30.0)


def test_a_wrong_element_of_a_kernel():
    def wrong(x, w):
        w = w.copy()
        w[7, 3, 1, 2] = -20
        return slow_convolution(x, w)

    told(convolution(wrong), "wrong-weight-element", "weight", index=[7, 3, 1, 2], value=-20.0)


def test_a_wrong_element_of_a_bias():
    x, b = normal(40, 48), normal(48)
    wrong = b.copy()
    wrong[9] = 4
    told(
        operator("BiasAdd", [x, b], 0, given=x + wrong),
        "wrong-weight-element",
        "weight",
        index=[9],
        value=4.0,
    )


def test_a_window_that_is_shifted():
    told(
        convolution(lambda x, w: slow_convolution(x, w, (2, 1))),
        "wrong-attribute",
        "convolution",
        pads=(2, 0, 1, 1),
    )


def test_a_kernel_that_is_dilated():
    told(
        convolution(lambda x, w: slow_convolution(x, w, (2, 2), 2)),
        "wrong-attribute",
        "convolution",
        dilation=(2, 2),
    )


@pytest.mark.parametrize("epsilon", [1e-3, 0.0271])
def test_another_epsilon(epsilon):
    x, scale, shift = normal(40, 48) * 0.2, normal(48), normal(48)
    mean, variance = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
    other = (x - mean) / np.sqrt(variance + epsilon) * scale + shift
    trial = operator("LayerNorm", [x, scale, shift], -1, -1, 1e-5, given=other)
    told(trial, "wrong-attribute", "setting", name="epsilon", used=f"{epsilon:g}")


def test_another_axis():
    x = normal(16, 20, 20)
    other = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    told(
        operator("Softmax", [x], (-1,), given=other),
        "wrong-attribute",
        "setting",
        name="axis",
        used="(1,)",
    )


def test_a_fast_formula():
    x = normal(40, 48)
    told(
        operator("GeLU", [x], given=x / (1 + np.exp(-1.702 * x))),
        "fast-approximation",
        "formula",
        op_type="GeLU",
    )


def test_inputs_exchanged():
    x, y = normal(40, 48), normal(40, 48) + 3
    told(operator("RealDiv", [x, y], given=y / x), "swapped-inputs", "swapped", first=0, second=1)


def test_an_operator_that_did_nothing():
    x, b = normal(40, 48), normal(48)
    told(operator("BiasAdd", [x, b], 0, given=x), "missing-step", "missing", slot=0)


def test_axes_in_another_order():
    trial = relu(lambda o: np.ascontiguousarray(o.T).reshape(o.shape))
    told(trial, "transposed-output", "order", axes=[1, 0])


@pytest.mark.parametrize("factor", [1.01, 0.5, 3.3])
def test_a_factor(factor):
    told(relu(lambda o: o * np.float32(factor)), "scaled-output", "scale", factor=factor)


def test_the_smallest_are_gone():
    told(relu(lambda o: np.where(o < 0.25, 0, o)), "flush-to-zero", "flush", limit=0.25)


def test_the_largest_are_cut():
    told(relu(lambda o: np.minimum(o, 1.5)), "saturated", "saturated", limit=1.5)
    trial = operator(
        "Mul", [normal(40, 48) * 300, normal(40, 48) * 300], given=lambda o: o.clip(-65504, 65504)
    )
    told(trial, "saturated", "saturated-at", limit=65504.0, dtype="float16")


def test_lanes_exchanged():
    told(relu(lambda o: o[:, np.arange(48) ^ 4]), "wrong-layout-lanes", "lanes", distance=4)


def test_a_bit():
    def flipped(output):
        output.view(np.uint32)[np.unravel_index(np.argmax(output), output.shape)] ^= 1 << 27
        return output

    told(relu(flipped), "bit-flip", "bit", bit=27)


THREE = Message("compare/elements", count=3, first=[3, 4])


def test_not_a_number():
    told(
        relu(changed((3, slice(4, 7)), np.nan)),
        "nan-output",
        "nan",
        where=Message("compare/elements", count=3, first=[3, 4]),
    )


def test_few_neighbors():
    told(
        relu(changed((3, slice(4, 7)), [9.0, 8.5, -3])),
        "overwritten-element",
        "overwritten",
        where=Message("compare/elements", count=3, first=[3, 4]),
    )


def test_the_last_tile_of_a_product():
    told(
        product(lambda x, w: changed((slice(32, 40), slice(32, 48)), 0)(x @ w)),
        "unwritten-tail-tile",
        "tile",
        content=Message("compare/holds-number", value=0.0),
    )


def test_the_last_bytes_of_a_vector():
    old = normal(1000)

    def stale(output):
        output.reshape(-1)[-64:] = old[320:384]
        return output

    told(
        relu(stale, earlier=(old,)),
        "unwritten-tail-tile",
        "tail",
        size=256,
        content=Message("compare/holds-earlier"),
    )


def test_nothing_written():
    told(relu(np.zeros_like), "stale-output", "zero")


def test_what_another_operator_wrote():
    old = normal(100, 100)
    trial = relu(lambda o: old.reshape(-1)[80 : 80 + o.size].reshape(o.shape), earlier=(old,))
    told(trial, "stale-output", "stale")


def test_what_another_operator_wrote_and_one_element_is_right_by_chance():
    old = normal(1000)

    def stale(output):
        output.reshape(-1)[:-1] = old[: output.size - 1]
        return output

    trial = operator("ReLU", [normal(4, 60) + 5], given=stale, earlier=(old,))
    told(trial, "stale-output", "stale")


def test_what_another_operator_wrote_over_the_beginning():
    other = normal(77)

    def over(output):
        output.reshape(-1)[:64] = other[:64]
        return output

    told(
        relu(over, earlier=(other,)),
        "overrun",
        "overrun",
        size=256,
        content=Message("compare/holds-tensor"),
    )


def test_what_was_written_over_the_beginning_of_a_feature_map():
    def over(output):
        output[0, :16, 0, :4] = normal(16, 4)
        return output

    trial = operator("ReLU", [normal(1, 32, 8, 8) + 5], given=over)
    told(trial, "overrun", "overrun-in", format="NC1HWC0")


def test_integers_that_wrap():
    x = np.full((30, 30), 100, np.int8)
    y = RNG.integers(0, 100, (30, 30)).astype(np.int8)
    spec = TensorSpec("int8", x.shape)
    op = Op("add", "Add", (Param(0), Param(1)), outputs=(spec,), input_specs=(spec, spec))
    whole = x.astype(np.int32) + y
    expected = whole.clip(-128, 127).astype(np.int8)
    wrapped = ((whole + 128) % 256 - 128).astype(np.int8)
    trial = Trial(plain_kernel(op), {0: x, 1: y}, 0, wrapped, expected, 0.0)
    told(trial, "integer-wrap", "wrapped", dtype="int8")
