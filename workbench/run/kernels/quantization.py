"""Kernels of quantization, after CANN's operator documents.

What does not fit the integer type saturates. ``sqrt_mode`` applies the scale twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.dtypes import dtype
from workbench.graph.infer.quantization import ge_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]

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


def _scaled(x: Array, scale: Any, settings: Mapping[str, Any]) -> Array:
    x = x * scale
    return np.asarray(x * scale if settings["sqrt_mode"] else x)


def quant(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Round x · scale + offset to an integer; NaN becomes 0."""
    x = inputs[0]
    kind = x.dtype.type
    scaled = _scaled(x, kind(settings["scale"]), settings) + kind(settings["offset"])
    target = ge_type(settings["dst_type"], "dst_type")
    rounded = ROUNDINGS[settings["round_mode"]](scaled)
    return [
        np.clip(np.nan_to_num(rounded, nan=0.0), *_LIMITS[target]).astype(dtype(target).storage)
    ]


def dequant(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Sums · scale, with one scale or one for each channel; words carry theirs in the low 32 bits."""
    x, scales = inputs
    if scales.dtype == np.uint64:
        scales = (scales & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.float32)
    if scales.size > 1 and x.ndim == 4:
        scales = scales.reshape(1, -1, 1, 1)
    wide = np.float64 if scales.dtype == np.float64 else np.float32
    y = _scaled(x.astype(wide), scales.astype(wide), settings)
    return [np.maximum(y, wide(0)) if settings["relu_flag"] else y]


def trans_quant_param(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Words that the hardware scales by: 19 bits of a float32 scale, and an offset of 9 bits, if any."""
    bits = inputs[0].astype(np.float32).view(np.uint32)
    if settings["round_mode"] == 1:  # to 10 bits of mantissa, ties to even
        bits = bits + (np.uint32(_DROPPED // 2 - 1) + (bits // np.uint32(_DROPPED) & 1))
    words = (bits & np.uint32(2**32 - _DROPPED)).astype(np.uint64) | _IS_SCALE
    for offset in inputs[1:]:
        whole = np.clip(np.rint(offset), *_OFFSETS).astype(np.int64).astype(np.uint64)
        words = words | (whole & np.uint64(0x1FF)) << np.uint64(37)
    return [words]


def anti_quant(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """(x + offset) · scale."""
    x = inputs[0].astype(np.float32)
    return [_scaled(x + np.float32(settings["offset"]), np.float32(settings["scale"]), settings)]
