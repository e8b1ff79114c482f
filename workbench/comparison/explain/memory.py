"""What memory held before: whether bytes of an output are those of other tensors."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.comparison.limits import limits
from workbench.core.errors import FormatError
from workbench.core.formats import c0_of
from workbench.core.transdata import to_device

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from workbench.comparison.replay.kernel import Trial

    Array = NDArray[Any]

_BLOCK = 32  # bytes; tensors begin at multiples of it
_MOST = 1 << 26  # bytes of other tensors that are searched
_LOOKED = 1 << 16  # blocks of an output that are looked up
_PIECE = 256  # bytes that are searched for at once
_ODD = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93], np.uint64
)
_NONE = np.empty(0, np.uint64)


def memory_orders(array: Array, dtype: str = "") -> Iterator[tuple[str, Array]]:
    """An array flat, as it may lie in memory: as it is, as a feature map of the device, as its matrices.

    ``dtype`` is the name of another one whose blocks it is cut into.
    """
    c0 = c0_of(dtype or array.dtype.name)
    yield "", np.ascontiguousarray(array).reshape(-1)
    for host, form, fits in (("NCHW", "NC1HWC0", array.ndim == 4), ("ND", "FRACTAL_NZ", True)):
        if fits and array.ndim >= 2 and array.size:
            bits = array.view(np.uint8) if array.dtype.kind == "b" else array
            try:
                there = to_device(bits, host, form, c0=c0)
            except FormatError:
                continue
            yield form, np.ascontiguousarray(there).reshape(-1).view(array.dtype)


class HeldTensors:
    """Blocks of 32 bytes of the tensors that a device held when an operator ran."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial

    @cached_property
    def _searched(self) -> list[bytes]:
        """The other tensors in every order, latest first, up to a number of bytes; the inputs are among them."""
        found, total = [], 0
        for array in (*self._trial.earlier, *self._trial.inputs.values()):
            total += 3 * array.nbytes
            if total > _MOST:
                break
            found += [flat.tobytes() for _, flat in memory_orders(array)]
        return found

    @cached_property
    def _blocks(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Hashes of all blocks but those of zeros, and of all pairs of neighbors, sorted."""
        found = [_hashes(raw) for raw in self._searched]
        single = np.concatenate([_NONE, *(blocks[blocks != 0] for blocks in found)])
        double = np.concatenate([_NONE, *(_pairs(blocks) for blocks in found)])
        return np.sort(single), np.sort(double)

    def share(self, flat: Array) -> tuple[float, int]:
        """Share of an output's blocks that are zeros or those of other tensors, and how many pieces they form.

        What is left at the end is no block and left out.
        """
        blocks = _hashes(flat.tobytes())[:_LOOKED]
        if not blocks.size:
            return 0.0, 0
        single, double = self._blocks
        known = _among(blocks, single)
        if not known.any():
            return 0.0, 0
        breaks = ~_among(_pairs(blocks), double) & known[1:] & known[:-1]
        return float(np.mean(known | (blocks == 0))), int(np.count_nonzero(breaks)) + 1

    def holds(self, raw: bytes, step: int) -> bool:
        """Whether bytes are somewhere in another tensor, at a multiple of ``step``, or in its endless repetition."""
        return holds(self._searched, raw, step)


def holds(others: Iterable[bytes], raw: bytes, step: int) -> bool:
    """Whether the first bytes are somewhere in one of ``others``, as `Held.holds` means it."""
    piece = raw[:_PIECE]
    if len(piece) < limits().found_bytes or not any(piece):
        return False
    return any(_at(other, piece, step) for other in others)


def _at(other: bytes, piece: bytes, step: int) -> bool:
    if 0 < len(other) < 2 * _PIECE:
        other *= 2 + 2 * _PIECE // len(other)
    start = other.find(piece)
    while start >= 0 and start % step:
        start = other.find(piece, start + 1)
    return start >= 0


def _among(values: NDArray[np.uint64], known: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which values are among sorted ones."""
    if not known.size:
        return np.zeros(values.size, np.bool_)
    places = np.minimum(np.searchsorted(known, values), known.size - 1)
    return np.asarray(known[places] == values)


def _hashes(raw: bytes) -> NDArray[np.uint64]:
    """A number for every block of bytes, 0 for zeros; what is left at the end has none."""
    words = np.frombuffer(raw, np.uint8)[: len(raw) // _BLOCK * _BLOCK].view(np.uint64)
    return np.asarray((words.reshape(-1, _BLOCK // 8) * _ODD).sum(axis=1, dtype=np.uint64))


def _pairs(blocks: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A number for every two neighboring blocks."""
    return np.asarray(blocks[:-1] * _ODD[0] + blocks[1:] * _ODD[1])
