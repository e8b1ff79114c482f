"""The compiled kernel: a library of C that is built with the package, and where it could not be, `library` is ``None``.

Nothing is compiled where the package runs. The library has its loops for three kinds of processors, which give the same
bits; `CompiledKernel` takes the fastest that this one can run. Whatever C is given is checked here: kinds of elements
that it knows, pieces of equal lengths that lie one after the other, sums as large as the tensor.

The definitions are those of `workbench.comparison.measure.metrics`; ``tests/comparison/measure/test_kernels.py`` holds
this kernel and NumPy's against each other and against exact arithmetic.
"""

from __future__ import annotations

import ctypes
import math
import struct
import threading
from ctypes import c_char, c_double, c_int, c_int64, c_void_p
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import ml_dtypes
import numpy as np

from workbench._values import NamedTuple
from workbench.comparison.measure.metrics import Sums
from workbench.comparison.measure.slices import NO_MATRIX, Gatherer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from workbench.comparison.measure.slices import Grid

    Piece = tuple[NDArray[Any], NDArray[Any], int]

LIBRARY = Path(__file__).with_name("_kernel.so")
"""Where the library lies, if there is one."""

VARIANTS = ("plain", "AVX2", "AVX-512")
"""The kinds of processors that the library has loops for, by number."""

_INTERFACE = 1
"""What the functions of the library take; kernel.c has the same number."""

_CHUNK = 65536
_MOST = 1 << 62
_SEEN = 14

_READ = (
    *(np.float32, np.float16, ml_dtypes.bfloat16, np.int8, np.uint8, np.int16, np.uint16, np.bool_),
    *(np.int32, np.uint32, np.int64, np.uint64, np.float64),
)
"""The kinds of elements that the library reads; those from `_FIRST_WIDE` on as float64."""

_FIRST_WIDE = 8
_NUMBERS = {np.dtype(kind): number for number, kind in enumerate(_READ)}
_KINDS = {
    kind.num: _NUMBERS[kind]
    for kind in (*_NUMBERS, *map(np.dtype, "ilqILQ"))  # two of NumPy's have the same elements
}
"""The numbers of kinds by those that NumPy has for them, which are looked up faster."""

_STATE = struct.Struct(f"={_SEEN + 2}q{len(Sums()) - 1 - _SEEN}d")
_FIGURES = 8 * (_SEEN + 2)
_EMPTY = _STATE.pack(*Sums()[:_SEEN], 0, 0, *Sums()[_SEEN:-1])
_State: type[ctypes.Array[c_char]] = c_char * _STATE.size
"""What is gathered: counts and figures in the order of Sums, between them the finite elements of each side so far."""


def _address(x: NDArray[Any]) -> int:
    """Where the first element of an array lies; NumPy's own answer, a fifth as fast, serves for what is no buffer."""
    buffer: Any = x
    try:
        return ctypes.addressof(c_char.from_buffer(buffer))
    except (TypeError, ValueError, BufferError):  # read-only, empty, or of a type of ml_dtypes
        place: int = x.__array_interface__["data"][0]
        return place


