"""The layers: which operators they become, in MindSpore's order."""

import math

import numpy as np
import pytest

from kit.words import refused
from workbench.core.errors import GraphError
from workbench.network import nn
from workbench.network.tracer import trace
from workbench.run.reference import run_reference

IMAGE = np.zeros((2, 3, 8, 8), np.float32)
FLAT = np.zeros((2, 6), np.float32)
LAYERS = [
    (nn.ReLU(), FLAT, ["ReLU"], (2, 6)),
    (nn.Sigmoid(), FLAT, ["Sigmoid"], (2, 6)),
    (nn.Tanh(), FLAT, ["Tanh"], (2, 6)),
    (nn.GELU(), FLAT, ["GeLU"], (2, 6)),
    (nn.GELU(approximate=False), FLAT, ["Mul", "RealDiv", "Erf", "Add", "Mul"], (2, 6)),
    (nn.Softmax(), FLAT, ["Softmax"], (2, 6)),
    (nn.Flatten(), IMAGE, ["Flatten"], (2, 192)),
    (nn.Conv2d(3, 4, 3), IMAGE, ["Conv2D"], (2, 4, 8, 8)),
    (nn.Conv2d(3, 6, 3, 2, "valid", has_bias=True), IMAGE, ["Conv2D", "BiasAdd"], (2, 6, 3, 3)),
    (nn.Conv2d(3, 3, 3, 1, "pad", 2, 2, 3), IMAGE, ["Conv2D"], (2, 3, 8, 8)),
    (nn.Dense(6, 5), FLAT, ["MatMul", "BiasAdd"], (2, 5)),
    (nn.Dense(6, 5, has_bias=False, activation="gelu"), FLAT, ["MatMul", "GeLU"], (2, 5)),
    (
        nn.Dense(8, 5),
        IMAGE,
        ["Reshape", "MatMul", "BiasAdd", "Reshape"],
        (2, 3, 8, 5),
    ),
    (nn.MaxPool2d(2, 2), IMAGE, ["MaxPool"], (2, 3, 4, 4)),
    (nn.AvgPool2d(3, 1, "same"), IMAGE, ["AvgPool"], (2, 3, 8, 8)),
    (nn.LayerNorm((8, 8)), IMAGE, ["LayerNorm"], (2, 3, 8, 8)),
    (nn.BatchNorm2d(3), IMAGE, ["BatchNorm"], (2, 3, 8, 8)),
    (
        nn.Embedding(9, 4),
        np.zeros((2, 5), np.int32),
        ["Reshape", "Gather", "Reshape"],
        (2, 5, 4),
    ),
    (nn.ReLU6(), FLAT, ["ReLU6"], (2, 6)),
    (nn.LeakyReLU(0.1), FLAT, ["Mul", "Maximum"], (2, 6)),
    (nn.ELU(), FLAT, ["Elu"], (2, 6)),
    (nn.SiLU(), FLAT, ["SiLU"], (2, 6)),
    (nn.Mish(), FLAT, ["Mish"], (2, 6)),
    (nn.HSwish(), FLAT, ["HSwish"], (2, 6)),
    (nn.HSigmoid(), FLAT, ["HSigmoid"], (2, 6)),
    (nn.SequentialCell(nn.Dropout(p=0.3), nn.Identity(), nn.Tanh()), FLAT, ["Tanh"], (2, 6)),
    (nn.Conv2dTranspose(3, 4, 3, 2), IMAGE, ["Conv2DTranspose"], (2, 4, 16, 16)),
    (
        nn.Conv2dTranspose(3, 4, (3, 2), 2, "pad", (1, 1, 0, 1), has_bias=True),
        IMAGE,
        ["Conv2DTranspose", "BiasAdd"],
        (2, 4, 15, 15),
    ),
    (nn.Conv2dTranspose(3, 4, 3, 2, "valid"), IMAGE, ["Conv2DTranspose"], (2, 4, 17, 17)),
    (nn.SequentialCell([nn.ReLU(), nn.Tanh()]), FLAT, ["ReLU", "Tanh"], (2, 6)),
    (nn.SequentialCell(nn.ReLU(), nn.Tanh()), FLAT, ["ReLU", "Tanh"], (2, 6)),
]


@pytest.mark.parametrize(("layer", "x", "types", "shape"), LAYERS)
def test_a_layer_becomes_these_operators(layer, x, types, shape):
    graph = trace(layer, x)
    assert [op.op_type for op in graph.ops] == types
    assert graph.ops[-1].outputs[0].shape == shape


def test_weights_start_at_the_scale_that_keeps_the_signal():
    weight = trace(nn.Conv2d(64, 128, 3), np.zeros((1, 64, 4, 4), np.float32)).parameters[0].default
    assert weight.dtype == np.float32
    assert weight.std() == pytest.approx((2 / (64 * 9)) ** 0.5, rel=0.02)
    assert abs(weight.mean()) < 1e-3


def test_normalizations_start_neutral():
    graph = trace(nn.BatchNorm2d(3), IMAGE)
    assert [(p.name, float(p.default[0])) for p in graph.parameters[:4]] == [
        ("gamma", 1.0),
        ("beta", 0.0),
        ("moving_mean", 0.0),
        ("moving_variance", 1.0),
    ]


def test_a_cell_list_is_a_list_of_cells():
    cells = nn.CellList([nn.ReLU()])
    cells.append(nn.Tanh())
    assert len(cells) == 2
    assert isinstance(cells[1], nn.Tanh)
    assert [type(cell) for cell in cells] == [nn.ReLU, nn.Tanh]


def test_parameters_are_listed_with_the_names_of_the_graph():
    net = nn.SequentialCell(nn.Dense(6, 5), nn.Dense(5, 4, has_bias=False))
    names = [name for name, _ in net.parameters_and_names()]
    assert names == ["0.weight", "0.bias", "1.weight"]
    assert names == [p.name for p in trace(net, FLAT).parameters if p.is_weight]


def test_an_unknown_activation_is_refused_with_the_known_ones():
    with refused("core/choice", GraphError, subject="activation", got="swish") as caught:
        nn.Dense(2, 2, activation="swish")
    assert "relu" in caught.value.values["known"]


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
