"""The layers: which operators they become, in MindSpore's order, and what they compute, against NumPy in float64."""

import math

import numpy as np
import pytest

from kit.build.runs import results
from kit.words import refused
from workbench.core.errors import GraphError
from workbench.network import nn
from workbench.network.tracer import trace
from workbench.ops import settings

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


# ---------------- what they compute

ROWS = np.random.default_rng(0).uniform(-4, 4, (2, 6)).astype(np.float32)
PICTURE = np.random.default_rng(1).uniform(-1, 1, (2, 4, 7, 6)).astype(np.float32)
IDS = np.array([[1, 8, 0], [3, 3, 5]], np.int32)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x, axis=-1):
    return np.exp(x) / np.exp(x).sum(axis, keepdims=True)


def erf(x):
    return np.vectorize(math.erf)(x)


def around(x, pads, fill=0.0):
    """Rows above and below, columns left and right of an image."""
    top, bottom, left, right = pads
    return np.pad(x, [(0, 0), (0, 0), (top, bottom), (left, right)], constant_values=fill)


def windows(x, size, stride, dilation=1):
    """Every window of an image: (n, c, rows, columns, height, width)."""
    reach = [dilation * (n - 1) + 1 for n in size]
    found = np.lib.stride_tricks.sliding_window_view(x, reach, (2, 3))
    return found[:, :, :: stride[0], :: stride[1], ::dilation, ::dilation]


def convolved(x, weight, pads=(0, 0, 0, 0), stride=(1, 1), dilation=1, group=1):
    x, inner, outer = around(x, pads), x.shape[1] // group, len(weight) // group
    parts = [
        np.einsum(
            "ncijhw,ochw->noij",
            windows(x[:, k * inner : (k + 1) * inner], weight.shape[2:], stride, dilation),
            weight[k * outer : (k + 1) * outer],
        )
        for k in range(group)
    ]
    return np.concatenate(parts, 1)


def spread(x, weight, stride, cut=(0, 0, 0, 0)):
    """A transposed convolution: every element times the filters, laid side by side, and the rim cut off."""
    (n, _, rows, columns), (_, channels, high, wide) = x.shape, weight.shape
    down, right = stride
    out = np.zeros((n, channels, (rows - 1) * down + high, (columns - 1) * right + wide))
    for i, j in np.ndindex(rows, columns):
        place = np.einsum("no,ochw->nchw", x[:, :, i, j], weight)
        out[:, :, i * down : i * down + high, j * right : j * right + wide] += place
    top, bottom, left, last = cut
    return out[:, :, top : out.shape[2] - bottom, left : out.shape[3] - last]


def pooled(x, pads, size, stride, fill, reduce):
    return reduce(windows(around(x, pads, fill), size, stride), (-2, -1))


def normalized(x, axes, epsilon):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)


def channels(values):
    return values[:, None, None]


ACTIVATED = {
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": sigmoid,
    "tanh": np.tanh,
    "gelu": lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "softmax": softmax,
    "relu6": lambda x: np.clip(x, 0, 6),
    "leakyrelu": lambda x: np.where(x > 0, x, 0.2 * x),
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "silu": lambda x: x * sigmoid(x),
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
    "hswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "hsigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
}