class _Room(threading.local):
    """Where the library works; one for every thread."""

    def __init__(self, size: int) -> None:
        self._held = np.empty(size // 8, np.int64)
        self.address = _address(self._held)


class Library(NamedTuple):
    """The functions of a library, which take addresses; they run without Python's lock.

    ``variants`` is how many of `VARIANTS` this processor can run; each can run those before it.
    """

    source: int
    variants: int
    room: _Room
    add: Callable[..., int]
    add_slices: Callable[..., None]


_NUMBER = ctypes.CFUNCTYPE(c_int64)
_PIECES = (c_int, c_int, c_void_p, c_int, c_void_p, c_int64, c_int64)
_ADD = ctypes.CFUNCTYPE(c_int64, *_PIECES, c_double, c_void_p, c_void_p, c_void_p)
_ADD_SLICES = ctypes.CFUNCTYPE(
    None, *_PIECES, c_int64, c_int64, c_void_p, c_void_p, c_void_p, c_int64, *[c_void_p] * 4
)


def load(path: Path) -> Library | None:
    """Load a library that `kernel.c` was built to; ``None`` if there is none that fits."""
    try:
        found = ctypes.CDLL(str(path))
        if _NUMBER(("workbench_interface", found))() != _INTERFACE:
            return None
        source, variants, room = (
            _NUMBER((f"workbench_{name}", found))() for name in ("source", "variants", "room")
        )
        add, slices = _ADD(("workbench_add", found)), _ADD_SLICES(("workbench_add_slices", found))
    except (OSError, AttributeError):  # none, for another machine, or something else of that name
        return None
    return Library(source, variants, _Room(room), add, slices)


@cache
def library() -> Library | None:
    """Return the library that was built with the package; ``None`` if it could not be."""
    return load(LIBRARY)


def _is_known(x: NDArray[Any]) -> bool:
    kind = x.dtype
    return kind.num in _KINDS and kind.isnative and x.flags.c_contiguous


def _known(x: NDArray[Any]) -> NDArray[Any]:
    """Return elements as the library can read them: of a kind that it knows, one after the other."""
    if not x.dtype.isnative:
        x = x.astype(x.dtype.newbyteorder("="))
    if x.dtype.num not in _KINDS:
        with np.errstate(all="ignore"):  # signalling NaNs
            return x.astype(np.float32 if x.dtype.kind == "V" else np.float64)
    return x if x.flags.c_contiguous else x.copy()


def _pieces(target: NDArray[Any], golden: NDArray[Any], start: int, most: int) -> Iterable[Piece]:
    """Return both sides as the library can read them, and where they begin: whole, or some at a time to be copied."""
    if target.ndim != 1 or target.shape != golden.shape:
        raise ValueError(f"want two flat pieces of one length, got {target.shape}, {golden.shape}")
    if not 0 <= start <= most - target.size:
        raise ValueError(f"want elements of {most}, got {target.size} from {start} on")
    if _is_known(target) and _is_known(golden):
        return ((target, golden, start),)
    return (
        (_known(target[at : at + _CHUNK]), _known(golden[at : at + _CHUNK]), start + at)
        for at in range(0, target.size, _CHUNK)
    )


class CompiledKernel:
    """Gathers `Sums` of equally long pieces of target and golden.

    ``variant`` is the number of one of `VARIANTS`, by default the fastest; ``found`` a library of one's own.
    Raises RuntimeError if there is no library, ValueError for a variant that this processor cannot run.
    """

    parallel: ClassVar[bool] = True

    def __init__(
        self,
        grid: Grid | None = None,
        least: float = -1.0,
        variant: int | None = None,
        found: Library | None = None,
    ) -> None:
        loaded = found or library()
        if loaded is None:
            raise RuntimeError(f"no library of the kernel at {LIBRARY}")
        self._library = loaded
        self._variant = loaded.variants - 1 if variant is None else variant
        if not 0 <= self._variant < loaded.variants:
            raise ValueError(f"want a variant below {loaded.variants}, got {variant}")
        self._least = math.inf if grid is None else least
        self._most = _MOST if grid is None else grid.rows * grid.width
        self._state = _State.from_buffer_copy(_EMPTY)
        self._places = self._state, ctypes.byref(self._state, _FIGURES)
        self._slices = Gatherer(grid) if grid is not None else None
        self._band: NDArray[Any] | None = None

    def add(self, target: NDArray[Any], golden: NDArray[Any], start: int) -> None:
        """Add real 1-D pieces whose first element has the flat index ``start``; raises ValueError for others."""
        room = self._library.room.address
        for t, g, at in _pieces(target, golden, start, self._most):
            first = self._library.add(*self._given(t, g, at), self._least, *self._places, room)
            if self._slices is None:
                continue
            if first:
                self._slices.skip(at, first)
            if first < t.size:
                self._add_slices(self._slices, t[first:], g[first:], at + first)

    def add_slices(self, target: NDArray[Any], golden: NDArray[Any], start: int) -> None:
        """Add real 1-D pieces to the slices alone; raises ValueError for others."""
        assert self._slices is not None
        for t, g, at in _pieces(target, golden, start, self._most):
            self._add_slices(self._slices, t, g, at)

    def _given(self, t: NDArray[Any], g: NDArray[Any], start: int) -> tuple[int, ...]:
        ours, theirs = _KINDS[t.dtype.num], _KINDS[g.dtype.num]
        return self._variant, ours, _address(t), theirs, _address(g), t.size, start

    def _add_slices(self, slices: Gatherer, t: NDArray[Any], g: NDArray[Any], start: int) -> None:
        grid = slices.grid
        wide = max(_KINDS[t.dtype.num], _KINDS[g.dtype.num]) >= _FIRST_WIDE
        kind = np.dtype(np.float64 if wide else np.float32)
        if self._band is None or self._band.dtype != kind:
            self._band = np.zeros((2, grid.width), kind)
        rows, tiles = slices.room(start, t.size)
        self._library.add_slices(
            *self._given(t, g, start),
            *(grid.width, grid.matrix or NO_MATRIX, _address(slices.columns)),
            *(_address(rows[0]), _address(rows[1]), grid.segments),
            *(_address(tiles[0]), _address(tiles[1])),
            *(_address(self._band), self._library.room.address),
        )

    def sums(self) -> Sums:
        """Everything gathered so far."""
        slices = self._slices.sums() if self._slices is not None else None
        state = _STATE.unpack(self._state)
        return Sums._make((*state[:_SEEN], *state[_SEEN + 2 :], slices))
