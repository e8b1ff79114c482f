"""Number formats: one row each, with everything that any file, graph or framework calls it.

NumPy cannot hold some formats natively; their storage type then comes from ml_dtypes, and hifloat8 is held
as float32. How elements below eight bits lie in bytes is in `workbench.core.packing`.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from workbench._values import dataclass
from workbench.core.errors import FormatError

OPAQUE, PLAIN, PACKED, LOOKUP, PAIRS, UNKNOWN = "opaque", "plain", "packed", "lookup", "pairs", ""


@dataclass(frozen=True)
class DType:
    """A number format.

    ``bits`` are those of one element in a file; ``packing`` says what its bytes are: ``opaque`` (no elements
    of a known size), ``plain`` (as in memory), ``packed`` (several to a byte), ``lookup`` (decoded to
    float32), ``pairs`` (two halves of a complex number), ``""`` (unknown). ``storage`` is the NumPy type of
    one element in memory, ``mantissa`` the number of *stored* mantissa bits of a float (-1: not a float; of a
    tapered one the most that it has), ``limit`` its largest finite value where the storage holds larger ones.
    ``is_computed``: operators compute with it; other formats lie in files alone.

    The rest are the words of others; ``None`` or ``""`` if they have none.

    ``code``, ``word``: number and word (behind ``DT_``) in ``ge.proto.DataType``, which is also the
    ``data_type`` of a dump container. ``acl``: number in ``ge::DataType`` and ``aclDataType``.
    MindSpore's: ``ir`` in types (``Tensor[Float32]``; a CPU has it in file names, Ascend and GPU in lower
    case), ``scalar`` around a constant (``I64(3)``), ``pb`` the number in ``anf_ir.proto``, ``type_id`` that
    of ``TypeId``. ``npy``: letters of an npy header; ``E2`` is MindSpore's own. ``tf``: number in
    TensorFlow's ``types.proto``, ``onnx`` that of ONNX's ``TensorProto``. ``torch``: storage class, or the
    dtype where there is no such class.
    """

    code: int
    word: str
    name: str
    bits: int
    packing: str
    storage: np.dtype[Any]
    mantissa: int
    limit: float
    is_computed: bool
    acl: int | None
    ir: str
    scalar: str
    pb: int | None
    type_id: int | None
    npy: str
    tf: int | None
    onnx: int | None
    torch: str

    @property
    def is_float(self) -> bool:
        return self.mantissa >= 0

    @property
    def is_complex(self) -> bool:
        return self.storage.kind == "c"

    @cached_property
    def roundoff(self) -> float:
        """Largest relative error of rounding to nearest, 2^-(mantissa+1); 0 for exact types."""
        return 2.0 ** -(self.mantissa + 1) if self.is_float else 0.0

    @cached_property
    def smallest(self) -> float:
        """Smallest positive number with a full mantissa: devices may take what is below for zero; 0 for integers."""
        if not self.is_float:
            return 0.0
        return float(ml_dtypes.finfo(self.storage).tiny)  # type: ignore[no-untyped-call]

    @cached_property
    def largest(self) -> float:
        """Largest finite value."""
        if self.limit:
            return self.limit
        if self.is_float:
            return float(ml_dtypes.finfo(self.storage).max)  # type: ignore[no-untyped-call]
        if self.storage.kind in "iuV":
            return float(ml_dtypes.iinfo(self.storage).max)  # type: ignore[no-untyped-call]
        return 1.0


_TABLE = """
no word           name           bit bytes  storage        float limit acl ir           lit  pb id npy tf ox torch
 0 UNDEFINED      undefined        8 opaque uint8              - -       - -            -    -   -   -  -  - -
 1 FLOAT          float32         32 plain  float32           23 -       0 Float32      F32  11 43  f4  1  1 Float
 2 FLOAT16        float16         16 plain  float16           10 -       1 Float16      F16  10 42  f2 19 10 Half
 3 INT8           int8             8 plain  int8           exact -       2 Int8         I8   2  32  i1  6  3 Char
 4 UINT8          uint8            8 plain  uint8          exact -       4 UInt8        U8   6  37  u1  4  2 Byte
 5 INT16          int16           16 plain  int16          exact -       6 Int16        I16  3  33  i2  5  5 Short
 6 UINT16         uint16          16 plain  uint16         exact -       7 UInt16       U16  7  38  u2 17  4 uint16
 7 INT32          int32           32 plain  int32          exact -       3 Int32        I32  4  34  i4  3  6 Int
 8 INT64          int64           64 plain  int64          exact -       9 Int64        I64  5  35  i8  9  7 Long
 9 UINT32         uint32          32 plain  uint32         exact -       8 UInt32       U32  8  39  u4 22 12 uint32
