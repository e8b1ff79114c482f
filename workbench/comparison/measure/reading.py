"""Read pairs of tensors in equally long pieces and let a kernel gather their sums.

Memory is bounded whatever the tensors' size, as long as the sources can be read in pieces (all files
can but npy files in Fortran order). Large files are gathered in segments of fixed length, several at a time if
the kernel runs without Python's lock; their sums are merged in order, so that the result does not
depend on the number of threads.
"""

from __future__ import annotations

import functools
import itertools
import threading
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np

from workbench._values import NamedTuple
from workbench.comparison.measure.metrics import Sums, merge
from workbench.comparison.measure.slices import grid_of, may_be_off, merge_slices
from workbench.comparison.threads import count_threads
from workbench.core.dtypes import DTYPES
from workbench.core.errors import FormatError
from workbench.dump.payload.blocks import Buffer, ChunkReader, FileReader, FileSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from workbench.comparison.measure.slices import Grid
    from workbench.core.tensors import Source
    from workbench.dump.payload.blocks import Reading

    Shape = tuple[int, ...]
    Cancelled = Callable[[], bool]
    Piece = tuple[NDArray[Any], NDArray[Any], int]

SEGMENT = 1 << 21
"""Elements that one thread gathers at a time: many blocks, and several segments in 32 MB."""

_STORAGES = frozenset(row.storage for row in DTYPES.values())


class Kernel(Protocol):
    """Gathers sums of 1-D real pieces; ``parallel`` if it pays to run several in threads.

    Slices are gathered from the chunk on in which an element is off by more than ``least`` of itself; what was in
    front of it is said in ``skipped`` of their sums, and given to ``add_slices`` if it is needed.
    """

    parallel: ClassVar[bool]

    def __init__(self, grid: Grid | None = None, least: float = -1.0) -> None: ...

    def add(self, target: NDArray[Any], golden: NDArray[Any], start: int) -> None: ...

    def add_slices(self, target: NDArray[Any], golden: NDArray[Any], start: int) -> None: ...

    def sums(self) -> Sums: ...


class _Buffers(threading.local):
    def __init__(self) -> None:
        self.pair = Buffer(), Buffer()


_buffers = _Buffers()


class OpenPair:
    """Both sides, open; one at a time in a thread, as they share the thread's buffers."""

    __slots__ = ("complex", "golden", "target")

    def __init__(self, target: Source, golden: Source) -> None:
        self.target = _open(target, _buffers.pair[0])
        try:
            self.golden = _open(golden, _buffers.pair[1])
        except BaseException:
            self.target.close()
            raise
        self.complex = "c" in (self.target.dtype.kind, self.golden.dtype.kind)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.target.close()
        self.golden.close()

    @property
    def grid(self) -> Grid | None:
        """The slices of two tensors of floats; of integers every element counts, of complex numbers none are formed."""
        target, golden = self.target, self.golden
        if self.complex or (target.dtype.kind in "biu" and golden.dtype.kind in "biu"):
            return None
        return grid_of(golden.shape)

    def pieces(self) -> Iterator[Piece]:
        """Yield real pieces of both sides, and the flat index of their first number."""
        return self._take(0, self.target.size)

    def segment(self, first: int, count: int) -> Iterator[Piece]:
        """Yield the pieces of ``count`` elements from ``first`` on; both sides are files."""
        for side in (self.target, self.golden):
            assert isinstance(side, FileReader)
            side.seek(first, count)
        return self._take(first, first + count)

    def ranges(self, ranges: Sequence[tuple[int, int]]) -> Iterator[Piece]:
        """Yield the pieces of some ranges, each from its first element to before its last; in order."""
        if isinstance(self.target, FileReader) and isinstance(self.golden, FileReader):
            for first, end in ranges:
                yield from self.segment(first, end - first)
            return
        for t, g, start in self.pieces():
            for first, end in ranges:
                low, high = max(first - start, 0), min(end - start, t.size)
                if low < high:
                    yield t[low:high], g[low:high], start + low

    def _take(self, at: int, end: int) -> Iterator[Piece]:
        target, golden = self.target, self.golden
        while at < end:
            count = min(target.available(), golden.available())
            t, g = target.read(count), golden.read(count)
            if self.complex:
                yield _parts(t), _parts(g), 2 * at
            else:
                yield t, g, at
            at += count


def _open(source: Source, buffer: Buffer) -> Reading:
    found = source.reading(buffer) if isinstance(source, FileSource) else None
    return _whole(source.array()) if found is None else found


