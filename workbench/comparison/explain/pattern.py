"""What an error looks like where no guess fits: where it sits, of what sign, with which values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from workbench.comparison.explain.case import Evaluation

    Array = NDArray[Any]

_TILE = 16
_SPECIAL = {65504.0: "float16", 448.0: "float8_e4m3fn"}


def describe_pattern(case: Evaluation) -> Message:
    """Describe an operator's own error: place, sign, ratio, produced values."""
    if not case.given.size:
        return Message("compare/pattern-empty")
    parts = (_extent(case), *_axes(case), *_sign(case), *_values(case))
    return Message("compare/pattern", parts=parts)


def _extent(case: Evaluation) -> Message:
    """How much of the output is off."""
    count, size = case.places.size, case.given.size
    if not count:
        return Message("compare/pattern-spread")
    if count == size:
        return Message("compare/pattern-all")
    first, last = int(case.places[0]), int(case.places[-1])
    one = last - first + 1 == count and count > 1
    code = "compare/pattern-run" if one else "compare/pattern-some"
    return Message(code, count=count, size=size, percent=100 * count / size, first=first, last=last)


def _axes(case: Evaluation) -> Iterator[Message]:
    """Axes along which the error keeps to few places, or comes and goes with a period."""
    if not case.places.size or case.places.size == case.given.size:
        return
    off = case.off.reshape(case.shape)
    for axis, size in enumerate(case.shape):
        if size < 2:
            continue
        others = tuple(n for n in range(off.ndim) if n != axis)
        share = off.mean(axis=others)
        hit, period = np.flatnonzero(share > 0), _period(share)
        if period:
            yield Message("compare/pattern-period", period=period, axis=axis)
        elif hit.size <= max(size // 4, 1):
            yield _at(hit, size, axis)


def _at(places: NDArray[np.intp], size: int, axis: int) -> Message:
    """The places of an axis that an error keeps to."""
    first, last = int(places[0]), int(places[-1])
    if places.size > 3 and last - first + 1 == places.size:
        return Message("compare/pattern-range", first=first, last=last, size=size, axis=axis)
    return Message("compare/pattern-places", places=places.tolist(), size=size, axis=axis)


def _period(share: Array) -> int:
    """Period with which a profile comes again and again, at least four times; 0 if it does not."""
    if np.ptp(share) == 0:
        return 0
    for period in range(2, share.size // 4 + 1):
        if share.size % period == 0:
            turns = share.reshape(-1, period)
            if np.ptp(turns, axis=0).max() <= 0.1 * np.ptp(share):
                return period
    return 0


def _sign(case: Evaluation) -> Iterator[Message]:
    """Whether what is off is so to one side, or by one factor."""
    places = case.places if case.places.size else np.arange(case.given.size)
    given = case.given[places].astype(np.float64)
    wanted = case.expected[places].astype(np.float64)
    usable = np.isfinite(given) & np.isfinite(wanted)
    given, wanted = given[usable], wanted[usable]
    if given.size < 4:
        return
    rise = given - wanted
    up = float(np.mean(rise > 0))
    if not 0.05 < up < 0.95:
        yield Message("compare/pattern-high" if up > 0.5 else "compare/pattern-low")
    shrunk = float(np.mean(np.abs(given) < np.abs(wanted)))
    if not 0.05 < shrunk < 0.95:
        yield Message("compare/pattern-small" if shrunk > 0.5 else "compare/pattern-large")
    whole = wanted != 0
    if np.count_nonzero(whole) >= 4:
        ratio = given[whole] / wanted[whole]
        middle, spread = float(np.median(ratio)), float(np.std(ratio))
        if spread < 0.02 * abs(middle):
            yield Message("compare/pattern-ratio", factor=middle)


def _values(case: Evaluation) -> Iterator[Message]:
    """Values that only show where something went wrong."""
    given, wanted = case.given, case.expected
    with np.errstate(all="ignore"):
        rows = {
            "NaN": np.isnan(given) & ~np.isnan(wanted),
            "Inf": np.isinf(given) & ~np.isinf(wanted),
            "zero": (given == 0) & (wanted != 0) & case.off,
            **{dtype: (np.abs(given) == v) & case.off for v, dtype in _SPECIAL.items()},
            "subnormal": _subnormal(case) & case.off,
        }
    for name, mask in rows.items():
        count = int(np.count_nonzero(mask))
        largest = next((value for value, dtype in _SPECIAL.items() if dtype == name), None)
        if count and largest is not None:
            yield Message("compare/pattern-largest", count=count, value=largest, dtype=name)
        elif count:
            yield Message("compare/pattern-value", count=count, value=name)


def _subnormal(case: Evaluation) -> NDArray[np.bool_]:
    if not case.is_float:
        return np.zeros(case.given.size, np.bool_)
    least = 2.0**-14 if case.trial.given.dtype == np.float16 else 2.0**-126
    size = np.abs(case.given)
    return np.asarray((size > 0) & (size < least))
