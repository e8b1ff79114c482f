"""Gradients of recurrent layers. ``product`` multiplies matrices; the NPU passes its cube unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.run.kernels.recurrent import dynamic_rnn as forward
from workbench.run.kernels.recurrent import unpacked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from workbench.run.kernels.recurrent import Product

    Array = NDArray[Any]


def dynamic_rnn(
    inputs: Sequence[Array], _settings: Mapping[str, Any], product: Product = np.matmul
) -> list[Array]:
    """Walk back through the steps of an LSTM, gates in the order i, j, f, o.

    Inputs are those of the layer, its outputs and their gradients, in CANN's order; ``dh`` and
    ``dc`` reach the last step. Returns gradients of weight, bias, input and both states.
    """
    x, w, _, _, init_h, init_c, h, c, dy, dh, dc, *gates = inputs
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


def lstm(
    inputs: Sequence[Array], settings: Mapping[str, Any], product: Product = np.matmul
) -> list[Array]:
    """As `dynamic_rnn`, for the LSTM of MindSpore's CPU: gradients of x, h, c and the weights.

    What the forward operator leaves in its scratch outputs is computed again.
    """
    x, h, c, w, *_, dy, dh, dc, _ = inputs
    joined, bias, order = unpacked(w, x.shape[2], settings)
    steps = forward([x, joined, bias, h, c], {"forget_bias": 0.0}, product)
    known = [x, joined, bias, steps[0], h[0], c[0], steps[1], steps[2]]
    found = dynamic_rnn([*known, dy, dh[0], dc[0], *steps[3:]], {}, product)
    rows = np.empty((order.size, joined.shape[0]), x.dtype)
    rows[order] = found[0].T
    parts = [rows[:, : x.shape[2]].reshape(-1), rows[:, x.shape[2] :].reshape(-1)]
    if settings["has_bias"]:
        shift = np.empty_like(found[1])
        shift[order] = found[1]
        parts.append(shift)
    return [found[2], found[3][None], found[4][None], np.concatenate(parts).reshape(w.shape)]
