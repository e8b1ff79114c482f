"""Measure a pair of tensors: read both in blocks, feed a kernel, finish its sums.

Memory is bounded whatever the tensors' size, as long as the sources can be read in blocks (npy
files in C order can). The NumPy kernel starts at once; the compiled one is several times faster but
takes half a second to import, so `choose_kernel` decides by the amount of data.
"""

from __future__ import annotations

import math
import sys
import threading
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

import numpy as np

from workbench.compare.kernel_numpy import NumpyKernel
from workbench.compare.metrics import Divergence, Sums, finish, unmeasured
from workbench.core.dtypes import DTYPES
from workbench.core.errors import FormatError
from workbench.core.tensors import ArraySource
from workbench.dump.npy import Buffer, NpySource

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from workbench.core.tensors import Source

    Shape = tuple[int, ...]
    Cancelled = Callable[[], bool]

KernelName = Literal["numpy", "numba"]

_JIT_BYTES = 500_000_000
_JIT_PAIRS = 11_000
_STORAGES = frozenset(row.storage for row in DTYPES.values())
_HUGE, _MINUTE = 2.0**480, 2.0**-480


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
        from workbench.compare.kernel_numba import NumbaKernel

        return NumbaKernel()
    return NumpyKernel()


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
        scale = 2.0 ** math.frexp(sums.largest)[1]
        sums = _rescale(target, golden, sums, kernel, cancelled)
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


def _gather(
    pair: _Pair, kernel: Kernel, cancelled: Cancelled | None, exponent: int = 0
) -> Sums | None:
    """Return the sums of a pair of equal sizes, or ``None`` if cancelled."""
    target, golden = pair.target, pair.golden
    with np.errstate(all="ignore"):
        at, size = 0, target.size
        while at < size:
            if cancelled is not None and cancelled():
                return None
            count = min(target.ready(), golden.ready())
            t, g, start = target.take(count), golden.take(count), at
            if pair.complex:
                t, g, start = _parts(t), _parts(g), 2 * at
            if exponent:
                t, g = _scaled(t, exponent), _scaled(g, exponent)
            kernel.add(t, g, start)
            at += count
        return kernel.sums()


def _parts(x: NDArray[Any]) -> NDArray[Any]:
    """Return real and imaginary parts in turn."""
    if x.dtype.kind != "c":
        x = x.astype(np.complex128)
    return x.view(x.real.dtype)


def _scaled(x: NDArray[Any], exponent: int) -> NDArray[np.float64]:
    return np.ldexp(x.astype(np.float64), -exponent)


def _leaves_float64(sums: Sums) -> bool:
    """Whether squares of the data may have left the range of float64."""
    return sums.largest > _HUGE or 0.0 < sums.largest < _MINUTE


def _rescale(
    target: Source,
    golden: Source,
    sums: Sums,
    kernel: KernelName | None,
    cancelled: Cancelled | None,
) -> Sums | None:
    """Gather again from data divided by a power of two; only sums that can leave float64 change."""
    with _Pair(target, golden) as pair:
        again = _gather(pair, _kernel(kernel), cancelled, math.frexp(sums.largest)[1])
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