10 UINT64         uint64          64 plain  uint64         exact -      10 UInt64       U64  9  40  u8 23 13 uint64
11 BOOL           bool             8 plain  bool           exact -      12 Bool         Bool 1  30  b1 10  9 Bool
12 DOUBLE         float64         64 plain  float64           52 -      11 Float64      F64  12 44  f8  2 11 Double
13 STRING         string           8 opaque uint8              - -      13 -            -    -   -   -  7  8 -
14 DUAL_SUB_INT8  dual_sub_int8    8 plain  int8               - -       - -            -    -   -   -  -  - -
15 DUAL_SUB_UINT8 dual_sub_uint8   8 plain  uint8              - -       - -            -    -   -   -  -  - -
16 COMPLEX64      complex64       64 plain  complex64         23 -      16 Complex64    -    43  -  c8  8 14 ComplexFloat
17 COMPLEX128     complex128     128 plain  complex128        52 -      17 Complex128   -    44  - c16 18 15 ComplexDouble
18 QINT8          qint8            8 plain  int8               - -       - -            -    -   -   - 11  - -
19 QINT16         qint16          16 plain  int16              - -       - -            -    -   -   - 15  - -
20 QINT32         qint32          32 plain  int32              - -       - -            -    -   -   - 13  - -
21 QUINT8         quint8           8 plain  uint8              - -       - -            -    -   -   - 12  - -
22 QUINT16        quint16         16 plain  uint16             - -       - -            -    -   -   - 16  - -
23 RESOURCE       resource        64 plain  int64              - -       - -            -    -   -   - 20  - -
24 STRING_REF     string_ref       8 opaque uint8              - -       - -            -    -   -   -  -  - -
25 DUAL           dual             8 opaque uint8              - -       - -            -    -   -   -  -  - -
26 VARIANT        variant          8 opaque uint8              - -       - -            -    -   -   - 21  - -
27 BF16           bfloat16        16 plain  bfloat16           7 -      27 BFloat16     BF16 46 45  E2 14 16 BFloat16
28 INT4           int4             4 packed int4           exact -      29 Int4         -    48  -   - 29 22 -
29 UINT1          uint1            1 packed uint8              - -      30 -            -    -   -   -  -  - -
30 INT2           int2             2 packed int2               - -      31 -            -    -   -   -  - 26 -
31 UINT2          uint2            2 packed uint2              - -      32 -            -    -   -   -  - 25 -
32 COMPLEX32      complex32       32 pairs  complex64          - -      33 -            -    -   -   -  -  - complex32
33 HIFLOAT8       hifloat8         8 lookup float32            3 32768  34 -            -    -   -   -  -  - -
34 FLOAT8_E5M2    float8_e5m2      8 plain  float8_e5m2        2 -       - Float8E5M2   -    -   -   - 24 19 float8_e5m2
35 FLOAT8_E4M3FN  float8_e4m3fn    8 plain  float8_e4m3fn      3 -       - Float8E4M3FN -    -   -   - 25 17 float8_e4m3fn
36 FLOAT8_E8M0    float8_e8m0      8 plain  float8_e8m0fnu     0 -       - -            -    -   -   -  - 24 float8_e8m0fnu
37 FLOAT6_E3M2    float6_e3m2      6 -      uint8              - -       - -            -    -   -   -  -  - -
38 FLOAT6_E2M3    float6_e2m3      6 -      uint8              - -       - -            -    -   -   -  -  - -
39 FLOAT4_E2M1    float4_e2m1      4 packed float4_e2m1fn      - -       - -            -    -   -   -  - 23 -
40 FLOAT4_E1M2    float4_e1m2      4 lookup float32            - -       - -            -    -   -   -  -  - -
41 HIFLOAT4       hifloat4         4 -      uint8              - -       - -            -    -   -   -  -  - -
42 HIFLOAT4_SCALE hifloat4_scale   8 opaque uint8              - -       - -            -    -   -   -  -  - -
"""  # noqa: E501
"""``-``: there is none. ``bytes`` is ``packing``, ``lit`` is ``scalar``. ``float``: stored bits of the
mantissa; ``exact``: whole numbers and truth values; ``-``: nothing computes with it.
``ox`` is ``onnx``. ``torch``: of a capitalized word the class ends in ``Storage``."""


def _row(line: str) -> DType:
    """Row of a line of `_TABLE`: its cells are the fields in order; ``float`` also tells ``is_computed``."""
    code, word, name, bits, *cells = line.split()
    packing, storage, mantissa, limit, acl, ir, scalar, pb, type_id, npy, tf, onnx, torch = (
        cell.strip("-") for cell in cells
    )
    return DType(
        int(code), word, name, int(bits), packing,
        np.dtype(getattr(ml_dtypes, storage, storage)),
        int(mantissa) if mantissa.isdigit() else -1,
        float(limit or 0),
        bool(mantissa),
        _number(acl), ir, scalar, _number(pb), _number(type_id), npy, _number(tf),
        _number(onnx),
        f"{torch}Storage" if torch[:1].isupper() else torch,
    )  # fmt: skip


def _number(cell: str) -> int | None:
    return int(cell) if cell else None


DATA_TYPES: dict[int, DType] = {row.code: row for row in map(_row, _TABLE.strip().splitlines()[1:])}
"""Every format by its GE code."""

DTYPES: dict[str, DType] = {row.name: row for row in DATA_TYPES.values() if row.is_computed}
"""Every format that operators compute with by name, in order of its GE code."""

HELD_WIDER = frozenset(row.name for row in DTYPES.values() if row.limit)
"""Formats whose values lie in memory as those of a wider one."""

_BY_NAME = {row.name: row for row in DATA_TYPES.values()}


def names_by(column: str) -> dict[Any, str]:
    """Word, or number, that a column of the table has → name of the format.

    >>> names_by("npy")["E2"], names_by("acl")[29]
    ('bfloat16', 'int4')
    """
    words = ((getattr(row, column), row.name) for row in DATA_TYPES.values())
    return {word: name for word, name in words if word not in (None, "")}


_SPELLINGS = {
    "half": "float16",
    **{row.word.lower(): row.name for row in DTYPES.values()},
    **{row.ir.lower(): row.name for row in DTYPES.values() if row.ir},
}
"""Spelling in lower case → name."""


def dtype_name(word: str) -> str:
    """Return the canonical name of a producer's spelling (``Float32``, ``BFloat16``, ``BF16``), or ``""``.

    >>> dtype_name("BFloat16"), dtype_name("Float"), dtype_name("NC1HWC0")
    ('bfloat16', 'float32', '')
    """
    low = word.lower()
    return low if low in DTYPES else _SPELLINGS.get(low, "")


def mindspore_word(name: str) -> str:
    """MindSpore's word for a dtype; a word that is no format it knows stays as it is.

    >>> mindspore_word("bfloat16"), mindspore_word("String")
    ('BFloat16', 'String')
    """
    row = DTYPES.get(name)
    return row.ir or name if row is not None else name


def dtype(name: str) -> DType:
    """Return the row called ``name`` that operators compute with; raises FormatError naming the known ones."""
    try:
        return DTYPES[name]
    except KeyError:
        raise FormatError("core/choice", subject="dtype", got=name, known=sorted(DTYPES)) from None


def data_type_of(name: str) -> DType:
    """Return the row called ``name``, of all that files hold; raises FormatError naming the known ones.

    >>> data_type_of("bfloat16").code
    27
    """
    try:
        return _BY_NAME[name]
    except KeyError:
        raise FormatError(
            "core/choice", subject="container dtype", got=name, known=sorted(_BY_NAME)
        ) from None


@lru_cache(1024)
def name_of(storage: np.dtype[Any]) -> str:
    """``storage.name``, which NumPy puts together anew each time."""
    return storage.name


def is_exact(name: str) -> bool:
    """Whether the format called ``name`` holds integers or truth values, which nothing rounds; false if unknown."""
    row = DTYPES.get(name)
    return row is not None and not row.is_float


def roundoff(name: str) -> float:
    """Relative rounding error of the format called ``name``; 0 for exact and unknown ones."""
    row = DTYPES.get(name)
    return row.roundoff if row else 0.0
