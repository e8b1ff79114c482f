"""Tensors of files: whole, or front to back in memory of a few blocks, however large they are.

One reader for every format: it takes an `Extent` and gives elements. Those that lie in a file as NumPy has them come
block by block (`FileReader`), any others in pieces that are decoded, put together or rearranged (`ChunkReader`).
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Generator
from typing import IO, TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from workbench._values import dataclass
from workbench.core.dtypes import DTYPES, OPAQUE, PLAIN
from workbench.core.errors import FormatError
from workbench.core.files import (
    close_file,
    fill,
    open_listed,
    open_to_read,
    read_into,
    seek_to,
    size_of,
    unreadable,
)
from workbench.core.packing import decode
from workbench.dump import payload
from workbench.dump.payload.extent import Extent, HostLayout, is_device_format, spec_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import BinaryIO

    from numpy.typing import NDArray

    from workbench.core.storage.remote import RemoteFile
    from workbench.core.tensors import TensorSpec
    from workbench.dump.payload.extent import Shape, Slice
    from workbench.dump.payload.rearrange import NewFile, Tile

    Array = NDArray[Any]

BLOCK = 1024 * 1024
"""Bytes read at once: enough for the page cache's full speed, few enough for the L2 cache."""

STEP = 1 << 20
"""Bytes that are read and decoded at once."""

_KNOWN = frozenset(row.storage for row in DTYPES.values())
"""Types of NumPy that comparisons know; elements of any other are given in float32."""


class Reading(Protocol):
    """The elements of one tensor, front to back.

    ``available`` says how many elements can be taken now, 0 only at the end; ``read`` returns that many or
    fewer of them, valid until the next ``available``.
    """

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def size(self) -> int: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    def available(self) -> int: ...

    def read(self, count: int) -> Array: ...

    def close(self) -> None: ...


class Buffer:
    """Reusable bytes for one open file at a time."""

    __slots__ = ("data", "view")

    def __init__(self, size: int = BLOCK) -> None:
        self.data = np.empty(size, np.uint8)
        self.view = self.data.data


def known_type(storage: np.dtype[Any]) -> np.dtype[Any]:
    """Type in which elements are given: one that comparisons know and that holds all of their values."""
    return storage if storage.kind in "biufc" or storage in _KNOWN else np.dtype(np.float32)


def reading(extent: Extent, buffer: Buffer) -> Reading | None:
    """Open a tensor to be read front to back; ``None`` if its elements do not lie in order.

    Raises FormatError if they cannot be had, or the file is shorter than it was.
    """
    extent.refuse()
    if extent.strides is not None:
        return None
    plain = extent.dtype.packing == PLAIN and extent.dtype.storage in _KNOWN
    if plain and extent.host is None and not extent.slices:
        return FileReader(extent.path, buffer, extent)
    kind, shape = known_type(extent.dtype.storage), extent.given_shape
    flat = (piece.astype(kind, copy=False).reshape(-1) for piece in chunks(extent))
    return ChunkReader(flat, kind, shape, math.prod(shape))


def array(extent: Extent) -> Array:
    """All elements of a tensor in the shape of its host layout, or as they lie if it has none.

    Number formats that NumPy lacks come as ml_dtypes or, decoded, as float32. Raises FormatError as `reading`, and
    if they do not fit into memory.
    """
    extent.refuse()
    try:
        return as_given(_filled(extent), extent)
    except MemoryError as error:
        raise FormatError("dump/file-memory", place=extent.path, got=extent.nbytes) from error


def _unnamed_file() -> IO[bytes]:
    """A file that nobody else sees, and that is gone when it is closed."""
    from tempfile import TemporaryFile

    return TemporaryFile()


