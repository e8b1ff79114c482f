"""Gradients of normalizations, windows, losses and recurrent layers."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from workbench.network.gradients.rule import several, times
from workbench.network.symbolic import record, record_all

if TYPE_CHECKING:
    from workbench.network.gradients.rule import Backward, Entries
    from workbench.network.symbolic import Tensor


def layer_norm(b: Backward) -> Entries:
    """Normalization over the last axes."""
    x, gamma, _ = b.inputs
    _, mean, variance = b.outputs
    s = b.settings

    def operands() -> tuple[Any, ...]:
        axes = (s["begin_norm_axis"], s["begin_params_axis"])
        return (x, b.dout, variance, mean, gamma, *axes)

    return several(3, "LayerNormGrad", operands, epsilon=s["epsilon"])


def rms_norm(b: Backward) -> Entries:
    """Division by the root of the mean square."""
    x, gamma = b.inputs
    return several(2, "RmsNormGrad", lambda: (b.dout, x, b.outputs[1], gamma))


def group_norm(b: Backward) -> Entries:
    """Normalization over groups of channels."""
    x, gamma, _ = b.inputs
    _, mean, rstd = b.outputs
    groups = b.settings["num_groups"]
    flags = (True, True, True)
    return several(3, "GroupNormGrad", lambda: (b.dout, x, mean, rstd, gamma, groups, *flags))


def batch_norm(b: Backward) -> Entries:
    """Normalization over batch and space: by their own moments in training, else by given ones."""
    x, scale, _, mean, variance = b.inputs
    s = b.settings
    saved = b.outputs[3:5] if s["is_training"] else (mean, variance)

    def operands() -> tuple[Any, ...]:
        settings = (bool(s["is_training"]), s["epsilon"], s["data_format"])
        return (b.dout, x, scale, *saved, b.outputs[2], *settings)

    return (*several(3, "BatchNormGrad", operands), None, None)


def max_pool(b: Backward) -> Tensor:
    """Largest value of each window."""
    s = b.settings
    attrs = {"kernel_size": s["kernel_size"], "strides": s["strides"], "pad_mode": s["pad_mode"]}
    return record(
        "MaxPoolGrad",
        b.x,
        b.out,
        b.dout,
        **attrs,
        data_format=s.get("format", "NCHW"),
        format="NCHW",
    )


def avg_pool(b: Backward) -> Tensor:
    """Mean of each window."""
    names = ("kernel_size", "strides", "pad_mode", "data_format")
    return record("AvgPoolGrad", b.x, b.out, b.dout, *(b.settings[name] for name in names))


def softmax_cross_entropy(b: Backward) -> Entries:
    """Loss of rows of probabilities; the second output is its gradient by the logits."""

    def logits() -> Tensor:
        return record("Mul", b.outputs[1], record("ExpandDims", b.dout, -1))

    return logits, None


def sparse_softmax_cross_entropy(b: Backward) -> Entries:
    """Mean loss of classes; the same operator computes its gradient."""
    op_type = b.op.op_type

    def logits() -> Tensor:
        return times(record(op_type, *b.inputs, is_grad=True), b.dout)

    return logits, None


def dynamic_rnn(b: Backward) -> Entries:
    """LSTM of Ascend; state and its gradient are those of the last step."""
    x, w, bias, init_h, init_c = b.inputs
    y, h, c, *gates = b.outputs

    @cache
    def all_of_them() -> tuple[Tensor, ...]:
        ends = (b.grad(1)[-1], b.grad(2)[-1])
        states = (y, init_h[0], init_c[0], h, c, b.dout, *ends)
        return record_all("DynamicRNNGrad", x, w, bias, *states, *gates)

    def state(slot: int) -> Tensor:
        return record("ExpandDims", all_of_them()[slot], 0)

    dw, db, dx = (lambda slot=slot: all_of_them()[slot] for slot in range(3))
    return dx, dw, db, lambda: state(3), lambda: state(4)
