"""Elements of a number format that lie side by side in a file, read piece by piece."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.dtypes import DTYPES, PLAIN
from workbench.core.files import fill, open_listed
from workbench.core.packing import decode, packed_bytes
from workbench.dump.payload.reading import Extent, Payload, Pieces

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import BinaryIO

    from numpy.typing import NDArray

    from workbench.core.dtypes import DType
    from workbench.dump.payload.boxes import Box
    from workbench.dump.payload.reading import Buffer, Reading

    Array = NDArray[Any]

STEP = 1 << 20
"""Bytes that are read, decoded and written at once."""

_KNOWN = frozenset(row.storage for row in DTYPES.values())


def known_elements(array: NDArray[Any]) -> NDArray[Any]:
    """Elements of types that comparisons do not know, in one that holds all of their values."""
    if array.dtype.kind in "biufc" or array.dtype in _KNOWN:
        return array
    wide: NDArray[Any] = array.astype(np.float32)
    return wide


def known_pieces(pieces: Iterator[NDArray[Any]], row: DType, shape: tuple[int, ...]) -> Reading:
    """Read a tensor of any shape that comes in pieces of a number format."""
    flat = (known_elements(piece).reshape(-1) for piece in pieces)
    kind = known_elements(np.empty(0, row.storage)).dtype
    return Pieces(flat, kind, shape, math.prod(shape))


@dataclass(frozen=True, slots=True)
class Elements:
    """``count`` elements of a file, side by side from byte ``start`` on."""

    path: str
    start: int
    row: DType
    count: int

    def reading(self, buffer: Buffer, shape: tuple[int, ...]) -> Reading:
        """Read all elements of a tensor that has ``shape``; raises FormatError if the file is too short."""
        row = self.row
        if row.packing != PLAIN or row.storage not in _KNOWN:
            return known_pieces(self.pieces(), row, shape)
        end = self.start + packed_bytes(row, self.count)
        extent = Extent(row.name, row.storage, shape, False, self.count, self.start, end)
        return Payload(self.path, buffer, extent)

    def pieces(self) -> Iterator[Array]:
        """All elements in order, flat, `STEP` bytes at a time."""
        step = STEP * 8 // self.row.bits
        with open_listed(self.path) as file:
            for first in range(0, self.count, step):
                yield self._read(file, first, min(step, self.count - first))

    def part(self, first: int, count: int) -> Array:
        """``count`` elements from one on."""
        with open_listed(self.path) as file:
            return self._read(file, first, count)

    def boxes(self, shape: Sequence[int], cuts: Iterator[Box]) -> Iterator[tuple[Box, Array]]:
        """Each box with its elements, of an array that has ``shape``."""
        with open_listed(self.path) as file:
            for box in cuts:
                yield box, self._box(file, shape, box.window)

    def _box(self, file: BinaryIO, shape: Sequence[int], window: Sequence[range]) -> Array:
        cut = [at for at, size in enumerate(shape) if len(window[at]) != size]
        last = cut[-1] if cut else 0
        inner = math.prod(shape[last + 1 :])
        run = len(window[last]) * inner if shape else 1
        result = np.empty(math.prod(map(len, window)), self.row.storage)
        outer = itertools.product(*window[:last])
        for at, index in enumerate(outer):
            place = 0
            for size, one in zip(shape, (*index, window[last].start), strict=False):
                place = place * size + one
            result[at * run : (at + 1) * run] = self._read(file, place * inner, run)
        return result.reshape([len(one) for one in window])

    def _read(self, file: BinaryIO, first: int, count: int) -> Array:
        bits = self.row.bits
        low, high = first * bits // 8, ((first + count) * bits + 7) // 8
        data = fill(file, self.start + low, np.empty(high - low, np.uint8), self.path)
        skip = first - low * 8 // bits
        return decode(self.row, data, skip + count)[skip:]
