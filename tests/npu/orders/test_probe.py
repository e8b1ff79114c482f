"""The order of a sum is measured exactly; the oracle evaluates the found tree in plain Python, term by term."""

from __future__ import annotations

import itertools
import math
import struct

import numpy as np
import pytest

from workbench.core.errors import GraphError
from workbench.npu.orders import Order, blocked, pairwise, probe_order, sequential
from workbench.npu.orders.tree import Tree, canonical


def single(number):
    """Round a Python float to float32; what does not fit is infinite."""
    try:
        return struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)


def evaluate(tree, terms):
    """Sum terms as a tree of two-term float32 additions says: a float64 sum of two float32 rounds once more."""
    nodes = [float(term) for term in terms]
    for left, right in tree.steps:
        nodes.append(single(nodes[left] + nodes[right]))
    return nodes[-1]


@pytest.mark.parametrize("n", [2, 3, 7, 8, 9, 32, 129, 200])
def test_the_tree_of_numpy_sum_computes_the_same_bits(n):
    order = probe_order(np.sum, n, "float32", seed=5)
    assert order.is_confirmed
    assert order.checks == 300
    assert order.tree.is_binary
    rng = np.random.default_rng(n)
    for _ in range(300):
        x = (rng.standard_normal(n) * 10.0 ** rng.integers(-4, 5, n)).astype(np.float32)
        assert evaluate(order.tree, x) == float(np.sum(x))


def test_numpy_adds_eight_at_a_time_from_eight_terms_on():
    """Its loop is unrolled with eight accumulators: x0 + x8 + x16 + …, then these pairwise."""
    steps = {frozenset(step) for step in probe_order(np.sum, 32).tree.steps}
    assert {frozenset((k, k + 8)) for k in range(8)} <= steps


TREES = {
    "sequential": sequential(48),
    "pairwise": pairwise(48),
    "backwards": canonical(5, [(4, 3), (5, 2), (6, 1), (7, 0)]),
    "blocks of 16, pairwise": blocked(48, 16),
    "blocks of 32, sequential": blocked(80, 32, "sequential"),
    "four of a kind": canonical(
        16, [(k, k + 4, k + 8, k + 12) for k in range(4)] + [(16, 17, 18, 19)]
    ),
}


def swallowing(tree):
    """A sum whose adders of several terms lose what is below the last bit of the largest, as tensor units do."""

    def add(terms):
        if len(terms) == 2:
            return single(terms[0] + terms[1])
        largest = max(map(abs, terms))
        grain = 2.0 ** (math.frexp(largest)[1] - 24) if largest else 1.0
        return single(sum(math.trunc(term / grain) * grain for term in terms))

    def total(x):
        nodes = [float(term) for term in x]
        for step in tree.steps:
            nodes.append(add([nodes[node] for node in step]))
        return nodes[-1]

    return total


@pytest.mark.parametrize("name", TREES)
def test_any_tree_is_found_exactly(name):
    tree = TREES[name]
    found = probe_order(swallowing(tree), tree.n)
    assert found.tree == tree
    if tree.is_binary:
        assert found.is_confirmed
    else:  # its adders cut off, which an exact sum of several terms does not
        assert found.equal < found.checks


