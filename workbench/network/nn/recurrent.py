"""Recurrent layers. They become what MindSpore makes of them on Ascend: `DynamicRNN` and its weights.

Weights have the shapes, names and gate order (i, f, g, o) of ``mindspore.nn.LSTM``; the operator
wants them joined and transposed, in the order i, g, f, o.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import GraphError
from workbench.network.cell import Cell
from workbench.network.nn import array_functions as arrays
from workbench.network.nn import functional
from workbench.network.symbolic import Initial, Parameter, record_all

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.network.symbolic import Operators, Tensor

    Pair = tuple[Operators, Operators]

PLAIN_LSTM: dict[str, Any] = {
    "cell_type": "LSTM",
    "direction": "UNIDIRECTIONAL",
    "cell_depth": 1,
    "use_peephole": False,
    "keep_prob": 1.0,
    "cell_clip": -1.0,
    "num_proj": 0,
    "time_major": True,
    "activation": "tanh",
    "forget_bias": 0.0,
    "is_training": False,
}
"""Attributes of a `DynamicRNN` that is one layer of an LSTM in one direction."""


class _DynamicLSTMAscend(Cell):
    """One layer in one direction, on (T, B, I)."""

    def construct(self, x: Operators, state: Pair, weights: tuple[Operators, ...]) -> Any:
        parts = [_reordered(weight) for weight in weights[:2]]
        weight = functional.concat(parts, 1)
        bias: Any = np.zeros(weights[0].shape[0], x.dtype)
        if len(weights) > 2:
            bias = _reordered(weights[2] + weights[3])
        outputs, h, c, *_ = record_all(
            "DynamicRNN",
            x,
            functional.transpose(weight, (1, 0)),
            bias,
            None,
            *state,
            **PLAIN_LSTM,
        )
        return outputs, (h[-1], c[-1])


def _reordered(weight: Operators) -> Tensor:
    """Gates i, f, g, o as i, g, f, o."""
    i, f, g, o = arrays.split(weight, 4, 0)
    return functional.concat([i, g, f, o], 0)


class LSTM(Cell):
    """Long short-term memory over (T, B, I), or (B, T, I) with ``batch_first``.

    Called with the input, and with (h, c) of shape (layers · directions, B, H) unless they are 0;
    returns the outputs and the last (h, c).
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        has_bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
    ) -> None:
        if dropout:
            raise GraphError("graph/only", subject="dropout", expected=0, got=dropout)
        self.rnn = _DynamicLSTMAscend()
        self.hidden_size, self.num_layers = hidden_size, num_layers
        self.has_bias, self.batch_first = has_bias, batch_first
        self.directions = ("", "_reverse") if bidirectional else ("",)
        scale = 1.0 / sqrt(hidden_size)
        for layer in range(num_layers):
            features = hidden_size * len(self.directions) if layer else input_size
            shapes = {"weight_ih": (4 * hidden_size, features),
                      "weight_hh": (4 * hidden_size, hidden_size),
                      "bias_ih": (4 * hidden_size,), "bias_hh": (4 * hidden_size,)}  # fmt: skip
            for direction in self.directions:
                for name, shape in shapes.items():
                    if has_bias or not name.startswith("bias"):
                        parameter = Parameter(Initial(shape, "uniform", scale))
                        setattr(self, f"{name}_l{layer}{direction}", parameter)

    def construct(self, x: Operators, hx: Any = None) -> Any:
        if self.batch_first:
            x = functional.transpose(x, (1, 0, 2))
        ends: list[Pair] = []
        if hx is None:
            zeros = np.zeros((1, x.shape[1], self.hidden_size), x.dtype)
            hx = (zeros, zeros)
        for layer in range(self.num_layers):
            found = [self._one(x, hx, layer, place) for place in range(len(self.directions))]
            x = found[0][0] if len(found) == 1 else functional.concat([y for y, _ in found], 2)
            ends += [end for _, end in found]
        if self.batch_first:
            x = functional.transpose(x, (1, 0, 2))
        shape = (len(ends), x.shape[0 if self.batch_first else 1], self.hidden_size)
        joined = (functional.concat(values, 0) for values in zip(*ends, strict=True))
        return x, tuple(functional.reshape(value, shape) for value in joined)

    def _one(self, x: Operators, hx: tuple[Any, Any], layer: int, place: int) -> Any:
        number = layer * len(self.directions) + place
        state = tuple(h[number : number + 1] if h.shape[0] > 1 else h for h in hx)
        weights = tuple(self._weights(f"_l{layer}{self.directions[place]}"))
        if not place:
            return self.rnn(x, state, weights)
        y, end = self.rnn(arrays.flip(x, (0,)), state, weights)
        return arrays.flip(y, (0,)), end

    def _weights(self, suffix: str) -> Iterator[Parameter]:
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        for name in names if self.has_bias else names[:2]:
            yield getattr(self, name + suffix)
