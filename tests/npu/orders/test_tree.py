"""Trees of additions as values: which are trees, their levels, common nodes and one spelling; sums in plain Python."""

import math

import ml_dtypes
import numpy as np
import pytest

from kit.words import refused
from workbench.core.errors import FormatError
from workbench.npu.orders.tree import (
    MOST_TERMS,
    Order,
    Tree,
    blocked,
    canonical,
    check_tree,
    pairwise,
    sequential,
)

FOUR = ((0, 1), (2, 3), (4, 5))
WIDE = ((0, 1, 2), (3, 4), (5, 6))

SPELLED = [
    (sequential(2), ((0, 1),)),
    (sequential(4), ((0, 1), (4, 2), (5, 3))),
    (pairwise(4), FOUR),
    (pairwise(5), ((0, 1), (2, 3), (5, 6), (7, 4))),
    (pairwise(6), ((0, 1), (2, 3), (4, 5), (6, 7), (9, 8))),
    (blocked(4, 2), FOUR),
    (blocked(5, 2), ((0, 1), (2, 3), (5, 6), (7, 4))),
    (blocked(6, 3, "sequential"), ((0, 1), (3, 4), (6, 2), (7, 5), (8, 9))),
    (blocked(3, 8), ((0, 1), (3, 2))),
    (sequential(1), ()),
]


@pytest.mark.parametrize(("tree", "steps"), SPELLED, ids=range(len(SPELLED)))
def test_orders_that_are_not_measured_have_these_steps(tree, steps):
    assert tree.steps == steps


@pytest.mark.parametrize(
    ("n", "steps", "same"),
    [
        (4, [(3, 2), (1, 0), (4, 5)], FOUR),
        (4, [(1, 0), (2, 3), (5, 4)], FOUR),
        (5, [(4, 3), (2, 1, 0), (5, 6)], ((3, 4), (0, 1, 2), (6, 5))),
        (3, [(2, 0), (1, 3)], ((0, 2), (3, 1))),
    ],
)
def test_a_tree_has_one_spelling(n, steps, same):
    assert canonical(n, steps) == Tree(n, same)


NO_TREES = [
    (0, [], "run/order-terms"),
    (MOST_TERMS + 1, [], "run/order-terms"),
    (2, [], "run/order-unfinished"),
    (3, [(0, 1)], "run/order-unfinished"),
    (2, [(0, 0)], "run/order-step"),
    (2, [(0, 2)], "run/order-step"),
    (2, [(0, -1)], "run/order-step"),
    (2, [(0,), (1, 2)], "run/order-step"),
    (2, [()], "run/order-step"),
    (2, [(0, 1), (0, 2)], "run/order-step"),
    (1, [(0,)], "run/order-step"),
    (2, [(0, 1), (2,)], "run/order-step"),
]


@pytest.mark.parametrize(("n", "steps", "code"), NO_TREES)
def test_what_is_no_tree_is_refused(n, steps, code):
    with refused(code, FormatError):
        check_tree(n, steps)


def test_the_longest_sum_is_one():
    check_tree(1, [])
    assert Tree(MOST_TERMS, sequential_steps(MOST_TERMS)).n == MOST_TERMS


def sequential_steps(n):
    return tuple((n + k - 1 if k else 0, k + 1) for k in range(n - 1))


@pytest.mark.parametrize(
    ("n", "steps", "levels", "binary"),
    [
        (4, FOUR, [[0, 1], [2]], True),
        (4, sequential(4).steps, [[0], [1], [2]], True),
        (5, WIDE, [[0, 1], [2]], False),
        (1, (), [], True),
    ],
)
def test_steps_of_one_level_read_those_below(n, steps, levels, binary):
    tree = Tree(n, steps)
    assert (tree.levels(), tree.is_binary) == (levels, binary)


