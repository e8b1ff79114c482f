"""What is measured of a pair of tensors: the sums of one pass, and the figures they give.

A kernel turns data into `Sums`; `merge` joins the sums of two parts of one pair, in any order and
grouping; `finish` turns them into a `Divergence`. So serial, threaded and distributed runs agree.

Definitions, d = target − golden; all sums in float64 over *jointly finite* positions:

* Complex numbers count as two numbers each, their real and imaginary parts; bool as 0 and 1.
* The relative error of one element is |d|/|golden|; where |golden| ≤ 2⁻⁵² it is |d| against the
  scale of the tensor, max|golden| (against 1 if that is 0). It is neither dropped nor blown up.
* NaN agrees with nothing, not with NaN either; an infinity agrees with the infinity
  of its sign. Positions that disagree so are counted in ``mismatch`` and enter no other figure.
* Minimum, maximum, mean, deviation and zeros of a side are those of its own finite elements.

``tests/comparison/measure/test_special_values.py`` pins every special value in one table.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from workbench._values import NamedTuple
from workbench.comparison.columns import NO_FIGURES, Figures, Titles
from workbench.comparison.measure.slices import Slice, SliceSums, merge_slices, worst_slice
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.comparison.columns import FigureTable

SIZES = "compare/sizes-differ"
"""Code of tensors with different numbers of elements."""

CANCELLED = Message("compare/cancelled")
"""Why a pair was not measured when the user interrupts."""

NEAR_ZERO = 2.0**-52
"""Golden elements up to this magnitude have no relative error of their own (as in msaccucmp)."""

ONE_THOUSANDTH = 0.001
FIVE_THOUSANDTHS = 0.005


class Metric(NamedTuple):
    """A figure: its definition in words (t target, g golden, d = t − g), which way is better, and what it counts.

    ``unit`` is ``elements`` (whole numbers), ``1`` (without dimension) or that of the ``data``.
    """

    formula: str
    better: Literal["higher", "lower", "neither"]
    unit: Literal["elements", "1", "data"] = "1"


_SIDES = ("Target", "Golden")

WORST_SLICE = "WorstSliceError"
"""Title of the largest error of a slice against its own scale."""

METRICS: dict[str, Metric] = {
    "CosineSimilarity": Metric(
        "Σt·g / (‖t‖·‖g‖); 1 if t = g, 0 if exactly one of them is all zero", "higher"
    ),
    "MaxAbsoluteError": Metric("max|d|", "lower", "data"),
    "MeanAbsoluteError": Metric("mean|d|", "lower", "data"),
    "RootMeanSquareError": Metric("√mean d²", "lower", "data"),
    "RelativeEuclideanDistance": Metric("‖d‖ / ‖g‖; Infinity if g = 0 and t ≠ 0", "lower"),
    "AccumulatedRelativeError": Metric("Σ|d|/|g|", "lower"),
    "MaxRelativeError": Metric("max |d|/|g|", "lower"),
    "MeanRelativeError": Metric("mean |d|/|g|", "lower"),
    "OneThousandthErrRatio": Metric("share of elements with |d|/|g| < 0.001 or t = g", "higher"),
    "FiveThousandthsErrRatio": Metric("share of elements with |d|/|g| < 0.005 or t = g", "higher"),
    WORST_SLICE: Metric(
        "largest Σ|d| / Σ|g| of a slice: an index of one axis, or a tile of 16 × 16 over the last two axes; slices have"
        " 32 elements or more; tensors without such slices, or of which no element is off by 1/64 of itself, are"
        " one",
        "lower",
    ),
    "WorstSliceAxis": Metric(
        "axis of that slice; −1: a tile, or the whole tensor", "neither", "elements"
    ),
    "WorstSliceIndex": Metric(
        "index of that slice, tiles counted in C order; −1: the whole tensor", "neither", "elements"
    ),
    "NonFiniteMismatch": Metric(
        "positions that differ in NaN, +Inf, −Inf or finite", "lower", "elements"
    ),
    **{
        f"{side}NaN": Metric(f"NaN elements of the {side.lower()}", "lower", "elements")
        for side in _SIDES
    },
    **{
        f"{side}PosInf": Metric(f"+Inf elements of the {side.lower()}", "lower", "elements")
        for side in _SIDES
    },
    **{
        f"{side}NegInf": Metric(f"−Inf elements of the {side.lower()}", "lower", "elements")
        for side in _SIDES
    },
    **{
        f"{side}Zero": Metric(f"zeros of the {side.lower()}", "neither", "elements")
        for side in _SIDES
    },
    **{
        f"{side}Min": Metric(f"least finite {side.lower()} value", "neither", "data")
        for side in _SIDES
    },
    **{
        f"{side}Max": Metric(f"greatest finite {side.lower()} value", "neither", "data")
        for side in _SIDES
    },
    **{
        f"{side}Mean": Metric(f"mean of finite {side.lower()} values", "neither", "data")
        for side in _SIDES
    },
    **{
        f"{side}Std": Metric(
            f"population deviation of finite {side.lower()} values", "neither", "data"
        )
        for side in _SIDES
    },
    "RelativeBias": Metric(
        "Σd·g / Σg²: the part of the error that is a common factor, 0.002 where all are 1.002 times too large",
        "neither",
    ),
    "RelativeBiasZ": Metric(
        "Σd·g / √Σ(d·g)²: the same in standard deviations of what chance makes of it; at most √size",
        "neither",
    ),
}
"""Figures of one pass, by the field's titles, in the order of tables."""

