"""Verdict profiles: our own rule, and the thresholds of the field under their own names.

The text that documents a profile is made from the numbers that decide, so they cannot part.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.core.errors import WorkbenchError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Limit:
    """One threshold: the metric must be at least (``low``) or at most (``high``) a number."""

    metric: str
    low: float = -math.inf
    high: float = math.inf

    def holds(self, metrics: Mapping[str, float]) -> bool:
        """Whether a tensor keeps the threshold; NaN never does."""
        return self.low <= metrics.get(self.metric, math.nan) <= self.high

    def __str__(self) -> str:
        if math.isfinite(self.low):
            return f"{self.metric} ≥ {self.low:g}"
        return f"{self.metric} ≤ {self.high:g}"


@dataclass(frozen=True, slots=True)
class Profile:
    """A named rule. A tensor passes if it keeps every limit; no limits: the noise floor decides."""

    name: str
    limits: tuple[Limit, ...]
    source: str

    def __str__(self) -> str:
        if not self.limits:
            return f"{self.name}: {self.source}"
        return f"{self.name}: {', '.join(str(limit) for limit in self.limits)} ({self.source})"


NOISE_FLOOR = "noise-floor"

PROFILES: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile(
            NOISE_FLOOR, (), "the error that number formats and inputs explain, see compare.noise"
        ),
        Profile(
            "msaccucmp",
            (
                Limit("CosineSimilarity", low=0.99),
                Limit("RelativeEuclideanDistance", high=0.05),
                Limit("RootMeanSquareError", high=1.0),
                Limit("MeanRelativeError", high=1.0),
            ),
            "IsPrecisionError of msquickcmp, without its KL term",
        ),
        Profile(
            "msprobe",
            (Limit("CosineSimilarity", low=0.99), Limit("MaxAbsoluteError", high=0.001)),
            "guideline of the msprobe accuracy comparison",
        ),
    )
}
"""Every profile by name, our own first."""


def profile(name: str) -> Profile:
    """Return the profile called ``name``; raises WorkbenchError naming the known ones."""
    try:
        return PROFILES[name]
    except KeyError:
        message = f"profile must be one of {list(PROFILES)}, got {name!r}"
        raise WorkbenchError(message) from None
