"""Gradients of functions of every element alone."""

from __future__ import annotations

from math import pi, sqrt
from typing import TYPE_CHECKING

from workbench.network.gradients.rule import number, times
from workbench.network.symbolic import record

if TYPE_CHECKING:
    from workbench.network.gradients.rule import Backward
    from workbench.network.symbolic import Tensor

_SELU_SCALE, _SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


def square(b: Backward) -> Tensor:
    """2 · x."""
    twice = record("Mul", record("Pow", b.x, number(1, b.x)), number(2, b.x))
    return times(b.dout, twice)


def exp(b: Backward) -> Tensor:
    """exp(x)."""
    return times(b.dout, b.out)


def log(b: Backward) -> Tensor:
    """1 / x."""
    return record("Div", b.dout, b.x)


def reciprocal(b: Backward) -> Tensor:
    """-1 / x²."""
    return times(record("Neg", b.dout), record("Mul", b.out, b.out))


def erf(b: Backward) -> Tensor:
    """2 / sqrt(π) · exp(-x²)."""
    bell = record("Exp", record("Neg", record("Pow", b.x, number(2, b.x))))
    return times(record("Mul", bell, number(2 / sqrt(pi), b.x)), b.dout)


def sin(b: Backward) -> Tensor:
    """cos(x)."""
    return times(b.dout, record("Cos", b.x))


def cos(b: Backward) -> Tensor:
    """-sin(x)."""
    return times(b.dout, record("Neg", record("Sin", b.x)))


def absolute(b: Backward) -> Tensor:
    """Sign of x."""
    return times(b.dout, record("Sign", b.x))


def neg(b: Backward) -> Tensor:
    """-1."""
    return record("Neg", b.dout)


def cast(b: Backward) -> Tensor:
    """Round the gradient to the dtype of the input."""
    return record("Cast", b.dout, dst_type=b.x.dtype)


def clamp(b: Backward) -> Tensor:
    """1 between the bounds, both included."""
    inside: Tensor | None = None
    for name, op_type in (("min", "GreaterEqual"), ("max", "LessEqual")):
        if b.settings[name] is not None:
            within = record(op_type, b.x, number(b.settings[name], b.x))
            inside = within if inside is None else record("LogicalAnd", inside, within)
    if inside is None:
        return b.dout
    return record("Select", inside, b.dout, record("ZerosLike", b.dout))


def elu(b: Backward) -> Tensor:
    """1 where x is positive, else out + alpha."""
    alpha = b.settings["alpha"]
    if alpha == 1:  # all that MindSpore's own operator knows
        return record("EluGrad", b.dout, b.out)
    bent = times(b.dout, record("Add", b.out, number(alpha, b.x)))
    return record("Select", record("Greater", b.x, number(0, b.x)), b.dout, bent)


def selu(b: Backward) -> Tensor:
    """Scale where x is positive, else out + scale · alpha (MindSpore 2.10 adds 1 there, and scales)."""
    rising = record("Mul", b.dout, number(_SELU_SCALE, b.x))
    bent = times(b.dout, record("Add", b.out, number(_SELU_SCALE * _SELU_ALPHA, b.x)))
    return record("Select", record("Greater", b.x, number(0, b.x)), rising, bent)


def silu(b: Backward) -> Tensor:
    """σ + x · σ · (1 - σ)."""
    sigmoid = record("Sigmoid", b.x)
    bent = record("SigmoidGrad", sigmoid, times(b.x, b.dout))
    return record("Add", bent, times(sigmoid, b.dout))


def mish(b: Backward) -> Tensor:
    """tanh(softplus(x)) + x · d tanh(softplus(x))."""
    tanh = record("Tanh", record("Softplus", b.x))
    bent = record("SoftplusGrad", record("TanhGrad", tanh, b.x), b.x)
    return times(record("Add", tanh, bent), b.dout)


def softsign(b: Backward) -> Tensor:
    """1 / (1 + |x|)²."""
    width = record("Add", record("Abs", b.x), number(1, b.x))
    return record("Div", b.dout, record("Square", width))