METRIC_TITLES = Titles({title: one.unit == "elements" for title, one in METRICS.items()})
"""The titles of METRICS, under which `Figures` keep what is measured."""

ON_DEMAND: dict[str, Metric] = {
    "KullbackLeiblerDivergence": Metric(
        "Σ p·ln(p/q), p from t and q from g: each scaled to [0, 1] by its own minimum and maximum,"
        " raised to at least 2⁻²³ and divided by its sum; blind to shift and scale",
        "lower",
    ),
}
"""Figures that need a second pass over the data."""


class Sums(NamedTuple):
    """What one pass gathers. Counts are whole numbers; ``worst`` is −1 or a flat index.

    ``m2`` is Σ(x − mean)²; ``relative`` Σ|d|/|g| where |g| > NEAR_ZERO, ``small`` Σ|d| elsewhere;
    ``error_golden`` is Σd·g, ``weighted_square`` Σ(d·g)². ``slices``, the sums of its slices, stand last.
    """

    size: int = 0
    finite: int = 0
    infinite_agree: int = 0
    target_nan: int = 0
    target_pos_inf: int = 0
    target_neg_inf: int = 0
    target_zero: int = 0
    golden_nan: int = 0
    golden_pos_inf: int = 0
    golden_neg_inf: int = 0
    golden_zero: int = 0
    within_one: int = 0
    within_five: int = 0
    worst: int = -1
    target_min: float = math.inf
    target_max: float = -math.inf
    target_mean: float = 0.0
    target_m2: float = 0.0
    golden_min: float = math.inf
    golden_max: float = -math.inf
    golden_mean: float = 0.0
    golden_m2: float = 0.0
    target_golden: float = 0.0
    target_target: float = 0.0
    golden_golden: float = 0.0
    square: float = 0.0
    absolute: float = 0.0
    absolute_max: float = 0.0
    relative: float = 0.0
    relative_max: float = 0.0
    small: float = 0.0
    small_max: float = 0.0
    error_golden: float = 0.0
    weighted_square: float = 0.0
    slices: SliceSums | None = None

    @property
    def target_count(self) -> int:
        """Finite elements of the target."""
        return self.size - self.target_nan - self.target_pos_inf - self.target_neg_inf

    @property
    def golden_count(self) -> int:
        """Finite elements of the golden."""
        return self.size - self.golden_nan - self.golden_pos_inf - self.golden_neg_inf

    @property
    def largest(self) -> float:
        """Largest finite magnitude on either side; 0 if there is none."""
        return max(
            _magnitude(self.target_min, self.target_max, self.target_count),
            _magnitude(self.golden_min, self.golden_max, self.golden_count),
        )


