"""Operators under other names: what NumPy gives for the network's own definition of each."""

from __future__ import annotations

import numpy as np
import pytest

from kit.words import refused
from workbench.comparison.replay.kernel import compute_kernel, plain_kernel
from workbench.comparison.replay.lowering import RANDOM, REGISTERS
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Const, Op, Param
from workbench.ops import COLLECTIVES, OPS
from workbench.ops.aliases import ALIASES, resolve_alias
from workbench.ops.decompositions import DECOMPOSITIONS
from workbench.ops.not_computed import NOT_COMPUTED
from workbench.ops.table import KNOWN

RNG = np.random.default_rng(3)
X, Y, B = (RNG.standard_normal(shape).astype(np.float32) for shape in ((3, 4), (4, 5), (5,)))


def op(op_type, *inputs, **attrs):
    return Op("op", op_type, inputs, attrs, (TensorSpec("float32", (3, 5)),))


def run(operator, *arrays):
    expand = DECOMPOSITIONS.get(operator.op_type)
    kernel = expand(operator) if expand else plain_kernel(resolve_alias(operator))
    return compute_kernel(kernel, dict(enumerate(arrays)))[0]


def check(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def wide(*arrays):
    return [a.astype(np.float64) for a in arrays]


def test_every_spelling_is_that_of_a_row():
    assert {row.op_type for row in ALIASES.values()} <= OPS.keys()
    assert not (ALIASES.keys() | DECOMPOSITIONS.keys()) & OPS.keys()  # a row of its own comes first


def test_a_name_of_the_table_and_an_unknown_one_are_no_spelling():
    for op_type in ("MatMul", "NoSuchOperator"):
        assert resolve_alias(op(op_type, Param(0))) is None
        assert op_type not in DECOMPOSITIONS


@pytest.mark.parametrize(
    ("op_type", "attrs", "arrays", "formula"),
    [
        ("MatMulV2", {"transpose_x1": False, "transpose_x2": False}, (X, Y), lambda x, y: x @ y),
        ("MatMulV2", {"transpose_x1": True, "transpose_x2": False}, (X.T, Y), lambda x, y: x.T @ y),
        ("BatchMatMulV2", {"adj_x1": False, "adj_x2": True}, (X, Y.T), lambda x, y: x @ y.T),
        ("SoftmaxV2", {"axes": (0,)}, (X,), lambda x: np.exp(x) / np.exp(x).sum(0)),
        ("AddV2", {}, (X, X[:1]), lambda x, y: x + y),
        ("Relu", {}, (X,), lambda x: np.where(x > 0, x, 0)),
        ("Relu6", {}, (4 * X,), lambda x: np.clip(x, 0, 6)),
        ("MeanExt", {"axis": 1, "keepdim": True}, (X,), lambda x: x.mean(1, keepdims=True)),
        ("SumExt", {"dim": (0,)}, (X,), lambda x: x.sum(0)),
        ("SumExt", {"axis": None}, (X,), lambda x: x.sum()),
        ("ReduceMaxD", {"axes": (1,)}, (X,), lambda x: x.max(1)),
    ],
)  # fmt: skip
def test_other_names(op_type, attrs, arrays, formula):
    operator = op(op_type, *(Param(n) for n in range(len(arrays))), **attrs)
    check(run(operator, *arrays), formula(*wide(*arrays)))


def test_a_product_with_bias():
    fused = op("MatMulBiasAddFusion", Param(0), Param(1), Param(2))
    check(run(fused, X, Y, B), X.astype(float) @ Y.astype(float) + B)
    turned = op(
        "MatMulBiasAddReluFusion", Param(0), Param(1), Param(2), transpose_a=True, transpose_b=True
    )
    x, y = wide(X, Y)
    check(run(turned, X.T, Y.T, B), np.maximum(x @ y + B, 0))


@pytest.mark.parametrize("absent", [False, True])
def test_dense_with_and_without_bias(absent):
    x, y = wide(X, Y)
    bias = Const(None, "None") if absent else Param(2)
    found = run(op("Dense", Param(0), Param(1), bias), X, Y.T, B)
    check(found, x @ y + (0 if absent else B))


def test_dense_of_two_inputs():
    x, y = wide(X, Y)
    check(run(op("Dense", Param(0), Param(1)), X, Y.T), x @ y)


@pytest.mark.parametrize(("op_type", "sign"), [("AddExt", 1), ("SubExt", -1)])
@pytest.mark.parametrize("alpha", [None, 1, 3, -0.5])
def test_sums_with_alpha(op_type, sign, alpha):
    more = () if alpha is None else (Const(alpha, "float32"),)
    found = run(op(op_type, Param(0), Param(1), *more), X, 2 * X)
    check(found, X.astype(float) + sign * (1 if alpha is None else alpha) * 2 * X.astype(float))


def test_alpha_may_be_computed():
    found = run(op("AddExt", Param(0), Param(1), Param(2)), X, X, np.float32(7))
    check(found, 8 * X.astype(float))


def test_a_product_of_any_ranks():
    stack = np.stack([X, 2 * X])
    x, y = wide(stack, Y)
    check(run(op("MatMulExt", Param(0), Param(1)), stack, Y), x @ y)


# --- what files name -----------------------------------------------------------------------------

IN_FILES = """
    Adam Add AddN ApplyMomentum Assign AssignAdd AvgPool AvgPoolGrad BatchMatMul
    BatchMultiClassNonMaxSuppression BiasAdd BiasAddGrad Cast ConcatD Const Constant Conv2D
    Conv2DBackpropFilter Conv2DBackpropInput Data ExpandDims Flatten Gather GatherV2 GatherV2D GeLU LayerNorm
    MaskedFill MatMul MatMulBiasAddFusion MatMulBiasAddReluFusion MaxPool MaxPoolGrad Mul Muls NetOutput NoOp
    OneHot Pow ReLU RealDiv ReduceMean ReduceSum ReluGrad Reshape Sigmoid SigmoidGrad Softmax
    SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits Square StridedSliceD Sub Tanh TanhGrad
    Transpose TransposeD Variable
""".split()  # noqa: SIM905
"""Operator types of real dumps and graph files: MindSpore's, the graph engine's, AscendCL's."""

WAYS = (OPS, ALIASES, DECOMPOSITIONS, NOT_COMPUTED)


def test_every_type_that_files_name_is_computed_or_listed_with_its_reason():
    for name in {*IN_FILES, *KNOWN}:
        assert sum(name in way for way in WAYS) == 1, name


def test_nothing_is_listed_that_a_rule_of_its_own_tells():
    assert not NOT_COMPUTED.keys() & (RANDOM | REGISTERS | COLLECTIVES)


@pytest.mark.parametrize(
    ("op_type", "settings", "code"),
    [
        ("FlashAttentionScore", {"head_num": 1, "keep_prob": 0.9}, "core/choice"),
        ("FlashAttentionScore", {"head_num": 1, "sparse_mode": 7}, "core/choice"),
        ("FlashAttentionScore", {"head_num": 1, "input_layout": "TH"}, "core/choice"),
        ("FlashAttentionScore", {"head_num": 1, "next_tokens": 0}, "core/choice"),
        ("FlashAttentionScore", {"head_num": 1, "padding_mask": 1}, "core/choice"),
        ("PromptFlashAttention", {"pse_shift": 1}, "core/choice"),
        (
            "PromptFlashAttention",
            {"num_heads": 2, "num_key_value_heads": 1, "next_tokens": 9},
            "graph/shape",
        ),
        ("IncreFlashAttention", {"block_table": 1}, "core/choice"),
    ],
)
def test_what_documents_leave_open_is_refused(op_type, settings, code):
    x = RNG.standard_normal((1, 3, 4)).astype(np.float32)
    mask = {"attn_mask": np.zeros((3, 3), bool)}
    kernel = plain_kernel(op(op_type, Param(0), Param(1), Param(2), **mask, **settings))
    with refused(code, GraphError):
        compute_kernel(kernel, dict.fromkeys(range(3), x))


@pytest.mark.parametrize(
    ("op_type", "more", "code"),
    [
        ("Embedding", {"max_norm": 1.0}, "core/choice"),
        ("AvgPool2D", {"divisor_override": 3}, "core/choice"),
        ("MaxPoolWithMask", {"kernel_size": 2, "dilation": (2, 2)}, "core/choice"),
        ("L1LossExt", {"reduction": 7}, "core/choice"),
        ("Pad", {"paddings": None}, "graph/sizes-unknown"),
        ("UpsampleNearest2D", {"scales": (1.5, 2.0)}, "graph/sizes-unknown"),
        ("Convolution", {}, "graph/open-shape"),
    ],
)
def test_a_part_that_cannot_be_computed_is_refused(op_type, more, code):
    with refused(code, GraphError):
        DECOMPOSITIONS[op_type](op(op_type, Param(0), Param(1), **more))
