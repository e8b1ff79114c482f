"""Kernels of recurrent layers. ``product`` multiplies matrices; the NPU passes its cube unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.run.kernels.elementwise import sigmoid

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Product = Callable[[Array, Array], Array]


def dynamic_rnn(
    inputs: Sequence[Array], settings: Mapping[str, Any], product: Product = np.matmul
) -> list[Array]:
    """LSTM over (T, B, I) with gates in CANN's order i, j, f, o.

    c' = sigmoid(f + forget_bias) · c + sigmoid(i) · tanh(j), h' = sigmoid(o) · tanh(c'). Returns
    h, h, c, sigmoid(i), tanh(j), sigmoid(f), sigmoid(o) and tanh(c) of every step.
    """
    x, w, b, init_h, init_c = inputs
    features = x.shape[2]
    ahead = product(x.reshape(-1, features), w[:features]).reshape(*x.shape[:2], -1) + b
    h, c = init_h[0], init_c[0]
    extra = x.dtype.type(settings["forget_bias"])
    steps = []
    for row in ahead:
        i, j, f, o = np.split(row + product(h, w[features:]), 4, axis=-1)
        i, j, f, o = sigmoid(i), np.tanh(j), sigmoid(f + extra), sigmoid(o)
        c = f * c + i * j
        bent = np.tanh(c)
        h = o * bent
        steps.append((h, h, c, i, j, f, o, bent))
    return _stacked(steps, 8, (0, *init_h.shape[1:]), x.dtype)


def dynamic_gru(
    inputs: Sequence[Array], settings: Mapping[str, Any], product: Product = np.matmul
) -> list[Array]:
    """GRU over (T, B, I): h' = (1 - z) · n + z · h.

    n = tanh(x·W + b + r · (h·R + d)), or tanh(x·W + b + (r · h)·R + d) without ``reset_after``.
    Returns h, h, z, r, n and h·R + d of every step.
    """
    x, wx, wh, bx, bh, init_h = inputs
    order = str(settings["gate_order"])
    width = wh.shape[0]
    places = [slice(k * width, (k + 1) * width) for k in (order.index("r"), order.index("z"), 2)]
    reset, update, new = places
    ahead = product(x.reshape(-1, x.shape[2]), wx).reshape(*x.shape[:2], -1) + bx
    h = init_h
    steps = []
    for row in ahead:
        hidden = product(h, wh) + bh
        r, z = (
            sigmoid(row[:, reset] + hidden[:, reset]),
            sigmoid(row[:, update] + hidden[:, update]),
        )
        inner = hidden[:, new]
        if settings["reset_after"]:
            n = np.tanh(row[:, new] + r * inner)
        else:
            inner = product(r * h, wh[:, new]) + bh[new]
            n = np.tanh(row[:, new] + inner)
        h = (x.dtype.type(1) - z) * n + z * h
        steps.append((h, h, z, r, n, inner))
    return _stacked(steps, 6, (0, *init_h.shape), x.dtype)


def _stacked(
    steps: Sequence[Sequence[Array]], count: int, empty: tuple[int, ...], dtype: Any
) -> list[Array]:
    if not steps:
        return [np.empty(empty, dtype) for _ in range(count)]
    return [np.stack(column) for column in zip(*steps, strict=True)]


def lstm(
    inputs: Sequence[Array], settings: Mapping[str, Any], product: Product = np.matmul
) -> list[Array]:
    """LSTM of MindSpore's CPU: weights in one tensor, gates in the order i, f, g, o.

    Returns the outputs, the last h and c, and two scratch outputs, which are zeros here.
    """
    x, h, c, w = inputs
    joined, bias, _ = unpacked(w, x.shape[2], settings)
    found = dynamic_rnn([x, joined, bias, h, c], {"forget_bias": 0.0}, product)
    last = (np.concatenate([start, steps])[-1:] for start, steps in ((h, found[1]), (c, found[2])))
    scratch = np.zeros((1, 1), x.dtype)
    return [found[0], *last, scratch, scratch.copy()]


def unpacked(
    w: Array, features: int, settings: Mapping[str, Any]
) -> tuple[Array, Array, NDArray[np.intp]]:
    """Weight (I + H, 4H) and bias of `dynamic_rnn` from the one tensor of `lstm`.

    The third array says which row of the latter each column is.
    """
    hidden = int(settings["hidden_size"])
    flat, width = w.reshape(-1), 4 * hidden
    ends = np.cumsum((width * features, width * hidden))
    wx, wh = flat[: ends[0]].reshape(width, -1), flat[ends[0] : ends[1]].reshape(width, -1)
    bias = flat[ends[1] :] if settings["has_bias"] else np.zeros(width, w.dtype)
    order = np.r_[0:hidden, 2 * hidden : 3 * hidden, hidden : 2 * hidden, 3 * hidden : width]
    joined = np.ascontiguousarray(np.concatenate([wx, wh], axis=1)[order].T)
    return joined, bias[order], order
