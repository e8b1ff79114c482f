"""Elements of a tensor in the order of its host layout, piece by piece, in memory that a piece decides.

A tile is a window on the axes of the device array that holds some rows of the result and nothing else; it is read
by itself. What cannot be cut in tiles is put together first: in memory up to `LIMIT`, else in a file without a name.
"""

from __future__ import annotations

import math
import mmap
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from workbench._values import NamedTuple
from workbench.core.device_shape import arrange, is_plain
from workbench.core.transdata import host_chunks, to_host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import IO

    from numpy.typing import NDArray

    from workbench.dump.payload.extent import Extent, Shape

    Array = NDArray[Any]
    Order = Sequence[int]
    NewFile = Callable[[], IO[bytes]]

PIECE = 16 << 20
"""Bytes of a tile."""

LIMIT = 64 << 20
"""Bytes that are put together in memory."""

_SHORT = 256
"""Bytes that are worth a read of their own."""


class Tile(NamedTuple):
    """A window on every axis of the device array, and the shape of what it holds in the host's format."""

    window: tuple[range, ...]
    shape: tuple[int, ...]


class TileAxis(NamedTuple):
    """Device axis that an axis of the result can be cut along, a multiple of ``unit`` at a time."""

    axis: int
    unit: int


class Stored(Protocol):
    """The elements of a tensor as they lie: all in order, or window by window."""

    def pieces(self) -> Iterator[Array]: ...

    def tiles(self, shape: Shape, cuts: Iterator[Tile]) -> Iterator[tuple[Tile, Array]]: ...


def rearranged(extent: Extent, order: Order, stored: Stored, new_file: NewFile) -> Iterator[Array]:
    """Elements of an extent in its host layout, axes in ``order``, in pieces along the first one.

    ``stored`` reads them as they lie, of type ``extent.dtype.storage``; ``new_file`` opens a file for what is too
    large for memory.
    """
    source, host = extent.format.name, _host_format(extent)
    cuts = None if extent.slices else tiles(extent, order)
    if cuts is None:
        yield from _at_once(extent, order, stored, new_file)
        return
    for tile, array in stored.tiles(extent.shape, cuts):
        if not is_plain(source, host):
            array = to_host(array, source, host, tile.shape, c0=_lanes(extent))
        yield np.ascontiguousarray(array.transpose(order))


def _host_format(extent: Extent) -> str:
    return extent.format.name if extent.host is None else extent.host.format


def _lanes(extent: Extent) -> int | None:
    """C0 of the device array: its last axis, as far as it has several."""
    return extent.shape[-1] if len(extent.shape) > 1 else extent.format.c0


def _at_once(extent: Extent, order: Order, stored: Stored, new_file: NewFile) -> Iterator[Array]:
    """Rearrange what lies all over the device array, such as grouped weights."""
    source, host, shape = extent.format.name, _host_format(extent), extent.given_shape
    kind, groups = extent.dtype.storage, max(1, extent.format.groups)
    scratch = Scratch(stored.pieces(), kind, math.prod(extent.shape), new_file)
    if not is_plain(source, host):
        pieces = scratch.read(
            host_chunks(
                scratch.array.reshape(extent.shape), source, host, shape,
                groups=groups, c0=_lanes(extent), limit=PIECE,
            )
        )  # fmt: skip
        if tuple(order) == tuple(range(len(order))):
            yield from pieces
            return
        scratch = Scratch(pieces, kind, math.prod(shape), new_file)
    view = scratch.array.reshape(shape).transpose(order)
    step = max(1, PIECE * len(view) // max(1, view.nbytes))
    windows = (view[start : start + step] for start in range(0, len(view), step))
    yield from scratch.read(map(np.ascontiguousarray, windows))


class Scratch:
    """All elements of a tensor side by side, in memory or in a file without a name."""

    def __init__(
        self, pieces: Iterable[Array], kind: np.dtype[Any], count: int, new_file: NewFile
    ) -> None:
        self._map: mmap.mmap | None = None
        if count * kind.itemsize <= LIMIT:
            self.array: Array = np.empty(count, kind)
            at = 0
            for piece in pieces:
                self.array[at : at + piece.size] = piece.reshape(-1)
                at += piece.size
            return
        with new_file() as file:
            for piece in pieces:
                file.write(cast("Any", piece.reshape(-1).view(np.uint8).data))
            file.flush()
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.array = np.frombuffer(self._map, kind, count)

    def read(self, pieces: Iterable[Array]) -> Iterator[Array]:
        """Pass pieces on and give back the memory of what they were made of."""
        for piece in pieces:
            yield piece
            if self._map is not None and hasattr(mmap, "MADV_DONTNEED"):
                self._map.madvise(mmap.MADV_DONTNEED)


def tile_axes(extent: Extent, order: Order) -> list[TileAxis | None]:
    """Where the axes of the result lie on the device; ``None`` for one that cannot be cut there."""
    word, host = extent.format, _host_format(extent)
    if is_plain(word.name, host):
        return [TileAxis(axis, 1) for axis in order]
    groups = max(1, word.groups)
    plan = arrange(extent.given_shape, host, word.name, "", groups=groups, c0=_lanes(extent))
    words = plan.dims.split()
    if plan.groups > 1 or plan.shape != extent.shape:
        return [None] * len(order)
    found: list[TileAxis | None] = []
    for letter in (plan.letters[axis] for axis in order):
        if letter in words:
            found.append(TileAxis(words.index(letter), 1))
        elif f"{letter}1" in words:
            found.append(TileAxis(words.index(f"{letter}1"), plan.sizes[f"{letter}0"]))
        else:
            found.append(None)
    return found


def tiles(extent: Extent, order: Order) -> Iterator[Tile] | None:
    """Cut an extent into tiles of about `PIECE` bytes, in the order of the result.

    ``None`` if it has to be put together first: its first axis is none of the device's, or tiles would be read in
    runs that are too short.
    """
    found, itemsize = tile_axes(extent, order), extent.dtype.storage.itemsize
    whole = Tile(tuple(map(range, extent.shape)), extent.given_shape)
    first = found[0] if found else TileAxis(0, 1)
    if first is None or _run(whole, first, itemsize) < _SHORT:
        return None
    return _cut(whole, found, order, itemsize)


def _run(tile: Tile, place: TileAxis, itemsize: int) -> int:
    """Bytes side by side in a tile that is cut along one axis; `_SHORT` for one that needs no cut."""
    shape = [len(one) for one in tile.window]
    size = math.prod(shape) * itemsize
    if size <= PIECE:
        return _SHORT
    step = max(1, PIECE * shape[place.axis] // size)
    return step * math.prod(shape[place.axis + 1 :]) * itemsize


def _cut(
    tile: Tile, found: Sequence[TileAxis | None], order: Order, itemsize: int
) -> Iterator[Tile]:
    size = math.prod(map(len, tile.window)) * itemsize
    place = found[0] if found else None
    if size <= PIECE or place is None:
        yield tile
        return
    blocks = len(tile.window[place.axis])
    step = max(1, PIECE * blocks // size)
    for start in range(0, blocks, step):
        window, shape = list(tile.window), list(tile.shape)
        window[place.axis] = range(start, min(start + step, blocks))
        left = shape[order[0]] - start * place.unit
        shape[order[0]] = min(left, len(window[place.axis]) * place.unit)
        part = Tile(tuple(window), tuple(shape))
        if shape[order[0]] == 1:
            yield from _cut(part, found[1:], order[1:], itemsize)
        else:
            yield part
