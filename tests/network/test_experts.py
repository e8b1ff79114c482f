"""A network with a mixture of experts: loops in float64 tell its loss, and differences of that its gradients."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kit.build.runs import arrays_of, results
from workbench.network.models import TRAININGS, load_graph, networks
from workbench.network.tracer import trace
from workbench.run.reference import run_reference

HEADS, CHOSEN, CAPACITY = 4, 2, 7
GRAPH = load_graph("moe_train")


def softmax(x):
    shares = np.exp(x - x.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)


def gelu(x):
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def mixture(x, w, name, capacity=CAPACITY):
    """One token after the other: first choices of a sequence before second ones, until a queue is full."""
    found = np.zeros_like(x)
    for n in range(len(x)):
        shares = softmax(x[n] @ w[f"{name}router.gate.weight"].T)
        order = np.argsort(-shares, axis=-1)[:, :CHOSEN]
        taken = dict.fromkeys(range(shares.shape[1]), 0)
        for choice in range(CHOSEN):
            for token, expert in enumerate(order[:, choice]):
                taken[expert] += 1
                if taken[expert] <= capacity:
                    one, other = (w[f"{name}experts.weight{k}"][expert] for k in (1, 2))
                    given = shares[token, expert] / shares[token, order[token]].sum()
                    found[n, token] += given * (gelu(x[n, token] @ one) @ other)
    return found


def dense(x, w, name):
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def norm(x, w, name):
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return x * w[f"{name}.gamma"] + w[f"{name}.beta"]


def attention(x, w, name):
    q, k, v = (dense(x, w, f"{name}{part}") for part in ("query", "key", "value"))
    q, k, v = (one.reshape(*one.shape[:2], HEADS, -1) for one in (q, k, v))
    shares = softmax(np.einsum("nihd,njhd->nhij", q, k) / math.sqrt(q.shape[-1]))
    return dense(np.einsum("nhij,njhd->nihd", shares, v).reshape(x.shape), w, f"{name}output")


def loss(w, ids, labels):
    x = w["embedding.embedding_table"][ids] + w["position"]
    x = norm(x + attention(x, w, "layer.attention."), w, "layer.norm1")
    x = norm(x + mixture(x, w, "layer.moe."), w, "layer.norm2")
    shares = softmax(dense(x.mean(1), w, "head"))
    return -np.log(shares[range(len(labels)), labels]).mean()


def weights():
    """Weights that are trained, in float64."""
    updated = [op.operand(0).index for op in GRAPH.ops if op.op_type == "Adam"]
    trained = [GRAPH.parameters[index] for index in updated]
    return {one.name: np.asarray(one.default, np.float64) for one in trained}


@pytest.fixture(scope="module")
def step():
    """What the reference computes in the first step, by operator."""
    return arrays_of(run_reference(GRAPH, GRAPH.batches(0)))


@pytest.mark.parametrize("capacity", [1, 3, 24])
def test_tokens_go_to_their_experts_until_queues_are_full(capacity):
    x = np.random.default_rng(1).normal(size=(3, 12, 8)).astype(np.float32)
    cell = networks.MixtureOfExperts(8, 16, 4, CHOSEN, capacity)
    graph = trace(cell, x)
    w = {one.name: np.asarray(one.default, float) for one in graph.parameters if one.is_weight}
    (feed,) = [one.name for one in graph.parameters if not one.is_weight]
    (found,) = results(graph, {feed: x})
    want = mixture(x.astype(float), w, "", capacity)
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5)
    left_out = np.count_nonzero(~want.any(-1))
    assert left_out == 0 if capacity == 24 else left_out > 0 if capacity == 1 else left_out < 12


def test_the_loss_is_that_of_the_loops(step):
    (out,) = GRAPH.outputs
    found = float(step[GRAPH.ops[out.op].name]["output", 0])
    assert found == pytest.approx(loss(weights(), *TRAININGS["moe_train"][1](0, 0)), rel=1e-5)


def test_gradients_are_differences_of_the_loss(step):
    """Along a direction for each weight; steps are so small that no token chooses another expert."""
    batch, w, rng = TRAININGS["moe_train"][1](0, 0), weights(), np.random.default_rng(2)
    size, tried = 1e-5, {}
    for op in (op for op in GRAPH.ops if op.op_type == "Adam"):
        name = GRAPH.parameters[op.operand(0).index].name
        way = rng.standard_normal(w[name].shape)
        sides = [loss({**w, name: w[name] + sign * size * way}, *batch) for sign in (1, -1)]
        gradient = step[op.name]["input", 9].astype(float)
        tried[name] = (sides[0] - sides[1]) / (2 * size), float((gradient * way).sum())
    assert len(tried) == 19
    for name, (want, found) in tried.items():
        assert found == pytest.approx(want, rel=1e-3, abs=2e-6), name
    assert abs(tried["layer.moe.router.gate.weight"][0]) > 1e-3
