"""A comparison as the thresholds of its look grade it, for views of it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from workbench.pipeline.compare import Comparison

    Thresholds = tuple[float | None, float | None]

_KNOWN: WeakKeyDictionary[Comparison, tuple[Thresholds, Comparison]] = WeakKeyDictionary()
"""What was graded last of each comparison, so that it is the same object until a threshold changes."""


def graded(comparison: Comparison) -> Comparison:
    """Return a comparison re-graded by ``factor`` and ``limit`` of its look, which both share; itself without any."""
    look = comparison.look
    wanted = (look.factor, look.limit)
    if wanted == (None, None):
        return comparison
    known = _KNOWN.get(comparison)
    if known is not None and known[0] == wanted:
        return known[1]
    made = comparison.regrade(*wanted)
    made.look = look
    _KNOWN[comparison] = wanted, made
    return made
