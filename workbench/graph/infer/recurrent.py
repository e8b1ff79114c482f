"""Rules of recurrent layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.tensors import TensorSpec
from workbench.graph.infer import Call, like, one_dtype, refuse

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_ONLY: Mapping[str, Mapping[str, Any]] = {
    "DynamicRNN": {
        "seq_length": None,
        "cell_type": "LSTM",
        "direction": "UNIDIRECTIONAL",
        "cell_depth": 1,
        "use_peephole": False,
        "keep_prob": 1.0,
        "cell_clip": -1.0,
        "num_proj": 0,
        "time_major": True,
        "activation": "tanh",
    },
    "DynamicGRUV2": {
        "seq_length": None,
        "direction": "UNIDIRECTIONAL",
        "cell_depth": 1,
        "keep_prob": 1.0,
        "cell_clip": -1.0,
        "num_proj": 0,
        "time_major": True,
        "activation": "tanh",
    },
    "LSTM": {"num_layers": 1, "bidirectional": False, "proj_size": 0},
}
"""The only values of settings for which we compute."""


def _supported(call: Call) -> None:
    for name, value in _ONLY[call.op_type].items():
        if call.settings[name] != value:
            refuse(name, repr(value), call.settings[name])


def _shapes(call: Call, wanted: Mapping[str, tuple[int, ...]]) -> None:
    for index, (name, shape) in enumerate(wanted.items(), 1):
        if call.shape(index) != shape:
            refuse(f"shape of {name}", f"{shape}", call.shape(index))


def _steps(call: Call) -> tuple[int, int, int]:
    shape = call.shape()
    if len(shape) != 3:
        refuse("shape of the input", "of rank 3 (time, batch, features)", shape)
    return shape[0], shape[1], shape[2]


def dynamic_rnn(call: Call) -> tuple[TensorSpec, ...]:
    """Input (T, B, I), weight (I + H, 4H), bias (4H,), state (1, B, H) twice.

    Returns the outputs, both states and the gates i, j, f, o and tanh(c) of every step.
    """
    one_dtype(call)
    _supported(call)
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
    return like(call, (steps, batch, hidden)) * 8


def dynamic_gru(call: Call) -> tuple[TensorSpec, ...]:
    """Input (T, B, I), weights (I, 3H) and (H, 3H), two biases (3H,), state (B, H).

    Returns the outputs, the states, both gates, the new state and the hidden part of it.
    """
    one_dtype(call)
    _supported(call)
    if call.settings["gate_order"] not in ("rzh", "zrh"):
        refuse("gate_order", "'rzh' or 'zrh'", call.settings["gate_order"])
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
    return like(call, (steps, batch, hidden)) * 6


def lstm(call: Call) -> tuple[TensorSpec, ...]:
    """Input (T, B, I), states (1, B, H), all weights in one tensor of 4H (I + H) + 4H elements.

    This is the operator of MindSpore's CPU; two of its five outputs are empty scratch space.
    """
    one_dtype(call)
    _supported(call)
    steps, batch, features = _steps(call)
    hidden, state = call.settings["hidden_size"], (1, batch, call.settings["hidden_size"])
    bias = 4 * hidden if call.settings["has_bias"] else 0
    weights = 4 * hidden * (features + hidden) + bias
    _shapes(call, {"h": state, "c": state, "w": (weights, 1, 1)})
    scratch = TensorSpec(call.tensors[0].dtype, (1, 1))
    states = like(call, state)
    return (*like(call, (steps, batch, hidden)), *states, *states, scratch, scratch)
