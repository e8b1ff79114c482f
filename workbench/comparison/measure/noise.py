"""The noise floor: how large an error the number formats alone explain.

A value that has once been rounded to a format carries at least that format's relative error, so the
coarsest format among a value's ancestors counts, on either side. The floor of an operator is then

    own = u · (2 + √K · r) + a

with u the unit roundoff of that format (2^-11 for float16), K the length of the sums the operator
forms and r the ratio of the accumulator's roundoff to u (cube units accumulate in float32; random
rounding errors grow with √K: Higham & Mary 2019); a is what approximations of exp, tanh and the
like add. What came in through the inputs is added to it. Values that were int8 count u = 1/254, and a layer
whose steps are known what these cost (`workbench.comparison.measure.quantization_error`).

Two healthy kernels may sum the same numbers in different orders. Each addition of a sum s = Σ xᵢ of n terms rounds a
partial sum sₖ by a factor 1 + δₖ, |δₖ| ≤ u. The computed sum is off by Σ sₖδₖ, whatever the order and the block sizes
(Higham, *Accuracy and Stability of Numerical Algorithms*, §4.2). With independent δₖ of mean 0 the root mean square of
that is u·√(Σ sₖ²) at most:

    terms of one sign     sₖ = k·s/n        u·√(n/3)·|s|
    terms of random sign  sₖ² = k·s²/n      u·√(n/2)·|s|, times κ = √(Σ xᵢ²)/|s| where they cancel

so that √n·u·κ, with κ ≥ 1, holds for any order that is chosen without a look at the signs, and three times that for
99 % of all sums. Summing in pairs or blocks is better. No order goes beyond (n - 1)·u·Σ|xᵢ|. A healthy kernel does more
than add: it multiplies float32 in pieces of 16 bits, divides by reciprocals, corrects moments. Of such kernels it is
known how far they are off, not why: `sums_least` of the limits is the least that a sum may be off.
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING

from workbench.comparison.graphs.quantization import find_quantised
from workbench.comparison.graphs.roles import rewritten_slots
from workbench.comparison.limits import limits
from workbench.core.dtypes import DTYPES, roundoff
from workbench.core.long_work import checkpoint
from workbench.graph.graph import Param, Value
from workbench.ops import APPROXIMATED, CONTRACTIONS, STEPS, SUMMING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.core.tensors import TensorSpec
    from workbench.graph.graph import Graph, Op


FLOAT32 = DTYPES["float32"].roundoff
CUBE_INPUT = 2.0**-11
"""Roundoff of cube inputs on an NPU whatever the graph says: float16 or HF32 (2^-12)."""

INT8 = 1 / 254
"""Half a step of int8, whose scale is the largest magnitude over 127."""

NO_FILES: Mapping[int, float] = MappingProxyType({})

APPROXIMATION = 12 * FLOAT32
"""Error of a library's approximation of a transcendental function in float32."""


def spec_roundoff(spec: TensorSpec | None) -> float:
    """Roundoff of a tensor's number format; 0 for exact formats."""
    return roundoff(spec.dtype) if spec is not None else 0.0


def op_roundoff(op: Op, *, npu: bool) -> float:
    """Coarsest roundoff that the operator itself applies to floats."""
    several = op.outputs, op.input_specs, op.device_inputs, op.device_outputs
    dtypes = {spec.dtype for specs in several for spec in specs if spec is not None}
    coarsest = max(map(roundoff, dtypes), default=0.0)
    if npu and op.op_type in CONTRACTIONS:
        return max(coarsest, CUBE_INPUT)
    return coarsest


def coarsest_roundoff(
    graph: Graph, *, npu: bool, of_files: Mapping[int, float] = NO_FILES
) -> list[float]:
    """Coarsest roundoff among the ancestors of every operator, itself included.

    Parameters that an operator of the graph updates carry the coarsest format of the whole graph. ``of_files`` is the
    roundoff of the formats that files of an operator are labelled with, where the graph is of another run.
    """
    own, updated = list[float](), set[Param | Value]()
    for number, op in enumerate(graph.ops):
        checkpoint()
        own.append(max(op_roundoff(op, npu=npu), of_files.get(number, 0.0)))
        updated |= _updated(op)
    quantised = find_quantised(graph)
    for number in quantised.quant | quantised.dequant:
        own[number] = max(own[number], INT8)
    whole = max(own, default=0.0)
    result: list[float] = []
    for number, op in enumerate(graph.ops):
        worst = own[number]
        for operand in op.flat_inputs():
            if isinstance(operand, Value) and operand.op < number:
                worst = max(worst, result[operand.op])
            if updated and isinstance(operand, Param | Value) and operand in updated:
                worst = max(worst, whole)
        result.append(worst)
    return result