COMPUTED = {
    "GELU exact": (nn.GELU(approximate=False), ROWS, lambda x, w: x / 2 * (1 + erf(x / math.sqrt(2)))),
    "Softmax of rows": (nn.Softmax(0), ROWS, lambda x, w: softmax(x, 0)),
    "LeakyReLU": (nn.LeakyReLU(0.5), ROWS, lambda x, w: np.where(x > 0, x, x / 2)),
    "ELU": (nn.ELU(0.5), ROWS, lambda x, w: np.where(x > 0, x, np.expm1(x) / 2)),
    "Flatten": (nn.Flatten(), PICTURE, lambda x, w: x.reshape(2, -1)),
    "Sequential": (nn.SequentialCell(nn.ReLU(), nn.Dropout(p=0.9), nn.Identity(), nn.Tanh()), ROWS,
                   lambda x, w: np.tanh(np.maximum(x, 0))),
    "Dense": (nn.Dense(6, 5), ROWS, lambda x, w: x @ w["weight"].T + w["bias"]),
    "Dense on images": (nn.Dense(6, 5, activation=nn.ReLU()), PICTURE,
                        lambda x, w: np.maximum(x @ w["weight"].T + w["bias"], 0)),
    "Dense without bias": (nn.Dense(6, 5, has_bias=False), ROWS, lambda x, w: x @ w["weight"].T),
    **{f"Dense {name}": (nn.Dense(6, 5, activation=name), ROWS,
                         lambda x, w, f=function: f(x @ w["weight"].T + w["bias"]))
       for name, function in ACTIVATED.items()},
    "Conv2d same": (nn.Conv2d(4, 6, 3), PICTURE, lambda x, w: convolved(x, w["weight"], (1, 1, 1, 1))),
    "Conv2d same, even": (nn.Conv2d(4, 6, (2, 4), has_bias=True), PICTURE,
                          lambda x, w: convolved(x, w["weight"], (0, 1, 1, 2)) + channels(w["bias"])),
    "Conv2d same, stride": (nn.Conv2d(4, 6, 3, 2), PICTURE,
                            lambda x, w: convolved(x, w["weight"], (1, 1, 0, 1), (2, 2))),
    "Conv2d valid": (nn.Conv2d(4, 6, (3, 2), (1, 2), "valid"), PICTURE,
                     lambda x, w: convolved(x, w["weight"], stride=(1, 2))),
    "Conv2d pad": (nn.Conv2d(4, 6, 3, 1, "pad", (0, 1, 2, 3), 2), PICTURE,
                   lambda x, w: convolved(x, w["weight"], (0, 1, 2, 3), dilation=2)),
    "Conv2d groups": (nn.Conv2d(4, 6, 3, 1, "pad", 1, 1, 2), PICTURE,
                      lambda x, w: convolved(x, w["weight"], (1, 1, 1, 1), group=2)),
    "Conv2dTranspose same": (nn.Conv2dTranspose(4, 3, 3, 2, has_bias=True), PICTURE,
                             lambda x, w: spread(x, w["weight"], (2, 2), (0, 1, 0, 1)) + channels(w["bias"])),
    "Conv2dTranspose valid": (nn.Conv2dTranspose(4, 3, (3, 2), (1, 2), "valid"), PICTURE,
                              lambda x, w: spread(x, w["weight"], (1, 2))),
    "Conv2dTranspose pad": (nn.Conv2dTranspose(4, 3, 3, 2, "pad", (1, 0, 2, 1)), PICTURE,
                            lambda x, w: spread(x, w["weight"], (2, 2), (1, 0, 2, 1))),
    "MaxPool2d": (nn.MaxPool2d((3, 2), (2, 1)), PICTURE,
                  lambda x, w: pooled(x, (0, 0, 0, 0), (3, 2), (2, 1), 0, np.max)),
    "MaxPool2d alone": (nn.MaxPool2d(), PICTURE, lambda x, w: x),
    "MaxPool2d same": (nn.MaxPool2d(3, 2, "same"), PICTURE,
                       lambda x, w: pooled(x, (1, 1, 0, 1), (3, 3), (2, 2), -np.inf, np.max)),
    "AvgPool2d": (nn.AvgPool2d((3, 2), (2, 1)), PICTURE,
                  lambda x, w: pooled(x, (0, 0, 0, 0), (3, 2), (2, 1), 0, np.mean)),
    "AvgPool2d same": (nn.AvgPool2d(3, 2, "same"), PICTURE,
                       lambda x, w: pooled(x, (1, 1, 0, 1), (3, 3), (2, 2), np.nan, np.nanmean)),
    "LayerNorm": (nn.LayerNorm([6]), ROWS, lambda x, w: normalized(x, -1, 1e-7) * w["gamma"] + w["beta"]),
    "LayerNorm of two": (nn.LayerNorm((7, 6), 0.5), PICTURE,
                         lambda x, w: normalized(x, (2, 3), 0.5) * w["gamma"] + w["beta"]),
    "BatchNorm2d": (nn.BatchNorm2d(4, 0.25), PICTURE,
                    lambda x, w: (x - channels(w["moving_mean"])) / np.sqrt(channels(w["moving_variance"]) + 0.25)
                    * channels(w["gamma"]) + channels(w["beta"])),
    "BatchNorm2d training": (nn.BatchNorm2d(4, 0.25).set_train(), PICTURE,
                             lambda x, w: normalized(x, (0, 2, 3), 0.25) * channels(w["gamma"]) + channels(w["beta"])),
    "Embedding": (nn.Embedding(9, 4), IDS, lambda x, w: w["embedding_table"][x.astype(int)]),
}  # fmt: skip
"""Layer, input, and its output from the input and the weights, both in float64."""


