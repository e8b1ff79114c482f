"""Tensors read front to back: in memory of a few blocks, however large the tensor.

Whoever compares asks `FileSource.reading` for a `Reading`: elements that lie in a file as NumPy has
them come block by block (`Payload`), any others in pieces that someone makes (`Pieces`).
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import ml_dtypes
import numpy as np

from workbench.core.errors import FormatError
from workbench.core.files import open_descriptor, unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from workbench.core.tensors import TensorSpec

BLOCK = 1024 * 1024
"""Bytes read at once: enough for the page cache's full speed, few enough for the L2 cache."""


class Reading(Protocol):
    """The elements of one tensor, front to back.

    ``ready`` says how many elements can be taken now, 0 only at the end; ``take`` returns that many or
    fewer of them, valid until the next ``ready``.
    """

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def size(self) -> int: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    def ready(self) -> int: ...

    def take(self, count: int) -> NDArray[Any]: ...

    def close(self) -> None: ...


class FileSource:
    """A tensor in a file that can be read front to back.

    ``is_cut`` says that its elements lie in a device format, so that `settle` matters.
    """

    __slots__ = ()
    is_cut: bool = False

    def settle(self, host: TensorSpec, groups: int | None = None) -> None:
        """Take what a graph or the other side of a comparison states of the tensor on the host.

        ``groups`` are those of a weight, if the graph has its operator. Elements come in the host's format
        where both fit each other.
        """

    def reading(self, buffer: Buffer) -> Reading | None:
        """Open the tensor; ``None`` if its elements do not lie in order.

        Raises FormatError if the file is not what it claims.
        """
        raise NotImplementedError


class Buffer:
    """Reusable bytes for one open payload at a time."""

    __slots__ = ("data", "view")

    def __init__(self, size: int = BLOCK) -> None:
        self.data = np.empty(size, np.uint8)
        self.view = self.data.data


class Extent(NamedTuple):
    """Elements side by side in a file: their type, shape and memory order, and where they lie."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool
    size: int
    offset: int
    end: int


def _read_os(fd: int, buffers: list[memoryview]) -> int:
    """Stand in for os.readv where the platform has none."""
    (buffer,) = buffers
    data = os.read(fd, len(buffer))
    buffer[: len(data)] = data
    return len(data)


_readv = getattr(os, "readv", _read_os)


class Payload:
    """The elements of an open file, front to back in file order.

    ``found`` says where they lie, or finds it in the first block of the file. ``ready`` reads when its
    block is used up; ``take`` returns a view.
    """

    __slots__ = (
        "_buffer",
        "_fd",
        "_high",
        "_left",
        "_low",
        "_path",
        "dtype",
        "fortran",
        "header",
        "shape",
        "size",
    )

    def __init__(
        self, path: str, buffer: Buffer, found: Extent | Callable[[memoryview], Extent]
    ) -> None:
        self._path, self._buffer = path, buffer
        self._fd = -1
        try:
            self._fd = open_descriptor(path)
            if isinstance(found, Extent):
                self.header, self._high = found, 0
                os.lseek(self._fd, found.offset, os.SEEK_SET)
            else:
                self._high = _readv(self._fd, [buffer.view])
                self.header = found(buffer.view[: self._high])
            self._check()
        except OSError as error:
            self.close()
            raise unreadable(path, error) from error
        except FormatError as error:
            self.close()
            raise error.at(path) from None
        _, self.dtype, self.shape, self.fortran, self.size, self._low, _ = self.header
        self._low = min(self._low, self._high)  # nothing has been read where the place was known
        self._left = self.size

    def _check(self) -> None:
        """Compare the claim with the file, before anything is allocated."""
        held, end = self._high, self.header.end
        if end > held:
            held = os.fstat(self._fd).st_size
        if end > held:
            raise FormatError("dump/npy-short", place=f"byte {held}", needed=end, held=held)

    def ready(self) -> int:
        """Return how many elements can be taken now; 0 only at the end."""
        width = self.header.dtype.itemsize
        count = (self._high - self._low) // width
        if count == 0 and self._left:
            self._refill()
            count = (self._high - self._low) // width
        return min(count, self._left)

    def seek(self, first: int, count: int) -> None:
        """Go to element ``first``; only ``count`` elements from there on are handed out."""
        os.lseek(self._fd, self.header.offset + first * self.dtype.itemsize, os.SEEK_SET)
        self._low = self._high = 0
        self._left = count

    def _refill(self) -> None:
        width = self.header.dtype.itemsize
        view = self._buffer.view
        kept = self._high - self._low
        view[:kept] = bytes(view[self._low : self._high])
        want = min(len(view) // width, self._left) * width
        self._low, self._high = 0, kept
        while self._high < want:
            try:
                got = _readv(self._fd, [view[self._high : want]])
            except OSError as error:
                raise unreadable(self._path, error) from error
            if got == 0:
                held = os.lseek(self._fd, 0, os.SEEK_CUR)
                place, needed = f"{self._path}: byte {held}", self.header.end
                raise FormatError("dump/npy-short", place=place, needed=needed, held=held)
            self._high += got

    def take(self, count: int) -> NDArray[Any]:
        """Return the next ``count`` elements, at most what `ready` announced."""
        array = np.frombuffer(self._buffer.data, self.header.dtype, count, self._low)
        self._low += count * self.header.dtype.itemsize
        self._left -= count
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
            if self.header.name == "bfloat16":
                array = array.view(ml_dtypes.bfloat16)
        elif not array.flags.aligned:
            array = array.copy()
        return array

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Pieces:
    """Elements that come as flat arrays, one after the other."""

    __slots__ = ("_at", "_left", "_piece", "_pieces", "dtype", "shape", "size")

    def __init__(
        self,
        pieces: Iterator[NDArray[Any]],
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        size: int,
    ) -> None:
        self._pieces = pieces
        self._piece: NDArray[Any] = np.empty(0, dtype)
        self._at = 0
        self.dtype, self.shape, self.size, self._left = dtype, shape, size, size

    def ready(self) -> int:
        while self._at == self._piece.size and self._left:
            self._piece, self._at = next(self._pieces), 0
        return min(self._piece.size - self._at, self._left)

    def take(self, count: int) -> NDArray[Any]:
        at, self._at = self._at, self._at + count
        self._left -= count
        return self._piece[at : self._at]

    def close(self) -> None:
        """Let the maker of the pieces close its file."""
        if isinstance(self._pieces, Generator):
            self._pieces.close()
