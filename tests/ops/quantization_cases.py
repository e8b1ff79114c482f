"""Quantization, by whole numbers and fractions."""

from __future__ import annotations

import math
import struct

import numpy as np

from kit.oracle.loops import filled, numbers, whole
from kit.oracle.operator_case import OperatorCase


def quant(inputs, settings):
    low, high = (-8, 7) if settings.get("dst_type") == 29 else (-128, 127)
    rounding = {
        "Round": round,
        "Floor": math.floor,
        "Ceil": math.ceil,
        "Trunc": math.trunc,
    }[settings.get("round_mode", "Round")]
    scale = settings.get("scale", 1.0) ** (2 if settings.get("sqrt_mode") else 1)
    found = []
    for v in inputs[0].ravel().tolist():
        scaled = v * scale + settings.get("offset", 0.0)
        if math.isnan(scaled):
            found.append(0)
        elif math.isinf(scaled):
            found.append(high if scaled > 0 else low)
        else:
            found.append(min(max(rounding(scaled), low), high))
    return [filled(inputs[0], found)]


def dequant(inputs, settings):
    x, scales = inputs
    if scales.dtype == np.uint64:
        scales = np.frombuffer(scales.tobytes(), np.float32)[::2]
    out = np.empty(x.shape)
    for index in np.ndindex(x.shape):
        scale = float(scales[0 if scales.size == 1 else index[1 if x.ndim == 4 else -1]])
        value = int(x[index]) * scale * (scale if settings.get("sqrt_mode") else 1.0)
        out[index] = max(value, 0.0) if settings.get("relu_flag") else value
    return [out]


def trans_quant_param(inputs, settings):
    """Words by shifts of whole numbers; nearest by the even one of two neighbors as fractions."""
    scales, offsets = inputs[0], inputs[1] if len(inputs) > 1 else None
    length = max(array.shape[-1] for array in inputs)
    words = []
    for k in range(length):
        scale = float(scales.ravel()[k % scales.size])
        (bits,) = struct.unpack("<I", struct.pack("<f", scale))
        units, rest = divmod(bits, 8192)
        if settings.get("round_mode") and (rest > 4096 or (rest == 4096 and units % 2)):
            units += 1
        word = units * 8192 + 2**46
        if offsets is not None:
            word += (
                min(max(round(float(offsets.ravel()[k % offsets.size])), -256), 255) % 512
            ) * 2**37
        words.append(word)
    wide = (1, length) if any(array.ndim == 2 for array in inputs) else (length,)
    return [np.array(words, np.uint64).reshape(wide)]


def anti_quant(inputs, settings):
    scale = settings["scale"] ** (2 if settings.get("sqrt_mode") else 1)
    values = [(v + settings["offset"]) * scale for v in inputs[0].ravel().tolist()]
    return [filled(inputs[0], values)]


COARSE = np.array([[-40.0, 0.5, 1.5, 2.5, -2.5], [0.1, 300.0, -0.74, math.inf, math.nan]])

SUMS = whole(2, 3, 4, 5, low=-5000, high=5000, dtype=np.int32)


CASES = {
    "AscendQuant": OperatorCase(
        quant,
        [
            ([COARSE], {}),
            ([COARSE], {"scale": 4.0, "offset": -3.0, "round_mode": "Floor"}),
            ([COARSE], {"scale": 2.0, "sqrt_mode": True, "round_mode": "Ceil"}),
            ([COARSE], {"scale": 0.5, "round_mode": "Trunc", "dst_type": 29}),
        ],
    ),
    "AscendDequant": OperatorCase(
        dequant,
        [
            ([SUMS, np.array([0.125])], {}),
            ([SUMS, np.array([0.5, -0.25, 2.0])], {"relu_flag": True}),
            ([SUMS[0], numbers(5)], {"sqrt_mode": True}),
            ([SUMS, np.array([0x40003F000000], np.uint64)], {}),
        ],
    ),
    "TransQuantParamV2": OperatorCase(
        trans_quant_param,
        [
            ([np.array([1.0, 0.1, -0.3, 1e-40, 3.0])], {}),
            ([np.array([1.0, 0.1, -0.3, 1 + 2**-11, 1 + 3 * 2**-11])], {"round_mode": 1}),
            ([np.array([0.1]), np.array([-3.0, 2.5, 3.5, 400.0, -1e9])], {}),
            ([numbers(1, 4), np.array([7.0])], {"round_mode": 1}),
            ([numbers(1, 1), np.array([7.0, 2.0])], {}),
        ],
    ),
    "AscendAntiQuant": OperatorCase(
        anti_quant,
        [
            ([whole(3, 4, dtype=np.int8)], {"scale": 0.25, "offset": -3.0}),
            ([whole(3, 4, dtype=np.int8)], {"scale": 0.5, "offset": 2.0, "sqrt_mode": True}),
        ],
    ),
}
