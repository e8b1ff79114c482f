"""What both sides of a tensor hold, as figures beside each other: what is not finite, what overflowed, and the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.core.dtypes import DTYPES

if TYPE_CHECKING:
    from workbench.comparison.measure.elements import Elements
    from workbench.comparison.result import Row

_COUNTED = (("NaN", "NaN"), ("+Inf", "PosInf"), ("−Inf", "NegInf"))
_DESCRIBED = (
    ("zeros", "Zero"), ("minimum", "Min"), ("maximum", "Max"), ("mean", "Mean"), ("deviation", "Std"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TensorSummaryRow:
    """One figure of both sides; ``None`` where nobody knows it. ``odd``: it is a sign of trouble."""

    name: str
    target: float | None
    golden: float | None
    odd: bool = False


def side_values(row: Row, elements: Elements | None) -> tuple[TensorSummaryRow, ...]:
    """Return what is known of the values of both sides; empty if nothing is.

    Elements at the largest number of their format, where a device that saturates puts what overflows, are counted
    among those that were read.
    """
    found = [_of(row, name, title, odd=True) for name, title in _COUNTED]
    if elements is not None:
        found.append(_saturated(elements))
    found += [_of(row, name, title) for name, title in _DESCRIBED]
    return tuple(one for one in found if (one.target, one.golden) != (None, None))


def _of(row: Row, name: str, title: str, *, odd: bool = False) -> TensorSummaryRow:
    ours, theirs = (row.metrics.get(f"{side}{title}") for side in ("Target", "Golden"))
    return TensorSummaryRow(name, ours, theirs, odd=odd and bool(ours or theirs))


def _saturated(elements: Elements) -> TensorSummaryRow:
    limits = [_largest(name) for name in elements.dtypes]
    counts = elements.beyond((limits[0], limits[1]))
    known = [float(n) if limit else None for n, limit in zip(counts, limits, strict=True)]
    return TensorSummaryRow("saturated", known[0], known[1], odd=any(counts))


def _largest(name: str) -> float:
    """Largest finite value of a float format; 0: the question has no sense."""
    row = DTYPES.get(name)
    return row.largest if row is not None and row.is_float and not row.is_complex else 0.0