def _updated(op: Op) -> set[Param | Value]:
    """What an operator overwrites."""
    slots = rewritten_slots(op)
    operands = enumerate(op.flat_inputs()) if slots else ()
    return {one for slot, one in operands if slot in slots and isinstance(one, Param | Value)}


def reduction_length(op: Op) -> float:
    """Length K of the sums an operator forms, from its shapes; 1 for elementwise ones.

    For a contraction of a (n_a elements) with b (n_b) into c (n_c), √(n_a·n_b/n_c) is exactly K for
    a matrix product and of its order for convolutions.
    """
    sizes = [spec.size for spec in op.input_specs if spec is not None and spec.size]
    out = max((spec.size or 1 for spec in op.outputs), default=1)
    if op.op_type in CONTRACTIONS and len(sizes) >= 2:
        return max(1.0, math.sqrt(sizes[0] * sizes[1] / max(out, 1)))
    return max(1.0, max(sizes, default=1) / max(out, 1))


def sums(op: Op) -> bool:
    """Whether an operator sums, so that its result depends on the order in which it does."""
    return op.op_type in CONTRACTIONS or op.op_type in SUMMING


def summation_length(op: Op) -> float:
    """Number of terms of the longest sums inside an operator, from its shapes; 1 where nothing is summed.

    For a contraction of a (n_a elements) with b (n_b) into c (n_c), √(n_a·n_b/n_c) is exactly the inner dimension
    of a matrix product and of its order for convolutions. What normalizes has moments, or weights, of as many
    elements as it has sums.
    """
    taken = [spec.size for spec in op.input_specs if spec is not None and spec.size]
    given = [spec.size for spec in op.outputs if spec.size]
    if op.op_type in CONTRACTIONS and len(taken) >= 2:
        return max(1.0, math.sqrt(taken[0] * taken[1] / max(given, default=1)))
    if op.op_type not in SUMMING or not taken:
        return 1.0
    smallest = min((size for size in (*taken, *given) if size > 1), default=1)
    last = next((spec.shape[-1] for spec in op.input_specs if spec is not None and spec.shape), 1)
    whole = max(taken) / max(given) if max(given, default=0) else 1.0
    return max(1.0, whole, max(taken) / smallest, float(last or 1))


def any_order(length: float) -> float:
    """Relative error that the order of a well-conditioned sum in float32 explains: √n·u, or `sums_least`.

    ``length`` is the number of terms.
    """
    return max(math.sqrt(length) * FLOAT32, limits().sums_least)


def expected_rounding(op: Op | None, context: float) -> float:
    """Relative error that the operator's own rounding explains (see the module's formula)."""
    unit, known = max(context, FLOAT32), limits()
    most = known.excused_most / known.pass_factor
    if op is None:
        return min(2.0 * unit, most)
    accumulator = FLOAT32 if op.op_type in CONTRACTIONS else unit
    approximation = APPROXIMATION if op.op_type in APPROXIMATED else 0.0
    summed = math.sqrt(reduction_length(op)) * accumulator
    if sums(op):
        summed = max(summed, any_order(summation_length(op)))
    return min(2.0 * unit + summed + approximation, most)


def is_discontinuous(op: Op | None) -> bool:
    """Whether noise in an input may change elements of the output altogether."""
    return op is not None and op.op_type in STEPS


def jump_limit(op: Op, noise: float) -> float:
    """Largest error that noise of the inputs makes of an operator that jumps.

    Gradients of ReLU and of pooling pass an element or do not. The share of elements whose input lies as
    near to the jump as noise moves it grows with the noise, and the error with the root of the share.
    """
    known = limits()
    masked = min(known.pass_factor * math.sqrt(noise), known.masked_most)
    return masked if op.op_type in MASKS else math.inf


MASKS = frozenset(("ReluGrad", "ReLU6Grad", "MaxPoolGrad"))
"""Operators that pass an element or not."""