def _magnitude(low: float, high: float, count: int) -> float:
    return max(abs(low), abs(high)) if count else 0.0


def moments(
    count_a: int, mean_a: float, m2_a: float, count_b: int, mean_b: float, m2_b: float
) -> tuple[float, float]:
    """Mean and M2 of two parts together (Chan, Golub & LeVeque 1979)."""
    if not count_b:
        return mean_a, m2_a
    if not count_a:
        return mean_b, m2_b
    share = count_b / (count_a + count_b)
    delta = mean_b - mean_a
    return mean_a + delta * share, m2_a + m2_b + delta * delta * count_a * share


_JOINS = {
    "target_min": min,
    "golden_min": min,
    "target_max": max,
    "golden_max": max,
    "absolute_max": max,
    "relative_max": max,
    "small_max": max,
}


def merge(a: Sums, b: Sums) -> Sums:
    """Return the sums of both parts together; the order of the parts does not matter.

    >>> merge(Sums(size=2, square=1.0), Sums(size=3, square=0.5))[0]
    5
    """
    pairs = zip(Sums._fields[:-1], a[:-1], b[:-1], strict=True)
    sums = (_JOINS[name](x, y) if name in _JOINS else x + y for name, x, y in pairs)
    joined = Sums._make([*sums, merge_slices(a.slices, b.slices)])
    target = moments(
        a.target_count, a.target_mean, a.target_m2, b.target_count, b.target_mean, b.target_m2
    )
    golden = moments(
        a.golden_count, a.golden_mean, a.golden_m2, b.golden_count, b.golden_mean, b.golden_m2
    )
    return joined._replace(
        worst=_worst(a, b),
        target_mean=target[0],
        target_m2=target[1],
        golden_mean=golden[0],
        golden_m2=golden[1],
    )


def _worst(a: Sums, b: Sums) -> int:
    if a.absolute_max != b.absolute_max:
        return a.worst if a.absolute_max > b.absolute_max else b.worst
    return min(a.worst, b.worst) if a.worst >= 0 and b.worst >= 0 else max(a.worst, b.worst)


class Divergence(NamedTuple):
    """The measured difference of one pair of tensors.

    ``size`` counts elements, ``equal`` says that every element has the same value and none is NaN.
    ``error`` is ‖d‖/‖golden‖ over jointly finite elements; Infinity if the divisor is 0 while d is
    not, and if no position can be compared at all.
    ``mismatch`` counts positions that differ in being NaN, +Inf, −Inf or finite. ``metrics`` is
    keyed by METRICS, empty if ``reason`` says why nothing was measured or if there are no elements.
    ``worst`` is the flat index (C order) of the largest absolute difference, −1 if there is none.
    ``worst_slice`` is the slice that differs most against its own scale, ``None`` if there are no slices or all agree.
    """

    size: int
    equal: bool
    error: float
    mismatch: int
    metrics: Mapping[str, float] = NO_FIGURES
    reason: Message | None = None
    worst: int = -1
    worst_slice: Slice | None = None

    @property
    def slice_error(self) -> float:
        """Σ|d| / Σ|g| of the worst slice; 0 if there are no slices."""
        return self.metrics.get(WORST_SLICE, 0.0) if self.worst_slice is not None else 0.0


def unmeasured(reason: Message, size: int = 0) -> Divergence:
    """Return the divergence of a pair that could not be measured, and why."""
    return Divergence(size, False, math.inf, 0, NO_FIGURES, reason)