@pytest.mark.parametrize(
    ("n", "steps", "common"),
    [
        (4, FOUR, [[1, 2, 4, 4], [2, 1, 4, 4], [4, 4, 1, 2], [4, 4, 2, 1]]),
        (3, ((0, 2), (3, 1)), [[1, 3, 2], [3, 1, 3], [2, 3, 1]]),
        (3, ((0, 1, 2),), [[1, 3, 3], [3, 1, 3], [3, 3, 1]]),
    ],
)
def test_two_leaves_meet_below_so_many(n, steps, common):
    assert Tree(n, steps).common().tolist() == common


def summed(tree, terms, kind):
    """Each step exactly, then rounded once: in plain Python."""
    nodes = [kind(term) for term in terms]
    for step in tree.steps:
        nodes.append(kind(math.fsum(float(nodes[node]) for node in step)))
    return nodes[-1]


X = np.random.default_rng(2).standard_normal((6, 7)).astype(np.float32) * np.float32(100)
KINDS = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32}


@pytest.mark.parametrize("accumulator", KINDS)
@pytest.mark.parametrize(
    "tree",
    [sequential(7), pairwise(7), blocked(7, 3), Tree(7, ((0, 1, 2), (3, 4), (5, 6), (7, 8, 9)))],
)
def test_a_sum_is_rounded_at_every_step(tree, accumulator):
    order = Order(tree, accumulator=accumulator)
    want = [summed(tree, row, KINDS[accumulator]) for row in X]
    for found in (order.total(X), order.total(X.T, 0), order.total(X[None], 2)[0]):
        assert found.dtype == KINDS[accumulator]
        np.testing.assert_array_equal(found, want)


def multiplied(tree, left, right, how):
    """Products rounded first, or the last single one of a step taken exactly."""
    exact = [float(a) * float(b) for a, b in zip(left, right, strict=True)]
    nodes = [np.float32(one) for one in exact]
    for a, b in tree.steps:
        first, last = (a, b) if b < tree.n else (b, a)
        leaf = how == "fused" and last < tree.n
        pair = (float(nodes[first]), exact[last] if leaf else float(nodes[last]))
        nodes.append(np.float32(math.fsum(pair)))
    return nodes[-1]


@pytest.mark.parametrize("how", ["rounded", "fused"])
@pytest.mark.parametrize(
    "tree",
    [sequential(7), pairwise(7), canonical(7, [(6, 5), (4, 7), (3, 8), (0, 9), (1, 2), (10, 11)])],
)
def test_a_product_is_rounded_as_it_is_said(tree, how):
    order, y = Order(tree, product=how), X[::-1] / np.float32(3)
    want = [multiplied(tree, a, b, how) for a, b in zip(X, y, strict=True)]
    np.testing.assert_array_equal(order.dot(X, y), want)
    one = [multiplied(tree, a, y[0], how) for a in X]
    np.testing.assert_array_equal(order.dot(X, y[0]), one)


@pytest.mark.parametrize("at_once", [1, 1 << 22])
def test_a_matrix_product_is_the_products_of_rows_and_columns(monkeypatch, at_once):
    monkeypatch.setattr("workbench.npu.orders.tree._AT_ONCE", at_once)
    tree, y = pairwise(7), X[::-1, :] / np.float32(3)
    order = Order(tree, product="rounded")
    want = np.array([[multiplied(tree, a, b, "rounded") for b in y[:4]] for a in X])
    np.testing.assert_array_equal(order.matmul(X, y[:4].T), want)
    stacked = order.matmul(np.stack([X, X[::-1]]), y[:4].T)
    np.testing.assert_array_equal(stacked, [want, want[::-1]])


def test_an_order_that_failed_one_check_is_not_confirmed():
    tree = sequential(3)
    for equal, checks, confirmed in ((3, 3, True), (2, 3, False), (0, 0, False)):
        assert Order(tree, equal=equal, checks=checks).is_confirmed is confirmed
    named = Order(tree, equal=3, checks=3).named("ReduceSum", "a2")
    assert (named.operator, named.device, named.n, named.equal) == ("ReduceSum", "a2", 3, 3)
