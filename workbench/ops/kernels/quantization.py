"""Kernels of quantization, after CANN's operator documents.

What does not fit the integer type saturates. ``sqrt_mode`` applies the scale twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.dtypes import DTYPES, dtype
from workbench.ops.definition import cast_target, reject

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[Any]


_NAMED = ("float32", "float16", "int8", "int32", "bfloat16", "int4")


GE_TYPES = {DTYPES[name].acl: name for name in _NAMED}
"""GE's numbers of the dtypes that these operators name in ``dst_type`` and ``dtype``."""


def ge_type(value: Any, what: str) -> str:
    """Dtype by GE's number, or by name."""
    if isinstance(value, int):
        name = GE_TYPES.get(value, "")
        return name or reject("core/choice", subject=what, got=value, known=sorted(GE_TYPES))
    return cast_target(value, what)


ROUNDINGS: dict[str, Callable[[Array], Array]] = {
    "Round": np.rint,
    "Floor": np.floor,
    "Ceil": np.ceil,
    "Ceiling": np.ceil,
    "Trunc": np.trunc,
    "Truncate": np.trunc,
}
"""Rounding by ``round_mode``; ``Round`` takes ties to even."""


_DROPPED = 1 << 13
"""What one unit of a hardware scale is in units of float32: 1 sign, 8 exponent, 10 mantissa bits stay."""


_IS_SCALE = np.uint64(1 << 46)


_OFFSETS = (-256, 255)


_LIMITS = {"int8": (-128, 127), "int4": (-8, 7)}


def _scaled(x: Array, scale: Any, sqrt_mode: bool) -> Array:
    x = x * scale
    return np.asarray(x * scale if sqrt_mode else x)


def quant(
    x: Array, *, scale: Any, offset: Any, sqrt_mode: Any, round_mode: Any, dst_type: Any
) -> Array:
    """Round x · scale + offset to an integer; NaN becomes 0."""
    kind = x.dtype.type
    scaled = _scaled(x, kind(scale), sqrt_mode) + kind(offset)
    target = ge_type(dst_type, "dst_type")
    rounded = ROUNDINGS[round_mode](scaled)
    return np.asarray(
        np.clip(np.nan_to_num(rounded, nan=0.0), *_LIMITS[target]).astype(dtype(target).storage)
    )


def dequant(x: Array, scales: Array, *, sqrt_mode: Any, relu_flag: Any) -> Array:
    """Sums · scale, with one scale or one for each channel; words carry theirs in the low 32 bits."""
    if scales.dtype == np.uint64:
        scales = (scales & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.float32)
    if scales.size > 1 and x.ndim == 4:
        scales = scales.reshape(1, -1, 1, 1)
    wide = np.float64 if scales.dtype == np.float64 else np.float32
    y = _scaled(x.astype(wide), scales.astype(wide), sqrt_mode)
    return np.maximum(y, wide(0)) if relu_flag else y


def trans_quant_param(scale: Array, *offsets: Array, round_mode: Any) -> Array:
    """Words that the hardware scales by: 19 bits of a float32 scale, and an offset of 9 bits, if any."""
    bits = scale.astype(np.float32).view(np.uint32)
    if round_mode == 1:  # to 10 bits of mantissa, ties to even
        bits = bits + (np.uint32(_DROPPED // 2 - 1) + (bits // np.uint32(_DROPPED) & 1))
    words = (bits & np.uint32(2**32 - _DROPPED)).astype(np.uint64) | _IS_SCALE
    for offset in offsets:
        whole = np.clip(np.rint(offset), *_OFFSETS).astype(np.int64).astype(np.uint64)
        words = words | (whole & np.uint64(0x1FF)) << np.uint64(37)
    return words


def anti_quant(x: Array, *, scale: Any, offset: Any, sqrt_mode: Any) -> Array:
    """(x + offset) · scale."""
    x = x.astype(np.float32)
    return _scaled(x + np.float32(offset), np.float32(scale), sqrt_mode)