def chunks(
    extent: Extent, order: Sequence[int] | None = None, new_file: NewFile = _unnamed_file
) -> Iterator[Array]:
    """Elements of a tensor in its number format, some at a time: in its host layout, or as they lie.

    ``order`` rearranges the axes; ``new_file`` opens a file for what is too large for memory meanwhile.
    """
    stored = _Elements(extent)
    if extent.host is None and order is None:
        return stored.pieces()
    given = range(len(extent.given_shape)) if order is None else order
    return payload.rearranged(extent, tuple(given), stored, new_file)


def raw_chunks(path: str, start: int, nbytes: int) -> Iterator[NDArray[np.uint8]]:
    """Every byte of a place in a file, padding included, some at a time; a piece is valid until the next one."""
    buffer = np.empty(min(STEP, nbytes), np.uint8)
    with open_listed(path) as file:
        for first in range(0, nbytes, STEP):
            yield fill(file, start + first, buffer[: nbytes - first], path)


def _filled(extent: Extent) -> Array:
    """All elements, flat; read into their place where they need no decoding."""
    storage = extent.dtype.storage
    direct = extent.dtype.packing in (PLAIN, OPAQUE) and known_type(storage) == storage
    if direct and extent.host is None and not extent.slices and not extent.swapped:
        with open_listed(extent.path) as file:
            flat = np.empty(extent.size, storage)
            fill(file, extent.start, flat.view(np.uint8), extent.path)
            return flat
    count = extent.size if extent.strides is not None else math.prod(extent.given_shape)
    flat, at = np.empty(count, known_type(storage)), 0
    for piece in chunks(extent):
        flat[at : at + piece.size] = piece.reshape(-1)
        at += piece.size
    return flat


def as_given(flat: Array, extent: Extent) -> Array:
    """All elements that lie there in their shape; a copy only of a view that leaves some out."""
    if extent.strides is None:
        return flat.reshape(extent.given_shape)
    steps = [stride * flat.itemsize for stride in extent.strides]
    view = np.lib.stride_tricks.as_strided(flat, extent.shape, steps)
    return view if view.size == flat.size else np.ascontiguousarray(view)


