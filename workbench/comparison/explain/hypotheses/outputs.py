"""Faults of the whole output: every element is changed alike after it was computed rightly."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.comparison.explain.case import Candidate
from workbench.comparison.limits import limits
from workbench.core.dtypes import DTYPES
from workbench.core.formats import c0_of
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from workbench.comparison.explain.case import Evaluation

    Array = NDArray[Any]

_SAMPLE = 4096  # elements that decide which of many lanes are worth a look


def wrong_sign(case: Evaluation) -> Iterator[Candidate]:
    """Every element is negated."""
    expected = case.trial.expected
    if expected.size:
        negated = ~expected if expected.dtype.kind == "b" else np.negative(expected)
        yield Candidate("wrong-sign", negated, Message("compare/fault-sign"))


def scaled_output(case: Evaluation) -> Iterator[Candidate]:
    """Every element is multiplied by one factor: the one that fits best, or a round number near it."""
    expected = case.trial.expected
    usable = np.isfinite(case.given) & np.isfinite(case.expected)
    given = np.where(usable, case.given, 0).astype(np.float64, copy=False)
    wanted = np.where(usable, case.expected, 0).astype(np.float64, copy=False)
    below = float(wanted @ wanted)
    factor = float(given @ wanted) / below if below else 0.0
    if not math.isfinite(factor) or factor in (0.0, 1.0):
        return
    if min(abs(factor - 1.0), abs(factor + 1.0)) <= 2 * case.floor or is_negligible(factor, case):
        return
    for number in dict.fromkeys((*round_numbers_near(factor), factor)):
        with np.errstate(all="ignore"):
            output = (expected.astype(np.float64) * number).astype(expected.dtype)
        said = Message("compare/fault-scale", factor=number)
        solved = number == factor
        yield Candidate("scaled-output", output, said, 1.0 if solved else 0.5)


def is_negligible(factor: float, case: Evaluation) -> bool:
    """Whether a factor makes everything as small as noise."""
    return abs(factor) <= min(limits().factor_nothing * case.floor, limits().factor_small)


def round_numbers_near(number: float) -> Iterator[float]:
    """Round numbers within a thousandth of a number, the roundest first."""
    for digits in (1, 2, 3, 4):
        rounded = float(f"{number:.{digits - 1}e}")
        if rounded != 1.0 and abs(rounded - number) <= 1e-3 * abs(number):
            yield rounded


def flush_to_zero(case: Evaluation) -> Iterator[Candidate]:
    """Magnitudes below a limit are zeros: the limit is between those that stayed and those that did not."""
    size = np.abs(case.expected)
    gone = (case.given == 0) & (size > 0)
    stayed = size[(case.given != 0) & np.isfinite(size)]
    if not gone.any() or not stayed.size:
        return
    low, high = float(np.max(size[gone])), float(np.max(stayed, initial=0.0))
    if low >= high:
        return
    limit = limit_between(low, float(np.min(stayed)))
    expected = case.trial.expected
    small = (size < limit).reshape(expected.shape)
    output = np.where(small, expected.dtype.type(0), expected)
    said = Message("compare/fault-flush", count=int(np.count_nonzero(gone)), limit=limit)
    yield Candidate("flush-to-zero", output, said, 1.0)


def limit_between(low: float, high: float) -> float:
    """Where the largest that is gone and the smallest that stayed part: a power of two if one is there."""
    power = 2.0 ** math.ceil(math.log2(low)) if low > 0 else 0.0
    if low < power <= high:
        return power
    return (low + high) / 2


def saturated(case: Evaluation) -> Iterator[Candidate]:
    """Magnitudes beyond a limit are cut to it; a device that saturates makes NaN zero, too."""
    expected = case.trial.expected
    finite = np.abs(case.given[np.isfinite(case.given)])
    if not finite.size:
        return
    limit = float(np.max(finite))
    with np.errstate(all="ignore"):
        cut = ~(np.abs(case.expected) <= limit) & (np.abs(case.given) == limit)
        lost = np.isnan(case.expected) & (case.given == 0)
    if not cut.any() or is_negligible(limit / case.rms, case):
        return
    lowest = 0 if expected.dtype.kind == "u" else -limit
    output = np.clip(expected, lowest, limit).astype(expected.dtype)
    if lost.any():
        output = np.where(np.isnan(expected), expected.dtype.type(0), output)
    known = [row.name for row in DTYPES.values() if row.largest == limit and row.name != "bool"]
    if case.given.size < limits().saturating_peers and not known:
        return
    count = int(np.count_nonzero(cut))
    said = Message("compare/fault-saturated", count=count, limit=limit)
    if known:
        said = Message("compare/fault-saturated-at", count=count, limit=limit, dtype=known[0])
    yield Candidate(
        "saturated", output, said, 0.5 if known or limit in round_numbers_near(limit) else 1.0
    )


def wrong_layout_lanes(case: Evaluation) -> Iterator[Candidate]:
    """Channels inside a block of C0 are exchanged, each with the one at a fixed distance."""
    expected, given = case.trial.expected, case.trial.given
    if expected.ndim == 0 or not expected.size:
        return
    axis = 1 if expected.ndim > 3 else expected.ndim - 1
    lanes = c0_of(expected.dtype.name)
    found = []
    for distance in range(1, min(lanes, 2 * expected.shape[axis])):
        rows = slice(0, max(_SAMPLE // max(expected.size // expected.shape[0], 1), 1))
        part = (rows,) if axis else (slice(None),)
        wanted = exchanged(expected[part], axis, distance)
        found.append((_mismatch(given[part], wanted, case), distance))
    for _, distance in sorted(found)[:2]:
        said = Message("compare/fault-lanes", distance=distance, lanes=lanes)
        yield Candidate("wrong-layout-lanes", exchanged(expected, axis, distance), said, 0.5)


def shifted_output(case: Evaluation) -> Iterator[Candidate]:
    """Every element lies one place further along an axis; what comes from outside is free."""
    expected, given = case.trial.expected, case.trial.given
    for axis, size in enumerate(expected.shape):
        if size < 3:
            continue
        for step in (1, -1):
            output = np.roll(expected, step, axis)
            edge = (slice(None),) * axis + (0 if step > 0 else -1,)
            output[edge] = given[edge]
            said = Message("compare/fault-shift", step=step, axis=axis)
            yield Candidate("shifted-output", output, said, expected.size / size / 2)


def exchanged(array: Array, axis: int, distance: int) -> Array:
    """Return an array whose place c of an axis comes from c xor ``distance``, zero where there is none."""
    source = np.arange(array.shape[axis]) ^ distance
    inside = source < array.shape[axis]
    read = np.take(array, np.where(inside, source, 0), axis=axis)
    read[(slice(None),) * axis + (~inside,)] = 0
    return read


def _mismatch(given: Array, wanted: Array, case: Evaluation) -> float:
    """Share of the elements of two arrays that differ by more than noise."""
    with np.errstate(all="ignore"):
        gap = np.abs(given.astype(np.float64) - wanted.astype(np.float64))
        return float(np.mean(~(gap <= 8 * case.floor * (np.abs(wanted) + case.rms))))
