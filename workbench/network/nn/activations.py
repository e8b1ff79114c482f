"""Activation layers beyond the common five of `workbench.network.nn.layers`, named like ``mindspore.nn``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.network.cell import Cell
from workbench.network.nn import functional

if TYPE_CHECKING:
    from workbench.network.symbolic import Operators, Tensor


class ReLU6(Cell):
    """min(max(x, 0), 6)."""

    def construct(self, x: Operators) -> Tensor:
        return functional.relu6(x)


class LeakyReLU(Cell):
    """Passes x where it is positive, else alpha · x."""

    def __init__(self, alpha: float = 0.2) -> None:
        self.alpha = alpha

    def construct(self, x: Operators) -> Tensor:
        return functional.leaky_relu(x, self.alpha)


class ELU(Cell):
    """Passes x where it is positive, else alpha · (exp(x) - 1)."""

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def construct(self, x: Operators) -> Tensor:
        return functional.elu(x, self.alpha)


class SiLU(Cell):
    """x · sigmoid(x)."""

    def construct(self, x: Operators) -> Tensor:
        return functional.silu(x)


class Mish(Cell):
    """x · tanh(softplus(x))."""

    def construct(self, x: Operators) -> Tensor:
        return functional.mish(x)


class HSwish(Cell):
    """x · relu6(x + 3) / 6."""

    def construct(self, x: Operators) -> Tensor:
        return functional.hardswish(x)


class HSigmoid(Cell):
    """relu6(x + 3) / 6."""

    def construct(self, x: Operators) -> Tensor:
        return functional.hardsigmoid(x)
