"""Kernels that update weights in place: their outputs, then what they leave in the inputs they overwrite.

Formulas and the order of operations are those of MindSpore's CPU kernels and of ``ops.Adam`` and its kin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.ops.definition import Kernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[Any]


def assigning(function: Callable[[Array, Array], Array]) -> Kernel:
    """Return the kernel that leaves a function of variable and value in the variable."""

    def kernel(variable: Array, value: Array) -> list[Array]:
        left = function(variable, value).astype(variable.dtype, copy=False)
        return [left, left]

    return kernel


def apply_momentum(
    variable: Array,
    accumulation: Array,
    rate: Array,
    gradient: Array,
    momentum: Array,
    *,
    use_nesterov: Any,
) -> list[Array]:
    """Let the variable go down by accumulation · momentum + gradient."""
    accumulation = accumulation * momentum + gradient
    if use_nesterov:
        variable = variable - (gradient * rate + accumulation * momentum * rate)
    else:
        variable = variable - accumulation * rate
    return [variable, variable, accumulation]


def apply_adagrad(
    variable: Array, accumulation: Array, rate: Array, gradient: Array, *, update_slots: Any
) -> list[Array]:
    """Let the variable go down by rate · gradient / √(sum of all squared gradients)."""
    if update_slots:
        accumulation = accumulation + gradient * gradient
    variable = variable - rate * gradient / np.sqrt(accumulation)
    return [variable, accumulation, variable, accumulation]


def apply_rms_prop(
    variable: Array,
    mean_square: Array,
    moment: Array,
    rate: Array,
    gradient: Array,
    *,
    decay: Any,
    momentum: Any,
    epsilon: Any,
) -> list[Array]:
    """Let the variable go down by moment · momentum + rate · gradient / √(mean square + epsilon)."""
    kind = variable.dtype.type
    mean_square = kind(decay) * mean_square + kind(1 - decay) * gradient * gradient
    moment = kind(momentum) * moment + rate * gradient / np.sqrt(mean_square + kind(epsilon))
    variable = variable - moment
    return [variable, variable, mean_square, moment]


def scaled_momentum(
    variable: Array,
    accumulation: Array,
    rate: Array,
    gradient: Array,
    momentum: Array,
    factor: Array,
    *,
    use_nesterov: Any,
) -> list[Array]:
    """Momentum with a gradient that is multiplied first."""
    scaled = gradient * factor
    return apply_momentum(variable, accumulation, rate, scaled, momentum, use_nesterov=use_nesterov)


def sgd(
    parameters: Array,
    gradient: Array,
    rate: Array,
    accumulation: Array,
    momentum: Array,
    stat: Array,
    *,
    weight_decay: Any,
    nesterov: Any,
    dampening: Any,
) -> list[Array]:
    """Stochastic gradient descent; ``stat`` is above 0 until the first step with a momentum."""
    kind = gradient.dtype.type
    if weight_decay > 0:
        gradient = gradient + parameters * kind(weight_decay)
    if momentum.reshape(-1)[0] > 0:
        damped = accumulation * momentum + kind(1 - dampening) * gradient
        accumulation = np.where(stat > 0, gradient, damped)
        stat = np.where(stat > 0, kind(0), stat)
        nesterov = nesterov
        gradient = gradient + accumulation * momentum if nesterov else accumulation
    parameters = parameters - rate * gradient
    return [parameters, parameters, accumulation, stat]


def adam(
    variable: Array,
    first: Array,
    second: Array,
    power1: Array,
    power2: Array,
    rate: Array,
    beta1: Array,
    beta2: Array,
    epsilon: Array,
    gradient: Array,
    *,
    use_nesterov: Any,
) -> list[Array]:
    """Adam with powers of the betas that are given."""
    one = gradient.dtype.type(1)
    beta1, beta2 = beta1[()], beta2[()]  # numbers are faster than arrays without axes
    step = rate[()] * np.sqrt(one - power2[()]) / (one - power1[()])
    first = first + (gradient - first) * (one - beta1)
    second = second + (gradient * gradient - second) * (one - beta2)
    moved = first
    if use_nesterov:
        moved = first * beta1 + (one - beta1) * gradient
    variable = variable - step * moved / (np.sqrt(second) + epsilon[()])
    return [variable, first, second] * 2


def adam_weight_decay(
    variable: Array,
    first: Array,
    second: Array,
    rate: Array,
    beta1: Array,
    beta2: Array,
    epsilon: Array,
    decay: Array,
    gradient: Array,
) -> list[Array]:
    """Adam without correction of its bias, the decay apart from the gradient."""
    kind = gradient.dtype.type
    first = beta1 * first + (kind(1) - beta1) * gradient
    second = beta2 * second + (kind(1) - beta2) * gradient * gradient
    moved = first / (np.sqrt(second) + epsilon) + decay * variable
    variable = variable - rate * moved
    return [variable, first, second] * 2


def scaled_sum(x1: Array, x2: Array, x3: Array) -> Array:
    """x1 · x3 + x2, x3 one number."""
    return np.asarray(x1 * x3.reshape(-1)[0] + x2)


def all_finite(*inputs: Array) -> Array:
    """Return whether an element of any input is Inf or NaN: true says that they are not all finite."""
    return np.asarray(not all(bool(np.all(np.isfinite(one))) for one in inputs))


def quiet_status(x: Array) -> Array:
    """Return the float status of a device that never overflows."""
    return np.zeros_like(x)
