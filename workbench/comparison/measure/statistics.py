"""Compare tensors of which only statistics were dumped.

Statistics can show that two tensors differ, and by how much at least; they can prove that they are
equal only with a digest. Errors are relative to the golden's largest magnitude or norm.
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING

from workbench.comparison.columns import NO_FIGURES
from workbench.comparison.measure.metrics import Divergence, unmeasured
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DIGESTS = ("MD5", "MD5 Value", "SHA1")
NUMBERS = ("Max Value", "Min Value", "Avg Value", "L2Norm Value")
PRINTED = 6
"""Significant digits of figures in a statistic.csv; one unit of the last digit is no difference."""

COUNTS = ("NaN Count", "Negative Inf Count", "Positive Inf Count")


def measure_statistics(
    target: Mapping[str, float | str], golden: Mapping[str, float | str], size: int = 0
) -> Divergence:
    """Return what two rows of statistics say about the distance of their tensors.

    ``error`` is the largest of |Δmax|, |Δmin|, |Δavg| over the golden's largest magnitude, and
    |Δl2norm| over the golden's norm: a lower bound of the true relative error, because figures are
    printed with six digits (`PRINTED`) and say nothing about single elements.
    """
    figures = {
        k: (_number(target[k]), _number(golden[k])) for k in NUMBERS if k in target and k in golden
    }
    mismatch = _mismatch(target, golden, figures)
    same = [target[k] == golden[k] for k in DIGESTS if k in target and k in golden]
    if same and all(same) and not mismatch:
        return Divergence(size, True, 0.0, 0, NO_FIGURES)
    if not figures and not mismatch:
        if same:
            return Divergence(
                size, False, math.inf, 0, NO_FIGURES, Message("compare/digests-differ")
            )
        return unmeasured(Message("compare/no-statistic"), size)
    error = _error(figures)
    metrics = {f"Target{k.replace(' ', '')}": t for k, (t, _) in figures.items()}
    known = {k: _number(golden[k]) for k in NUMBERS if k in golden}
    metrics |= {f"Golden{k.replace(' ', '')}": g for k, g in known.items()}
    # Equal figures prove nothing about order; only a digest can call two tensors equal.
    return Divergence(size, False, error, mismatch, MappingProxyType(metrics))


def with_padding(
    figures: Mapping[str, float | str], size: int, whole: int
) -> dict[str, float | str]:
    """Return the figures of a tensor of ``size`` elements with zeros behind them, ``whole`` in all.

    So a device sums up what lies in a format with padding. Digests are left out.
    """
    found: dict[str, float | str] = {}
    for title, value in figures.items():
        if title in DIGESTS:
            continue
        if whole > size and not isinstance(value, str):
            value = _PADDED.get(title, _same)(value, size, whole)
        found[title] = value
    return found


def _same(value: float, _size: int, _whole: int) -> float:
    return value


_PADDED: dict[str, Callable[[float, int, int], float]] = {
    "Max Value": lambda value, _size, _whole: value if math.isnan(value) else max(value, 0.0),
    "Min Value": lambda value, _size, _whole: value if math.isnan(value) else min(value, 0.0),
    "Avg Value": lambda value, size, whole: value * size / whole,
    "Count": lambda _value, _size, whole: whole,
    "Zero Count": lambda value, size, whole: value + whole - size,
}
"""Title → its value with the zeros; all others stay as they are."""


def _mismatch(
    target: Mapping[str, float | str],
    golden: Mapping[str, float | str],
    figures: Mapping[str, tuple[float, float]],
) -> int:
    """Statistics that differ in NaN or infinity, or have NaN at all: NaN is never agreement."""
    odd = sum(t != g for t, g in figures.values() if not (math.isfinite(t) and math.isfinite(g)))
    for title in COUNTS:
        if title in target and title in golden:
            both_nan = title == "NaN Count" and bool(target[title])
            odd += both_nan or target[title] != golden[title]
    return odd


def _error(figures: Mapping[str, tuple[float, float]]) -> float:
    """Largest relative difference of the finite figures; 0 if there are none."""
    finite = {k: v for k, v in figures.items() if all(map(math.isfinite, v))}
    scale = max((abs(g) for k, (_, g) in finite.items() if k != "L2Norm Value"), default=0.0)
    return max(
        (
            _relative(t, g, abs(g) if k == "L2Norm Value" or not scale else scale)
            for k, (t, g) in finite.items()
        ),
        default=0.0,
    )


def _number(value: float | str) -> float:
    try:
        return float(value)
    except ValueError:
        return math.nan


def _relative(target: float, golden: float, base: float) -> float:
    """|Δ| over ``base``, without what printing may have added."""
    largest = max(abs(target), abs(golden))
    apart = abs(target - golden)
    if not largest or apart <= 10.0 ** (math.floor(math.log10(largest)) + 1 - PRINTED) * (1 + 1e-9):
        return 0.0
    return apart / base if base else math.inf
