"""Number formats: one row each.

Codes are those of ``ge.proto.DataType`` (the dump container's ``data_type``). NumPy cannot hold
some formats natively; their storage type then comes from ml_dtypes, and hifloat8 is held as float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from workbench.core.errors import FormatError


@dataclass(frozen=True)
class DType:
    """A number format.

    ``code`` is its GE number, ``storage`` the NumPy type of one element in memory, ``mantissa`` the
    number of *stored* mantissa bits of a float (-1: not a float; of a tapered one the most that it has),
    ``limit`` its largest finite value where the storage holds larger ones.
    """

    name: str
    code: int
    storage: np.dtype[Any]
    mantissa: int = -1
    limit: float = 0.0

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
    def largest(self) -> float:
        """Largest finite value."""
        if self.limit:
            return self.limit
        if self.is_float:
            return float(ml_dtypes.finfo(self.storage).max)  # type: ignore[no-untyped-call]
        if self.storage.kind in "iuV":
            return float(ml_dtypes.iinfo(self.storage).max)  # type: ignore[no-untyped-call]
        return 1.0


def _row(
    name: str, code: int, storage: Any, mantissa: int = -1, limit: float = 0.0
) -> tuple[str, DType]:
    return name, DType(name, code, np.dtype(storage), mantissa, limit)


DTYPES: dict[str, DType] = dict(
    (
        _row("float32", 1, np.float32, 23),
        _row("float16", 2, np.float16, 10),
        _row("int8", 3, np.int8),
        _row("uint8", 4, np.uint8),
        _row("int16", 5, np.int16),
        _row("uint16", 6, np.uint16),
        _row("int32", 7, np.int32),
        _row("int64", 8, np.int64),
        _row("uint32", 9, np.uint32),
        _row("uint64", 10, np.uint64),
        _row("bool", 11, np.bool_),
        _row("float64", 12, np.float64, 52),
        _row("complex64", 16, np.complex64, 23),
        _row("complex128", 17, np.complex128, 52),
        _row("bfloat16", 27, ml_dtypes.bfloat16, 7),
        _row("int4", 28, ml_dtypes.int4),
        _row("hifloat8", 33, np.float32, 3, 2.0**15),
        _row("float8_e5m2", 34, ml_dtypes.float8_e5m2, 2),
        _row("float8_e4m3fn", 35, ml_dtypes.float8_e4m3fn, 3),
        _row("float8_e8m0", 36, ml_dtypes.float8_e8m0fnu, 0),
    )
)
"""Every format by name, in order of its GE code."""

HELD_WIDER = frozenset(row.name for row in DTYPES.values() if row.limit)
"""Formats whose values lie in memory as those of a wider one."""

_SPELLINGS = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bf16": "bfloat16",
    "float8e4m3fn": "float8_e4m3fn",
    "float8e5m2": "float8_e5m2",
}


def dtype_name(word: str) -> str:
    """Return the canonical name of a producer's spelling (``Float32``, ``BFloat16``, ``BF16``), or ``""``.

    >>> dtype_name("BFloat16"), dtype_name("Float"), dtype_name("NC1HWC0")
    ('bfloat16', 'float32', '')
    """
    low = word.lower()
    low = _SPELLINGS.get(low, low)
    return low if low in DTYPES else ""


def dtype(name: str) -> DType:
    """Return the row called ``name``; raises FormatError naming the known ones."""
    try:
        return DTYPES[name]
    except KeyError:
        raise FormatError("core/choice", subject="dtype", got=name, known=sorted(DTYPES)) from None


@lru_cache(1024)
def name_of(storage: np.dtype[Any]) -> str:
    """``storage.name``, which NumPy puts together anew each time."""
    return storage.name


def is_exact(name: str) -> bool:
    """Whether the format called ``name`` holds integers or truth values, which nothing rounds; false if unknown."""
    row = DTYPES.get(name)
    return row is not None and row.storage.kind in "iub" and not row.is_float


def roundoff(name: str) -> float:
    """Relative rounding error of the format called ``name``; 0 for exact and unknown ones."""
    row = DTYPES.get(name)
    return row.roundoff if row else 0.0
