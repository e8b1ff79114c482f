"""Faults of a part of the output: rows, channels or a tile are not written, come from elsewhere, or are scaled."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.comparison.explain.case import Candidate
from workbench.comparison.explain.hypotheses.elements import REPEAT
from workbench.comparison.explain.hypotheses.outputs import round_numbers_near
from workbench.comparison.explain.regions import name_slices
from workbench.comparison.limits import limits
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from workbench.comparison.explain.case import Evaluation
    from workbench.comparison.explain.regions import Region

    Array = NDArray[Any]


def _part(case: Evaluation) -> Region | None:
    """The slices or the tile that are off, ``None`` if it is no such part, or most of the output.

    Neighbors in one row are none: few of them are single elements, many the step of a vector unit.
    """
    region = case.region
    if region is None or np.count_nonzero(region.mask) > limits().region_whole * case.given.size:
        return None
    if region.shape == "run":
        steps = np.count_nonzero(region.mask) * case.trial.given.dtype.itemsize
        return region if steps >= REPEAT else None
    rows = region.shape == "block" and sum(size > 1 for size in region.said.values["sizes"])
    return region if region.shape == "slices" or rows > 1 else None


def _choices(case: Evaluation, region: Region) -> float:
    """Free numbers in which part it is: its place, and that of every slice beyond the first."""
    return 0.5 + 0.25 * max(len(region.indices) - 1, 0)


def unwritten_tile(case: Evaluation) -> Iterator[Candidate]:
    """A part holds one number, or what another tensor left there."""
    region = _part(case)
    if region is None:
        return
    mask, given = region.mask.reshape(-1), case.trial.given
    shown = case.given[mask]
    free = _choices(case, region)
    output = _with_part(case, mask)
    if np.all(shown == shown[0]):
        content = Message("compare/holds-number", value=float(shown[0]))
        said = Message("compare/fault-blank", where=region.said, content=content)
        yield Candidate("unwritten-tile", output, said, free + (0.25 if shown[0] else 0.0))
    elif case.held.holds(_first_row(given, mask), given.itemsize):
        said = Message("compare/fault-earlier", where=region.said)
        yield Candidate("unwritten-tile", output, said, free + 0.5)


def _with_part(case: Evaluation, mask: NDArray[np.bool_]) -> Array:
    output = case.trial.expected.copy(order="C")
    output.reshape(-1)[mask] = case.trial.given.reshape(-1)[mask]
    return output


def _first_row(given: Array, mask: NDArray[np.bool_]) -> bytes:
    """Bytes of the first neighbors of a part."""
    places = np.flatnonzero(mask)
    gaps = np.flatnonzero(np.diff(places) > 1)
    return given.reshape(-1)[places[: gaps[0] + 1 if gaps.size else places.size]].tobytes()


def misplaced_tile(case: Evaluation) -> Iterator[Candidate]:
    """Slices hold what belongs to others: one free number a slice, fewer where all are as far apart."""
    found = case.moved
    if found is None:
        return
    axis, places, of = found
    moved = np.moveaxis(case.trial.expected.copy(order="C"), axis, 0)
    moved[places] = np.moveaxis(case.trial.expected, axis, 0)[of]
    steps = np.unique(of - places).size
    free = 0.5 + 0.5 * min(steps, places.size)
    said = Message("compare/fault-moved", where=name_slices(case.shape, axis, places))
    yield Candidate("misplaced-tile", np.moveaxis(moved, 0, axis), said, free)


def scaled_tile(case: Evaluation) -> Iterator[Candidate]:
    """A part is multiplied by one factor: the one that fits best, or a round number near it."""
    region = _part(case)
    if region is None:
        return
    mask = region.mask.reshape(-1)
    given, wanted = (x[mask].astype(np.float64) for x in (case.given, case.expected))
    below = float(np.einsum("i,i->", wanted, wanted))
    factor = float(np.einsum("i,i->", given, wanted)) / below if below else 0.0
    told = np.count_nonzero(np.abs(wanted) > 0) >= limits().slice_elements
    if not told or not math.isfinite(factor) or factor <= 0.0 or factor == 1.0:
        return  # the other sign is no scale
    for number in dict.fromkeys((*round_numbers_near(factor), factor)):
        output = case.trial.expected.copy(order="C")
        with np.errstate(all="ignore"):
            output.reshape(-1)[mask] = (wanted * number).astype(output.dtype)
        said = Message("compare/fault-part-scaled", where=region.said, factor=number)
        free = _choices(case, region) + (1.0 if number == factor else 0.5)
        yield Candidate("scaled-tile", output, said, free)