def with_own_weights(layer):
    """Give every weight values of its own, positive ones, so that each can be told from the others."""
    rng = np.random.default_rng(5)
    for _, weight in layer.parameters_and_names():
        weight.set_data(rng.uniform(0.5, 1.5, weight.shape).astype(np.float32))
    return {name: weight.default.astype(float) for name, weight in layer.parameters_and_names()}


@pytest.mark.parametrize("case", COMPUTED)
def test_a_layer_computes_what_numpy_does(case):
    layer, x, formula = COMPUTED[case]
    weights = with_own_weights(layer)
    graph = trace(layer, x)
    feed = next(one.name for one in graph.parameters if not one.is_weight)
    got, want = results(graph, {feed: x})[0], formula(x.astype(float), weights)
    assert got.shape == want.shape
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)


def test_a_batch_moves_the_stored_moments_by_what_momentum_leaves():
    layer = nn.BatchNorm2d(4, momentum=0.7).set_train()
    op = trace(layer, PICTURE).ops[0]
    assert settings(op)["momentum"] == pytest.approx(0.3)
    assert settings(op)["epsilon"] == pytest.approx(1e-5)


STARTS = [
    (nn.Conv2d(64, 60, (3, 5), group=4, has_bias=True), "weight", (60, 16, 3, 5), math.sqrt(2 / (16 * 15))),
    (nn.Conv2d(64, 600, 3, has_bias=True), "bias", (600,), 1 / math.sqrt(64 * 9)),
    (nn.Conv2dTranspose(32, 20, (3, 5)), "weight", (32, 20, 3, 5), math.sqrt(2 / (32 * 15))),
    (nn.Conv2dTranspose(32, 600, 3, has_bias=True), "bias", (600,), 1 / math.sqrt(32 * 9)),
    (nn.Dense(200, 100), "weight", (100, 200), math.sqrt(2 / 200)),
    (nn.Dense(20, 600), "bias", (600,), 1 / math.sqrt(20)),
    (nn.Embedding(100, 80), "embedding_table", (100, 80), 1.0),
    (nn.LSTM(30, 40), "weight_ih_l0", (160, 30), 1 / math.sqrt(40)),
]  # fmt: skip
"""Layer, weight, its shape, and how it starts: the deviation of a normal one, the bound of a uniform one."""


@pytest.mark.parametrize(("layer", "name", "shape", "scale"), STARTS)
def test_a_weight_starts_at_its_scale(layer, name, shape, scale):
    weight = dict(layer.parameters_and_names())[name].array(name, 0)
    assert weight.shape == shape
    if name == "bias" or name.startswith("weight_ih"):
        assert 0.98 * scale < np.abs(weight).max() <= scale
        assert np.abs(weight).mean() == pytest.approx(scale / 2, rel=0.1)
    else:
        assert weight.std() == pytest.approx(scale, rel=0.03)
    assert abs(weight.mean()) < 0.1 * scale


def test_dropout_says_what_it_would_drop():
    assert (nn.Dropout().p, nn.Dropout(0.25).p, nn.Dropout(p=0.25).p) == (0.5, 0.75, 0.25)
