"""What an error looks like where no guess fits: where it sits, of what sign, with which values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from workbench.compare.hypotheses.case import Case

    Array = NDArray[Any]

_TILE = 16
_SPECIAL = {65504.0: "65504, the largest float16", 448.0: "448, the largest float8_e4m3fn"}


def describe(case: Case) -> str:
    """Return an operator's own error in plain words: place, sign, ratio, produced values."""
    if not case.given.size:
        return "the output is empty"
    said = [_extent(case), *_axes(case), *_sign(case), *_values(case)]
    return "; ".join(said)


def _extent(case: Case) -> str:
    """How much of the output is off."""
    count, size = case.places.size, case.given.size
    if not count:
        return "no element is off by more than noise: the error is spread over all of them"
    share = count / size
    if count == size:
        return "every element is off"
    first, last = int(case.places[0]), int(case.places[-1])
    run = ", one run of neighbors" if last - first + 1 == count and count > 1 else ""
    return f"{count} of {size} elements ({share:.1%}) are off{run}, elements {first} to {last}"


def _axes(case: Case) -> Iterator[str]:
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
            yield f"it repeats every {period} places along axis {axis}"
        elif hit.size <= max(size // 4, 1):
            yield f"it keeps to places {_listed(hit)} of {size} along axis {axis}"


def _listed(places: NDArray[np.intp]) -> str:
    if places.size > 3 and places[-1] - places[0] + 1 == places.size:
        return f"{places[0]} to {places[-1]}"
    return ", ".join(str(place) for place in places[:4]) + (", …" if places.size > 4 else "")


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


def _sign(case: Case) -> Iterator[str]:
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
        yield "all too large" if up > 0.5 else "all too small"
    shrunk = float(np.mean(np.abs(given) < np.abs(wanted)))
    if not 0.05 < shrunk < 0.95:
        yield f"magnitudes are too {'small' if shrunk > 0.5 else 'large'}"
    whole = wanted != 0
    if np.count_nonzero(whole) >= 4:
        ratio = given[whole] / wanted[whole]
        middle, spread = float(np.median(ratio)), float(np.std(ratio))
        if spread < 0.02 * abs(middle):
            yield f"about {middle:.4g} times what it should be"


def _values(case: Case) -> Iterator[str]:
    """Values that only show where something went wrong."""
    given, wanted = case.given, case.expected
    with np.errstate(all="ignore"):
        rows = {
            "NaN": np.isnan(given) & ~np.isnan(wanted),
            "Inf": np.isinf(given) & ~np.isinf(wanted),
            "zero": (given == 0) & (wanted != 0) & case.off,
            **{name: (np.abs(given) == v) & case.off for v, name in _SPECIAL.items()},
            "subnormal": _subnormal(case) & case.off,
        }
    for name, mask in rows.items():
        count = int(np.count_nonzero(mask))
        if count:
            yield f"{count} {'are' if count > 1 else 'is'} {name}"


def _subnormal(case: Case) -> NDArray[np.bool_]:
    if not case.is_float:
        return np.zeros(case.given.size, np.bool_)
    least = 2.0**-14 if case.trial.given.dtype == np.float16 else 2.0**-126
    size = np.abs(case.given)
    return np.asarray((size > 0) & (size < least))
