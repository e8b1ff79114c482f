"""Operators under other names: what NumPy gives for the network's own definition of each."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.comparison.replay.kernel import compute_kernel, plain_kernel
from workbench.comparison.replay.spellings import EXPANSIONS, SPELLINGS, canonical_op
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Const, Op, Param
from workbench.ops import OPS

RNG = np.random.default_rng(3)
X, Y, B = (RNG.standard_normal(shape).astype(np.float32) for shape in ((3, 4), (4, 5), (5,)))


def op(op_type, *inputs, **attrs):
    return Op("op", op_type, inputs, attrs, (TensorSpec("float32", (3, 5)),))


def run(operator, *arrays):
    expand = EXPANSIONS.get(operator.op_type)
    kernel = expand(operator) if expand else plain_kernel(canonical_op(operator))
    return compute_kernel(kernel, dict(enumerate(arrays)))[0]


def check(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def wide(*arrays):
    return [a.astype(np.float64) for a in arrays]


def test_every_spelling_is_that_of_a_row():
    assert {row.op_type for row in SPELLINGS.values()} <= OPS.keys()
    assert not (SPELLINGS.keys() | EXPANSIONS.keys()) & OPS.keys()  # a row of its own comes first


def test_a_name_of_the_table_and_an_unknown_one_are_no_spelling():
    for op_type in ("MatMul", "NoSuchOperator"):
        assert canonical_op(op(op_type, Param(0))) is None
        assert op_type not in EXPANSIONS


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
