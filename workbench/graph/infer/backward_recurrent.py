"""Rules of the gradients of recurrent layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.graph.infer import Call, like, one_dtype, refuse
from workbench.graph.infer.recurrent import lstm as forward

if TYPE_CHECKING:
    from workbench.core.tensors import TensorSpec


_AFTER = ("y", "init_h", "init_c", "h", "c", "dy", "dh", "dc", "i", "j", "f", "o", "tanhct")
"""Arguments of `DynamicRNNGrad` behind x, w and b."""


def dynamic_rnn(call: Call) -> tuple[TensorSpec, ...]:
    """Gradients of weight, bias, input and both states (B, H), in CANN's order.

    Input (T, B, I), weight (I + H, 4H), bias (4H,); states and the gradients that reach the last
    step (B, H); the outputs of the layer and the gradient of the first one (T, B, H).
    """
    one_dtype(call)
    x, w, b = call.shape(0), call.shape(1), call.shape(2)
    if len(x) != 3 or len(b) != 1 or w != (x[2] + b[0] // 4, b[0]):
        refuse(
            "graph/layout",
            subject="x, w and b",
            expected="(T, B, I), (I + H, 4H), (4H,)",
            got=(x, w, b),
        )
    state = (x[1], b[0] // 4)
    for index, name in enumerate(_AFTER, 3):
        wanted = state if name in ("init_h", "init_c", "dh", "dc") else (x[0], *state)
        if call.shape(index) != wanted:
            refuse("graph/shape", subject=name, expected=wanted, got=call.shape(index))
    shapes = (w, b, x, state, state)
    return tuple(spec for shape in shapes for spec in like(call, shape))


def lstm(call: Call) -> tuple[TensorSpec, ...]:
    """Gradients of input, both states and the weights; the last argument is scratch space."""
    one_dtype(call)
    outputs = forward(Call("LSTM", call.tensors[:4], call.settings))
    for first in (4, 7):
        for spec, index, name in zip(outputs[:3], range(first, first + 3), "yhc", strict=True):
            if call.shape(index) != spec.shape:
                refuse("graph/shape", subject=name, expected=spec.shape, got=call.shape(index))
    return tuple(call.tensors[:4])
