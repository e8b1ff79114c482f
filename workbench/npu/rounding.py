"""Rounding of float32 values to formats of fewer bits, exact and fast, and the Cast to integers.

Values stay float32. Every function works on pieces that fit the cache. `tests/npu/test_rounding.py`
checks each against a search among the neighbors: all values of the 16-bit and 8-bit formats, their
midpoints, and what lies beside them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from workbench._values import dataclass
from workbench.core.dtypes import dtype
from workbench.npu.profiles import HF32, HF32_AWAY

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[Any]
    F32 = NDArray[np.float32]
    U32 = NDArray[np.uint32]
    Step = Callable[[F32, F32, U32], None]

_CHUNK = 32768  # elements; three arrays of them stay in the second-level cache
_EXPONENT = np.uint32(0x7F800000)
_SIGN = np.uint32(0x80000000)


@dataclass(frozen=True, slots=True)
class Rounding:
    """How float32 values are rounded to a format, piece by piece.

    ``largest`` is its largest finite value, ``overflow`` the least magnitude that rounds beyond it.
    """

    step: Step | None
    largest: float
    overflow: float

    def __call__(self, array: F32, *, saturate: bool = False, own: bool = False) -> F32:
        """Round; what is too large becomes Inf, or the largest value (and NaN 0) if saturating.

        ``own``: the array is nobody else's and may be overwritten.
        """
        if saturate:
            array = saturated(array, self.largest)
        if self.step is None:
            return array
        if own and array.flags.c_contiguous and array.dtype == np.float32:
            return _chunked_in_place(array, self.step)
        return _chunked(array, self.step)


def saturated(array: NDArray[Any], largest: float) -> NDArray[Any]:
    """Replace values beyond ``largest`` by it, and NaN by 0; the array itself if there are none."""
    if array.size == 0 or (array.max() <= largest and array.min() >= -largest):  # NaN: false
        return array
    return np.asarray(np.clip(np.nan_to_num(array, nan=0.0), -largest, largest))


def _chunked(array: F32, step: Step) -> F32:
    """Apply ``step(source, target, scratch)`` to pieces that fit the cache."""
    source = np.ascontiguousarray(array, np.float32).reshape(-1)
    target = np.empty_like(source)
    scratch = np.empty(min(_CHUNK, source.size), np.uint32)
    for start in range(0, source.size, _CHUNK):
        piece = source[start : start + _CHUNK]
        step(piece, target[start : start + _CHUNK], scratch[: piece.size])
    return target.reshape(array.shape)


def _chunked_in_place(array: F32, step: Step) -> F32:
    """Apply a step to pieces of an array and put the results there: no fresh memory is touched."""
    flat = array.reshape(-1)
    source = np.empty(min(_CHUNK, flat.size), np.float32)
    scratch = np.empty(source.size, np.uint32)
    for start in range(0, flat.size, _CHUNK):
        piece = flat[start : start + _CHUNK]
        source[: piece.size] = piece
        step(source[: piece.size], piece, scratch[: piece.size])
    return array


def _narrow(mantissa: int, least: int, overflow: float, beyond: float = np.inf) -> Step:
    """Return the step of a format with subnormals, ties to even.

    Adding and subtracting 1.5 · 2^(e + 23 - mantissa), e the exponent of the value but at least
    ``least``, leaves exactly the bits that the format keeps. Magnitudes from ``overflow`` on become
    ``beyond``.
    """
    shift = 23 - mantissa
    magic = np.uint32((shift << 23) | 0x400000)
    lowest = np.full(_CHUNK, (127 + least) << 23, np.uint32)  # `maximum` is slow with a scalar
    top = np.float32(overflow).view(np.uint32) & _EXPONENT

    def step(source: F32, target: F32, scratch: U32) -> None:
        bits = source.view(np.uint32)
        np.bitwise_and(bits, _EXPONENT, out=scratch)
        large = scratch.max(initial=0) >= top
        np.maximum(scratch, lowest[: scratch.size], out=scratch)
        scratch += magic
        added = scratch.view(np.float32)
        with np.errstate(all="ignore"):  # the magic numbers of large values overflow
            np.add(source, added, out=target)
            target -= added
        np.bitwise_and(bits, _SIGN, out=scratch)  # -0.0 stays -0.0
        np.bitwise_or(target.view(np.uint32), scratch, out=target.view(np.uint32))
        if large:
            _put_special(source, target, overflow, beyond)

    return step


def _put_special(source: F32, target: F32, overflow: float, beyond: float) -> None:
    """Write what becomes of NaN and of magnitudes from ``overflow`` on."""
    outside = np.abs(source) >= overflow
    np.copyto(target, np.copysign(np.float32(beyond), source), where=outside)
    np.copyto(target, np.float32(np.nan), where=np.isnan(source))


def _cut(count: int, *, ties_away: bool = False) -> Step:
    """Return the step of a format with float32's exponents: the lowest bits are rounded away."""
    half = np.uint32(1 << (count - 1))
    keep = np.uint32(0xFFFFFFFF << count & 0xFFFFFFFF)

    def step(source: F32, target: F32, scratch: U32) -> None:
        bits, out = source.view(np.uint32), target.view(np.uint32)
        if ties_away:
            np.add(bits, half, out=out)
        else:
            np.right_shift(bits, np.uint32(count), out=scratch)
            np.bitwise_and(scratch, np.uint32(1), out=scratch)
            scratch += half - np.uint32(1)
            np.add(bits, scratch, out=out)
        out &= keep
        _keep_special(source, target, scratch)

    return step


