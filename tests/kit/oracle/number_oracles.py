"""The values of number formats by their definitions, and searches among them."""

import bisect
import math

import ml_dtypes
import numpy as np

STORAGE = {
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
}
TABLED = [*STORAGE, "hifloat8"]


def hifloat8(code):
    """Value of a code of hifloat8, decoded field by field: sign, dot, exponent, mantissa."""
    sign, rest = (-1.0 if code & 0x80 else 1.0), f"{code & 0x7F:07b}"
    if rest == "0000000":
        return math.nan if code & 0x80 else 0.0
    dots = {"11": 4, "10": 3, "01": 2, "001": 1, "0001": 0, "0000": None}
    dot, width = next((dot, width) for dot, width in dots.items() if rest.startswith(dot))
    fields = rest[len(dot) :]
    if width is None:
        return sign * 2.0 ** (int(fields, 2) - 23)
    exponent = 0
    if width:
        size = int("1" + fields[1:width], 2)
        exponent = -size if fields[0] == "1" else size
    mantissa = fields[width:]
    if exponent == 15 and mantissa == "1":
        return sign * math.inf
    return sign * 2.0**exponent * (1 + int(mantissa, 2) / 2 ** len(mantissa))


def all_values(name):
    """Every finite value of a narrow format, increasing, as float64."""
    if name == "hifloat8":
        values = np.array([hifloat8(code) for code in range(256)])
    else:
        bits = 8 * np.dtype(STORAGE[name]).itemsize
        codes = np.arange(2**bits, dtype=f"uint{bits}")
        with np.errstate(invalid="ignore"):
            values = codes.view(STORAGE[name]).astype(np.float64)
    return np.unique(values[np.isfinite(values)])


def with_neighbors(points):
    """The points, and the float32 numbers just below and above each."""
    x = points.astype(np.float32)
    with np.errstate(over="ignore"):
        return np.concatenate(
            [x, np.nextafter(x, np.float32(-np.inf)), np.nextafter(x, np.float32(np.inf))]
        )


def probes(values):
    """Values of a format, the midpoints between them, and the float32 neighbors of both."""
    middles = (values[1:] + values[:-1]) / 2
    return np.concatenate([with_neighbors(values), with_neighbors(middles)])


def search(x, values, limit):
    """Nearest of the sorted values by distance, ties to the one with an even last bit."""
    if abs(x) >= limit:
        return math.copysign(math.inf, x)
    right = bisect.bisect_left(values, x)
    if right < len(values) and values[right] == x:
        return x
    low, high = values[right - 1], values[right]
    if x - low != high - x:
        return low if x - low < high - x else high
    step = high - low
    return low if (low / step) % 2 == 0 else high
