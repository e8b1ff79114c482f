"""Where both runs compute an operator by formulas of their own, a difference of the two accuses neither of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kit.build import small_dumps as small
from kit.build.small_dumps import Net, in_memory, shoot
from workbench.comparison.engine import compare_dumps


def by_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def by_erf(x):
    return np.vectorize(lambda v: 0.5 * v * (1 + math.erf(v / math.sqrt(2))))(x)


def by_sigmoid(x):
    return x / (1 + np.exp(-1.702 * x))


def dump(formula, monkeypatch):
    net, spec = Net(), {"shape": (32, 32)}
    product = net.op("MatMul", net.feed("x", (32, 32)), net.weight("w", (32, 32)), **spec)
    net.op("Tanh", net.op("GeLU", product, **spec), **spec)
    graph = net.graph()
    monkeypatch.setitem(small.RUN, "GeLU", formula)
    return in_memory(shoot(graph, small.given(graph)), graph)


@pytest.mark.parametrize(
    ("target", "golden", "fault"),
    [(by_erf, by_tanh, "fast-approximation"), (by_erf, by_sigmoid, ""), (by_tanh, by_erf, "")],
    ids=["the reference's", "another one", "the target has the reference's"],
)
def test_an_approximation_is_said_of_the_target_where_the_golden_is_right(
    target, golden, fault, monkeypatch
):
    found = compare_dumps(dump(target, monkeypatch), dump(golden, monkeypatch)).result
    (finding,) = (one for one in found.findings if one.defect)
    assert (finding.op_type, finding.fault) == ("GeLU", fault)
