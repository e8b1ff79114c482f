"""Kernels that update weights in place: their outputs, then what they leave in the inputs they overwrite.

Formulas and the order of operations are those of MindSpore's CPU kernels and of ``ops.Adam`` and its kin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from workbench.run.kernels.elementwise import Kernel

    Array = NDArray[Any]


def assigning(function: Callable[[Array, Array], Array]) -> Kernel:
    """Return the kernel that leaves a function of variable and value in the variable."""

    def kernel(inputs: Sequence[Array], _settings: Mapping[str, Any]) -> list[Array]:
        variable, value = inputs
        left = function(variable, value).astype(variable.dtype, copy=False)
        return [left, left]

    return kernel


def apply_momentum(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Let the variable go down by accumulation · momentum + gradient."""
    variable, accumulation, rate, gradient, momentum = inputs
    accumulation = accumulation * momentum + gradient
    if settings["use_nesterov"]:
        variable = variable - (gradient * rate + accumulation * momentum * rate)
    else:
        variable = variable - accumulation * rate
    return [variable, variable, accumulation]


def scaled_momentum(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Momentum with a gradient that is multiplied first."""
    *others, gradient, momentum, factor = inputs
    return apply_momentum([*others, gradient * factor, momentum], settings)


def sgd(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Stochastic gradient descent; ``stat`` is above 0 until the first step with a momentum."""
    parameters, gradient, rate, accumulation, momentum, stat = inputs
    kind = gradient.dtype.type
    if settings["weight_decay"] > 0:
        gradient = gradient + parameters * kind(settings["weight_decay"])
    if momentum.reshape(-1)[0] > 0:
        damped = accumulation * momentum + kind(1 - settings["dampening"]) * gradient
        accumulation = np.where(stat > 0, gradient, damped)
        stat = np.where(stat > 0, kind(0), stat)
        nesterov = settings["nesterov"]
        gradient = gradient + accumulation * momentum if nesterov else accumulation
    parameters = parameters - rate * gradient
    return [parameters, parameters, accumulation, stat]


def adam(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Adam with powers of the betas that are given."""
    variable, first, second, power1, power2, rate, beta1, beta2, epsilon, gradient = inputs
    one = gradient.dtype.type(1)
    beta1, beta2 = beta1[()], beta2[()]  # numbers are faster than arrays without axes
    step = rate[()] * np.sqrt(one - power2[()]) / (one - power1[()])
    first = first + (gradient - first) * (one - beta1)
    second = second + (gradient * gradient - second) * (one - beta2)
    moved = first
    if settings["use_nesterov"]:
        moved = first * beta1 + (one - beta1) * gradient
    variable = variable - step * moved / (np.sqrt(second) + epsilon[()])
    return [variable, first, second] * 2


def adam_weight_decay(inputs: Sequence[Array], _settings: Mapping[str, Any]) -> list[Array]:
    """Adam without correction of its bias, the decay apart from the gradient."""
    variable, first, second, rate, beta1, beta2, epsilon, decay, gradient = inputs
    kind = gradient.dtype.type
    first = beta1 * first + (kind(1) - beta1) * gradient
    second = beta2 * second + (kind(1) - beta2) * gradient * gradient
    moved = first / (np.sqrt(second) + epsilon) + decay * variable
    variable = variable - rate * moved
    return [variable, first, second] * 2


def scaled_sum(inputs: Sequence[Array], _settings: Mapping[str, Any]) -> list[Array]:
    """x1 · x3 + x2, x3 one number."""
    x1, x2, x3 = inputs
    return [x1 * x3.reshape(-1)[0] + x2]


def all_finite(inputs: Sequence[Array], _settings: Mapping[str, Any]) -> list[Array]:
    """Return whether an element of any input is Inf or NaN: true says that they are not all finite."""
    return [np.asarray(not all(bool(np.all(np.isfinite(one))) for one in inputs))]


def quiet_status(inputs: Sequence[Array], _settings: Mapping[str, Any]) -> list[Array]:
    """Return the float status of a device that never overflows."""
    return [np.zeros_like(inputs[0])]


UPDATE: dict[str, Kernel] = {
    "Assign": assigning(lambda _, value: value),
    "AssignAdd": assigning(np.add),
    "AssignSub": assigning(np.subtract),
    "ApplyMomentum": apply_momentum,
    "FusedMulApplyMomentum": scaled_momentum,
    "SGD": sgd,
    "Adam": adam,
    "AdamWeightDecay": adam_weight_decay,
    "FusedMulAddN": scaled_sum,
    "AllFinite": all_finite,
    "NPUGetFloatStatusV2": quiet_status,
    "NPUClearFloatStatusV2": quiet_status,
}
"""Kernels, in the order of the table."""
