"""Which known order an operator's inputs have, and what it gives in it: the shapes and kinds of operators."""

import numpy as np
import pytest

from workbench.npu.orders.known import NO_ORDERS, Orders
from workbench.npu.orders.tree import Order, pairwise, sequential


def known(operator, n=4, product="", equal=3, dtype="float32", tree=pairwise):
    return Order(tree(n), dtype, "float32", product, "a2", operator, equal, 3)


SUM, UNSURE = known("ReduceSum"), known("ReduceSum", equal=2, tree=sequential)
PRODUCT, STACKED = known("MatMul", product="rounded"), known("BatchMatMul", product="fused")
HALF = known("ReduceSum", dtype="float16")
ORDERS = Orders((UNSURE, SUM, PRODUCT, STACKED, HALF))
X = np.random.default_rng(0).standard_normal((3, 5, 4)).astype(np.float32)
PLAIN = {"transpose_a": False, "transpose_b": False}


def reduced(axis, **more):
    return {"axis": axis, "keep_dims": False, "skip_mode": False, **more}


FOUND = [
    ("ReduceSum", "float32", (X,), reduced((2,)), SUM),
    ("ReduceSum", "float32", (X,), reduced(-1), SUM),
    ("ReduceSum", "float16", (X,), reduced(-1), HALF),
    ("ReduceSum", "bfloat16", (X,), reduced(-1), None),
    ("ReduceSum", "float32", (X,), reduced((1,)), None),
    ("ReduceSum", "float32", (X,), reduced((1, 2)), None),
    ("ReduceSum", "float32", (X[0, 0],), reduced(()), SUM),
    ("ReduceSum", "float32", (X[0, 0],), reduced(None), SUM),
    ("ReduceSum", "float32", (X[0, 0],), reduced((), skip_mode=True), None),
    ("ReduceSum", "float32", (X[0, 0],), reduced(None, skip_mode=True), None),
    ("ReduceSum", "float32", (X[0, 0],), reduced((0,), skip_mode=True), SUM),
    ("ReduceSum", "float32", (X.astype(np.int32),), reduced(-1), None),
    ("ReduceSum", "float32", (), reduced(-1), None),
    ("ReduceMean", "float32", (X,), reduced(-1), None),
    ("MatMul", "float32", (X[0], X[0].T), PLAIN, PRODUCT),
    ("MatMul", "float32", (X[0].T, X[0].T), PLAIN | {"transpose_a": True}, PRODUCT),
    ("MatMul", "float32", (X[0].T, X[0]), PLAIN, None),
    ("MatMul", "float32", (X[0], X[0]), PLAIN | {"transpose_b": True}, PRODUCT),
    ("MatMul", "float32", (X[0], X[0], X[0]), PLAIN, None),
    ("MatMul", "float32", (X[0], X[0, 0]), PLAIN, None),
    ("BatchMatMul", "float32", (X, X), PLAIN | {"transpose_b": True}, STACKED),
]  # fmt: skip


@pytest.mark.parametrize(
    ("operator", "dtype", "inputs", "settings", "order"), FOUND, ids=range(len(FOUND))
)
def test_an_order_is_found_by_operator_format_and_length(operator, dtype, inputs, settings, order):
    assert ORDERS.order_of(operator, dtype, inputs, settings) is order


def test_an_order_of_sums_serves_no_product_and_the_other_way_around():
    wrong = Orders((known("MatMul"), known("ReduceSum", product="rounded")))
    assert wrong.order_of("MatMul", "float32", (X[0], X[0].T), PLAIN) is None
    assert wrong.order_of("ReduceSum", "float32", (X,), reduced(-1)) is None


def test_sums_and_products_are_those_of_the_order():
    total = ORDERS.compute("ReduceSum", "float32", (X,), reduced(-1))
    np.testing.assert_array_equal(total, SUM.total(X))
    kept = ORDERS.compute("ReduceSum", "float32", (X,), reduced(-1, keep_dims=True))
    np.testing.assert_array_equal(kept, SUM.total(X)[..., None])
    for settings, left, right in (
        (PLAIN, X[0], X[1].T),
        ({"transpose_a": True, "transpose_b": True}, X[0].T, X[1]),
    ):
        found = ORDERS.compute("MatMul", "float32", (left, right), settings)
        np.testing.assert_array_equal(found, PRODUCT.matmul(X[0], X[1].T))
    assert ORDERS.compute("ReduceSum", "float32", (X,), reduced(0)) is None


@pytest.mark.parametrize(
    ("accumulator", "dtype"),
    [("float16", np.float32), ("float32", np.float32), ("float64", np.float64)],
)
def test_a_result_is_in_single_precision_or_wider(accumulator, dtype):
    order = Order(pairwise(4), "float32", accumulator, "", "", "ReduceSum", 1, 1)
    found = Orders((order,)).compute("ReduceSum", "float32", (X,), reduced(-1))
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, order.total(X))


def test_orders_are_counted():
    assert (len(ORDERS), bool(ORDERS), len(NO_ORDERS), bool(NO_ORDERS)) == (5, True, 0, False)
    assert ORDERS.find("ReduceSum", "float32", 4) is SUM
    assert NO_ORDERS.order_of("ReduceSum", "float32", (X,), reduced(-1)) is None
