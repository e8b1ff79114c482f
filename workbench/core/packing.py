"""Elements of a number format as the bytes of a file, both ways.

Below eight bits the first element lies in the low bits, except single bits, whose first is the highest
(MindSpore's and msaccucmp's order). HiFloat8 is decoded by its definition (Luo et al., 2024); msaccucmp differs
for -Inf and for magnitudes from 0.5 up to 4.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.dtypes import LOOKUP, OPAQUE, PACKED, PAIRS, PLAIN
from workbench.core.errors import FormatError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.core.dtypes import DType


def packed_bytes(row: DType, count: int) -> int:
    """Bytes that ``count`` elements fill in a file.

    >>> from workbench.core.dtypes import data_type_of
    >>> packed_bytes(data_type_of("int4"), 5), packed_bytes(data_type_of("uint1"), 9)
    (3, 2)
    """
    return (count * row.bits + 7) // 8


def decode(row: DType, data: NDArray[np.uint8], count: int) -> NDArray[Any]:
    """First ``count`` elements in bytes that hold at least as many; flat, of type ``storage``.

    Raises FormatError for the formats whose packing no source states.
    """
    data = data[: packed_bytes(row, count)]
    if row.packing in (PLAIN, OPAQUE):
        return data.view(row.storage)
    if row.packing == PAIRS:
        return data.view(np.float16).astype(np.float32).view(row.storage)
    if row.packing == PACKED:
        return _unpack(row, data, count).view(row.storage)
    if row.packing == LOOKUP:
        codes = data if row.bits == 8 else _unpack(row, data, count)
        return _values(row.name)[codes]
    raise FormatError("core/packing", dtype=row.word)


def encode(row: DType, array: NDArray[Any]) -> NDArray[np.uint8]:
    """Bytes of all elements in C order, rounded to nearest if the format holds less."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if row.packing in (PLAIN, OPAQUE):
        return flat.astype(row.storage, copy=False).view(np.uint8)
    if row.packing == PAIRS:
        wide = flat.astype(row.storage, copy=False).view(np.float32)
        return wide.astype(np.float16).view(np.uint8)
    if row.packing == PACKED:
        return _pack(row, flat.astype(row.storage, copy=False).view(np.uint8))
    if row.packing == LOOKUP:
        codes = _codes(row.name, flat.astype(np.float32, copy=False))
        return codes if row.bits == 8 else _pack(row, codes)
    raise FormatError("core/packing", dtype=row.word)


def _shifts(row: DType) -> NDArray[np.uint8]:
    shifts = np.arange(0, 8, row.bits, dtype=np.uint8)
    return shifts[::-1] if row.bits == 1 else shifts


def _unpack(row: DType, data: NDArray[np.uint8], count: int) -> NDArray[np.uint8]:
    mask = np.uint8((1 << row.bits) - 1)
    return ((data[:, None] >> _shifts(row)) & mask).reshape(-1)[:count]


def _pack(row: DType, codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    shifts = _shifts(row)
    lanes = np.zeros((packed_bytes(row, codes.size), shifts.size), np.uint8)
    lanes.reshape(-1)[: codes.size] = codes & np.uint8((1 << row.bits) - 1)
    packed: NDArray[np.uint8] = np.bitwise_or.reduce(lanes << shifts, axis=1, dtype=np.uint8)
    return packed


@cache
def _values(name: str) -> NDArray[np.float32]:
    """Value of every code of a format that NumPy does not know."""
    value, count = _LOOKUPS[name]
    return np.array([value(code) for code in range(count)], np.float32)


def _codes(name: str, values: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Code of the nearest value, of two the one of smaller magnitude; NaN where there is one."""
    table = _values(name)
    positive = np.flatnonzero((table >= 0) & ~np.signbit(table))
    positive = positive[np.argsort(table[positive], kind="stable")]
    steps = table[positive].astype(np.float64)
    finite = steps[np.isfinite(steps)]
    middles = (finite[1:] + finite[:-1]) / 2
    codes = positive[np.searchsorted(middles, np.abs(values.astype(np.float64)))]
    if finite.size < steps.size:
        codes = np.where(np.isinf(values), positive[-1], codes)
    half = table.size // 2
    has_minus = (codes > 0) | (table[half] == 0)
    codes = np.where(np.signbit(values) & has_minus, codes + half, codes)
    nan = np.flatnonzero(np.isnan(table))
    if nan.size:
        codes = np.where(np.isnan(values), nan[0], codes)
    return codes.astype(np.uint8)


def _hifloat8(code: int) -> float:
    """Value of a HiFloat8: the length of its exponent is told by its leading bits."""
    if code in (0x00, 0x80):
        return 0.0 if code == 0 else float("nan")
    sign, low = (-1.0 if code & 0x80 else 1.0), code & 0x7F
    if low == 0x6F:
        return sign * float("inf")
    if low < 0x08:
        return float(sign * 2.0 ** (low - 23))
    if low < 0x10:
        return sign * (1 + (low & 7) / 8)
    width = 1 if low < 0x20 else (low >> 5) + 1
    mantissa = min(3, 5 - width)
    exponent = (low >> mantissa) & ((1 << width) - 1)
    top = 1 << (width - 1)
    magnitude = top | (exponent & (top - 1))
    power = -magnitude if exponent & top else magnitude
    return float(sign * (1 + (low & ((1 << mantissa) - 1)) / (1 << mantissa)) * 2.0**power)


def _float4_e1m2(code: int) -> float:
    """Value of a four-bit float: one exponent bit of bias 1 and two of the mantissa."""
    value = ((code & 3) / 4) + (1.0 if code & 4 else 0.0)
    return -value if code & 8 else value


_LOOKUPS = {"hifloat8": (_hifloat8, 256), "float4_e1m2": (_float4_e1m2, 16)}
"""Name → value of a code, number of codes; the upper half are the negative ones."""
