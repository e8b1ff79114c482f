"""Conditioning: how much an operator magnifies relative errors on the data it really saw.

Sums that cancel magnify. With ‖·‖ the Euclidean norm over the golden's data,

    product   κ = ‖a‖·‖b‖ / (√K·‖c‖)     1 for independent random factors (K summands)
    sum       κ = (‖a‖ + ‖b‖) / ‖c‖       at least 1; large where the terms cancel
    reduction κ = ‖x‖ / ‖y‖               1 for random signs (for a mean, times its length)
    logarithm κ = √n / ‖log x‖            the relative error of x becomes an absolute one
    centring  κ = rms(x) / std(x)         LayerNorm, BatchNorm: the mean is subtracted

An operator that is none of these, or whose data were not dumped, has no estimate.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from workbench.comparison.measure.noise import reduction_length
from workbench.graph.graph import Const
from workbench.ops import CONTRACTIONS, MOVEMENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from workbench.comparison.measure.measure import Measured
    from workbench.graph.graph import Op


LARGEST = 2.0**24
"""Estimates are cut here: what cancels so far is rounding in float32, too."""

_SUMS = frozenset(
    ("Add", "Sub", "AddN", "BiasAdd", "AddExt", "SubExt", "InplaceAddExt", "AllReduce", "HcomAllReduce",
     "ReduceScatter", "HcomReduceScatter")
)  # fmt: skip
REDUCTIONS = frozenset(("ReduceSum", "SumExt", "BiasAddGrad"))
_MEANS = frozenset(("ReduceMean", "MeanExt", "AvgPool", "AvgPool2D"))
_CENTRED = frozenset(("LayerNorm", "BatchNorm", "GroupNorm", "InstanceNorm"))
_HARMLESS = MOVEMENT | frozenset(
    ("ReLU", "ReLU6", "Mul", "RealDiv", "Div", "MaxPool", "Neg", "Abs", "Maximum", "Minimum", "Square",
     "Sqrt", "Rsqrt", "Sigmoid", "Gather", "MaskedFill", "ZerosLike", "OnesLike", "Pad", "PadV3")
)  # fmt: skip


def condition_number(
    op: Op, inputs: Mapping[int, Measured], outputs: Mapping[int, Measured]
) -> float | None:
    """Return κ ≥ 1 of an operator from its golden inputs and outputs; ``None`` if unknown."""
    if op.op_type in _HARMLESS:
        return 1.0
    if not inputs and op.op_type != "Log":
        return None
    norms = [n for slot in sorted(inputs) if (n := golden_norm(inputs[slot])) is not None]
    result = golden_norm(outputs[0]) if 0 in outputs else None
    if op.op_type == "Log" and result:
        return _bounded(math.sqrt(outputs[0].divergence.size) / result)
    if not norms or result is None:
        return None
    if op.op_type in _CENTRED:
        return _centred(inputs)
    if not result:
        return LARGEST
    if op.op_type in CONTRACTIONS:
        if len(norms) < 2:
            return None
        return _bounded(norms[0] * norms[1] / (math.sqrt(reduction_length(op)) * result))
    if op.op_type in _SUMS:
        terms = sum(not isinstance(operand, Const) for operand in op.flat_inputs())
        return _bounded(sum(norms) / result) if len(norms) >= terms else None
    if op.op_type in REDUCTIONS:
        return _bounded(norms[0] / result)
    if op.op_type in _MEANS:
        return _bounded(norms[0] / (result * reduction_length(op)))
    return None


def golden_norm(item: Measured) -> float | None:
    """Euclidean norm of the golden tensor of a pair, from its mean and deviation."""
    moments = _moments(item) if item.usable else None
    return None if moments is None else math.sqrt(item.divergence.size) * math.hypot(*moments)


def _centred(inputs: Mapping[int, Measured]) -> float | None:
    moments = _moments(inputs[0]) if 0 in inputs else None
    if moments is None or not moments[1]:
        return None
    return _bounded(math.hypot(*moments) / moments[1])


def _moments(item: Measured) -> tuple[float, float] | None:
    """Mean and deviation of the golden tensor, if these or statistics that give them are known."""
    metrics, size = item.divergence.metrics, item.divergence.size
    mean, std = metrics.get("GoldenMean"), metrics.get("GoldenStd")
    if mean is None or std is None:
        mean, norm = metrics.get("GoldenAvgValue"), metrics.get("GoldenL2NormValue")
        if mean is None or norm is None or not size:
            return None
        std = math.sqrt(max(norm * norm / size - mean * mean, 0.0))
    return (mean, std) if math.isfinite(mean + std) else None


def _bounded(value: float) -> float:
    return min(max(value, 1.0), LARGEST)


def correlated_error(op: Op, carried: Iterable[float]) -> float:
    """Error that a sum of products may make of weights that training has moved apart.

    ``carried`` are the errors of those inputs that an earlier step has left.

    An update is made of the very activations that the weights meet again, so their differences add up
    instead of averaging out: √K times as much as those of independent factors.
    """
    if op.op_type not in CONTRACTIONS:
        return 0.0
    errors = (error for error in carried if math.isfinite(error))
    return math.sqrt(reduction_length(op)) * max(errors, default=0.0)
