"""Integers and truth values: how many elements differ, and where the first of them stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workbench.core.errors import FormatError

if TYPE_CHECKING:
    from workbench.comparison.measure.measure import Measured

MOST = 1 << 26
"""Elements of the largest tensor that is read once more, to be counted."""


class ExactDifference(NamedTuple):
    """``unequal`` of ``size`` elements differ; the first in C order stands at ``at`` and holds what either side has."""

    unequal: int
    size: int
    at: list[int]
    target: int
    golden: int


def first_difference(item: Measured) -> ExactDifference | None:
    """Return where two tensors of integers differ; ``None`` where they do not lie alike, or are too large."""
    ours, theirs = item.pair.target.source, item.pair.golden.source
    if ours is None or theirs is None or item.divergence.size > MOST:
        return None
    try:
        target, golden = ours.array(), theirs.array()
    except FormatError:  # unreadable by now; the ledger tells so
        return None
    if target.shape != golden.shape:
        return None
    differs = np.flatnonzero(target != golden)
    if not differs.size:
        return None
    place = np.unravel_index(differs[0], target.shape)
    held = (int(array[place]) for array in (target, golden))
    return ExactDifference(len(differs), target.size, [int(axis) for axis in place], *held)
