"""Recurrent layers, one step and one gate at a time, and their gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kit.oracle.differences import blamed
from kit.oracle.loops import numbers, sigmoid
from kit.oracle.operator_case import OperatorCase
from kit.oracle.slopes import GradientCase, anywhere
from workbench.network.symbolic import record_all


def _affine(row, weight, bias):
    """Row · weight + bias, weight as (inputs, outputs)."""
    return [
        math.fsum(v * float(weight[i, k]) for i, v in enumerate(row)) + float(bias[k])
        for k in range(weight.shape[1])
    ]


def dynamic_rnn(inputs, settings):
    x, w, b, init_h, init_c = inputs
    steps, batch, _ = x.shape
    size = init_h.shape[2]
    out = [np.empty((steps, batch, size)) for _ in range(8)]
    for n in range(batch):
        h, c = init_h[0, n].tolist(), init_c[0, n].tolist()
        for t in range(steps):
            gates = _affine([*x[t, n].tolist(), *h], w, b)
            for k in range(size):
                i, j = sigmoid(gates[k]), math.tanh(gates[size + k])
                f = sigmoid(gates[2 * size + k] + settings.get("forget_bias", 0.0))
                o = sigmoid(gates[3 * size + k])
                c[k] = f * c[k] + i * j
                h[k] = o * math.tanh(c[k])
                values = (h[k], h[k], c[k], i, j, f, o, math.tanh(c[k]))
                for array, value in zip(out, values, strict=True):
                    array[t, n, k] = value
    return out


def dynamic_gru(inputs, settings):
    x, wx, wh, bx, bh, init_h = inputs
    steps, batch, _ = x.shape
    size = init_h.shape[1]
    out = [np.empty((steps, batch, size)) for _ in range(6)]
    first, second = (0, size) if settings.get("gate_order", "rzh") == "rzh" else (size, 0)
    for n in range(batch):
        h = init_h[n].tolist()
        for t in range(steps):
            ahead, behind = _affine(x[t, n].tolist(), wx, bx), _affine(h, wh, bh)
            r = [sigmoid(ahead[first + k] + behind[first + k]) for k in range(size)]
            z = [sigmoid(ahead[second + k] + behind[second + k]) for k in range(size)]
            if settings.get("reset_after", True):
                inner = behind[2 * size :]
                bent = [r[k] * inner[k] for k in range(size)]
            else:
                damped = [r[k] * h[k] for k in range(size)]
                inner = bent = _affine(damped, wh, bh)[2 * size :]
            new = [math.tanh(ahead[2 * size + k] + bent[k]) for k in range(size)]
            h = [(1 - z[k]) * new[k] + z[k] * h[k] for k in range(size)]
            for array, values in zip(out, (h, h, z, r, new, inner), strict=True):
                array[t, n] = values
    return out


def lstm(inputs, settings):
    """Gates i, f, g, o of weights (4H, I) and (4H, H) in one tensor, then the bias."""
    x, h, c, w = inputs
    size, features = settings["hidden_size"], x.shape[2]
    flat = w.ravel().tolist()
    rows = [flat[k * features : (k + 1) * features] for k in range(4 * size)]
    rest = flat[4 * size * features :]
    back = [rest[k * size : (k + 1) * size] for k in range(4 * size)]
    bias = rest[4 * size * size :] or [0.0] * (4 * size)
    order = [*range(size), *range(2 * size, 3 * size), *range(size, 2 * size),
             *range(3 * size, 4 * size)]  # fmt: skip
    joined = np.array([rows[k] + back[k] for k in order]).T
    found = dynamic_rnn([x, joined, np.array([bias[k] for k in order]), h, c], {})
    empty = np.zeros((1, 1))
    return [found[0], found[1][-1:], found[2][-1:], empty, empty]


def dynamic_rnn_gradient(inputs, settings):
    x, w, b, _, init_h, init_c, *_, dy, dh, dc, _, _, _, _, _ = inputs

    def function(weight, bias, image, h, c):
        found = dynamic_rnn([image, weight, bias, h[None], c[None]], {})
        return found[0], found[1][-1], found[2][-1]

    tensors = [w, b, x, init_h, init_c]
    return [blamed(function, tensors, slot, [dy, dh, dc]) for slot in range(5)]


def lstm_gradient(inputs, settings):
    tensors, douts = inputs[:4], inputs[7:10]

    def function(*known):
        return lstm(known, settings)[:3]

    return [blamed(function, tensors, slot, douts) for slot in range(4)]


def _steps(steps, batch, features, hidden):
    x, b = numbers(steps, batch, features), numbers(4 * hidden, seed=2)
    w = numbers(features + hidden, 4 * hidden, seed=1)
    h, c = numbers(batch, hidden, seed=3), numbers(batch, hidden, seed=4)
    y, h_all, c_all, *gates = dynamic_rnn([x, w, b, h[None], c[None]], {})
    ends = numbers(batch, hidden, seed=5), numbers(batch, hidden, seed=6)
    dy = numbers(steps, batch, hidden, seed=8)
    return ([x, w, b, y, h, c, h_all, c_all, dy, *ends, *gates], {})


def _layered(steps, batch, features, hidden, bias):
    size = 4 * hidden * (features + hidden + bias)
    settings = {"hidden_size": hidden, "has_bias": bias}
    given = [
        numbers(steps, batch, features),
        numbers(1, batch, hidden, seed=3),
        numbers(1, batch, hidden, seed=4),
        numbers(size, 1, 1, seed=5),
    ]
    outputs = lstm(given, settings)
    douts = [numbers(*array.shape, seed=6 + k) for k, array in enumerate(outputs[:3])]
    return ([*given, *outputs[:3], *douts, np.zeros((1, 1))], settings)


def dynamic_rnn_slope(states: bool) -> GradientCase:
    settings = {
        "cell_type": "LSTM", "direction": "UNIDIRECTIONAL", "cell_depth": 1, "use_peephole": False,
        "keep_prob": 1.0, "cell_clip": -1.0, "num_proj": 0, "time_major": True, "activation": "tanh",
        "forget_bias": 0.5, "is_training": True,
    }  # fmt: skip

    def layer(x: Any, w: Any, b: Any, h: Any, c: Any) -> Any:
        y, last, cell, *_ = record_all("DynamicRNN", x, w, b, None, h, c, **settings)
        return (y, last[-1], cell[-1]) if states else y

    points = (
        anywhere(3, 2, 4),
        anywhere(7, 12),
        anywhere(12),
        anywhere(1, 2, 3),
        anywhere(1, 2, 3),
    )
    return GradientCase(layer, points)


CELL = [numbers(3, 2, 5), numbers(9, 16, seed=1), numbers(16, seed=2), numbers(1, 2, 4, seed=3)]

GATED = [numbers(3, 2, 5), numbers(5, 12, seed=1), numbers(4, 12, seed=2), numbers(12, seed=3),
         numbers(12, seed=4), numbers(2, 4, seed=5)]  # fmt: skip

CELL_STATES = [numbers(1, 2, 4, seed=3), numbers(1, 2, 4, seed=4)]


CASES = {
    "DynamicRNN": OperatorCase(
        dynamic_rnn,
        [
            ([*CELL, numbers(1, 2, 4, seed=4)], {}),
            ([*CELL, numbers(1, 2, 4, seed=4)], {"forget_bias": 1.0}),
        ],
        gradient=[dynamic_rnn_slope(states=False), dynamic_rnn_slope(states=True)],
        onnx="LSTM",
    ),
    "DynamicGRUV2": OperatorCase(
        dynamic_gru, [(GATED, {}), (GATED, {"reset_after": False, "gate_order": "zrh"})], onnx="GRU"
    ),
    "LSTM": OperatorCase(
        lstm,
        [
            ([numbers(3, 2, 5), *CELL_STATES, numbers(160, 1, 1)], {"hidden_size": 4}),
            (
                [numbers(3, 2, 5), *CELL_STATES, numbers(144, 1, 1)],
                {"hidden_size": 4, "has_bias": False},
            ),
        ],
        gradient=[
            GradientCase(
                lambda *inputs: record_all(
                    "LSTM", *inputs, input_size=2, hidden_size=3, num_layers=1
                )[:3],
                (anywhere(2, 2, 2), anywhere(1, 2, 3), anywhere(1, 2, 3), anywhere(72, 1, 1)),
            )
        ],
    ),
    "DynamicRNNGrad": OperatorCase(dynamic_rnn_gradient, [_steps(3, 2, 3, 2)], by_differences=True),
    "LSTMGrad": OperatorCase(
        lstm_gradient,
        [_layered(3, 2, 3, 2, True), _layered(2, 1, 2, 2, False)],
        by_differences=True,
    ),
}
