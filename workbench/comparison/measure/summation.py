"""Order of summation: how far two healthy kernels may be apart that sum the same numbers in different orders.

Each addition of a sum s = Σ xᵢ of n terms rounds a partial sum sₖ by a factor 1 + δₖ, |δₖ| ≤ u. The computed sum is
off by Σ sₖδₖ, whatever the order and the block sizes (Higham, *Accuracy and Stability of Numerical Algorithms*,
§4.2). With independent δₖ of mean 0 the root mean square of that is u·√(Σ sₖ²) at most:

    terms of one sign     sₖ = k·s/n        u·√(n/3)·|s|
    terms of random sign  sₖ² = k·s²/n      u·√(n/2)·|s|, times κ = √(Σ xᵢ²)/|s| where they cancel

so that √n·u·κ, with κ ≥ 1, holds for any order that is chosen without a look at the signs, and three times that for
99 % of all sums (Higham & Mary 2019: λ√n·u with λ about 3). Summing in pairs or blocks is better. No order goes
beyond (n - 1)·u·Σ|xᵢ|.

A healthy kernel does more than add: it multiplies float32 in pieces of 16 bits, divides by reciprocals, corrects
moments. Of such kernels it is known how far they are off, not why: `sums_least` of the limits is the least that a
sum may be off, however few terms it has.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from workbench.comparison.limits import limits
from workbench.core.dtypes import DTYPES
from workbench.graph.traits import CONTRACTIONS, SUMMING

if TYPE_CHECKING:
    from workbench.graph.nodes import Op

FLOAT32 = DTYPES["float32"].roundoff
"""Roundoff of what sums are kept in, on every unit that we know."""


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
