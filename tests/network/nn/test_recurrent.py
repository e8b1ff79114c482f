"""Recurrent layers, against their equations."""

import math

import numpy as np

from kit.words import refused
from workbench.core.errors import GraphError
from workbench.network import nn
from workbench.network.tracer import trace
from workbench.run.reference import run_reference

STEPS = np.random.default_rng(3).uniform(-1, 1, (5, 2, 3)).astype(np.float32)


def by_hand(steps, weights, size):
    """One layer of an LSTM on the steps of one sequence: gates i, f, g, o, one number at a time."""
    w_ih, w_hh, b_ih, b_hh = (np.asarray(weight, float) for weight in weights)
    h, c, outputs = [0.0] * size, [0.0] * size, []
    for step in steps:
        gates = [
            sum(float(v) * w_ih[k, n] for n, v in enumerate(step))
            + sum(v * w_hh[k, n] for n, v in enumerate(h))
            + b_ih[k]
            + b_hh[k]
            for k in range(4 * size)
        ]
        for k in range(size):
            i, f, o = (1 / (1 + math.exp(-gates[place * size + k])) for place in (0, 1, 3))
            c[k] = f * c[k] + i * math.tanh(gates[2 * size + k])
            h[k] = o * math.tanh(c[k])
        outputs.append(list(h))
    return outputs, c


def run(layer, *inputs):
    graph = trace(layer, *inputs)
    values = {}
    for record in run_reference(graph):
        if record.key.io == "output":
            values[record.key.op_name, record.key.slot] = record.source.array()
    return graph, [values[graph.ops[o.op].name, o.slot] for o in graph.outputs]


def test_an_lstm_gives_what_its_equations_say():
    graph, (y, h, c) = run(nn.LSTM(3, 4), STEPS)
    weights = [p.default for p in graph.parameters if p.is_weight][:4]
    assert [p.name for p in graph.parameters[:4]] == [
        "weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"
    ]  # fmt: skip
    for n in range(2):
        outputs, last = by_hand(STEPS[:, n], weights, 4)
        np.testing.assert_allclose(y[:, n], outputs, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(h[0, n], outputs[-1], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(c[0, n], last, rtol=1e-5, atol=1e-6)


def test_the_second_direction_of_an_lstm_reads_the_sequence_from_its_end():
    graph, (y, h, _) = run(nn.LSTM(3, 4, bidirectional=True, batch_first=True), STEPS)
    assert y.shape == (5, 2, 8)
    assert h.shape == (2, 5, 4)
    back = [p.default for p in graph.parameters if p.name.endswith("_reverse")]
    for n in range(5):
        outputs, _ = by_hand(STEPS[n, ::-1], back, 4)
        np.testing.assert_allclose(y[n, :, 4:], outputs[::-1], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(h[1, n], outputs[-1], rtol=1e-5, atol=1e-6)


def test_a_layer_of_an_lstm_reads_the_outputs_of_the_one_below_and_its_own_state():
    start = np.zeros((2, 2, 4), np.float32)
    layer = nn.LSTM(3, 4, num_layers=2, has_bias=False)
    graph, (y, h, _) = run(lambda x, h, c: layer(x, (h, c)), STEPS, start, start)
    weights = [p.default for p in graph.parameters if "weight" in p.name]
    for n in range(2):
        below, _ = by_hand(STEPS[:, n], [*weights[:2], np.zeros(16), np.zeros(16)], 4)
        above, _ = by_hand(below, [*weights[2:], np.zeros(16), np.zeros(16)], 4)
        np.testing.assert_allclose(y[:, n], above, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(h[:, n], [below[-1], above[-1]], rtol=1e-5, atol=1e-6)


def test_dropout_of_an_lstm_is_refused():
    with refused("graph/only", GraphError, subject="dropout", expected=0, got=0.5):
        nn.LSTM(3, 4, dropout=0.5)
