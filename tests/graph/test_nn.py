"""The layers: which operators they become, in MindSpore's order."""

import numpy as np
import pytest

from workbench.core.errors import GraphError
from workbench.graph import nn
from workbench.graph.tracer import trace

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
    names = [name for name, _ in net.parameters()]
    assert names == ["0.weight", "0.bias", "1.weight"]
    assert names == [p.name for p in trace(net, FLAT).parameters if p.is_weight]


def test_an_unknown_activation_is_refused_with_the_known_ones():
    with pytest.raises(GraphError, match=r"activation must be one of .*'relu'.*, got 'swish'"):
        nn.Dense(2, 2, activation="swish")
