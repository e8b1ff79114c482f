"""Faults of single elements and of memory: most of the output is right, the rest is something else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.compare.hypotheses.case import Guess
from workbench.compare.hypotheses.memory import Held, overwriting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from workbench.compare.hypotheses.case import Case

    Array = NDArray[Any]

SIDE = 16
"""Rows and columns of a tile that the cube unit writes."""

REPEAT = 256
"""Bytes that one step of the vector unit writes."""

_ANY = 0.9  # of a free number: an element that may be anything, so that what leaves little over is preferred
_FEW = 64  # neighbors that may still be called single elements
_BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def nan_output(case: Case) -> Iterator[Guess]:
    """NaN where a number belongs."""
    if not case.is_float:
        return
    lost = np.isnan(case.given) & ~np.isnan(case.expected)
    if lost.any():
        output = with_given(case, lost)
        words = f"NaN in {where(np.flatnonzero(lost), case.shape)}"
        yield Guess("nan-output", output, words, float(_runs(np.flatnonzero(lost))))


def overwritten_element(case: Case) -> Iterator[Guess]:
    """Few neighbors hold something else, the same number in each or any."""
    places = case.places
    if not 0 < places.size <= min(_FEW, max(case.given.size // 2, 1)):
        return
    values = case.given[places]
    alike = bool(np.all(values == values[0]))
    words = f"{where(places, case.shape)} overwritten with {_few(values)}, everything else is right"
    count = _runs(places) + (1 if alike else places.size)
    yield Guess("overwritten-element", with_given(case, case.off), words, float(count))


def bit_flip(case: Case) -> Iterator[Guess]:
    """The same bit of one or a few neighbors is the other way."""
    places, given = case.places, np.ascontiguousarray(case.trial.given)
    if not 0 < places.size <= min(_FEW, max(case.given.size // 4, 1)):
        return
    words = given.reshape(-1).view(_BITS[given.dtype.itemsize])[places]
    for bit in range(8 * given.dtype.itemsize if given.dtype.kind != "b" else 1):
        flipped = (words ^ words.dtype.type(1 << bit)).view(given.dtype)
        if case.near(flipped, places):
            text = f"bit {bit} of {where(places, case.shape)} flipped, everything else is right"
            yield Guess("bit-flip", with_given(case, case.off), text, 0.5 + _runs(places))


def unwritten_tail_tile(case: Case) -> Iterator[Guess]:
    """The last tile shows something else: of 16 rows and columns, or of 256 bytes."""
    held = Held(case.trial)
    for tail, name in _tails(case):
        off = case.off & tail
        if not off.any() or np.count_nonzero(case.off) > np.count_nonzero(off):
            continue
        shown = case.given[tail]
        if not _unwritten(shown, case.expected[tail], off[tail]):
            continue
        blank = bool(np.all(shown == shown[0]))
        known = not blank and held.whole(case.trial.given, tail)
        free = 0.5 if blank else 1.0 if known else _ANY * shown.size + 0.5
        content = f"{shown[0]:.6g}" if blank else "what memory held before" if known else ""
        words = f"the last {name} was not written and shows {content or 'something else'}"
        yield Guess("unwritten-tail-tile", with_given(case, tail), words, free)


def _unwritten(shown: Array, wanted: Array, off: NDArray[np.bool_]) -> bool:
    """Whether a tile has nothing of what belongs there: what is right there is so by chance."""
    right = ~off
    if np.count_nonzero(off) < 2 and off.size > 2:
        return False
    return bool(np.mean(right) <= 0.5 or np.all((shown == 0) | (wanted == 0) | off))


def _tails(case: Case) -> Iterator[tuple[NDArray[np.bool_], str]]:
    """The last tiles that a unit may not have written, as masks of the flat output."""
    shape = case.shape
    if len(shape) >= 2 and case.given.size:
        mask = np.zeros(shape, np.bool_)
        matrices = mask.reshape(*shape[:2], -1) if mask.ndim > 3 else mask
        rows, columns = (-(-size // SIDE) - 1 for size in matrices.shape[-2:])
        last = matrices.reshape(-1, *matrices.shape[-2:])[-1:]
        last[:, rows * SIDE :, columns * SIDE :] = True
        yield mask.reshape(-1), f"tile of {SIDE} rows and columns"
    if case.given.size:
        flat = np.zeros(case.given.size, np.bool_)
        step = REPEAT // case.trial.given.dtype.itemsize
        flat[max(-(-flat.size // step) - 1, 0) * step :] = True
        yield flat, f"piece of {REPEAT} bytes"


def stale_output(case: Case) -> Iterator[Guess]:
    """Nothing was written: zeros, other tensors' bytes, or nothing that has to do with what belongs there."""
    given = case.trial.given
    if not given.size or np.mean(case.off) < 0.2:
        return
    if not case.given.any():
        words = "the whole output is zero, as memory that was never written"
        yield Guess("stale-output", np.zeros_like(given), words)
        return
    share, breaks = Held(case.trial).share(given)
    if share > 0.5:
        words = f"{share:.0%} of its bytes are those of other tensors that memory held before"
        free = 1.0 + 2.0 * breaks + (1.0 - share) * given.size
        yield Guess("stale-output", given, words, min(free, _ANY * given.size))
    elif abs(likeness(case)) < 0.3:
        words = "the output has nothing in common with what belongs there"
        yield Guess("stale-output", given, words, _ANY * given.size)


def likeness(case: Case) -> float:
    """Cosine of what was given and what was expected, each without its mean."""
    usable = np.isfinite(case.given) & np.isfinite(case.expected)
    a, b = (x[usable].astype(np.float64) for x in (case.given, case.expected))
    if a.size < 2:
        return 0.0
    a, b = a - a.mean(), b - b.mean()
    length = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / length if length else 0.0


def overrun(case: Case) -> Iterator[Guess]:
    """The beginning of the output was overwritten by an operator whose output lies before it in memory."""
    places, given = case.places, np.ascontiguousarray(case.trial.given)
    if not places.size or places[-1] + 1 >= case.given.size * 0.9:
        return
    first = int(places[0]) * given.dtype.itemsize
    end = (int(places[-1]) + 1) * given.dtype.itemsize
    if first >= 32 or end > 8 * REPEAT + 32:
        return
    raw = given.reshape(-1)[: places[-1] + 1].tobytes()
    found = overwriting(raw, case.trial)
    free = places.size if not found else 1.0
    said = "another tensor's bytes" if found else "something else"
    words = f"its first {end} bytes were overwritten with {said}, the rest is right"
    if found or end >= REPEAT // 2:
        yield Guess("overrun", with_given(case, case.off), words, float(free))


def with_given(case: Case, mask: NDArray[np.bool_]) -> Array:
    """Return what was expected, with what was given where a flat mask says so."""
    output = case.trial.expected.copy(order="C")
    output.reshape(-1)[mask] = case.trial.given.reshape(-1)[mask]
    return output


def where(places: NDArray[np.intp], shape: tuple[int, ...]) -> str:
    """Places in words: the first one's indices, and how many there are."""
    first = tuple(int(i) for i in np.unravel_index(int(places[0]), shape)) if shape else ()
    if places.size == 1:
        return f"element {list(first)}"
    return f"{places.size} elements from {list(first)} on"


def _few(values: Array) -> str:
    shown = ", ".join(f"{value:.6g}" for value in values[:3])
    return shown if len(set(values[:64].tolist())) > 1 else f"{values[0]:.6g}"


def _runs(places: NDArray[np.intp]) -> int:
    """How many runs of neighbors places form."""
    return 1 + int(np.count_nonzero(np.diff(places) > 1))
