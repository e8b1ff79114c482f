"""Verdict profiles: our own rule, and the thresholds of the field under their own names.

docs/reference/profiles.md shows this table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from workbench._values import NamedTuple
from workbench.core.errors import WorkbenchError

Figures = Mapping[str, float]


class Derived(NamedTuple):
    """A figure that others give: its formula (t target, g golden, d = t − g), and how it is had.

    ``compute`` is given the metrics of a pair and returns ``None`` if they do not suffice.
    """

    formula: str
    compute: Callable[[Figures], float | None]


def _side(metrics: Figures, side: str, *titles: str) -> float | None:
    """A figure of one side, by the title of a measured tensor or of a row of statistics."""
    return next((metrics[f"{side}{t}"] for t in titles if f"{side}{t}" in metrics), None)


def _size(metrics: Figures, side: str) -> float | None:
    """Norm of one side up to √n, which both sides have in common."""
    mean, std = _side(metrics, side, "Mean"), _side(metrics, side, "Std")
    if mean is not None and std is not None:
        return math.hypot(mean, std)
    return _side(metrics, side, "L2NormValue")


def _ratio(part: float, whole: float) -> float:
    if whole:
        return part / abs(whole)
    return math.inf if part else 0.0


def _change(*titles: str) -> Callable[[Figures], float | None]:
    """|t − g| / |g| of a figure that both sides have."""

    def compute(metrics: Figures) -> float | None:
        ours, theirs = _side(metrics, "Target", *titles), _side(metrics, "Golden", *titles)
        return None if ours is None or theirs is None else _ratio(abs(ours - theirs), theirs)

    return compute


def _norm_change(metrics: Figures) -> float | None:
    ours, theirs = _size(metrics, "Target"), _size(metrics, "Golden")
    return None if ours is None or theirs is None else _ratio(abs(ours - theirs), theirs)


def _similarity(metrics: Figures) -> float | None:
    """Of ‖t + g‖² = 2‖t‖² + 2‖g‖² − ‖d‖²."""
    ours, theirs = _size(metrics, "Target"), _size(metrics, "Golden")
    off = metrics.get("RootMeanSquareError")
    if ours is None or theirs is None or off is None:
        return None
    middle = math.sqrt(max(0.0, 2.0 * ours**2 + 2.0 * theirs**2 - off**2)) / 2.0
    return 1.0 - _ratio(off, middle)


def _psnr(metrics: Figures) -> float | None:
    off = metrics.get("RootMeanSquareError")
    low, high = _side(metrics, "Golden", "Min"), _side(metrics, "Golden", "Max")
    if off is None or low is None or high is None:
        return None
    peak = max(abs(low), abs(high)) ** 2
    noise = off**2 + 1e-10
    return 10.0 * math.log10((peak + 1e-5) / noise) if math.isfinite(peak + noise) else math.nan


DERIVED: dict[str, Derived] = {
    "EuclideanSimilarity": Derived("1 − ‖d‖ / ‖(t + g)/2‖", _similarity),
    "PSNR": Derived("10·log₁₀((max g² + 10⁻⁵) / (mean d² + 10⁻¹⁰)), in dB", _psnr),
    "MaxChange": Derived("|max t − max g| / |max g|", _change("Max", "MaxValue")),
    "MinChange": Derived("|min t − min g| / |min g|", _change("Min", "MinValue")),
    "NormChange": Derived("|‖t‖ − ‖g‖| / ‖g‖", _norm_change),
}
"""Figures that profiles compute from those of a pair; statistics suffice for the last three."""


class Limit(NamedTuple):
    """One threshold: the metric must be at least (``low``) or at most (``high``) a number."""

    metric: str
    low: float = -math.inf
    high: float = math.inf

    def value(self, metrics: Figures) -> float | None:
        """Figure that is held against the threshold; ``None`` if it is not known."""
        found = DERIVED.get(self.metric)
        return metrics.get(self.metric) if found is None else found.compute(metrics)

    def missing(self, metrics: Figures) -> str:
        """Title of the figure if it is not known, else empty."""
        return self.metric if self.value(metrics) is None else ""

    def holds(self, metrics: Figures) -> bool:
        """Whether a tensor keeps the threshold; NaN never does, nor does an unknown figure."""
        value = self.value(metrics)
        return value is not None and self.low <= value <= self.high

    @property
    def titles(self) -> tuple[str, ...]:
        """Figures that it looks at."""
        return (self.metric,)

    def __str__(self) -> str:
        if math.isfinite(self.low):
            return f"{self.metric} ≥ {self.low:g}"
        return f"{self.metric} ≤ {self.high:g}"


class Either(NamedTuple):
    """Thresholds of which one must be kept."""

    limits: tuple[Limit, ...]

    def missing(self, metrics: Figures) -> str:
        """Title of the first figure that is not known, else empty."""
        return next((m for limit in self.limits if (m := limit.missing(metrics))), "")

    def holds(self, metrics: Figures) -> bool:
        """Whether a tensor keeps one of the thresholds."""
        return any(limit.holds(metrics) for limit in self.limits)

    @property
    def titles(self) -> tuple[str, ...]:
        """Figures that it looks at."""
        return tuple(limit.metric for limit in self.limits)

    def __str__(self) -> str:
        return " or ".join(map(str, self.limits))


class Profile(NamedTuple):
    """A named rule. A tensor passes if it keeps every limit; no limits: the noise floor decides.

    ``source`` says whose rule it is, ``apart`` what of that rule is left out or otherwise.
    """

    name: str
    limits: tuple[Limit | Either, ...]
    source: str
    apart: str = ""

    def __str__(self) -> str:
        if not self.limits:
            return f"{self.name}: {self.source}"
        return f"{self.name}: {', '.join(str(limit) for limit in self.limits)} ({self.source})"


NOISE_FLOOR = "noise-floor"

_COSINE = Limit("CosineSimilarity", low=0.99)

_TABLE = (
    Profile(
        NOISE_FLOOR, (), "the error that number formats and inputs explain, see compare.noise"
    ),
    Profile(
        "msaccucmp",
        (
            _COSINE,
            Limit("RelativeEuclideanDistance", high=0.05),
            Limit("RootMeanSquareError", high=1.0),
            Limit("MeanRelativeError", high=1.0),
        ),
        "IsPrecisionError of msquickcmp, without its KL term",
        "the Kullback-Leibler divergence (at most 0.005) needs a second pass; it is blind to shift and scale",
    ),
    Profile(
        "msprobe",
        (_COSINE, Limit("MaxAbsoluteError", high=0.001)),
        "guideline of the msprobe accuracy comparison",
    ),
    Profile(
        "msprobe-mindspore",
        (
            Either((_COSINE, Limit("MaxAbsoluteError", high=0.001))),
            Limit("CosineSimilarity", low=0.9),
            Limit("MaxAbsoluteError", high=1.0),
        ),
        "Accuracy column of msprobe for MindSpore graphs",
        "different dtypes are compared, too, where msprobe skips them",
    ),
    Profile(
        "msprobe-torchair",
        (_COSINE, Limit("MaxRelativeError", high=0.01)),
        "documented PASS of msprobe for torchair",
        "elements whose golden is near zero are held against the tensor's scale, where msprobe counts them as right",
    ),
    Profile(
        "msprobe-check",
        (_COSINE, Limit("OneThousandthErrRatio", low=0.999)),
        "dual-thousandth standard of msprobe's accuracy check",
    ),
    Profile(
        "msprobe-statistics",
        tuple(Limit(name, high=0.5) for name in ("MaxChange", "MinChange", "NormChange")),
        "difference analysis of msprobe, for statistics",
        "the mean is left out, which MindSpore does not write unless asked",
    ),
    Profile(
        "polygraphy",
        (
            Either(
                (Limit("MaxAbsoluteError", high=1e-5), Limit("MaxRelativeError", high=1e-5))
            ),
        ),
        "check_error_stat max of Polygraphy's simple comparison, default tolerances",
        "its default looks at single elements: one must be beyond both tolerances; the largest errors are as strict or "
        "stricter",
    ),
    Profile(
        "tpu-mlir",
        (_COSINE, Limit("EuclideanSimilarity", low=0.99)),
        "SIMILAR of tpu-mlir's npz compare, default tolerances",
        "NaN is never counted as zero",
    ),
    Profile(
        "coremltools",
        (Limit("PSNR", low=40.0),),
        "threshold of the example of coremltools' debugging utilities",
    ),
)  # fmt: skip

PROFILES: dict[str, Profile] = {one.name: one for one in _TABLE}
"""Every profile by name, our own first."""


def profile(name: str) -> Profile:
    """Return the profile called ``name``; raises WorkbenchError naming the known ones."""
    try:
        return PROFILES[name]
    except KeyError:
        known = list(PROFILES)
        raise WorkbenchError("core/choice", subject="profile", got=name, known=known) from None