def _keep_special(source: F32, target: F32, scratch: U32) -> None:
    """Put NaN and Inf back, which a carry would change."""
    np.bitwise_and(source.view(np.uint32), _EXPONENT, out=scratch)
    if scratch.max(initial=0) == _EXPONENT:
        special = scratch == _EXPONENT
        target[special] = np.where(np.isnan(source[special]), np.float32(np.nan), source[special])


HIF8_LARGEST, _HIF8_OVERFLOW = 2.0**15, 1.25 * 2.0**15
_HIF8_TOP = 127 + 15  # float32's exponent of both


def hif8_mantissa(exponent: int) -> int:
    """Stored mantissa bits of hifloat8 at an exponent from -22 to 15; the format is tapered."""
    size = abs(exponent)
    return 3 if size <= 3 else 2 if size <= 7 else 1 if size <= 15 else 0


def _hif8_tables() -> tuple[U32, U32]:
    """For every exponent of float32: what is added to its bits and which of them stay."""
    half, keep = np.zeros(256, np.uint32), np.zeros(256, np.uint32)
    for exponent in range(-22, 16):
        dropped = 23 - hif8_mantissa(exponent)
        half[127 + exponent] = 1 << (dropped - 1)
        keep[127 + exponent] = 0xFFFFFFFF << dropped & 0xFFFFFFFF
    half[127 - 23], keep[127 - 23] = 1 << 23, 0xFF800000  # from half of the least value on: up
    return half, keep


_HALF, _KEEP = _hif8_tables()


def _hif8_step(source: F32, target: F32, scratch: U32) -> None:
    """Round to hifloat8, ties away from zero. It has one zero, and Inf beyond 2^15."""
    bits, out = source.view(np.uint32), target.view(np.uint32)
    np.right_shift(bits, np.uint32(23), out=scratch)
    scratch &= np.uint32(0xFF)
    exponents = scratch.astype(np.intp)
    large = scratch.max(initial=0) >= _HIF8_TOP
    np.add(bits, np.take(_HALF, exponents, out=scratch, mode="clip"), out=out)
    out &= np.take(_KEEP, exponents, out=scratch, mode="clip")
    if large:
        _put_special(source, target, _HIF8_OVERFLOW, np.inf)


HF32_LARGEST = (2 - 2.0**-11) * 2.0**127
_HF32_OVERFLOW = (2 - 2.0**-12) * 2.0**127
_E4M3_OVERFLOW = float(np.nextafter(np.float32(464), np.float32(465)))  # 464 is a tie, to 448

ROUND: dict[str, Rounding] = {
    "float16": Rounding(_narrow(10, -14, 65520.0), 65504.0, 65520.0),
    "bfloat16": Rounding(_cut(16), (2 - 2.0**-7) * 2.0**127, (2 - 2.0**-8) * 2.0**127),
    HF32: Rounding(_cut(12), HF32_LARGEST, _HF32_OVERFLOW),
    HF32_AWAY: Rounding(_cut(12, ties_away=True), HF32_LARGEST, _HF32_OVERFLOW),
    "float32": Rounding(None, (2 - 2.0**-23) * 2.0**127, (2 - 2.0**-24) * 2.0**127),
    "float8_e4m3fn": Rounding(_narrow(3, -6, _E4M3_OVERFLOW, np.nan), 448.0, _E4M3_OVERFLOW),
    "float8_e5m2": Rounding(_narrow(2, -14, 61440.0), 57344.0, 61440.0),
    "hifloat8": Rounding(_hif8_step, HIF8_LARGEST, _HIF8_OVERFLOW),
}
"""Rounding of float32 values to each format, as float32; ties go to even, in hifloat8 and
`HF32_AWAY` away from zero. Too large a value becomes Inf, in float8_e4m3fn NaN: it has no Inf."""


def to_integer(array: Array, name: str) -> Array:
    """Return the values in an integer dtype: cut off towards zero, saturated, NaN as 0.

    >>> to_integer(np.array([2.7, -2.7, 1e9, np.nan]), "int8").tolist()
    [2, -2, 127, 0]
    """
    storage = dtype(name).storage
    limits = ml_dtypes.iinfo(storage)  # type: ignore[no-untyped-call]
    if array.dtype.kind in "biu":
        own = np.iinfo(array.dtype if array.dtype.kind != "b" else np.uint8)
        low, high = max(own.min, int(limits.min)), min(own.max, int(limits.max))
        return np.clip(array, low, high).astype(storage)
    with np.errstate(all="ignore"):
        x = np.trunc(array.astype(np.float64))
        x = np.where(np.isnan(x), 0.0, x)
        inside = np.clip(x, float(limits.min), np.nextafter(float(limits.max) + 1, 0.0))
        if storage.itemsize < 8:
            return inside.astype(np.int64).astype(storage)
        return np.where(x > inside, storage.type(limits.max), inside.astype(storage))
