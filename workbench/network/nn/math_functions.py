"""Functions of every element alone, named like ``mindspore.ops``."""

from __future__ import annotations

from typing import Any

from workbench.network.symbolic import Operators, Tensor, record

_GE_INT8 = 2
"""GE's number of int8."""


def relu6(x: Operators) -> Tensor:
    """min(max(x, 0), 6)."""
    return record("ReLU6", x)


def leaky_relu(x: Operators, alpha: float = 0.2) -> Tensor:
    """Return x where it is positive, else alpha · x."""
    return record("Maximum" if alpha <= 1 else "Minimum", x * alpha, x)


def prelu(x: Operators, weight: Operators) -> Tensor:
    """Return x where it is positive, else weight · x, with one weight for each channel."""
    return record("PReLU", x, weight)


def elu(x: Operators, alpha: float = 1.0) -> Tensor:
    """Return x where it is positive, else alpha · (exp(x) - 1)."""
    return record("Elu", x, float(alpha))


def selu(x: Operators) -> Tensor:
    """ELU that keeps mean and variance."""
    return record("SeLU", x)


def silu(x: Operators) -> Tensor:
    """X · sigmoid(x)."""
    return record("SiLU", x)


def mish(x: Operators) -> Tensor:
    """X · tanh(softplus(x))."""
    return record("Mish", x)


def hardswish(x: Operators) -> Tensor:
    """X · relu6(x + 3) / 6."""
    return record("HSwish", x)


def hardsigmoid(x: Operators) -> Tensor:
    """relu6(x + 3) / 6."""
    return record("HSigmoid", x)


def softplus(x: Operators) -> Tensor:
    """log(1 + exp(x))."""
    return record("Softplus", x)


def softsign(x: Operators) -> Tensor:
    """X / (1 + |x|)."""
    return record("Softsign", x)


def sin(x: Operators) -> Tensor:
    """Sine."""
    return record("Sin", x)


def cos(x: Operators) -> Tensor:
    """Cosine."""
    return record("Cos", x)


def floor(x: Operators) -> Tensor:
    """Largest integer that is not larger."""
    return record("Floor", x)


def ceil(x: Operators) -> Tensor:
    """Smallest integer that is not smaller."""
    return record("Ceil", x)


def round(x: Operators) -> Tensor:
    """Nearest integer, ties to even."""
    return record("Round", x, 0)


def sign(x: Operators) -> Tensor:
    """-1, 0 or 1."""
    return record("Sign", x)


def reciprocal(x: Operators) -> Tensor:
    """1 / x."""
    return record("Reciprocal", x)


def clamp(x: Operators, min: Any = None, max: Any = None) -> Tensor:
    """min(max(x, low), high); a bound that is ``None`` does not bind."""
    return record("ClampScalar", x, min, max)


def ascend_quant(
    x: Operators, scale: float, offset: float = 0.0, round_mode: str = "Round"
) -> Tensor:
    """Round x · scale + offset to int8, saturating."""
    settings = {"scale": float(scale), "offset": float(offset), "sqrt_mode": False}
    return record("AscendQuant", x, **settings, round_mode=round_mode, dst_type=_GE_INT8)


def ascend_dequant(x: Operators, deq_scale: Any, relu_flag: bool = False) -> Tensor:
    """Sums of a quantized product as float32: one scale, or one for each channel."""
    return record("AscendDequant", x, deq_scale, sqrt_mode=False, relu_flag=relu_flag, dtype=0)


def ascend_anti_quant(x: Operators, scale: float, offset: float = 0.0) -> Tensor:
    """(x + offset) · scale as float32."""
    settings = {"scale": float(scale), "offset": float(offset)}
    return record("AscendAntiQuant", x, **settings, dtype=0, sqrt_mode=False)
