"""What any order of summation may do, against sums in many orders, and how long the sums of operators are."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from kit.build.small_dumps import Net
from workbench.comparison.limits import LIMITS, Limits, using
from workbench.comparison.measure.noise import any_order, expected_rounding, summation_length, sums
from workbench.core.tensors import TensorSpec

U = 2.0**-24


def in_order(terms):
    """One after the other, as a scalar unit does."""
    total = np.zeros(terms.shape[0], np.float32)
    for column in terms.T:
        total += column
    return total


def in_blocks(size):
    def summed(terms):
        parts = [in_order(terms[:, n : n + size]) for n in range(0, terms.shape[1], size)]
        return in_order(np.stack(parts, axis=1))

    return summed


def in_pairs(terms):
    while terms.shape[1] > 1:
        rest = terms[:, -1:] if terms.shape[1] % 2 else terms[:, :0]
        even = terms[:, : terms.shape[1] // 2 * 2]
        terms = np.concatenate([even[:, ::2] + even[:, 1::2], rest], axis=1)
    return terms[:, 0]


ORDERS = {
    "in order": in_order,
    "from the end": lambda terms: in_order(terms[:, ::-1]),
    "largest first": lambda terms: in_order(
        np.take_along_axis(terms, np.argsort(-np.abs(terms), axis=1), axis=1)
    ),
    "blocks of 16": in_blocks(16),
    "blocks of 48": in_blocks(48),
    "split in 4": lambda terms: in_blocks(-(-terms.shape[1] // 4))(terms),
    "pairs": in_pairs,
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("length", [2, 17, 256, 3000])
@pytest.mark.parametrize("signs", ["one", "random"])
def test_no_order_leaves_more_than_is_expected_of_any(order, length, signs):
    """Root mean square over 400 sums against √n·u·κ; 3 times that is where an error becomes suspect."""
    rng = np.random.default_rng(length)
    terms = rng.standard_normal((400, length)).astype(np.float32)
    if signs == "one":
        terms = np.abs(terms)
    exact = terms.astype(np.float64).sum(axis=1)
    error = np.linalg.norm(ORDERS[order](terms) - exact) / np.linalg.norm(exact)
    kappa = max(1.0, float(np.linalg.norm(terms) / np.linalg.norm(exact)))
    assert error <= 1.5 * math.sqrt(length) * U * kappa
    assert error <= LIMITS.suspect_factor * any_order(length) * kappa


def test_a_sum_grows_with_its_length_and_is_never_expected_to_be_better_than_kernels_are():
    assert any_order(2) == any_order(100) == LIMITS.sums_least
    assert any_order(10_000) == pytest.approx(100 * U)
    with using(Limits(sums_least=1e-9)):
        assert any_order(100) == pytest.approx(10 * U)


LENGTHS = [
    ("MatMul", ((4, 64), (64, 8)), ((4, 8),), 64),
    ("ReduceSum", ((8, 100),), ((8,),), 100),
    ("ReduceMean", ((2, 3, 5, 7),), ((2, 3),), 35),
    ("BiasAddGrad", ((32, 10),), ((10,),), 32),
    ("Softmax", ((6, 50),), ((6, 50),), 50),
    ("LayerNorm", ((16, 32), (32,), (32,)), ((16, 32), (16, 1), (16, 1)), 32),
    ("BatchNorm", ((2, 3, 5, 5), (3,), (3,), (3,), (3,)), ((2, 3, 5, 5), (3,)), 50),
    ("SparseSoftmaxCrossEntropyWithLogits", ((32, 10), (32,)), ((1,),), 320),
    ("ReLU", ((6, 50),), ((6, 50),), 1),
    ("Add", ((6, 50), (50,)), ((6, 50),), 1),
]


@pytest.mark.parametrize(("op_type", "inputs", "outputs", "length"), LENGTHS)
def test_how_many_terms_an_operator_sums(op_type, inputs, outputs, length):
    net = Net()
    feeds = [net.feed(f"x{n}", shape) for n, shape in enumerate(inputs)]
    net.op(op_type, *feeds, shape=outputs[0], outputs=len(outputs))
    specs = tuple(TensorSpec("float32", shape) for shape in outputs)
    op = replace(net.ops[0], outputs=specs)
    assert summation_length(op) == pytest.approx(length)
    assert sums(op) == (length > 1)


@pytest.mark.parametrize(
    ("op_type", "least"),
    [("MatMul", True), ("ReduceSum", True), ("ReLU", False), ("Mul", False), ("Tanh", False)],
)
def test_only_what_sums_is_expected_to_be_off_by_the_order(op_type, least):
    net = Net()
    net.op(op_type, *(net.feed(name) for name in ("a", "b")[: 2 if op_type != "Tanh" else 1]))
    assert (expected_rounding(net.ops[0], U) > LIMITS.sums_least) == least