def finish(
    sums: Sums,
    *,
    parts: int = 1,
    scale: float = 1.0,
    table: FigureTable | None = None,
) -> Divergence:
    """Return the figures that ``sums`` give; ``table`` is where the metrics of many pairs stand together.

    ``parts`` is 2 for complex tensors, else 1. Squares, products, absolute sums, means and M2 were
    gathered from data divided by ``scale`` (a power of two) to keep them inside float64.
    """
    s = sums
    if not s.size:
        return Divergence(0, True, 0.0, 0)
    mismatch = s.size - s.finite - s.infinite_agree
    peak = _magnitude(s.golden_min, s.golden_max, s.golden_count)
    comparable = s.finite > 0 or mismatch == 0
    error = _ratio(math.sqrt(s.square), math.sqrt(s.golden_golden)) if comparable else math.inf
    worst = worst_slice(s.slices)
    of_slice = (error, _WHOLE) if worst is None else worst
    values = _metrics(s, mismatch, error, peak, scale, of_slice)
    return Divergence(
        size=s.size // parts,
        equal=mismatch == 0 and s.absolute_max == 0.0,
        error=error,
        mismatch=mismatch,
        metrics=Figures(METRIC_TITLES, values) if table is None else table.add(values),
        worst=s.worst // parts,
        worst_slice=None if worst is None or not worst[0] else worst[1],
    )


_WHOLE = Slice(-1, -1)
"""A tensor without slices is one."""


def _ratio(part: float, whole: float) -> float:
    if whole:
        return part / whole
    return math.inf if part else 0.0


def _cosine(s: Sums) -> float:
    if s.square == 0.0 and s.absolute_max == 0.0:
        return 1.0
    norms = math.sqrt(s.target_target) * math.sqrt(s.golden_golden)
    return max(-1.0, min(1.0, s.target_golden / norms)) if norms else 0.0


def _bias(s: Sums) -> tuple[float, float]:
    """Return the slope of the error over the golden, and that in units of its scatter.

    The scatter is what a slope of 0 would have, so that an error which is all slope is certain to √size, no more.
    """
    if not s.error_golden:
        return 0.0, 0.0
    scatter, most = math.sqrt(s.weighted_square), math.sqrt(s.finite)
    certain = max(-most, min(most, s.error_golden / scatter)) if scatter else 0.0
    return _ratio(s.error_golden, s.golden_golden), certain


def _metrics(
    s: Sums, mismatch: int, error: float, peak: float, scale: float, worst: tuple[float, Slice]
) -> tuple[float, ...]:
    """Return the figures in the order of METRICS."""
    agreeing = s.size - s.finite - mismatch
    target = _describe(s.target_count, s.target_min, s.target_max, s.target_mean, s.target_m2)
    golden = _describe(s.golden_count, s.golden_min, s.golden_max, s.golden_mean, s.golden_m2)
    return (
        *(_errors(s, error, peak, scale) if s.finite or not mismatch else _NO_ERRORS),
        (s.within_one + agreeing) / s.size,
        (s.within_five + agreeing) / s.size,
        worst[0] if s.finite or not mismatch else math.nan,
        *worst[1],
        mismatch,
        s.target_nan,
        s.golden_nan,
        s.target_pos_inf,
        s.golden_pos_inf,
        s.target_neg_inf,
        s.golden_neg_inf,
        s.target_zero,
        s.golden_zero,
        target[0],
        golden[0],
        target[1],
        golden[1],
        target[2] * scale,
        golden[2] * scale,
        target[3] * scale,
        golden[3] * scale,
        *(_bias(s) if s.finite or not mismatch else (math.nan, math.nan)),
    )


_NO_ERRORS = (math.nan,) * 8


def _errors(s: Sums, error: float, peak: float, scale: float) -> tuple[float, ...]:
    """Return the figures from CosineSimilarity to MeanRelativeError."""
    count = s.finite or 1
    against = peak or 1.0
    relative = s.relative + s.small / against
    return (
        _cosine(s),
        s.absolute_max,
        s.absolute * scale / count,
        math.sqrt(s.square / count) * scale,
        error,
        relative,
        max(s.relative_max, s.small_max / against),
        relative / count,
    )


def _describe(
    count: int, low: float, high: float, mean: float, m2: float
) -> tuple[float, float, float, float]:
    """Return minimum, maximum, mean and deviation of the finite elements of one side."""
    if not count:
        return math.nan, math.nan, math.nan, math.nan
    return low, high, mean, math.sqrt(m2 / count)
