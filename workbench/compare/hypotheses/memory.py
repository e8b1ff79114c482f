"""What memory held before: whether bytes of an output are those of other tensors."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from workbench.compare.replay.trial import Trial

    Array = NDArray[Any]

_BLOCK = 32  # bytes; tensors begin at multiples of it
_MOST = 1 << 26  # bytes of other tensors that are searched
_ODD = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93], np.uint64
)
_NONE = np.empty(0, np.uint64)
_LOOKED = 1 << 16  # blocks of an output that are looked up


class Held:
    """Blocks of 32 bytes of the tensors that a device held when an operator ran."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial

    @cached_property
    def _blocks(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Hashes of all blocks but those of zeros, and of all pairs of neighbors."""
        found = [_hashes(array) for array in _searched(self._trial)]
        single = [blocks[blocks != 0] for blocks in found]
        double = [_pairs(blocks) for blocks in found]
        return np.unique(np.concatenate([_NONE, *single])), np.unique(
            np.concatenate([_NONE, *double])
        )

    def share(self, given: Array) -> tuple[float, int]:
        """Share of an output's blocks that are zeros or those of other tensors, and how many pieces they form.

        What is left at the end is no block and left out.
        """
        blocks = _hashes(given)[:_LOOKED]
        if not blocks.size:
            return 0.0, 0
        single, double = self._blocks
        known = np.isin(blocks, single)
        if not known.any():
            return 0.0, 0
        breaks = ~np.isin(_pairs(blocks), double) & known[1:] & known[:-1]
        return float(np.mean(known | (blocks == 0))), int(np.count_nonzero(breaks)) + 1

    def whole(self, given: Array, mask: NDArray[np.bool_]) -> bool:
        """Whether what is under a flat mask lies somewhere in another tensor as it is, row for row."""
        flat = np.ascontiguousarray(given).reshape(-1)
        places = np.flatnonzero(mask)
        row = flat[places[0] :][: _first_run(places)]
        piece = row.tobytes()
        if not any(piece):
            return False
        step = given.dtype.itemsize
        return any(_holds(array, piece, step) for array in _searched(self._trial))


def overwriting(raw: bytes, trial: Trial) -> bool:
    """Whether bytes are those of another tensor, or its beginning again and again."""
    piece = raw[: min(len(raw), 256)]
    if len(piece) < 8 or not any(piece):
        return False
    for array in _searched(trial):
        other = np.ascontiguousarray(array).tobytes()
        repeated = other * (2 * len(piece) // max(len(other), 1) + 2) if len(other) < 512 else other
        if piece in repeated:
            return True
    return False


def _searched(trial: Trial) -> Iterator[Array]:
    """The other tensors, latest first, up to a number of bytes; the inputs are among them."""
    total = 0
    for array in (*trial.earlier, *trial.inputs.values()):
        total += array.nbytes
        if total > _MOST:
            return
        yield array


def _hashes(array: Array) -> NDArray[np.uint64]:
    """A number for every block of an array's bytes, 0 for zeros; what is left at the end has none."""
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    words = raw[: raw.size // _BLOCK * _BLOCK].view(np.uint64).reshape(-1, _BLOCK // 8)
    return np.asarray((words * _ODD).sum(axis=1, dtype=np.uint64))


def _pairs(blocks: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A number for every two neighboring blocks."""
    return np.asarray(blocks[:-1] * _ODD[0] + blocks[1:] * _ODD[1])


def _first_run(places: NDArray[np.intp]) -> int:
    """Length of the first run of neighbors."""
    gaps = np.flatnonzero(np.diff(places) > 1)
    return int(gaps[0]) + 1 if gaps.size else int(places.size)


def _holds(array: Array, piece: bytes, step: int) -> bool:
    other = np.ascontiguousarray(array).tobytes()
    start = other.find(piece)
    while start >= 0 and start % step:
        start = other.find(piece, start + 1)
    return start >= 0
