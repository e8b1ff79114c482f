"""Faults of single elements and of memory: most of the output is right, the rest is something else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.comparison.explain.case import Candidate
from workbench.comparison.explain.memory import memory_orders
from workbench.comparison.limits import limits
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from workbench.comparison.explain.case import Evaluation

    Array = NDArray[Any]


SIDE = 16
"""Rows and columns of a tile that the cube unit writes."""

REPEAT = 256
"""Bytes that one step of the vector unit writes."""

_BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def nan_output(case: Evaluation) -> Iterator[Candidate]:
    """NaN where a number belongs."""
    lost = np.isnan(case.given) & ~np.isnan(case.expected)
    if lost.any():
        output = with_given(case, lost)
        said = Message("compare/fault-nan", where=describe_places(np.flatnonzero(lost), case.shape))
        yield Candidate("nan-output", output, said, float(count_runs(np.flatnonzero(lost))))


def overwritten_element(case: Evaluation) -> Iterator[Candidate]:
    """Few neighbors hold something else, the same number in each or any."""
    places = case.places
    if not 0 < places.size <= limits().elements_few:
        return
    if not np.isfinite(case.expected[places]).all():
        return  # where the right one is no number, both sides have lost theirs
    values = case.given[places]
    alike = bool(np.all(values == values[0]))
    if not alike and places.size > limits().neighbors_few:
        return
    alone = alike and count_runs(places) == 1
    if places.size > max((case.given.size - 1 if alone else case.given.size // 2), 1):
        return
    place, value = describe_places(places, case.shape), _few(values)
    said = Message("compare/fault-overwritten", where=place, value=value)
    count = count_runs(places) + _cost(values)
    yield Candidate("overwritten-element", with_given(case, case.off), said, float(count))


def bit_flip(case: Evaluation) -> Iterator[Candidate]:
    """The same bit of one or a few neighbors is the other way."""
    places, given = case.places, np.ascontiguousarray(case.trial.given)
    if not 0 < places.size <= min(limits().bits_most, max(case.given.size // 4, 1)):
        return
    words = given.reshape(-1).view(_BITS[given.dtype.itemsize])[places]
    for bit in range(8 * given.dtype.itemsize if given.dtype.kind != "b" else 1):
        flipped = (words ^ words.dtype.type(1 << bit)).view(given.dtype)
        if case.near(flipped, places):
            said = Message("compare/fault-bit", bit=bit, where=describe_places(places, case.shape))
            free = 0.5 * (1 + count_runs(places)) - 0.25
            yield Candidate("bit-flip", with_given(case, case.off), said, free)


def unwritten_tail_tile(case: Evaluation) -> Iterator[Candidate]:
    """The last tile shows something else: of 16 rows and columns, or of 256 bytes."""
    for tail, code in _tails(case):
        off = case.off & tail
        if not off.any() or np.count_nonzero(case.off) > np.count_nonzero(off):
            continue
        shown = case.given[tail]
        if not _unwritten(shown, case.expected[tail], off[tail]):
            continue
        blank = bool(np.all(shown == shown[0]))
        known = not blank and case.held.holds(_first_row(case, tail), case.trial.given.itemsize)
        free = 0.5 if blank else 1.0 if known else limits().any_number * shown.size + 0.5
        # a tile that is all there is is as well an output that was never written
        free += limits().whole_numbers * tail.all()
        content = Message("compare/holds-earlier" if known else "compare/holds-other")
        if blank:
            content = Message("compare/holds-number", value=float(shown[0]))
        said = Message(code, side=SIDE, size=REPEAT, content=content)
        yield Candidate("unwritten-tail-tile", with_given(case, tail), said, free)


def _first_row(case: Evaluation, tail: NDArray[np.bool_]) -> bytes:
    """Bytes of the first row of a tile."""
    places = np.flatnonzero(tail)
    gaps = np.flatnonzero(np.diff(places) > 1)
    row = places[: gaps[0] + 1 if gaps.size else places.size]
    return case.trial.given.reshape(-1)[row].tobytes()


def _unwritten(shown: Array, wanted: Array, off: NDArray[np.bool_]) -> bool:
    """Whether a tile has nothing of what belongs there: what is right there is so by chance."""
    right = ~off
    if np.count_nonzero(off) < 2 and off.size > 2:
        return False
    return bool(np.mean(right) <= 0.5 or np.all((shown == 0) | (wanted == 0) | off))


def _tails(case: Evaluation) -> Iterator[tuple[NDArray[np.bool_], str]]:
    """The last tiles that a unit may not have written, as masks of the flat output, and codes of what to say."""
    shape = case.shape
    if len(shape) >= 2 and case.given.size:
        mask = np.zeros(shape, np.bool_)
        matrices = mask.reshape(*shape[:2], -1) if mask.ndim > 3 else mask
        rows, columns = (-(-size // SIDE) - 1 for size in matrices.shape[-2:])
        last = matrices.reshape(-1, *matrices.shape[-2:])[-1:]
        last[:, rows * SIDE :, columns * SIDE :] = True
        yield mask.reshape(-1), "compare/fault-tile"
    if case.given.size:
        flat = np.zeros(case.given.size, np.bool_)
        step = REPEAT // case.trial.given.dtype.itemsize
        flat[max(-(-flat.size // step) - 1, 0) * step :] = True
        yield flat, "compare/fault-tail"


def stale_output(case: Evaluation) -> Iterator[Candidate]:
    """Nothing was written: zeros, other tensors' bytes, or nothing that has to do with what belongs there."""
    given = case.trial.given
    if not given.size or np.mean(case.off) < 0.2:
        return
    if not case.given.any():
        said = Message("compare/fault-zero")
        yield Candidate("stale-output", np.zeros_like(given), said, 0.25)
        return
    if case.trial.slot < 0 and _is_as_before(case):
        yield Candidate("stale-output", given, Message("compare/fault-unwritten"), 0.25)
        return
    found = [(*case.held.share(flat), name) for name, flat in memory_orders(given)]
    share, breaks, name = max(found, key=lambda one: one[0])
    if share > 0.5:
        said = Message("compare/fault-stale", share=share)
        if name:
            said = Message("compare/fault-stale-in", share=share, format=name)
        free = 1.0 + 2.0 * breaks + (1.0 - share) * given.size
        yield Candidate("stale-output", given, said, min(free, limits().any_number * given.size))
    elif given.size >= limits().telling_elements and abs(correlation(case)) < 0.3:
        said = Message("compare/fault-unrelated")
        yield Candidate("stale-output", given, said, limits().any_number * given.size)


