"""Optimizers, named and set up like those of ``mindspore.nn``; operators and their order are theirs.

Sources: MindSpore 2.10 ``nn/optim``, and the IR that it dumps (`tests/network/test_real_training.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import GraphError
from workbench.network.cell import Cell
from workbench.network.nn import functional
from workbench.network.nn.hyper import number
from workbench.network.nn.schedules import LearningRateSchedule
from workbench.network.symbolic import Parameter, record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from workbench.network.symbolic import Operators, Tensor

    Gradients = Sequence[Tensor]

_NO_DECAY = ("beta", "gamma")
"""Weights that have one of these in their names are not decayed, as MindSpore leaves them out."""


class _IteratorLearningRate(LearningRateSchedule):
    """The rate of every step, looked up."""

    def __init__(self, learning_rate: Iterable[float], name: str) -> None:
        rates = np.asarray(list(learning_rate), np.float32)
        if rates.ndim != 1 or rates.size < 2:
            raise GraphError("graph/rates", got=rates)
        for rate in rates:
            number("learning_rate", rate, least=0)
        self.learning_rate = Parameter(rates, name)

    def construct(self, global_step: Operators) -> Tensor:
        return functional.gather(self.learning_rate, global_step, 0)


class Optimizer(Cell):
    """What optimizers share: the step, the learning rate, decay of weights and the scale of the loss.

    Parameters
    ----------
    learning_rate : float, sequence of float or LearningRateSchedule
        A number, the number of every step, or a cell that computes it.
    parameters : sequence of Parameter
        ``network.trainable_params()``.
    weight_decay : float
        Share of a weight that is added to its gradient; ``beta`` and ``gamma`` are left out.
    loss_scale : float
        What the loss was multiplied by; gradients are divided by it.
    """

    auto_prefix = False

    def __init__(
        self,
        learning_rate: Any,
        parameters: Iterable[Parameter],
        weight_decay: float = 0.0,
        loss_scale: float = 1.0,
    ) -> None:
        self.parameters = tuple(parameters)
        if not self.parameters or not all(isinstance(p, Parameter) for p in self.parameters):
            raise GraphError("graph/optimizer-parameters", got=self.parameters)
        number("loss_scale", loss_scale, above=0)
        number("weight_decay", weight_decay, least=0)
        self.global_step = Parameter(np.zeros(1, np.int32), "global_step")
        self.learning_rate = _rate(learning_rate)
        self.weight_decay = weight_decay * loss_scale
        self.loss_scale = loss_scale

    def cloned(self, prefix: str, init: str = "zeros") -> tuple[Parameter, ...]:
        """State of every weight, in its shape: ``<prefix>.<name of the weight>``."""
        return tuple(weight.clone(prefix, init) for weight in self.parameters)

    def decay_weight(self, gradients: Gradients) -> Gradients:
        """Add a share of every weight to its gradient."""
        if not self.weight_decay:
            return gradients
        return [
            self._decayed(weight, gradient) if _decays(weight) else gradient
            for weight, gradient in zip(self.parameters, gradients, strict=True)
        ]

    def _decayed(self, weight: Parameter, gradient: Tensor) -> Tensor:
        share = record("Mul", weight, np.asarray(self.weight_decay, weight.dtype))
        return record("AddN", (share, gradient), n=2, N=2)

    def scale_grad(self, gradients: Gradients) -> Gradients:
        """Divide gradients by the scale of the loss."""
        if self.loss_scale == 1.0:
            return gradients
        return [
            record("Mul", gradient, np.asarray(1.0 / self.loss_scale, gradient.dtype))
            for gradient in gradients
        ]

    def get_lr(self) -> Operators:
        """Learning rate of this step."""
        if isinstance(self.learning_rate, Parameter):
            return self.learning_rate
        return functional.reshape(self.learning_rate(self.global_step), ())

    def assignadd(self) -> None:
        """Count the step."""
        record("AssignAdd", self.global_step, np.ones(1, np.int32))


def _rate(learning_rate: Any) -> Parameter | LearningRateSchedule:
    if isinstance(learning_rate, LearningRateSchedule):
        return learning_rate
    if np.ndim(learning_rate) == 0:
        number("learning_rate", learning_rate, least=0)
        return Parameter(np.asarray(learning_rate, np.float32), "learning_rate")
    return _IteratorLearningRate(learning_rate, "learning_rate")


def _check_adam(beta1: float, beta2: float, eps: float) -> None:
    for name, beta in (("beta1", beta1), ("beta2", beta2)):
        number(name, beta, above=0, below=1)
    number("eps", eps, above=0)


def _decays(weight: Parameter) -> bool:
    return not any(word in weight.name for word in _NO_DECAY)


class Momentum(Optimizer):
    """v = momentum · v + gradient; weight = weight - learning_rate · v."""

    def __init__(
        self,
        params: Iterable[Parameter],
        learning_rate: Any,
        momentum: float,
        weight_decay: float = 0.0,
        loss_scale: float = 1.0,
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        number("momentum", momentum, least=0)
        self.momentum = Parameter(np.asarray(momentum, np.float32), "momentum")
        self.moments = self.cloned("moments")
        self.use_nesterov = use_nesterov

    def construct(self, gradients: Gradients) -> None:
        gradients = self.decay_weight(gradients)
        gradients = self.scale_grad(gradients)
        lr = self.get_lr()
        self.assignadd()
        rows = list(zip(self.parameters, self.moments, gradients, strict=True))
        for weight, moment, gradient in reversed(rows):
            record(
                "ApplyMomentum",
                *(weight, moment, lr, gradient, self.momentum),
                use_nesterov=self.use_nesterov,
                use_locking=False,
                gradient_scale=1.0,
            )


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum, dampening and Nesterov's look ahead."""

    def __init__(
        self,
        params: Iterable[Parameter],
        learning_rate: Any = 0.1,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if nesterov and (momentum <= 0.0 or dampening != 0.0):
            raise GraphError("graph/nesterov", momentum=momentum, dampening=dampening)
        self.dampening = dampening
        self.nesterov = nesterov
        number("momentum", momentum, least=0)
        self.momentum = Parameter(np.asarray(momentum, np.float32), "momentum")
        self.accum = self.cloned("accum")
        self.stat = self.cloned("stat", "ones")

    def construct(self, gradients: Gradients) -> None:
        gradients = self.decay_weight(gradients)
        gradients = self.scale_grad(gradients)
        lr = self.get_lr()
        self.assignadd()
        rows = list(zip(self.parameters, gradients, self.accum, self.stat, strict=True))
        for weight, gradient, accum, stat in reversed(rows):
            record(
                "SGD",
                *(weight, gradient, lr, accum, self.momentum, stat),
                dampening=self.dampening,
                weight_decay=0.0,
                nesterov=self.nesterov,
            )


class Adam(Optimizer):
    """Adam, its bias corrected; ``beta1_power`` and ``beta2_power`` are kept from step to step."""

    def __init__(
        self,
        params: Iterable[Parameter],
        learning_rate: Any = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        use_locking: bool = False,
        use_nesterov: bool = False,
        weight_decay: float = 0.0,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        _check_adam(beta1, beta2, eps)
        self.beta1, self.beta2, self.eps = np.float32(beta1), np.float32(beta2), np.float32(eps)
        self.beta1_power = Parameter(np.asarray(1, np.float32), "beta1_power")
        self.beta2_power = Parameter(np.asarray(1, np.float32), "beta2_power")
        self.moment1 = self.cloned("moment1")
        self.moment2 = self.cloned("moment2")
        self.use_locking = use_locking
        self.use_nesterov = use_nesterov

    def construct(self, gradients: Gradients) -> None:
        gradients = self.decay_weight(gradients)
        gradients = self.scale_grad(gradients)
        lr = self.get_lr()
        self.assignadd()
        beta1_power = record("Mul", self.beta1_power, self.beta1)
        record("Assign", self.beta1_power, beta1_power)
        beta2_power = record("Mul", self.beta2_power, self.beta2)
        record("Assign", self.beta2_power, beta2_power)
        rows = zip(self.parameters, self.moment1, self.moment2, gradients, strict=True)
        for weight, moment1, moment2, gradient in rows:
            record(
                "Adam",
                *(weight, moment1, moment2, beta1_power, beta2_power, lr),
                *(self.beta1, self.beta2, self.eps, gradient),
                use_locking=self.use_locking,
                use_nesterov=self.use_nesterov,
            )


class AdamWeightDecay(Optimizer):
    """Adam without correction of its bias, weights decayed apart from their gradients."""

    def __init__(
        self,
        params: Iterable[Parameter],
        learning_rate: Any = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay)
        _check_adam(beta1, beta2, eps)
        self.betas = [np.asarray([number], np.float32) for number in (beta1, beta2, eps)]
        self.moments1 = self.cloned("adam_m")
        self.moments2 = self.cloned("adam_v")

    def construct(self, gradients: Gradients) -> None:
        lr = self.get_lr()
        self.assignadd()
        rows = zip(self.parameters, self.moments1, self.moments2, gradients, strict=True)
        for weight, moment1, moment2, gradient in rows:
            decay = np.float32(self.weight_decay if _decays(weight) else 0.0)
            if gradient.dtype != weight.dtype:
                gradient = gradient.astype(weight.dtype)
            record(
                "AdamWeightDecay",
                *(weight, moment1, moment2, lr, *self.betas, decay, gradient, False),
            )
