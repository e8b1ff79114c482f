"""Kernels of recurrent layers. ``product`` multiplies matrices; the NPU passes its cube unit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.ops.kernels.activation import sigmoid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Product = Callable[[Array, Array], Array]


def dynamic_rnn(
    x: Array,
    w: Array,
    b: Array,
    init_h: Array,
    init_c: Array,
    *,
    forget_bias: Any,
    product: Product = np.matmul,
) -> list[Array]:
    """LSTM over (T, B, I) with gates in CANN's order i, j, f, o.

    c' = sigmoid(f + forget_bias) · c + sigmoid(i) · tanh(j), h' = sigmoid(o) · tanh(c'). Returns
    h, h, c, sigmoid(i), tanh(j), sigmoid(f), sigmoid(o) and tanh(c) of every step.
    """
    features = x.shape[2]
    ahead = product(x.reshape(-1, features), w[:features]).reshape(*x.shape[:2], -1) + b
    h, c = init_h[0], init_c[0]
    extra = x.dtype.type(forget_bias)
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
    x: Array,
    wx: Array,
    wh: Array,
    bx: Array,
    bh: Array,
    init_h: Array,
    *,
    gate_order: Any,
    reset_after: Any,
    product: Product = np.matmul,
) -> list[Array]:
    """GRU over (T, B, I): h' = (1 - z) · n + z · h.

    n = tanh(x·W + b + r · (h·R + d)), or tanh(x·W + b + (r · h)·R + d) without ``reset_after``.
    Returns h, h, z, r, n and h·R + d of every step.
    """
    order = str(gate_order)
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
        if reset_after:
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
    x: Array,
    h: Array,
    c: Array,
    w: Array,
    *,
    hidden_size: Any,
    has_bias: Any,
    product: Product = np.matmul,
) -> list[Array]:
    """LSTM of MindSpore's CPU: weights in one tensor, gates in the order i, f, g, o.

    Returns the outputs, the last h and c, and two scratch outputs, which are zeros here.
    """
    joined, bias, _ = unpacked(w, x.shape[2], hidden_size, has_bias)
    found = dynamic_rnn(x, joined, bias, h, c, forget_bias=0.0, product=product)
    last = (np.concatenate([start, steps])[-1:] for start, steps in ((h, found[1]), (c, found[2])))
    scratch = np.zeros((1, 1), x.dtype)
    return [found[0], *last, scratch, scratch.copy()]


def unpacked(
    w: Array, features: int, hidden_size: int, has_bias: bool
) -> tuple[Array, Array, NDArray[np.intp]]:
    """Weight (I + H, 4H) and bias of `dynamic_rnn` from the one tensor of `lstm`.

    The third array says which row of the latter each column is.
    """
    hidden = int(hidden_size)
    flat, width = w.reshape(-1), 4 * hidden
    ends = np.cumsum((width * features, width * hidden))
    wx, wh = flat[: ends[0]].reshape(width, -1), flat[ends[0] : ends[1]].reshape(width, -1)
    bias = flat[ends[1] :] if has_bias else np.zeros(width, w.dtype)
    order = np.r_[0:hidden, 2 * hidden : 3 * hidden, hidden : 2 * hidden, 3 * hidden : width]
    joined = np.ascontiguousarray(np.concatenate([wx, wh], axis=1)[order].T)
    return joined, bias[order], order


def dynamic_rnn_grad(
    x: Array,
    w: Array,
    _bias: Array,
    _outputs: Array,
    init_h: Array,
    init_c: Array,
    h: Array,
    c: Array,
    dy: Array,
    dh: Array,
    dc: Array,
    *gates: Array,
    product: Product = np.matmul,
) -> list[Array]:
    """Walk back through the steps of an LSTM, gates in the order i, j, f, o.

    Inputs are those of the layer, its outputs and their gradients, in CANN's order; ``dh`` and
    ``dc`` reach the last step. Returns gradients of weight, bias, input and both states.
    """
    features, one = x.shape[2], x.dtype.type(1)
    before_h, before_c = (
        np.concatenate([start[None], steps])[: len(x)]
        for start, steps in ((init_h, h), (init_c, c))
    )
    blame = np.empty((*x.shape[:2], w.shape[1]), x.dtype)
    back = np.ascontiguousarray(w[features:].T)
    for t in range(len(x) - 1, -1, -1):
        i, j, f, o, bent = (gate[t] for gate in gates)
        dh = dh + dy[t]
        dc = dc + dh * o * (one - bent * bent)
        opened = dc * j * i * (one - i), dc * i * (one - j * j)
        kept = dc * before_c[t] * f * (one - f), dh * bent * o * (one - o)
        np.concatenate([*opened, *kept], axis=-1, out=blame[t])
        dc = dc * f
        dh = product(blame[t], back)
    flat = blame.reshape(-1, w.shape[1])
    seen = np.concatenate([x, before_h], axis=-1).reshape(-1, w.shape[0])
    dw = product(np.ascontiguousarray(seen.T), flat)
    dx = product(flat, np.ascontiguousarray(w[:features].T)).reshape(x.shape)
    return [dw, flat.sum(axis=0), dx, dh, dc]


def lstm_grad(
    x: Array,
    h: Array,
    c: Array,
    w: Array,
    _y: Array,
    _hy: Array,
    _cy: Array,
    dy: Array,
    dhy: Array,
    dcy: Array,
    _reserve: Array,
    *,
    hidden_size: Any,
    has_bias: Any,
    product: Product = np.matmul,
) -> list[Array]:
    """As `dynamic_rnn`, for the LSTM of MindSpore's CPU: gradients of x, h, c and the weights.

    What the forward operator leaves in its scratch outputs is computed again.
    """
    joined, bias, order = unpacked(w, x.shape[2], hidden_size, has_bias)
    steps = dynamic_rnn(x, joined, bias, h, c, forget_bias=0.0, product=product)
    known = [x, joined, bias, steps[0], h[0], c[0], steps[1], steps[2]]
    found = dynamic_rnn_grad(*known, dy, dhy[0], dcy[0], *steps[3:], product=product)
    rows = np.empty((order.size, joined.shape[0]), x.dtype)
    rows[order] = found[0].T
    parts = [rows[:, : x.shape[2]].reshape(-1), rows[:, x.shape[2] :].reshape(-1)]
    if has_bias:
        shift = np.empty_like(found[1])
        shift[order] = found[1]
        parts.append(shift)
    return [found[2], found[3][None], found[4][None], np.concatenate(parts).reshape(w.shape)]
