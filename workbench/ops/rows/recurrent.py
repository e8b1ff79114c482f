"""Recurrent layers and their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from workbench.core.tensors import TensorSpec
from workbench.ops.definition import Call, OpDef, output_like, reject, same_dtype
from workbench.ops.gradient import Backward, Entries, Symbol
from workbench.ops.kernels import recurrent as kernels

if TYPE_CHECKING:
    from collections.abc import Mapping


def _shapes(call: Call, wanted: Mapping[str, tuple[int, ...]]) -> None:
    for index, (name, shape) in enumerate(wanted.items(), 1):
        if call.shape(index) != shape:
            reject("graph/shape", subject=name, expected=shape, got=call.shape(index))


def _steps(call: Call) -> tuple[int, int, int]:
    shape = call.shape()
    if len(shape) != 3:
        reject("graph/layout", subject="input", expected="(time, batch, features)", got=shape)
    return shape[0], shape[1], shape[2]


def dynamic_rnn_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Input (T, B, I), weight (I + H, 4H), bias (4H,), state (1, B, H) twice.

    Returns the outputs, both states and the gates i, j, f, o and tanh(c) of every step.
    """
    same_dtype(call)
    steps, batch, features = _steps(call)
    hidden = call.shape(2)[0] // 4 if len(call.shape(2)) == 1 else 0
    state = (1, batch, hidden)
    _shapes(
        call,
        {
            "w": (features + hidden, 4 * hidden),
            "b": (4 * hidden,),
            "init_h": state,
            "init_c": state,
        },
    )
    return output_like(call, (steps, batch, hidden)) * 8


def dynamic_gru_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Input (T, B, I), weights (I, 3H) and (H, 3H), two biases (3H,), state (B, H).

    Returns the outputs, the states, both gates, the new state and the hidden part of it.
    """
    same_dtype(call)
    if call.settings["gate_order"] not in ("rzh", "zrh"):
        reject(
            "core/choice",
            subject="gate_order",
            got=call.settings["gate_order"],
            known=["rzh", "zrh"],
        )
    steps, batch, features = _steps(call)
    hidden = call.shape(5)[-1] if call.shape(5) else 0
    width = 3 * hidden
    _shapes(
        call,
        {
            "weight_input": (features, width),
            "weight_hidden": (hidden, width),
            "bias_input": (width,),
            "bias_hidden": (width,),
            "init_h": (batch, hidden),
        },
    )
    return output_like(call, (steps, batch, hidden)) * 6


def lstm_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Input (T, B, I), states (1, B, H), all weights in one tensor of 4H (I + H) + 4H elements.

    This is the operator of MindSpore's CPU; two of its five outputs are empty scratch space.
    """
    same_dtype(call)
    steps, batch, features = _steps(call)
    hidden = call.settings["hidden_size"]
    if not isinstance(hidden, int) or hidden < 1:
        reject("graph/integer", subject="hidden_size", least=1, got=hidden)
    state = (1, batch, hidden)
    bias = 4 * hidden if call.settings["has_bias"] else 0
    weights = 4 * hidden * (features + hidden) + bias
    _shapes(call, {"h": state, "c": state, "w": (weights, 1, 1)})
    scratch = TensorSpec(call.tensors[0].dtype, (1, 1))
    states = output_like(call, state)
    return (*output_like(call, (steps, batch, hidden)), *states, *states, scratch, scratch)


_AFTER = ("y", "init_h", "init_c", "h", "c", "dy", "dh", "dc", "i", "j", "f", "o", "tanhct")
"""Arguments of `DynamicRNNGrad` behind x, w and b."""


def dynamic_rnn_grad_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Gradients of weight, bias, input and both states (B, H), in CANN's order.

    Input (T, B, I), weight (I + H, 4H), bias (4H,); states and the gradients that reach the last
    step (B, H); the outputs of the layer and the gradient of the first one (T, B, H).
    """
    same_dtype(call)
    x, w, b = call.shape(0), call.shape(1), call.shape(2)
    if len(x) != 3 or len(b) != 1 or w != (x[2] + b[0] // 4, b[0]):
        reject(
            "graph/layout",
            subject="x, w and b",
            expected="(T, B, I), (I + H, 4H), (4H,)",
            got=(x, w, b),
        )
    state = (x[1], b[0] // 4)
    for index, name in enumerate(_AFTER, 3):
        wanted = state if name in ("init_h", "init_c", "dh", "dc") else (x[0], *state)
        if call.shape(index) != wanted:
            reject("graph/shape", subject=name, expected=wanted, got=call.shape(index))
    shapes = (w, b, x, state, state)
    return tuple(spec for shape in shapes for spec in output_like(call, shape))


def lstm_grad_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Gradients of input, both states and the weights; the last argument is scratch space."""
    same_dtype(call)
    outputs = lstm_shapes(Call("LSTM", call.tensors[:4], call.settings))
    for first in (4, 7):
        for spec, index, name in zip(outputs[:3], range(first, first + 3), "yhc", strict=True):
            if call.shape(index) != spec.shape:
                reject("graph/shape", subject=name, expected=spec.shape, got=call.shape(index))
    return tuple(call.tensors[:4])


