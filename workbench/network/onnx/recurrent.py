"""Converters of recurrent layers: one operator for each direction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.dtypes import DTYPES
from workbench.network.nn.recurrent import PLAIN_LSTM
from workbench.network.onnx.node import UnsupportedNodeError
from workbench.network.symbolic import record, record_all

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workbench.network.onnx.node import Node

    Direction = Callable[[Node, Any, int, int], tuple[Any, ...]]


def _checked(node: Node, activations: tuple[str, ...]) -> int:
    """Number of directions; raises Lacking for what the operators do not do."""
    directions = 2 if node.attr("direction", "forward") == "bidirectional" else 1
    given = [value.lower() for value in node.attr("activations", ())]
    if given and tuple(given) != activations * directions:
        expected = [activations * directions]
        raise UnsupportedNodeError(
            "graph/onnx-attribute", name="activations", expected=expected, got=tuple(given)
        )
    node.only("clip", None, None)
    node.only("input_forget", 0, 0)
    steps = node.shape()[1 if node.attr("layout", 0) else 0]
    if node.has(4) and any(length != steps for length in node.known_ints(4)):
        raise UnsupportedNodeError("graph/onnx-lengths", expected=steps, got=node.known_ints(4))
    return directions


def _both(node: Node, activations: tuple[str, ...], direction: Direction) -> Any:
    """Run the directions of a layer; return Y and the last states, in ONNX's shapes."""
    count = _checked(node, activations)
    batch_first = bool(node.attr("layout", 0))
    x = node.tensor()
    if batch_first:
        x = record("Transpose", x, (1, 0, 2))
    found = []
    for place in range(count):
        back = place == 1 or node.attr("direction", "forward") == "reverse"
        rows = record("ReverseV2", x, (0,)) if back else x
        y, *states = direction(node, rows, place, x.shape[1])
        steps = x.shape[0]
        last = [_step(state, steps - 1) for state in states]
        found.append((record("ReverseV2", y, (0,)) if back else y, *last))
    y, *states = (
        _joined(one, axis) for one, axis in zip(zip(*found, strict=True), (1, 0, 0), strict=False)
    )
    if batch_first:
        y = record("Transpose", y, (2, 0, 1, 3))
        states = [record("Transpose", state, (1, 0, 2)) for state in states]
    return [y, *states]


def _joined(directions: Sequence[Any], axis: int) -> Any:
    """What directions give, along a new axis."""
    if len(directions) == 1:
        return record("ExpandDims", directions[0], axis)
    return record("Stack", directions, axis=axis, num=len(directions), N=len(directions))


def _step(states: Any, number: int) -> Any:
    """State of one step: (T, B, H) → (B, H)."""
    return record("StridedSlice", states, (number,), (number + 1,), (1,), 0, 0, 0, 0, 1)


def _state(node: Node, index: int, place: int, batch: int, hidden: int) -> Any:
    """Initial state (1, B, H) of a direction; zeros if the node gives none."""
    if not node.has(index):
        return np.zeros((1, batch, hidden), DTYPES[node.dtype()].storage)
    state = node.tensor(index)
    if node.attr("layout", 0):
        state = record("Transpose", state, (1, 0, 2))
    begin, end = (place, 0, 0), (place + 1, batch, hidden)
    return record("StridedSlice", state, begin, end, (1, 1, 1), 0, 0, 0, 0, 0)


def lstm(node: Node) -> Any:
    """Gates i, o, f, c of weights that are known become i, j, f, o of `DynamicRNN`."""
    if node.has(7):
        raise UnsupportedNodeError("graph/onnx-peepholes")
    return _both(node, ("sigmoid", "tanh", "tanh"), _lstm)


def _lstm(node: Node, x: Any, place: int, batch: int) -> tuple[Any, ...]:
    w, r = node.known(1)[place], node.known(2)[place]
    hidden = r.shape[1]
    order = np.r_[0:hidden, 3 * hidden : 4 * hidden, 2 * hidden : 3 * hidden, hidden : 2 * hidden]
    weight = np.ascontiguousarray(np.concatenate([w, r], axis=1)[order].T)
    bias = np.zeros(4 * hidden, w.dtype)
    if node.has(3):
        bias = node.known(3)[place].reshape(2, -1).sum(axis=0, dtype=w.dtype)[order]
    states = [_state(node, index, place, batch, hidden) for index in (5, 6)]
    y, h, c, *_ = record_all(
        "DynamicRNN",
        x,
        weight,
        bias,
        None,
        *states,
        **PLAIN_LSTM,
    )
    return y, h, c


def gru(node: Node) -> Any:
    """Gates z, r, h of weights that are known, as `DynamicGRUV2` has them."""
    return _both(node, ("sigmoid", "tanh"), _gru)


def _gru(node: Node, x: Any, place: int, batch: int) -> tuple[Any, ...]:
    w, r = node.known(1)[place], node.known(2)[place]
    width = r.shape[0]
    both = node.known(3)[place] if node.has(3) else np.zeros(2 * width, w.dtype)
    state = _state(node, 5, place, batch, r.shape[1])
    y, h, *_ = record_all(
        "DynamicGRUV2",
        x,
        np.ascontiguousarray(w.T),
        np.ascontiguousarray(r.T),
        both[:width],
        both[width:],
        None,
        record("Squeeze", state, (0,)),
        direction="UNIDIRECTIONAL",
        cell_depth=1,
        keep_prob=1.0,
        cell_clip=-1.0,
        num_proj=0,
        time_major=True,
        activation="tanh",
        gate_order="zrh",
        reset_after=bool(node.attr("linear_before_reset", 0)),
        is_training=False,
    )
    return y, h