def _is_as_before(case: Evaluation) -> bool:
    """Whether an input that the operator overwrites is what it was."""
    before = case.trial.inputs.get(-1 - case.trial.slot)
    return before is not None and before.tobytes() == case.trial.given.tobytes()


def correlation(case: Evaluation) -> float:
    """Cosine of what was given and what was expected, each without its mean."""
    usable = np.isfinite(case.given) & np.isfinite(case.expected)
    a, b = (x[usable].astype(np.float64) for x in (case.given, case.expected))
    if a.size < 2:
        return 0.0
    a, b = a - a.mean(), b - b.mean()
    length = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / length if length else 0.0


def overrun(case: Evaluation) -> Iterator[Candidate]:
    """The beginning of the output was overwritten by an operator whose output lies before it in memory."""
    if not 0 < case.places.size <= limits().part_most * case.given.size:
        return
    given, kind = case.trial.given, case.trial.given.dtype.name
    off, real = case.off.reshape(case.shape), np.ones(case.shape, np.bool_)
    lying = zip(
        memory_orders(given), memory_orders(off, kind), memory_orders(real, kind), strict=True
    )
    for (name, flat), (_, there), (_, inside) in lying:
        places = np.flatnonzero(there)
        size = int(places[-1]) + 1
        end = size * flat.itemsize
        if places[0] * flat.itemsize >= limits().overrun_begins or end > limits().overrun_ends:
            continue
        over = flat[:size][inside[:size]]
        found = case.held.holds(flat[:size].tobytes(), flat.itemsize)
        alike = bool(np.all(over == over[0]))
        if not found and (end < REPEAT // 2 or (places.size < 0.5 * over.size and not alike)):
            continue
        free = 1.0 if found or alike else float(over.size)
        if places.size > case.given.size / 2:  # it is as well an output that was never written
            free += limits().whole_numbers
        content = Message("compare/holds-tensor" if found else "compare/holds-other")
        if alike and not found:
            content = Message("compare/holds-number", value=float(over[0]))
        said = Message("compare/fault-overrun", size=end, content=content)
        if name:
            said = Message("compare/fault-overrun-in", size=end, content=content, format=name)
        yield Candidate("overrun", with_given(case, case.off), said, free)


def _cost(values: Array) -> float:
    """Free numbers in what replaces elements."""
    return 1.0 if np.all(values == values[0]) else float(values.size)


def with_given(case: Evaluation, mask: NDArray[np.bool_]) -> Array:
    """Return what was expected, with what was given where a flat mask says so."""
    output = case.trial.expected.copy(order="C")
    output.reshape(-1)[mask] = case.trial.given.reshape(-1)[mask]
    return output


def describe_places(places: NDArray[np.intp], shape: tuple[int, ...]) -> Message:
    """Say where places are: the first one's indices, and how many there are."""
    first = [int(i) for i in np.unravel_index(int(places[0]), shape)] if shape else []
    if places.size == 1:
        return Message("compare/element", index=first)
    return Message("compare/elements", count=places.size, first=first)


def _few(values: Array) -> Message:
    found = [float(value) for value in values]
    if len(set(found)) > 1:
        return Message("compare/holds-numbers", values=[f"{value:.6g}" for value in found])
    return Message("compare/holds-number", value=found[0])


def count_runs(places: NDArray[np.intp]) -> int:
    """How many runs of neighbors places form."""
    return 1 + int(np.count_nonzero(np.diff(places) > 1))
