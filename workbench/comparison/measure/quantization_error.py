"""Steps of a quantization: how large an error rounding to them leaves.

Values that are spread over many steps are off by a uniform error of step / √12; relative to their root mean
square that is what the inputs of a layer in int8 carry, beside what its weights do.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.comparison.measure.conditioning import golden_norm
from workbench.comparison.measure.noise import INT8
from workbench.core.words import Message
from workbench.graph.graph import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from workbench.comparison.align.alignment import Alignment
    from workbench.comparison.measure.measure import Measured
    from workbench.graph.graph import Op

    Places = Mapping[tuple[str, int], Measured]


class QuantizationError(NamedTuple):
    """How large the steps are, and the error that they leave."""

    size: float
    error: float

    @property
    def said(self) -> Message:
        """What they explain."""
        return Message("compare/steps", size=self.size, error=self.error)


def rounded(own_floor: float, steps: QuantizationError | None) -> float:
    """Return the floor of a layer whose inputs and weights were rounded to int8."""
    return own_floor if steps is None else max(own_floor, math.hypot(steps.error, INT8))


def quantization_error(
    found: Alignment | None, number: int, measured: Callable[[int], Places]
) -> QuantizationError | None:
    """Return the steps of what a layer reads that ends in an operator, as far as the dumps tell."""
    if found is None:
        return None
    graph, quantised = found.target.graph, found.quantised
    waiting, seen = [number] if number in quantised.dequant else [], {number}
    while waiting:
        for operand in graph.ops[waiting.pop()].flat_inputs():
            if not isinstance(operand, Value) or operand not in quantised.integers:
                continue
            scale = _scale(graph.ops[operand.op])
            if scale:
                return steps_of(scale, measured(operand.op).get(("input", 0)))
            if operand.op not in seen:
                seen.add(operand.op)
                waiting.append(operand.op)
    return None


def _scale(op: Op) -> float:
    """Factor by which an operator quantizes; 0 if it does not say."""
    scale = op.attrs.get("scale") if op.op_type == "AscendQuant" else None
    if not isinstance(scale, float) or not math.isfinite(scale):
        return 0.0
    return scale * scale if op.attrs.get("sqrt_mode") is True else scale


def steps_of(scale: float, item: Measured | None) -> QuantizationError | None:
    """Return the steps of a quantization by x · scale; ``None`` if x is not known."""
    norm = golden_norm(item) if item is not None else None
    if item is None or not norm or scale <= 0:
        return None
    rms = norm / math.sqrt(item.divergence.size)
    return QuantizationError(1 / scale, 1 / scale / math.sqrt(12) / rms)
