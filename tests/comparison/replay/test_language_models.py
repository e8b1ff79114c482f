"""A layer of a language model: attention, normalization and experts computed again, and one fault named."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import workbench as wb
from kit.build.runs import by_name, reasons, replayed
from kit.build.small_dumps import Net, Shot, file_name, in_memory
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Const, Value

B, S, N, D = 2, 6, 4, 8
H = N * D
RNG = np.random.default_rng(41)
QUERY, RESIDUAL = (RNG.standard_normal((B, S, H)).astype(np.float16) for _ in range(2))
KEY, VALUE = (RNG.standard_normal((B, S, H // 2)).astype(np.float16) for _ in range(2))
GAMMA = RNG.uniform(0.5, 2, H).astype(np.float16)
MASK = np.triu(np.ones((2048, 2048), np.uint8), 1)
SCALE = 1 / math.sqrt(D)


def attention(scale=SCALE, behind=0):
    """Loops over heads and positions; two heads share their keys, a position sees what is not behind it."""
    out = np.zeros((B, S, H))
    statistics = np.zeros((2, B, N, S, 8), np.float32)
    for b, n, s in np.ndindex(B, N, S):
        own, shared = slice(n * D, n * D + D), slice(n // 2 * D, n // 2 * D + D)
        seen = slice(0, s + 1 + behind)
        scores = scale * (KEY[b, seen, shared].astype(float) @ QUERY[b, s, own].astype(float))
        shares = np.exp(scores - scores.max())
        statistics[:, b, n, s] = [[scores.max()], [shares.sum()]]
        out[b, s, own] = shares @ VALUE[b, seen, shared].astype(float) / shares.sum()
    return [*statistics, np.zeros(1, np.float16), out.astype(np.float16)]


def normalization(x1, x2, epsilon=1e-6):
    total = x1.astype(float) + x2.astype(float)
    factor = 1 / np.sqrt((total**2).mean(-1, keepdims=True) + epsilon)
    return [
        (total * factor * GAMMA.astype(float)).astype(np.float16),
        factor.astype(np.float32),
        total.astype(np.float16),
    ]


def gate(x):
    first, second = np.split(x.astype(float), 2, axis=-1)
    return [(first / (1 + np.exp(-first)) * second).astype(np.float16)]


class Layer:
    """FlashAttentionScore, AddRmsNorm and Swiglu, and what they read and give."""

    def __init__(self, attention=attention, normalization=normalization, gate=gate):
        self.net, self.shots = Net(), []
        none, half = Const(None, "None"), "float16"
        query, key, value, residual = (
            self.net.feed(name, array.shape, half)
            for name, array in zip(
                ("query", "key", "value", "residual"), (QUERY, KEY, VALUE, RESIDUAL), strict=True
            )
        )
        mask, gamma = self.net.feed("mask", MASK.shape, "uint8"), self.net.feed("gamma", (H,), half)
        told = {"head_num": N, "scale_value": SCALE, "input_layout": "BSH", "sparse_mode": 3}
        tensors = {0: QUERY, 1: KEY, 2: VALUE, 6: MASK}
        operands = (query, key, value, none, none, none, mask, none, none, none)
        found = self.add("FlashAttentionScore", operands, tensors, attention(), told)
        operands = (Value(0, 3), residual, gamma, Const(1e-6, "float32"))
        tensors = {0: found[3], 1: RESIDUAL, 2: GAMMA}
        found = self.add("AddRmsNorm", operands, tensors, normalization(found[3], RESIDUAL), {})
        operands = (Value(1), Const(-1, "int64"))
        self.add("Swiglu", operands, {0: found[0]}, gate(found[0]), {})

    def add(self, op_type, operands, tensors, results, attrs):
        self.net.op(op_type, *operands, outputs=len(results), attrs=attrs)
        outputs = tuple(TensorSpec(one.dtype.name, one.shape) for one in results)
        self.net.ops[-1] = replace(self.net.ops[-1], outputs=outputs)
        name = file_name(self.net.ops[-1].name)
        self.shots += [Shot(op_type, name, "input", slot, one) for slot, one in tensors.items()]
        self.shots += [Shot(op_type, name, "output", slot, one) for slot, one in enumerate(results)]
        return results

    def dump(self):
        return in_memory(self.shots, self.net.graph())


CLEAN = Layer().dump()
FAULTS = {
    "FlashAttentionScore": {"attention": lambda: attention(scale=SCALE / 2)},
    "FlashAttentionScore of one key more": {"attention": lambda: attention(behind=1)},
    "AddRmsNorm": {"normalization": lambda x, y: normalization(x, y, 0.5)},
    "Swiglu": {"gate": lambda x: gate(np.roll(x, H // 2, axis=-1))},
}


def test_what_is_right_has_errors_of_rounding_alone():
    found = replayed(CLEAN)
    assert reasons(found) == {}
    assert {name for name, _ in by_name(found)} == {
        "Default/FlashAttentionScore-op0", "Default/AddRmsNorm-op0", "Default/Swiglu-op0"
    }  # fmt: skip
    assert found.suspects == []
    assert wb.compare(CLEAN, CLEAN).verdict == "pass"


@pytest.mark.parametrize("name", FAULTS)
def test_the_operator_with_the_fault_is_named(name):
    op_type = name.split()[0]
    found = wb.compare(Layer(**FAULTS[name]).dump(), CLEAN)
    assert found.verdict == "fail"
    assert [one.op_type for one in found.findings if one.score > 0.5] == [op_type]
    own = by_name(replayed(Layer(**FAULTS[name]).dump(), CLEAN))
    assert {place for (place, _), one in own.items() if one.suspect} == {f"Default/{op_type}-op0"}
