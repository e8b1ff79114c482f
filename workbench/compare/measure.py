"""Measure a pair of tensors: read both in blocks, feed a kernel, finish its sums.

Memory is bounded whatever the tensors' size, as long as the sources can be read in blocks (npy
files in C order can). The NumPy kernel starts at once; the compiled one is several times faster but
takes half a second to import, so `choose_kernel` decides by the amount of data.
"""

from __future__ import annotations

import functools
import math
import sys
import threading
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

import numpy as np

from workbench.compare.kernel_numpy import CHUNK, NumpyKernel, widen
from workbench.compare.metrics import Divergence, Sums, finish, unmeasured
from workbench.core.dtypes import DTYPES
from workbench.core.errors import FormatError
from workbench.core.tensors import ArraySource
from workbench.dump.npy import Buffer, NpySource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from workbench.core.tensors import Source

    Shape = tuple[int, ...]
    Cancelled = Callable[[], bool]

KernelName = Literal["numpy", "numba"]

_JIT_BYTES = 500_000_000
_JIT_PAIRS = 11_000
_STORAGES = frozenset(row.storage for row in DTYPES.values())
_HUGE, _MINUTE = 2.0**480, 2.0**-480
_EPSILON = 2.0**-23


class Kernel(Protocol):
    """Gathers sums of 1-D real pieces."""

    def add(self, target: NDArray[Any], golden: NDArray[Any], start: int) -> None: ...

    def sums(self) -> Sums: ...


class Elements(Protocol):
    """The elements of one tensor, front to back; what `Payload` and `_Array` have in common."""

    @property
    def shape(self) -> Shape: ...

    @property
    def size(self) -> int: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    def ready(self) -> int: ...

    def take(self, count: int) -> NDArray[Any]: ...

    def close(self) -> None: ...


class _Array:
    """The elements of an array in memory."""

    __slots__ = ("_at", "_flat", "dtype", "shape", "size")

    def __init__(self, array: NDArray[Any]) -> None:
        array = np.asarray(array)
        if array.dtype.kind not in "biufc" and array.dtype not in _STORAGES:
            message = f"tensor must hold numbers, got dtype {array.dtype}"
            raise FormatError(message)
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        self.shape, self.size, self.dtype = array.shape, array.size, array.dtype
        self._flat = np.ascontiguousarray(array).reshape(-1)
        self._at = 0

    def ready(self) -> int:
        return self.size - self._at

    def take(self, count: int) -> NDArray[Any]:
        at, self._at = self._at, self._at + count
        return self._flat[at : self._at]

    def close(self) -> None:
        """Nothing to release."""


class _Buffers(threading.local):
    def __init__(self) -> None:
        self.pair = Buffer(), Buffer()


_buffers = _Buffers()


def choose_kernel(total_bytes: int, pairs: int) -> KernelName:
    """Return the kernel that finishes first: importing the compiled one costs half a second.

    Parameters
    ----------
    total_bytes : int
        Bytes of both sides together.
    pairs : int
        Number of pairs; small ones cost by their number, not by their bytes.
    """
    return "numba" if total_bytes / _JIT_BYTES + pairs / _JIT_PAIRS >= 1 else "numpy"


def _kernel(name: str | None) -> Kernel:
    """Return a new kernel; ``None`` takes the compiled one if the process has loaded it already."""
    if name == "numba" or (name is None and "workbench.compare.kernel_numba" in sys.modules):
        return _compiled()()
    return NumpyKernel()


@functools.cache
def _compiled() -> Callable[[], Kernel]:
    try:
        from workbench.compare.kernel_numba import NumbaKernel
    except ImportError:  # numba refuses NumPy versions newer than itself
        return NumpyKernel
    return NumbaKernel


def measure(
    target: Source,
    golden: Source,
    *,
    shape: Shape | None = None,
    kernel: KernelName | None = None,
    cancelled: Cancelled | None = None,
    nan_agrees: bool = False,
) -> Divergence:
    """Return how far ``target`` is from ``golden``.

    Parameters
    ----------
    shape : tuple of int, optional
        The shape that both are known to have; a file that states another one with the same number
        of elements then does not count as reshaped.
    kernel : {"numpy", "numba"}, optional
        By default the compiled kernel if it is already loaded, else NumPy's.
    cancelled : callable, optional
        Asked before each block; once it is true the result is unmeasured with reason "cancelled".
    nan_agrees : bool
        NaN at the same position of both sides agrees.

    Raises
    ------
    FormatError
        A source cannot be read or is not what it claims.
    """
    with _Pair(target, golden) as pair:
        sizes = pair.target.size, pair.golden.size
        if sizes[0] != sizes[1]:
            return unmeasured(f"element counts differ: {sizes[0]} against {sizes[1]}", sizes[0])
        reshaped = pair.target.shape != pair.golden.shape and math.prod(shape or (-1,)) != sizes[0]
        parts = 2 if pair.complex else 1
        sums = _gather(pair, _kernel(kernel), cancelled)
    scale = 1.0
    if sums and _leaves_float64(sums):
        exponent = math.frexp(sums.largest)[1] - 1
        scale = 2.0**exponent
        sums = _rescale(target, golden, sums, kernel, cancelled, exponent)
    if sums is None:
        return unmeasured("cancelled", sizes[0])
    return finish(sums, nan_agrees=nan_agrees, reshaped=reshaped, parts=parts, scale=scale)


