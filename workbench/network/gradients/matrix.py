"""Gradients of matrix products and convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.network.gradients.rule import several, sum_to
from workbench.network.symbolic import record

if TYPE_CHECKING:
    from workbench.network.gradients.rule import Backward, Entries
    from workbench.network.symbolic import Tensor


def matmul(b: Backward) -> Entries:
    """Matrix product, stacked or not, of inputs that may be transposed."""
    x, y = b.inputs
    flip_x, flip_y = bool(b.settings["transpose_a"]), bool(b.settings["transpose_b"])
    both = flip_x and flip_y

    def left() -> Tensor:
        pair = (y, b.dout) if flip_x else (b.dout, y)
        return sum_to(record(b.op.op_type, *pair, both, flip_x or not flip_y), x)

    def right() -> Tensor:
        pair = (b.dout, x) if flip_y else (x, b.dout)
        return sum_to(record(b.op.op_type, *pair, not flip_x or flip_y, both), y)

    return left, right


_INPUT = {"input_names": ("out_backprop", "filter", "input_sizes"), "output_names": ("output",)}
_FILTER = {"input_names": ("out_backprop", "input", "filter_sizes"), "output_names": ("output",)}
"""Names that MindSpore's classes of these operators give their arguments, not those of the table."""


def _settings(b: Backward) -> dict[str, Any]:
    """Attributes of a convolution as its gradients carry them."""
    attrs = dict(b.op.attrs)
    attrs["pad_mode"] = str(attrs["pad_mode"]).upper()
    return attrs | {"data_format": attrs.get("format", "NCHW")}


def _sizes(tensor: Tensor) -> np.ndarray[Any, Any]:
    return np.asarray(tensor.shape, np.int64)


def conv2d(b: Backward) -> Entries:
    """Convolution."""
    x, weight = b.inputs
    attrs = _settings(b)
    return (
        lambda: record("Conv2DBackpropInput", b.dout, weight, _sizes(x), **attrs, **_INPUT),
        lambda: record("Conv2DBackpropFilter", b.dout, x, _sizes(weight), **attrs, **_FILTER),
    )


def conv2d_transpose(b: Backward) -> Entries:
    """Transposed convolution: its input's gradient is a convolution."""
    x, weight = b.inputs
    attrs = _settings(b)
    plain = attrs | {"pad_mode": attrs["pad_mode"].lower()}
    plain.pop("data_format")
    return (
        lambda: record("Conv2D", b.dout, weight, **plain),
        lambda: record("Conv2DBackpropFilter", x, b.dout, _sizes(weight), **attrs, **_FILTER),
    )


def lstm(b: Backward) -> Entries:
    """LSTM of MindSpore on CPU and GPU; the fourth output is what the gradient needs besides."""
    y, h, c, reserve = b.outputs[:4]
    grads = (b.grad(0), b.grad(1), b.grad(2))
    return several(4, "LSTMGrad", lambda: (*b.inputs, y, h, c, *grads, reserve), **b.op.attrs)
