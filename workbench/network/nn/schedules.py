"""Learning rates that follow the step, named and set up like those of ``mindspore.nn``.

A `LearningRateSchedule` is a cell that computes the rate in the graph.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from workbench.core.errors import GraphError
from workbench.network.cell import Cell
from workbench.network.nn import functional
from workbench.network.symbolic import binary

if TYPE_CHECKING:
    from workbench.network.symbolic import Operators, Tensor


class LearningRateSchedule(Cell):
    """Rate of a step; subclasses write ``construct(global_step)``, which returns one number."""


class ExponentialDecayLR(LearningRateSchedule):
    """learning_rate · decay_rate ^ (step / decay_steps), whole powers alone with ``is_stair``."""

    def __init__(
        self, learning_rate: float, decay_rate: float, decay_steps: int, is_stair: bool = False
    ) -> None:
        self.learning_rate = learning_rate
        self.decay_rate = decay_rate
        self.decay_steps = decay_steps
        self.is_stair = is_stair

    def construct(self, global_step: Operators) -> Tensor:
        p = functional.cast(global_step, "float32") / float(self.decay_steps)
        if self.is_stair:
            p = functional.floor(p)
        return self.learning_rate * functional.pow(self.decay_rate, p)


class NaturalExpDecayLR(ExponentialDecayLR):
    """learning_rate · e ^ (-decay_rate · step), in stairs of decay_steps with ``is_stair``."""

    def construct(self, global_step: Operators) -> Tensor:
        p = functional.cast(global_step, "float32")
        if self.is_stair:
            p = binary("FloorDiv", p, float(self.decay_steps)) * float(self.decay_steps)
        return self.learning_rate * functional.pow(math.e, -self.decay_rate * p)


class InverseDecayLR(ExponentialDecayLR):
    """learning_rate / (1 + decay_rate · step / decay_steps), in stairs with ``is_stair``."""

    def construct(self, global_step: Operators) -> Tensor:
        p = functional.cast(global_step, "float32") / float(self.decay_steps)
        if self.is_stair:
            p = functional.floor(p)
        return functional.reciprocal(1.0 + self.decay_rate * p) * self.learning_rate


class CosineDecayLR(LearningRateSchedule):
    """Half a cosine from max_lr down to min_lr in decay_steps."""

    def __init__(self, min_lr: float, max_lr: float, decay_steps: int) -> None:
        if min_lr >= max_lr:
            raise GraphError("graph/learning-rates", least=min_lr, most=max_lr)
        self.min_lr = min_lr
        self.delta = 0.5 * (max_lr - min_lr)
        self.decay_steps = decay_steps

    def construct(self, global_step: Operators) -> Tensor:
        p = functional.cast(functional.minimum(global_step, self.decay_steps), "float32")
        turn = math.pi * (p / float(self.decay_steps) + 0.5)
        return self.min_lr + self.delta * (1.0 + functional.sin(turn))


class PolynomialDecayLR(LearningRateSchedule):
    """A power of the share of decay_steps that is left, from learning_rate to end_learning_rate."""

    def __init__(
        self,
        learning_rate: float,
        end_learning_rate: float,
        decay_steps: int,
        power: float,
        update_decay_steps: bool = False,
    ) -> None:
        self.end_learning_rate = end_learning_rate
        self.diff_learning_rate = learning_rate - end_learning_rate
        self.decay_steps = float(decay_steps)
        self.power = power
        self.update_decay_steps = update_decay_steps

    def construct(self, global_step: Operators) -> Tensor:
        step = functional.cast(global_step, "float32")
        if self.update_decay_steps:
            turns = functional.maximum(functional.ceil(step / self.decay_steps), 1.0)
            p = step / (self.decay_steps * turns)
        else:
            p = functional.minimum(step, self.decay_steps) / self.decay_steps
        left = functional.pow(1.0 - p, self.power)
        return self.diff_learning_rate * left + self.end_learning_rate


class WarmUpLR(LearningRateSchedule):
    """From 0 to learning_rate in warmup_steps."""

    def __init__(self, learning_rate: float, warmup_steps: int) -> None:
        self.learning_rate = learning_rate
        self.warmup_steps = warmup_steps

    def construct(self, global_step: Operators) -> Tensor:
        step = functional.cast(functional.minimum(global_step, self.warmup_steps), "float32")
        return self.learning_rate * (step / float(self.warmup_steps))