@pytest.mark.parametrize("seed", range(20))
def test_random_trees_are_found_exactly(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    nodes, steps = list(range(n)), []
    while len(nodes) > 1:
        picked = rng.choice(len(nodes), 2, replace=False)
        steps.append(tuple(nodes[place] for place in picked))
        nodes = [node for place, node in enumerate(nodes) if place not in picked] + [
            n + len(steps) - 1
        ]
    tree = canonical(n, steps)
    found = probe_order(lambda x: evaluate(tree, x), n)
    assert found.tree == tree
    assert found.is_confirmed


@pytest.mark.parametrize(
    ("dtype", "kind", "accumulator"),
    [
        ("float16", np.float16, "float16"),
        ("float16", np.float32, "float32"),
        ("float32", np.float64, "float64"),
    ],
)
def test_the_accumulator_is_told(dtype, kind, accumulator):
    def total(x):
        found = kind(0)
        for term in x:
            found = kind(found + kind(term))
        return found

    order = probe_order(total, 24, dtype)
    assert (order.accumulator, order.tree) == (accumulator, sequential(24))
    assert order.is_confirmed


@pytest.mark.parametrize("how", ["rounded", "fused"])
def test_how_products_are_rounded_is_told(how):
    def dot(x, y):
        total = 0.0
        for a, b in zip(x.tolist(), y.tolist(), strict=True):
            exact = a * b  # of two float32: exact in float64
            total = single(math.fsum((total, exact if how == "fused" else single(exact))))
        return total

    order = probe_order(dot, 24, product=True)
    assert (order.product, order.tree) == (how, sequential(24))
    assert order.is_confirmed


def test_a_fused_sum_is_rounded_once():
    """Against exact fractions: rounding in float64 first and then in float32 would differ in ties."""
    from fractions import Fraction

    def exactly(total, a, b):
        value = Fraction(total) + Fraction(a) * Fraction(b)
        near = np.float32(float(value))
        around = [
            near,
            np.nextafter(near, np.float32(-np.inf)),
            np.nextafter(near, np.float32(np.inf)),
        ]
        return min(
            around, key=lambda one: (abs(Fraction(float(one)) - value), one.view(np.uint32) & 1)
        )

    order = Order(sequential(2), product="fused")
    rng = np.random.default_rng(3)
    x = np.float32([[1.0, 1 + 2.0**-23], [1.0, 1 + 2.0**-12]])
    y = np.float32([[2.0**24, 1 + 2.0**-23], [2.0**24, 1 + 2.0**-12]])
    x = np.concatenate([x, rng.standard_normal((500, 2)).astype(np.float32)])
    y = np.concatenate([y, rng.standard_normal((500, 2)).astype(np.float32)])
    for got, a, b in zip(order.dot(x, y), x, y, strict=True):
        assert got == exactly(float(np.float32(a[0] * b[0])), float(a[1]), float(b[1]))


REFUSED = {
    "exact sums keep M + 1": (math.fsum, 8, "float32", "run/order-none"),
    "a mean counts no units": (np.mean, 8, "float32", "run/order-units"),
    "the order varies": (
        lambda x: float(np.sum(np.random.default_rng(int(np.argmax(x))).permutation(x))),
        9, "float32", "run/order-none",
    ),
    "nothing is a number": (lambda x: math.nan, 4, "float32", "run/order-units"),
    "more than the format counts": (np.sum, 257, "bfloat16", "run/order-count"),
    "one term has no order": (np.sum, 1, "float32", "run/order-count"),
    "an integer is not probed": (np.sum, 4, "int32", "core/choice"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_tells_no_order_is_refused(case):
    fn, n, dtype, code = REFUSED[case]
    with pytest.raises(GraphError) as error:
        probe_order(fn, n, dtype)
    assert error.value.code == code


def test_a_device_without_subnormal_numbers_is_probed_with_larger_units():
    def total(x):
        kept = np.where(np.abs(x) < 2.0**-14, np.float32(0), x.astype(np.float32))
        return np.float32(evaluate(sequential(len(x)), kept))

    assert probe_order(total, 24, "float16").tree == sequential(24)


def test_about_n_log_n_vectors_are_enough_for_a_balanced_tree():
    calls = itertools.count()

    def total(x):
        next(calls)
        return evaluate(pairwise(128), x)

    probe_order(total, 128, checks=0)
    assert next(calls) <= 128 * 7


def test_a_long_chain_needs_no_recursion():
    steps = [(k - 1 + 3000 if k else 0, k + 1) for k in range(2999)]
    order = Order(Tree(3000, tuple(steps)), equal=1, checks=1)
    x = np.random.default_rng(0).standard_normal(3000).astype(np.float32)
    assert float(order.total(x)) == evaluate(order.tree, x)