class _Elements:
    """The elements of an extent as they lie, of the type of its number format."""

    def __init__(self, extent: Extent) -> None:
        self._extent, self._dtype = extent, extent.dtype

    def pieces(self) -> Iterator[Array]:
        """All elements in order, flat, about `STEP` bytes at a time."""
        if self._extent.slices:
            yield from self._joined()
            return
        step = STEP * 8 // self._dtype.bits
        with open_listed(self._extent.path) as file:
            for first in range(0, self._extent.size, step):
                yield self._read(file, first, min(step, self._extent.size - first))

    def tiles(self, shape: Shape, cuts: Iterator[Tile]) -> Iterator[tuple[Tile, Array]]:
        """Each tile with its elements, of an array that has ``shape``."""
        with open_listed(self._extent.path) as file:
            for tile in cuts:
                yield tile, self._tile(file, shape, tile.window)

    def _tile(self, file: BinaryIO, shape: Shape, window: Sequence[range]) -> Array:
        cut = [at for at, size in enumerate(shape) if len(window[at]) != size]
        last = cut[-1] if cut else 0
        inner = math.prod(shape[last + 1 :])
        run = len(window[last]) * inner if shape else 1
        result = np.empty(math.prod(map(len, window)), self._dtype.storage)
        outer = itertools.product(*window[:last])
        for at, index in enumerate(outer):
            place = 0
            for size, one in zip(shape, (*index, window[last].start), strict=False):
                place = place * size + one
            result[at * run : (at + 1) * run] = self._read(file, place * inner, run)
        return result.reshape([len(one) for one in window])

    def _read(self, file: BinaryIO, first: int, count: int, one: Slice | None = None) -> Array:
        """``count`` elements of an open file from one on: of the tensor, or of one of its slices."""
        where, bits = one or self._extent, self._dtype.bits
        low, high = first * bits // 8, ((first + count) * bits + 7) // 8
        data = fill(file, where.start + low, np.empty(high - low, np.uint8), where.path)
        if self._extent.swapped:
            return native(data.view(self._extent.stored_type), self._dtype.storage)
        skip = first - low * 8 // bits
        return decode(self._dtype, data, skip + count)[skip:]

    def _joined(self) -> Iterator[Array]:
        """All elements of a tensor whose slices lie in files of their own."""
        extent = self._extent
        outer = math.prod(extent.shape[: extent.axis])
        inner = math.prod(extent.shape[extent.axis + 1 :])
        row_bytes = math.prod(extent.shape[extent.axis :]) * self._dtype.storage.itemsize
        step = max(1, STEP // max(1, row_bytes))
        for first in range(0, outer, step):
            rows = range(first, min(first + step, outer))
            if len(rows) > 1:
                columns = [self._rows(one, rows, inner) for one in extent.slices]
                yield np.concatenate(columns, axis=1)
            else:
                for one in extent.slices:
                    yield from self._row(one, first, inner)

    def _rows(self, one: Slice, rows: range, inner: int) -> Array:
        """What a slice holds of some rows of the whole."""
        width = math.prod(one.shape[self._extent.axis :])
        with open_listed(one.path) as file:
            found = self._read(file, rows.start * width, len(rows) * width, one)
        return found.reshape(len(rows), width)[:, one.overlap * inner :]

    def _row(self, one: Slice, row: int, inner: int) -> Iterator[Array]:
        """What a slice holds of one row, piece by piece."""
        width = math.prod(one.shape[self._extent.axis :])
        first, end = row * width + one.overlap * inner, (row + 1) * width
        step = max(8, STEP // self._dtype.storage.itemsize)
        with open_listed(one.path) as file:
            for start in range(first, end, step):
                yield self._read(file, start, min(step, end - start), one)


def native(stored: Array, storage: np.dtype[Any]) -> Array:
    """Elements of the other byte order as a number format has them in memory."""
    found: Array = stored.astype(stored.dtype.newbyteorder("="))
    return found.view(storage) if storage.kind == "V" else found


class FileReader:
    """The elements of an open file, front to back in file order.

    ``found`` says where they lie, or finds it in the first block of the file. ``available`` reads when its
    block is used up; ``read`` returns a view.
    """

    __slots__ = (
        "_buffer", "_fd", "_high", "_left", "_low", "_path", "_stored", "dtype", "extent", "shape", "size",
    )  # fmt: skip

    def __init__(
        self, path: str, buffer: Buffer, found: Extent | Callable[[memoryview], Extent]
    ) -> None:
        self._path, self._buffer = path, buffer
        self._fd: int | RemoteFile | None = None
        try:
            self._fd = open_to_read(path)
            if isinstance(found, Extent):
                self.extent, self._high = found, 0
                seek_to(self._fd, found.start)
            else:
                self._high = read_into(self._fd, buffer.view)
                self.extent = found(buffer.view[: self._high])
            if self.extent.end > self._high:
                self._check()
        except OSError as error:
            self.close()
            raise unreadable(path, error) from error
        except FormatError as error:
            self.close()
            raise error.at(path) from None
        extent = self.extent
        self.dtype, self._stored = extent.dtype.storage, extent.stored_type
        self.shape, self.size = extent.shape, extent.size
        self._low = min(extent.start, self._high)  # nothing has been read where the place was known
        self._left = self.size

    @property
    def _open(self) -> int | RemoteFile:
        assert self._fd is not None
        return self._fd

    def _check(self) -> None:
        """Compare the claim with the file, before anything is allocated."""
        held, end = size_of(self._open), self.extent.end
        if end > held:
            raise FormatError("dump/npy-short", place=f"byte {held}", needed=end, held=held)

    def available(self) -> int:
        """Return how many elements can be taken now; 0 only at the end."""
        width = self.dtype.itemsize
        count = (self._high - self._low) // width
        if count == 0 and self._left:
            self._refill()
            count = (self._high - self._low) // width
        return count if count < self._left else self._left

    def seek(self, first: int, count: int) -> None:
        """Go to element ``first``; only ``count`` elements from there on are handed out."""
        seek_to(self._open, self.extent.start + first * self.dtype.itemsize)
        self._low = self._high = 0
        self._left = count

    def _refill(self) -> None:
        width = self.dtype.itemsize
        view = self._buffer.view
        kept = self._high - self._low
        view[:kept] = bytes(view[self._low : self._high])
        want = min(len(view) // width, self._left) * width
        self._low, self._high = 0, kept
        while self._high < want:
            try:
                got = read_into(self._open, view[self._high : want])
            except OSError as error:
                raise unreadable(self._path, error) from error
            if got == 0:
                held = seek_to(self._open, 0, os.SEEK_CUR)
                place, needed = f"{self._path}: byte {held}", self.extent.end
                raise FormatError("dump/npy-short", place=place, needed=needed, held=held)
            self._high += got

    def read(self, count: int) -> Array:
        """Return the next ``count`` elements, at most what `available` announced."""
        found: Array = np.frombuffer(self._buffer.data, self._stored, count, self._low)
        self._low += count * self.dtype.itemsize
        self._left -= count
        if not found.dtype.isnative:
            return native(found, self.dtype)
        return found if found.flags.aligned else found.copy()

    def close(self) -> None:
        if self._fd is not None:
            close_file(self._fd)
            self._fd = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ChunkReader:
    """Elements that come as flat arrays, one after the other."""

    __slots__ = ("_at", "_left", "_piece", "_pieces", "dtype", "shape", "size")

    def __init__(
        self,
        pieces: Iterator[Array],
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        size: int,
    ) -> None:
        self._pieces = pieces
        self._piece: Array = np.empty(0, dtype)
        self._at = 0
        self.dtype, self.shape, self.size, self._left = dtype, shape, size, size

    def available(self) -> int:
        while self._at == self._piece.size and self._left:
            self._piece, self._at = next(self._pieces), 0
        return min(self._piece.size - self._at, self._left)

    def read(self, count: int) -> Array:
        at, self._at = self._at, self._at + count
        self._left -= count
        return self._piece[at : self._at]

    def close(self) -> None:
        """Let the maker of the pieces close its file."""
        if isinstance(self._pieces, Generator):
            self._pieces.close()


class FileSource:
    """A tensor in a file, read when it is asked for.

    ``located`` says where its elements lie; that of a file that states it first in itself is found then.
    """

    __slots__ = ()

    def located(self) -> Extent:
        """Where the elements lie; raises FormatError if the file is not what it claims."""
        raise NotImplementedError

    @property
    def is_device_format(self) -> bool:
        """Whether the elements lie in a device format, so that `with_host` matters."""
        return False

    @property
    def place(self) -> Extent | None:
        """The one place of a file where the bytes lie, if it is known already."""
        return None

    def with_host(self, stated: HostLayout) -> FileSource:
        """Return the source that gives elements in the host layout that somebody states, if it fits."""
        return ExtentSource(payload.with_host(self.located(), stated))

    def reading(self, buffer: Buffer) -> Reading | None:
        """Open the tensor to be read front to back; as `reading`."""
        return reading(self.located(), buffer)

    def spec(self) -> TensorSpec:
        return spec_of(self.located())

    def array(self) -> Array:
        return array(self.located())


@dataclass(frozen=True, slots=True)
class ExtentSource(FileSource):
    """A tensor whose place in its file is known."""

    extent: Extent

    def located(self) -> Extent:
        return self.extent

    @property
    def is_device_format(self) -> bool:
        return is_device_format(self.extent.format)

    @property
    def place(self) -> Extent | None:
        one = self.extent
        scattered = one.slices or one.strides is not None or one.start < 0
        return None if scattered else one