def measure_arrays(
    target: NDArray[Any],
    golden: NDArray[Any],
    *,
    kernel: KernelName | None = None,
    nan_agrees: bool = False,
) -> Divergence:
    """Return how far the array ``target`` is from ``golden``, as `measure` does.

    >>> measure_arrays(np.array([2.0, 4.0]), np.array([1.0, 2.0])).error
    1.0
    """
    return measure(ArraySource(target), ArraySource(golden), kernel=kernel, nan_agrees=nan_agrees)


class _Pair:
    """Both sides, open."""

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


def _open(source: Source, buffer: Buffer) -> Elements:
    if isinstance(source, NpySource):
        payload = source.payload(buffer)
        if not payload.fortran:
            return payload
        payload.close()
    return _Array(source.array())


def _pieces(pair: _Pair) -> Iterator[tuple[NDArray[Any], NDArray[Any], int]]:
    """Yield equally long real pieces of both sides, and the flat index of their first number."""
    target, golden = pair.target, pair.golden
    at, size = 0, target.size
    while at < size:
        count = min(target.ready(), golden.ready())
        t, g = target.take(count), golden.take(count)
        if pair.complex:
            yield _parts(t), _parts(g), 2 * at
        else:
            yield t, g, at
        at += count


def _gather(
    pair: _Pair, kernel: Kernel, cancelled: Cancelled | None, exponent: int = 0
) -> Sums | None:
    """Return the sums of a pair of equal sizes, or ``None`` if cancelled."""
    for t, g, start in _pieces(pair):
        if cancelled is not None and cancelled():
            return None
        if exponent:
            t, g = _scaled(t, exponent), _scaled(g, exponent)
        kernel.add(t, g, start)
    return kernel.sums()


def _parts(x: NDArray[Any]) -> NDArray[Any]:
    """Return real and imaginary parts in turn."""
    if x.dtype.kind != "c":
        x = x.astype(np.complex128)
    return x.view(x.real.dtype)


def _scaled(x: NDArray[Any], exponent: int) -> NDArray[np.float64]:
    with np.errstate(all="ignore"):
        return np.ldexp(x.astype(np.float64), -exponent)


def _leaves_float64(sums: Sums) -> bool:
    """Whether squares of the data may have left the range of float64."""
    if _MINUTE < sums.target_target + sums.golden_golden < _HUGE:
        return False
    return sums.largest > _HUGE or 0.0 < sums.largest < _MINUTE


def _rescale(
    target: Source,
    golden: Source,
    sums: Sums,
    kernel: KernelName | None,
    cancelled: Cancelled | None,
    exponent: int,
) -> Sums | None:
    """Gather again from data divided by 2^exponent; only sums that can leave float64 change."""
    with _Pair(target, golden) as pair:
        again = _gather(pair, _kernel(kernel), cancelled, exponent)
    if again is None:
        return None
    return sums._replace(**{name: getattr(again, name) for name in _SCALED})


_SCALED = (
    "target_mean",
    "target_m2",
    "golden_mean",
    "golden_m2",
    "target_golden",
    "target_target",
    "golden_golden",
    "square",
    "absolute",
)


def measure_kl(target: Source, golden: Source) -> float:
    """Return the Kullback-Leibler divergence of METRICS' table of figures on demand.

    Reads both sides twice. Only jointly finite elements count; a constant side is a uniform
    distribution; NaN if no element is left or the element counts differ.
    """
    with _Pair(target, golden) as pair:
        if pair.target.size != pair.golden.size:
            return math.nan
        ranges = _ranges(pair)
    if ranges is None:
        return math.nan
    total_p = total_q = total = 0.0
    with _Pair(target, golden) as pair:
        for t, g in _finite_pieces(pair):
            p, q = _shares(t, *ranges[0]), _shares(g, *ranges[1])
            total_p += float(p.sum())
            total_q += float(q.sum())
            total += float((p * np.log(p / q)).sum())
    return max(0.0, total / total_p - math.log(total_p / total_q))


def _finite_pieces(pair: _Pair) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    for target, golden, _ in _pieces(pair):
        for at in range(0, target.size, CHUNK):
            t, g = np.empty((2, min(CHUNK, target.size - at)))
            widen(target[at : at + CHUNK], t)
            widen(golden[at : at + CHUNK], g)
            finite = np.isfinite(t) & np.isfinite(g)
            if finite.any():
                yield t[finite], g[finite]


def _ranges(pair: _Pair) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Return minimum and maximum of both sides over jointly finite elements."""
    low_t = low_g = math.inf
    high_t = high_g = -math.inf
    for t, g in _finite_pieces(pair):
        low_t, high_t = min(low_t, float(t.min())), max(high_t, float(t.max()))
        low_g, high_g = min(low_g, float(g.min())), max(high_g, float(g.max()))
    return ((low_t, high_t), (low_g, high_g)) if high_t >= low_t else None


def _shares(x: NDArray[np.float64], low: float, high: float) -> NDArray[np.float64]:
    """Scale to [0, 1] and raise to float32's epsilon; halves keep the range inside float64."""
    width = high / 2 - low / 2
    scaled = (x / 2 - low / 2) / width if width else np.zeros_like(x)
    return np.maximum(scaled, _EPSILON)
