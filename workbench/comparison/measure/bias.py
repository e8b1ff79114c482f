"""Whether an error is a common factor: what rounding, which is as often too large as too small, never leaves.

The slope of the error over the reference, Σd·y / Σy² by least squares through 0, is 0.002 where every element is
1.002 times too large, and lies within its own scatter where errors are those of rounding. A norm cannot tell the two
apart; a sum over many elements can, far below the rounding of one of them.

Elements that share an error count as one: a row of a softmax is divided by one sum, a channel by one deviation.
Where that is not looked at, healthy rows are 15 to 49 standard deviations off.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple
from workbench.comparison.limits import limits
from workbench.core.dtypes import DTYPES, name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Floats = NDArray[np.float64]

MOST = 1 << 20
"""Elements that are looked at: more make nothing surer."""

_WIDE = 2.0**-20
"""Spacing of formats below which a rounding is that of float32."""

_BY_ROWS, _BY_CHANNELS = "rows", "channels"

SHARED = {
    **dict.fromkeys(
        ("Softmax", "LogSoftmax", "LayerNorm", "RmsNorm", "L2Normalize", "LayerNormV3", "SoftmaxV2"), _BY_ROWS
    ),
    **dict.fromkeys(("BatchNorm", "BatchNormExt", "InstanceNorm", "GroupNorm"), _BY_CHANNELS),
}  # fmt: skip
"""Operator type → elements that share an error: those of one row along the last axis, or of one channel (axis 1)."""


class Bias(NamedTuple):
    """The part of an error that is a common factor.

    Attributes
    ----------
    slope : float
        Σd·y / Σy²: relative error that all elements have in common.
    scatter : float
        Standard deviation of the slope, of what is left without it.
    certainty : float
        The slope in standard deviations of what chance makes of it; its square is at most the number of elements
        that do not share an error.
    rest : float
        Relative error (‖·‖ / ‖y‖) that is left without the common factor.
    spacing : float
        Distance of 1 and the next number of the format that was written.
    """

    slope: float
    scatter: float
    certainty: float
    rest: float
    spacing: float

    @property
    def is_wide(self) -> bool:
        """Whether the format that was written is as wide as float32, so that a fast approximation shows in it."""
        return self.spacing <= _WIDE

    @property
    def limit(self) -> float:
        """Slope that healthy operators do not reach."""
        known = limits()
        return (known.bias_wide if self.is_wide else known.bias_narrow) * self.spacing

    @property
    def accuses(self) -> bool:
        """Whether it is certain, and larger than a healthy operator leaves."""
        return abs(self.certainty) > limits().bias_certainty and abs(self.slope) > self.limit

    @property
    def interval(self) -> tuple[float, float]:
        """Between which numbers the factor lies: two standard deviations, and what healthy operators leave."""
        apart = 2 * self.scatter + self.limit
        return 1 + self.slope - apart, 1 + self.slope + apart


def bias_of(given: Array, expected: Array, op_type: str = "") -> Bias | None:
    """Return what a tensor and its reference have as a common factor.

    ``None`` for what is not written in 32 bits or fewer, and where nothing finite is left. ``op_type`` says which
    elements share an error (SHARED).
    """
    row = DTYPES.get(name_of(given.dtype))
    if row is None or not row.is_float or given.dtype.itemsize > 4 or given.shape != expected.shape:
        return None
    y, terms, d = _terms(given, expected)
    square = float(y @ y)
    if not square or not math.isfinite(square):
        return None
    slope = float(terms.sum()) / square
    rest = d - slope * y
    grouped = _grouped(terms, given.shape, SHARED.get(op_type, ""))
    chance = math.sqrt(float(grouped @ grouped))
    left = _grouped(rest * y, given.shape, SHARED.get(op_type, ""))
    return Bias(
        slope,
        math.sqrt(float(left @ left)) / square,
        slope * square / chance if chance else 0.0,
        math.sqrt(float(rest @ rest) / square),
        2.0 * row.roundoff,
    )


def _terms(given: Array, expected: Array) -> tuple[Floats, Floats, Floats]:
    """Return y, d·y and d of the elements that are looked at; what is not finite counts as 0."""
    t = given.reshape(-1)[:MOST].astype(np.float64)
    y = expected.reshape(-1)[:MOST].astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        d = t - y
        finite = np.isfinite(d)
        if not finite.all():
            y, d = np.where(finite, y, 0.0), np.where(finite, d, 0.0)
        return y, d * y, d


def _grouped(terms: Floats, shape: tuple[int, ...], shared: str) -> Floats:
    """Sum up the terms of elements that share an error."""
    if not shared or len(shape) < 2:
        return terms
    if shared == _BY_ROWS:
        return np.add.reduceat(terms, np.arange(0, terms.size, shape[-1]))
    inner = math.prod(shape[2:])
    channels = (np.arange(terms.size) // inner) % shape[1]
    return np.bincount(channels, terms, shape[1]).astype(np.float64)


class Pool(NamedTuple):
    """What several operators have in common: the factor, between which numbers it lies, and how sure it is."""

    slope: float
    low: float
    high: float
    certainty: float

    @property
    def factor(self) -> float:
        """What results are multiplied by."""
        return 1 + self.slope


def median_of(values: Sequence[float]) -> float:
    """Return the median of some numbers, NaN without any; NumPy's own loads masked arrays, which takes time."""
    ordered = sorted(values)
    if not ordered or any(math.isnan(one) for one in ordered):
        return math.nan
    middle = len(ordered) // 2
    return float(
        ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    )


def pooled(found: Iterable[Bias]) -> Pool:
    """Return the median slope of several results, with the interval in which all slopes lie.

    Certainties add up as those of independent results do.
    """
    known = list(found)
    slopes = [one.slope for one in known]
    lows, highs = zip(*(one.interval for one in known), strict=True)
    certainty = sum(one.certainty for one in known) / math.sqrt(len(known))
    return Pool(median_of(slopes), min(lows), max(highs), certainty)
