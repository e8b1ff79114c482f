"""Limits of a comparison, as options of the benchmarks give them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from workbench.comparison.limits import LIMITS, Limits

if TYPE_CHECKING:
    from collections.abc import Iterable


def read_limits(texts: Iterable[str]) -> Limits:
    """Read ``NAME=VALUE`` texts. Raises ValueError for a name or value that is none.

    >>> read_limits(["fit_operators=5", "pass_factor=4"]).changed
    {'pass_factor': 4.0, 'fit_operators': 5}
    """
    known = asdict(LIMITS)
    chosen: dict[str, float] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if name not in known:
            raise ValueError(f"no limit {name!r}; known: {', '.join(known)}")
        chosen[name] = type(known[name])(value)
    return Limits(**chosen)  # type: ignore[arg-type]
