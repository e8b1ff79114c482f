"""The hypotheses: one row for every kind of fault, the cheap ones first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.comparison.explain.hypotheses import (
    attributes,
    elements,
    inside,
    operands,
    others,
    outputs,
    units,
    weights,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from workbench.comparison.explain.case import Candidate, Evaluation

FROM_OUTPUT: dict[str, Callable[[Evaluation], Iterator[Candidate]]] = {
    "nan-output": elements.nan_output,
    "bit-flip": elements.bit_flip,
    "overwritten-element": elements.overwritten_element,
    "overrun": elements.overrun,
    "unwritten-tail-tile": elements.unwritten_tail_tile,
    "wrong-sign": outputs.wrong_sign,
    "flush-to-zero": outputs.flush_to_zero,
    "saturated": outputs.saturated,
    "scaled-output": outputs.scaled_output,
    "wrong-layout-lanes": outputs.wrong_layout_lanes,
    "transposed-output": operands.transposed_output,
    "stale-output": elements.stale_output,
}
"""Guesses from what was given and expected alone: cheap."""

COMPUTED: dict[str, Callable[[Evaluation], Iterator[Candidate]]] = {
    "integer-wrap": others.integer_wrap,
    "missing-step": others.missing_step,
    "swapped-inputs": operands.swapped_inputs,
    "half-accumulation": units.half_accumulation,
    "missing-cast": units.missing_cast,
    "fast-approximation": units.fast_approximation,
    "transposed-weight": operands.transposed_weight,
    "dropped-k-tail": operands.dropped_k_tail,
    "wrong-weight-element": weights.wrong_weight_element,
    "wrong-attribute": attributes.wrong_attribute,
    "shifted-output": others.shifted_output,
}
"""Guesses that need the operator computed again."""

INSIDE: dict[str, Callable[[Evaluation], Iterator[Candidate]]] = {
    "faults between steps": inside.inside
}
"""Guesses of several kinds, about what one operator of a kernel hands on to the next."""

HYPOTHESES = {**FROM_OUTPUT, **INSIDE, **COMPUTED}
"""Guesses by kind. What the simulated device can have is called here as there; the others are what happens
in compilers and kernels besides: an operator left out, inputs or axes exchanged, integers wrapped around."""
