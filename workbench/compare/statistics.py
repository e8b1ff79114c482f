"""Compare tensors of which only statistics were dumped.

Statistics can show that two tensors differ, and by how much at least; they can prove that they are
equal only with a digest. Errors are relative to the golden's largest magnitude or norm.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from workbench.compare.metrics import Divergence, unmeasured

if TYPE_CHECKING:
    from collections.abc import Mapping

DIGESTS = ("MD5", "MD5 Value", "SHA1")
NUMBERS = ("Max Value", "Min Value", "Avg Value", "L2Norm Value")
COUNTS = ("NaN Count", "Negative Inf Count", "Positive Inf Count")


def measure_statistics(
    target: Mapping[str, float | str], golden: Mapping[str, float | str], size: int = 0
) -> Divergence:
    """Return what two rows of statistics say about the distance of their tensors.

    ``error`` is the largest of |Δmax|, |Δmin|, |Δavg| over the golden's largest magnitude, and
    |Δl2norm| over the golden's norm: a lower bound of the true relative error.
    """
    same = [target[k] == golden[k] for k in DIGESTS if k in target and k in golden]
    if same and all(same):
        return Divergence(size, True, 0.0, 0.0, 0, {}, "")
    figures = {
        k: (_number(target[k]), _number(golden[k])) for k in NUMBERS if k in target and k in golden
    }
    if not figures:
        if same:
            return Divergence(
                size, False, math.inf, math.inf, 0, {}, "digests differ, no other statistic"
            )
        return unmeasured("the two sides have no statistic in common", size)
    scale = max(
        (abs(g) for k, (_, g) in figures.items() if math.isfinite(g) and k != "L2Norm Value"),
        default=0.0,
    )
    errors, mismatch = [], 0
    for title, (t, g) in figures.items():
        base = abs(g) if title == "L2Norm Value" or not scale else scale
        if math.isfinite(t) and math.isfinite(g):
            errors.append(_relative(abs(t - g), base))
        elif t != g:
            mismatch += 1
    for title in COUNTS:
        if title in target and title in golden and target[title] != golden[title]:
            mismatch += 1
    error = max(errors, default=math.inf)
    metrics = {f"Target{k.replace(' ', '')}": t for k, (t, _) in figures.items()}
    metrics |= {f"Golden{k.replace(' ', '')}": g for k, (_, g) in figures.items()}
    # Equal figures prove nothing about order; only a digest can call two tensors equal.
    return Divergence(size, False, error, error, mismatch, metrics, "")


def _number(value: float | str) -> float:
    try:
        return float(value)
    except ValueError:
        return math.nan


def _relative(difference: float, base: float) -> float:
    if difference == 0.0:
        return 0.0
    return difference / base if base else math.inf