def dynamic_rnn_gradient(b: Backward) -> Entries:
    """LSTM of Ascend; state and its gradient are those of the last step."""
    x, w, bias, init_h, init_c = b.inputs
    y, h, c, *gates = b.outputs

    @cache
    def all_of_them() -> Sequence[Symbol]:
        ends = (b.grad(1)[-1], b.grad(2)[-1])
        states = (y, init_h[0], init_c[0], h, c, b.dout, *ends)
        return b.record_all("DynamicRNNGrad", x, w, bias, *states, *gates)

    def state(slot: int) -> Symbol:
        return b.record("ExpandDims", all_of_them()[slot], 0)

    dw, db, dx = (lambda slot=slot: all_of_them()[slot] for slot in range(3))
    return dx, dw, db, lambda: state(3), lambda: state(4)


def lstm_gradient(b: Backward) -> Entries:
    """LSTM of MindSpore on CPU and GPU; the fourth output is what the gradient needs besides."""
    y, h, c, reserve = b.outputs[:4]
    grads = (b.grad(0), b.grad(1), b.grad(2))
    return b.multi_output_gradient(
        4, "LSTMGrad", lambda: (*b.inputs, y, h, c, *grads, reserve), **b.op.attrs
    )


_UNREAD = {
    "seq_length": None,
    "direction": "UNIDIRECTIONAL",
    "cell_depth": 1,
    "keep_prob": 1.0,
    "cell_clip": -1.0,
    "num_proj": 0,
    "time_major": True,
    "activation": "tanh",
}


_UNREAD_RNN = {"cell_type": "LSTM", "use_peephole": False, **_UNREAD}


_RECURRENT = {**_UNREAD, "is_training": False}


_RNN = {"cell_type": "LSTM", "use_peephole": False, "forget_bias": 0.0, **_RECURRENT}


_GRU = {"gate_order": "rzh", "reset_after": True, **_RECURRENT}


_LSTM = {
    "input_size": 0,
    "hidden_size": 0,
    "num_layers": 1,
    "has_bias": True,
    "bidirectional": False,
    "dropout": 0.0,
    "proj_size": 0,
}


ROWS: dict[str, OpDef] = {
    "DynamicRNN": OpDef(
        "x w b seq_length init_h init_c",
        dynamic_rnn_shapes,
        "cube",
        5,
        _RNN,
        only=_UNREAD_RNN,
        places=(0, 1, 2, 4, 5),
        kernel=kernels.dynamic_rnn,
        gradient=dynamic_rnn_gradient,
        effect="contract",
        libm=True,
        floats=(0, 1, 2, 3, 4),
    ),
    "DynamicGRUV2": OpDef(
        "x weight_input weight_hidden bias_input bias_hidden seq_length init_h",
        dynamic_gru_shapes,
        "cube",
        6,
        _GRU,
        only=_UNREAD,
        places=(0, 1, 2, 3, 4, 6),
        kernel=kernels.dynamic_gru,
        effect="contract",
        libm=True,
        floats=(0, 1, 2, 3, 4, 5),
    ),
    "LSTM": OpDef(
        "x h c w",
        lstm_shapes,
        "cube",
        4,
        _LSTM,
        only={"num_layers": 1, "bidirectional": False, "proj_size": 0},
        kernel=kernels.lstm,
        gradient=lstm_gradient,
        effect="contract",
        libm=True,
        floats=(0, 1, 2, 3),
    ),
    "DynamicRNNGrad": OpDef(
        "x w b y init_h init_c h c dy dh dc i j f o tanhct",
        dynamic_rnn_grad_shapes,
        "cube",
        16,
        kernel=kernels.dynamic_rnn_grad,
        effect="contract",
        floats=(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
    ),
    "LSTMGrad": OpDef(
        "x h c w y hy cy dy dhy dcy reserve",
        lstm_grad_shapes,
        "cube",
        11,
        _LSTM,
        kernel=kernels.lstm_grad,
        effect="contract",
        floats=(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
    ),
}
