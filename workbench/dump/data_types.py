"""Number formats of the dump container: one row for every ``data_type`` of its messages.

A row says how elements lie in a file and what they become in memory. Numbers are those of
``ge.proto.DataType``. Below eight bits the first element lies in the low bits, except single bits,
whose first is the highest (MindSpore's and msaccucmp's order). HiFloat8 is decoded by its
definition (Luo et al., 2024); msaccucmp differs for -Inf and for magnitudes from 0.5 up to 4.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import ml_dtypes
import numpy as np

from workbench.core.dtypes import DTYPES
from workbench.core.errors import FormatError

if TYPE_CHECKING:
    from numpy.typing import NDArray

OPAQUE, PLAIN, PACKED, LOOKUP, PAIRS, UNKNOWN = "opaque", "plain", "packed", "lookup", "pairs", ""


class DataType(NamedTuple):
    """A number format as files hold it.

    ``name`` is the one of `workbench.core.dtypes` or the word in lower case. ``bits`` are those of
    one element in a file. ``how`` says what the bytes are: ``opaque`` (no elements of a known
    size), ``plain`` (as in memory), ``packed`` (several to a byte), ``lookup`` (decoded to
    float32), ``pairs`` (two halves of a complex number), ``""`` (packing unknown). ``storage`` is
    the NumPy type of one element in memory.
    """

    number: int
    word: str
    name: str
    bits: int
    how: str
    storage: np.dtype[Any]


_ROWS = """
 0 UNDEFINED      undefined      8 opaque uint8
 1 FLOAT          float32       32 plain
 2 FLOAT16        float16       16 plain
 3 INT8           int8           8 plain
 4 UINT8          uint8          8 plain
 5 INT16          int16         16 plain
 6 UINT16         uint16        16 plain
 7 INT32          int32         32 plain
 8 INT64          int64         64 plain
 9 UINT32         uint32        32 plain
10 UINT64         uint64        64 plain
11 BOOL           bool           8 plain
12 DOUBLE         float64       64 plain
13 STRING         string         8 opaque uint8
14 DUAL_SUB_INT8  dual_sub_int8  8 plain int8
15 DUAL_SUB_UINT8 dual_sub_uint8 8 plain uint8
16 COMPLEX64      complex64     64 plain
17 COMPLEX128     complex128   128 plain
18 QINT8          qint8          8 plain int8
19 QINT16         qint16        16 plain int16
20 QINT32         qint32        32 plain int32
21 QUINT8         quint8         8 plain uint8
22 QUINT16        quint16       16 plain uint16
23 RESOURCE       resource      64 plain int64
24 STRING_REF     string_ref     8 opaque uint8
25 DUAL           dual           8 opaque uint8
26 VARIANT        variant        8 opaque uint8
27 BF16           bfloat16      16 plain
28 INT4           int4           4 packed
29 UINT1          uint1          1 packed uint8
30 INT2           int2           2 packed
31 UINT2          uint2          2 packed
32 COMPLEX32      complex32     32 pairs  complex64
33 HIFLOAT8       hifloat8       8 lookup float32
34 FLOAT8_E5M2    float8_e5m2    8 plain
35 FLOAT8_E4M3FN  float8_e4m3fn  8 plain
36 FLOAT8_E8M0    float8_e8m0    8 plain
37 FLOAT6_E3M2    float6_e3m2    6 -      uint8
38 FLOAT6_E2M3    float6_e2m3    6 -      uint8
39 FLOAT4_E2M1    float4_e2m1    4 packed float4_e2m1fn
40 FLOAT4_E1M2    float4_e1m2    4 lookup float32
41 HIFLOAT4       hifloat4       4 -      uint8
42 HIFLOAT4_SCALE hifloat4_scale 8 opaque uint8
"""


def _row(line: str) -> DataType:
    number, word, name, bits, how, *storage = line.split()
    memory = storage[0] if storage else name
    kind = DTYPES[memory].storage if memory in DTYPES else np.dtype(getattr(ml_dtypes, memory))
    return DataType(int(number), word, name, int(bits), how.strip("-"), kind)


DATA_TYPES: dict[int, DataType] = {row.number: row for row in map(_row, _ROWS.strip().splitlines())}
"""Every number format by its number."""

_BY_NAME = {row.name: row for row in DATA_TYPES.values()}


def data_type_of(name: str) -> DataType:
    """Return the row whose elements are called ``name``; raises FormatError naming the known ones.

    >>> data_type_of("bfloat16").number
    27
    """
    try:
        return _BY_NAME[name]
    except KeyError:
        raise FormatError(
            "core/choice", subject="container dtype", got=name, known=sorted(_BY_NAME)
        ) from None


def packed_bytes(row: DataType, count: int) -> int:
    """Bytes that ``count`` elements fill in a file.

    >>> packed_bytes(data_type_of("int4"), 5), packed_bytes(data_type_of("uint1"), 9)
    (3, 2)
    """
    return (count * row.bits + 7) // 8


def decode(row: DataType, data: NDArray[np.uint8], count: int) -> NDArray[Any]:
    """First ``count`` elements in bytes that hold at least as many; flat, of type ``storage``.

    Raises FormatError for the formats whose packing no source states.
    """
    data = data[: packed_bytes(row, count)]
    if row.how in (PLAIN, OPAQUE):
        return data.view(row.storage)
    if row.how == PAIRS:
        return data.view(np.float16).astype(np.float32).view(row.storage)
    if row.how == PACKED:
        return _unpack(row, data, count).view(row.storage)
    if row.how == LOOKUP:
        codes = data if row.bits == 8 else _unpack(row, data, count)
        return _values(row.name)[codes]
    raise FormatError("dump/packing", dtype=row.word)


def encode(row: DataType, array: NDArray[Any]) -> NDArray[np.uint8]:
    """Bytes of all elements in C order, rounded to nearest if the format holds less."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if row.how in (PLAIN, OPAQUE):
        return flat.astype(row.storage, copy=False).view(np.uint8)
    if row.how == PAIRS:
        wide = flat.astype(row.storage, copy=False).view(np.float32)
        return wide.astype(np.float16).view(np.uint8)
    if row.how == PACKED:
        return _pack(row, flat.astype(row.storage, copy=False).view(np.uint8))
    if row.how == LOOKUP:
        codes = _codes(row.name, flat.astype(np.float32, copy=False))
        return codes if row.bits == 8 else _pack(row, codes)
    raise FormatError("dump/packing", dtype=row.word)


def _shifts(row: DataType) -> NDArray[np.uint8]:
    shifts = np.arange(0, 8, row.bits, dtype=np.uint8)
    return shifts[::-1] if row.bits == 1 else shifts


def _unpack(row: DataType, data: NDArray[np.uint8], count: int) -> NDArray[np.uint8]:
    mask = np.uint8((1 << row.bits) - 1)
    return ((data[:, None] >> _shifts(row)) & mask).reshape(-1)[:count]


def _pack(row: DataType, codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
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