def _whole(array: NDArray[Any]) -> Reading:
    """Read an array in memory."""
    array = np.asarray(array)
    if array.dtype.kind not in "biufc" and array.dtype not in _STORAGES:
        raise FormatError("compare/not-numbers", got=array.dtype)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    flat = np.ascontiguousarray(array).reshape(-1)
    return ChunkReader(iter((flat,)), array.dtype, array.shape, array.size)


def _parts(x: NDArray[Any]) -> NDArray[Any]:
    """Return real and imaginary parts in turn."""
    if x.dtype.kind != "c":
        x = x.astype(np.complex128)
    return x.view(x.real.dtype)


class Job(NamedTuple):
    """How a pair is to be gathered.

    ``threads`` is their largest number, 0 for all cores that the process may use, up to four; data
    are divided by 2^``exponent``. Slices are gathered where one may be off by more than ``least``.
    """

    target: Source
    golden: Source
    kernel: type[Kernel]
    cancelled: Cancelled | None = None
    threads: int = 0
    exponent: int = 0
    least: float = -1.0

    def gather(self, pair: OpenPair) -> Sums | None:
        """Return the sums of a pair of equal sizes, or ``None`` if cancelled."""
        is_large = pair.target.size >= 2 * SEGMENT and self.kernel.parallel
        if is_large and isinstance(pair.target, FileReader) and isinstance(pair.golden, FileReader):
            return _Segments(self, pair.target.size).gather(pair)
        return self.run(pair.pieces(), self.cancelled, pair.grid)

    def run(
        self, pieces: Iterator[Piece], cancelled: Cancelled | None, grid: Grid | None
    ) -> Sums | None:
        kernel = self.kernel(grid, self.least)
        for t, g, start in pieces:
            if cancelled is not None and cancelled():
                return None
            if self.exponent:
                kernel.add(_scaled(t, self.exponent), _scaled(g, self.exponent), start)
            else:
                kernel.add(t, g, start)
        return kernel.sums()

    def complete(self, sums: Sums) -> Sums | None:
        """Return sums with all slices, or with none where none can be off by enough; ``None`` if cancelled.

        It is decided for the whole tensor, so that neither kernels, threads nor chunks change it.
        """
        slices = sums.slices
        if slices is None or not slices.skipped:
            return sums
        if not may_be_off(sums.relative_max, sums.small_max, self.least):
            return sums._replace(slices=None)
        rest = self.kernel(slices.grid)
        with OpenPair(self.target, self.golden) as pair:
            for t, g, start in pair.ranges(slices.skipped):
                if self.cancelled is not None and self.cancelled():
                    return None
                rest.add_slices(t, g, start)
        whole = merge_slices(slices._replace(skipped=()), rest.sums().slices)
        return sums._replace(slices=whole)


def _scaled(x: NDArray[Any], exponent: int) -> NDArray[np.float64]:
    with np.errstate(all="ignore"):
        return np.ldexp(x.astype(np.float64), -exponent)


class _Segments:
    """The segments of one pair, taken by several threads in turn."""

    def __init__(self, job: Job, size: int) -> None:
        self._job, self._size = job, size
        count = -(-size // SEGMENT)
        self._results: list[Sums | None] = [None] * count
        self._todo = itertools.count()
        self._stop = threading.Event()
        self._error: Exception | None = None
        self._others = min(count_threads(job.threads), count) - 1

    def gather(self, pair: OpenPair) -> Sums | None:
        others = [threading.Thread(target=self._help, daemon=True) for _ in range(self._others)]
        for thread in others:
            thread.start()
        try:
            self._run(pair, self._asked)
        except BaseException:
            self._stop.set()
            raise
        finally:
            for thread in others:
                thread.join()
        if self._error is not None:
            raise self._error
        done = [sums for sums in self._results if sums is not None]
        return functools.reduce(merge, done) if len(done) == len(self._results) else None

    def _asked(self) -> bool:
        cancelled = self._job.cancelled
        return self._stop.is_set() or (cancelled is not None and cancelled())

    def _run(self, pair: OpenPair, cancelled: Cancelled) -> None:
        """Take segments until none is left; ``next`` on a counter is atomic."""
        while (number := next(self._todo)) < len(self._results):
            first = number * SEGMENT
            pieces = pair.segment(first, min(SEGMENT, self._size - first))
            sums = self._job.run(pieces, cancelled, pair.grid)
            self._results[number] = sums
            if sums is None:
                self._stop.set()
                return

    def _help(self) -> None:
        try:
            with OpenPair(self._job.target, self._job.golden) as pair:
                if pair.target.size == pair.golden.size == self._size:
                    self._run(pair, self._stop.is_set)
        except Exception as error:  # raised again in the caller's thread
            self._error = error
            self._stop.set()
