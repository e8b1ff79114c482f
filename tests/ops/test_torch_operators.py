"""Operators of NPU dumps against what PyTorch computes on a CPU with the same inputs.

The record is made by ``make conformance-torch``; nothing here needs PyTorch. Each operator is computed as the
comparison does it: the way that `workbench.comparison.replay.lowering` knows.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from workbench.comparison.replay.kernel import compute_kernel
from workbench.comparison.replay.lowering import lower
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Const, Op, Param
from workbench.ops import OPS
from workbench.ops.aliases import ALIASES
from workbench.ops.decompositions import DECOMPOSITIONS
from workbench.ops.kernels import transformer

RECORD = Path(__file__).parents[1] / "data" / "conformance" / "aclnn_torch_2.14.1_cpu.json"
CASES = json.loads(RECORD.read_text(encoding="utf-8"))["cases"]
IDS = [f"{number}-{case['op']}" for number, case in enumerate(CASES)]

CLOSE = {"float32": 2e-6, "float16": 2.0**-10, "bfloat16": 2.0**-7}
"""A few units in the last place of what PyTorch stored."""

TYPES = {
    "AddExt", "AddRmsNorm", "Adds", "ApplyAdagrad",
    "ApplyAdam",
    "L2Loss",
    "SoftmaxGrad",
    "View",
 "ApplyRMSProp", "ArgMaxExt", "AvgPool2D",
    "BCEWithLogitsLoss", "BatchNormExt", "BinaryCrossEntropy", "ClampTensor", "Conv3D", "Convolution",
    "ConvolutionGrad", "Dense", "Embedding", "FlashAttentionScore", "GatherV2", "GatherV2D",
    "IncreFlashAttention", "InplaceAddExt", "L1LossExt", "LayerNormExt", "LayerNormV3", "LinSpace",
    "MSELossExt", "MatMulExt", "MaxPoolWithMask", "MeanExt", "MoeGatingTopK", "MoeGatingTopKSoftmax",
    "Muls", "NLLLoss", "Pad", "PromptFlashAttention", "Range", "RmsNorm", "RotaryPositionEmbedding",
    "SmoothL1Loss", "SoftplusExt", "StridedSliceD", "SubExt", "SumExt", "SwiGlu", "Swiglu",
    "UpsampleNearest2D",
}  # fmt: skip
"""Types of the record."""


def unpacked(value):
    dtype = ml_dtypes.bfloat16 if value["dtype"] == "bfloat16" else value["dtype"]
    return np.frombuffer(base64.b64decode(value["data"]), dtype).reshape(value["shape"])


def tuples(value):
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def constant(value):
    if value is None:
        return Const(None, "None")
    kind = {bool: "bool", int: "int64", float: "float32"}.get(type(value), "tuple")
    return Const(tuples(value), kind, () if kind != "tuple" else None)


def operator(case):
    """The operator as a graph has it, and its tensors by flat input."""
    inputs, specs, arrays = [], [], {}
    for slot, operand in enumerate(case["operands"]):
        if "constant" in operand:
            inputs.append(constant(operand["constant"]))
            specs.append(None)
            continue
        arrays[slot] = unpacked(operand)
        inputs.append(Param(slot))
        specs.append(TensorSpec(operand["dtype"], tuple(operand["shape"])))
    known = {int(slot): one for slot, one in case["outputs"].items()}
    outputs = tuple(
        TensorSpec(known[slot]["dtype"], tuple(known[slot]["shape"]))
        if slot in known
        else TensorSpec("float32", (1,))
        for slot in range(max(known) + 1)
    )
    attrs = {name: tuples(value) for name, value in case["attrs"].items()}
    op = Op("Default/op", case["op"], tuple(inputs), attrs, outputs, tuple(specs))
    return op, arrays


def test_the_record_covers_the_types():
    assert {case["op"] for case in CASES} == TYPES
    assert OPS.keys() | ALIASES.keys() | DECOMPOSITIONS.keys() >= TYPES


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_an_operator_gives_what_pytorch_gives(case):
    op, arrays = operator(case)
    work = lower(0, op, None)
    assert work.kernel is not None, work.reason
    found = compute_kernel(work.kernel, arrays)
    for slot, recorded in case["outputs"].items():
        want, got = unpacked(recorded), np.asarray(found[int(slot)])
        assert got.shape == want.shape
        exact = recorded["dtype"] not in CLOSE
        close = 0 if exact else CLOSE[recorded["dtype"]]
        np.testing.assert_allclose(
            got.astype(np.float64), want.astype(np.float64), rtol=close, atol=close
        )


@pytest.mark.parametrize("scores", [1, 12])
def test_attention_is_the_same_in_blocks_of_few_rows(monkeypatch, scores):
    monkeypatch.setattr(transformer, "_SCORES", scores)
    for case in CASES:
        if case["op"] == "FlashAttentionScore":
            test_an_operator_gives_what_pytorch_gives(case)
