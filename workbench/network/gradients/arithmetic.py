"""Gradients of operators on two inputs that are stretched to a common shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.network.gradients.rule import number, several, sum_to, times
from workbench.network.symbolic import record

if TYPE_CHECKING:
    from workbench.network.gradients.rule import Backward, Entries, Rule
    from workbench.network.symbolic import Tensor


def add(b: Backward) -> Entries:
    """X + y."""
    x, y = b.inputs
    return lambda: sum_to(b.dout, x), lambda: sum_to(b.dout, y)


def sub(b: Backward) -> Entries:
    """X - y."""
    x, y = b.inputs
    return lambda: sum_to(b.dout, x), lambda: sum_to(record("Neg", b.dout), y)


def mul(b: Backward) -> Entries:
    """X · y."""
    x, y = b.inputs
    return lambda: sum_to(times(y, b.dout), x), lambda: sum_to(times(x, b.dout), y)


def divide(b: Backward) -> Entries:
    """X / y; that of y is -dout · (x / y) / y, in MindSpore's order."""
    x, y = b.inputs

    def divisor() -> Tensor:
        return sum_to(record("Mul", record("Neg", b.dout), record("Div", b.out, y)), y)

    return lambda: sum_to(record("Div", b.dout, y), x), divisor


def power(b: Backward) -> Entries:
    """X ^ y; that of y is 0 where 0 is raised to a power that is not negative."""
    x, y = b.inputs

    def base() -> Tensor:
        lower = record("Pow", x, record("Sub", y, number(1, y)))
        return sum_to(times(record("Mul", y, lower), b.dout), x)

    def exponent() -> Tensor:
        share = record("Mul", b.out, record("Log", x))
        zero = record("Equal", x, number(0, x))
        still = record("LogicalAnd", zero, record("GreaterEqual", y, number(0, y)))
        share = record("Select", still, record("ZerosLike", share), share)
        return sum_to(times(share, b.dout), y)

    return base, exponent


def extreme(loses: str, wins: str) -> Rule:
    """Gradient of the larger or smaller of two; each has half of it where both are equal."""

    def rule(b: Backward) -> Entries:
        x, y = b.inputs

        def share(op_type: str, of: Tensor) -> Tensor:
            half = record("Div", b.dout, number(2, b.dout))
            shared = record("Select", record("Equal", x, y), half, b.dout)
            lost = record(op_type, x, y)
            return sum_to(record("Select", lost, record("ZerosLike", b.out), shared), of)

        return lambda: share(loses, x), lambda: share(wins, y)

    return rule


def add_n(b: Backward) -> Entries:
    """Sum of any number of tensors."""
    return (lambda: b.dout,) * len(b.inputs)


def bias_add(b: Backward) -> Entries:
    """Vector along axis 1."""
    return lambda: b.dout, lambda: record("BiasAddGrad", b.dout, b.settings["data_format"])


def select(b: Backward) -> Entries:
    """X where a condition is true, else y."""
    condition, x, y = b.inputs

    def taken() -> Tensor:
        return sum_to(record("Select", condition, b.dout, record("ZerosLike", b.dout)), x)

    def other() -> Tensor:
        return sum_to(record("Select", condition, record("ZerosLike", b.dout), b.dout), y)

    return None, taken, other


def masked_fill(b: Backward) -> Entries:
    """X with a value where the mask is true."""
    x, mask, value = b.inputs

    def filled() -> Tensor:
        inside = record("Select", mask, b.dout, record("ZerosLike", b.dout))
        return sum_to(inside, value)

    return lambda: sum_to(record("MaskedFill", b.dout, mask, number(0, x)), x), None, filled


def dropout(b: Backward) -> Entries:
    """Elements that were kept."""
    keep = b.settings["keep_prob"]
    return (lambda: record("DropoutGrad", b.dout, b.outputs[1], keep_prob=keep),)


def prelu(b: Backward) -> Entries:
    """Slopes of channels."""
    return several(2, "PReLUGrad", lambda: (b.dout, *b.inputs))
