"""Figures as text with as few digits as tell each from its neighbors in float64: what JSON and CSV hold of them.

Finding the digits is most of what it takes to write such a file, and many figures stand in several rows and columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from workbench.core.text import json_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

AT_ONCE = 1000
"""Rows that are in memory as text at the same time."""


def spell_figures(
    figures: NDArray[np.float64], spell_odd: Callable[[str], str]
) -> NDArray[np.object_]:
    """Return the texts of figures (any shape, float64) as an array of that shape; equal figures share one text.

    What is not finite is the word of `workbench.core.text.json_number`, as ``spell_odd`` writes it.
    """
    found, places = _different(figures)
    texts = np.array([*map(repr, found.tolist())], object)
    for place in np.flatnonzero(~np.isfinite(found)).tolist():
        texts[place] = spell_odd(str(json_number(float(found[place]))))
    return _placed(texts, places, figures)


def spell_whole(figures: NDArray[np.float64]) -> NDArray[np.object_]:
    """Return the texts of whole numbers that are kept as float64, all finite: digits alone."""
    found, places = _different(figures)
    return _placed(np.array([*map(str, map(int, found.tolist()))], object), places, figures)


def _different(figures: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Figures that differ in a bit, so that -0.0 is not 0.0, and which of them stands at every place."""
    bits, places = np.unique(figures.view(np.int64), return_inverse=True)
    return bits.view(np.float64), places


def _placed(
    texts: NDArray[np.object_], places: NDArray[np.intp], figures: NDArray[np.float64]
) -> NDArray[np.object_]:
    found: NDArray[np.object_] = texts[places].reshape(figures.shape)  # NumPy 1 has flat places
    return found
