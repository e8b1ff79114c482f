"""Numbers exactly and slowly: rounding to a float format, and the figures of a pair. Three parts that share nothing.

* By spacing: every mode of the Cast instruction, in float64 on multiples of the format's spacing.
* By values: a search among all values of a narrow format, which come from the definition of its bits. The
  simulated NPU rounds with `workbench.npu.rounding`; `tests/npu/test_rounding_modes.py` holds all three against
  each other and against ml_dtypes.
* Figures of a pair in exact arithmetic, one element after the other. The definitions are written down anew from
  the documents of the field; nothing is shared with the kernels. Only the last step of a figure rounds.
"""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from workbench.core.dtypes import DTYPES, dtype
from workbench.npu.profiles import HF32, HF32_AWAY
from workbench.npu.rounding import HF32_LARGEST, HIF8_LARGEST, hif8_mantissa

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Array = NDArray[Any]
    F64 = NDArray[np.float64]

# ---------------------------------------------------------------- by spacing


def _away(x: F64) -> F64:
    """Nearest integer, ties away from zero."""
    down = np.trunc(x)
    return np.asarray(down + np.copysign(np.abs(x - down) >= 0.5, x))


def _odd(x: F64) -> F64:
    """Integers stay; anything between two becomes the odd one."""
    low = np.floor(x)
    return np.asarray(np.where((low == x) | (low % 2 != 0), low, low + 1))


ROUND_MODES: dict[str, Callable[[F64], F64]] = {
    "RINT": np.rint,
    "FLOOR": np.floor,
    "CEIL": np.ceil,
    "ROUND": _away,
    "TRUNC": np.trunc,
    "ODD": _odd,
}
"""Rounding modes of the Cast instruction by name: to nearest even, down, up, to nearest with ties
away from zero, to zero, to odd. ``NONE`` is ``RINT``."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The values of a float format: mantissa bits by exponent, and where it ends.

    ``least`` is the exponent below which the spacing no longer shrinks. ``infinite``: it has Inf.
    ``scale``: it has no zero and no negative values either, as shared exponents have not.
    """

    mantissa: int
    least: int
    largest: float
    infinite: bool = True
    scale: bool = False
    tapered: Mapping[int, int] | None = None

    def spacing(self, size: F64) -> F64:
        """Distance of the neighbors of magnitudes, as powers of two."""
        exponent = np.maximum(np.frexp(size)[1] - 1, self.least)
        bits = self.mantissa
        if self.tapered is not None:
            table = np.array([self.tapered[e] for e in sorted(self.tapered)])
            bits = table[np.minimum(exponent - self.least, len(table) - 1)]
        return np.asarray(np.ldexp(1.0, exponent - bits))


GRIDS: dict[str, Grid] = {
    "float64": Grid(52, -1022, dtype("float64").largest),
    "float32": Grid(23, -126, dtype("float32").largest),
    "float16": Grid(10, -14, 65504.0),
    "bfloat16": Grid(7, -126, dtype("bfloat16").largest),
    HF32: Grid(11, -126, HF32_LARGEST),
    HF32_AWAY: Grid(11, -126, HF32_LARGEST),
    "float8_e4m3fn": Grid(3, -6, 448.0, infinite=False),
    "float8_e5m2": Grid(2, -14, 57344.0),
    "float8_e8m0": Grid(0, -127, 2.0**127, infinite=False, scale=True),
    "hifloat8": Grid(3, -22, HIF8_LARGEST, tapered={e: hif8_mantissa(e) for e in range(-22, 16)}),
}
"""Float formats by name."""

_DEFAULT_MODES = {"hifloat8": "ROUND", HF32_AWAY: "ROUND"}


def cast(array: Array, name: str, mode: str = "NONE", *, saturate: bool = False) -> Array:
    """Return the values in another format.

    Parameters
    ----------
    array : array of any real dtype
    name : str
        A key of `GRIDS`. What NumPy cannot hold (HF32, hifloat8) comes back as float32.
    mode : str
        A key of `ROUND_MODES`; ``NONE`` rounds to nearest even, to hifloat8 ties away from zero.
    saturate : bool
        Too large a float becomes the largest one, and NaN 0, instead of Inf and NaN.
    """
    with np.errstate(all="ignore"):
        wanted = _DEFAULT_MODES.get(name, "RINT") if mode == "NONE" else mode
        return _to_float(array, name, wanted, saturate=saturate)


def _to_float(array: Array, name: str, mode: str, *, saturate: bool) -> Array:
    grid = GRIDS[name]
    x = _wide(array, name)
    size = np.abs(x)
    spacing = grid.spacing(np.where(np.isfinite(x), size, 1.0))
    y = ROUND_MODES[mode](x / spacing) * spacing
    y = np.where(np.isfinite(x), np.copysign(y, x), x)
    y = _ended(y, x, grid, mode, saturate=saturate)
    if grid.scale:
        y = np.where(x > 0, np.maximum(y, 2.0**grid.least), np.nan)
    elif grid.tapered:
        y = y + 0.0  # one zero
    return y.astype(dtype(name).storage if name in DTYPES else np.float32)


def _ended(y: F64, x: F64, grid: Grid, mode: str, *, saturate: bool) -> F64:
    """Say what becomes of values beyond the largest one."""
    largest = np.copysign(grid.largest, x)
    if saturate:
        return np.where(np.isnan(x), 0.0, np.where(np.abs(x) > grid.largest, largest, y))
    beyond = np.copysign(np.inf, x) if grid.infinite else np.full_like(x, np.nan)
    inward = {"FLOOR": x > 0, "CEIL": x < 0, "TRUNC": np.True_, "ODD": np.True_}
    stays = np.isfinite(x) & inward.get(mode, np.False_)
    return np.where(np.abs(y) > grid.largest, np.where(stays, largest, beyond), y)


def _wide(array: Array, name: str) -> F64:
    """Values in float64, so that rounding them again is rounding them once.

    A 64-bit integer keeps its highest bits, and an odd last one if any below was set.
    """
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8 and name != "float64":
        kind = array.dtype.type
        low = array & kind(0x7FF)
        large = (array > kind(1 << 53)) | (array < kind(0 if kind is np.uint64 else -(1 << 53)))
        odd = (array ^ low) | ((low != 0).astype(kind) << kind(11))
        array = np.where(large, odd, array)
    return np.asarray(array.astype(np.float64))


# ---------------------------------------------------------------- by values

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


# ---------------------------------------------------------------- figures of a pair


def numbers(array: Any) -> list[Any]:
    """Elements as Python numbers, complex ones as two, bool as 0 and 1."""
    flat = array.reshape(-1)
    if flat.dtype.kind == "c":
        return [part for z in flat.tolist() for part in (z.real, z.imag)]
    if flat.dtype.kind in "biu":
        return [int(x) for x in flat.tolist()]
    return [float(x) for x in flat]


def finite(x: Any) -> bool:
    return isinstance(x, int) or math.isfinite(x)


def root(square: Fraction) -> Fraction:
    """Square root to 60 digits."""
    with localcontext() as context:
        context.prec = 60
        context.Emax, context.Emin = 10_000, -10_000
        value = (Decimal(square.numerator) / Decimal(square.denominator)).sqrt()
    return Fraction(value)


def as_float(x: Fraction | float) -> float:
    try:
        return float(x)
    except OverflowError:
        return math.copysign(math.inf, x)


def quotient(a: Fraction, b: Fraction) -> Fraction | float:
    if b:
        return a / b
    return math.inf if a else Fraction(0)


def same_kind(t: Any, g: Any) -> bool:
    """Whether a pair that is not jointly finite agrees."""
    return not (finite(t) or finite(g)) and t == g


def describe(side: str, values: list[Any]) -> dict[str, float]:
    rest = [Fraction(x) for x in values if finite(x)]
    odd = [x for x in values if not finite(x)]
    figures: dict[str, float] = {
        f"{side}NaN": sum(math.isnan(x) for x in odd),
        f"{side}PosInf": sum(x == math.inf for x in odd),
        f"{side}NegInf": sum(x == -math.inf for x in odd),
        f"{side}Zero": sum(x == 0 for x in rest),
    }
    names = [f"{side}{name}" for name in ("Min", "Max", "Mean", "Std")]
    if not rest:
        return figures | dict.fromkeys(names, math.nan)
    mean = sum(rest, Fraction(0)) / len(rest)
    spread = root(sum(((x - mean) ** 2 for x in rest), Fraction(0)) / len(rest))
    return figures | dict(
        zip(names, map(as_float, (min(rest), max(rest), mean, spread)), strict=True)
    )


def relative_errors(pairs: list[tuple[Fraction, Fraction]], scale: Fraction) -> list[Fraction]:
    """|t − g| / |g|; where |g| is at most 2⁻⁵², against the scale, or 1 if that is 0."""
    tiny = Fraction(1, 2**52)
    return [abs(t - g) / (abs(g) if abs(g) > tiny else (scale or Fraction(1))) for t, g in pairs]


def share_within(
    pairs: list[tuple[Fraction, Fraction]], bound: float, extra: int, size: int
) -> float:
    hits = sum(t == g or (g != 0 and abs(t - g) / abs(g) < Fraction(bound)) for t, g in pairs)
    return (hits + extra) / size


def exact(target: Any, golden: Any) -> dict[str, float]:
    """Every figure of a pair by its title; ``equal`` and ``error`` besides."""
    if "c" in (target.dtype.kind, golden.dtype.kind):
        target, golden = (
            x.astype("c16" if x.dtype.kind != "c" else x.dtype) for x in (target, golden)
        )
    ts, gs = numbers(target), numbers(golden)
    size = len(ts)
    pairs = [
        (Fraction(t), Fraction(g)) for t, g in zip(ts, gs, strict=True) if finite(t) and finite(g)
    ]
    odd = [(t, g) for t, g in zip(ts, gs, strict=True) if not (finite(t) and finite(g))]
    agreeing = sum(same_kind(t, g) for t, g in odd)
    mismatch = len(odd) - agreeing
    scale = max((abs(Fraction(g)) for g in gs if finite(g)), default=Fraction(0))
    out = describe("Target", ts) | describe("Golden", gs) | {"NonFiniteMismatch": mismatch}
    out["OneThousandthErrRatio"] = share_within(pairs, 0.001, agreeing, size)
    out["FiveThousandthsErrRatio"] = share_within(pairs, 0.005, agreeing, size)
    out["equal"] = mismatch == 0 and all(t == g for t, g in pairs)
    if not pairs and mismatch:
        names = CROSS.keys() - {"error"}
        return out | dict.fromkeys(names, math.nan) | {"error": math.inf}
    return out | {name: as_float(rule(pairs, scale)) for name, rule in CROSS.items()}


def norm(values: list[Fraction]) -> Fraction:
    return root(sum((x * x for x in values), Fraction(0)))


def cosine(pairs: list[tuple[Fraction, Fraction]], _: Fraction) -> Fraction:
    if all(t == g for t, g in pairs):
        return Fraction(1)
    norms = norm([t for t, _ in pairs]) * norm([g for _, g in pairs])
    return sum((t * g for t, g in pairs), Fraction(0)) / norms if norms else Fraction(0)


def euclid(pairs: list[tuple[Fraction, Fraction]], _: Fraction) -> Fraction | float:
    return quotient(norm([t - g for t, g in pairs]), norm([g for _, g in pairs]))


def largest(pairs: list[tuple[Fraction, Fraction]]) -> Fraction:
    return max((abs(t - g) for t, g in pairs), default=Fraction(0))


def slope(pairs: list[tuple[Fraction, Fraction]], _: Fraction) -> Fraction:
    """Slope of the error over the golden, by least squares through 0."""
    square = sum((g * g for _, g in pairs), Fraction(0))
    return sum(((t - g) * g for t, g in pairs), Fraction(0)) / square if square else Fraction(0)


def certainty(pairs: list[tuple[Fraction, Fraction]], _: Fraction) -> Fraction:
    """The slope over the root of what chance makes of its square: the terms, their signs thrown like coins."""
    terms = [(t - g) * g for t, g in pairs]
    scatter = norm(terms)
    return sum(terms, Fraction(0)) / scatter if scatter else Fraction(0)


CROSS: dict[str, Any] = {
    "CosineSimilarity": cosine,
    "MaxAbsoluteError": lambda pairs, _: largest(pairs),
    "MeanAbsoluteError": lambda pairs, _: (
        sum((abs(t - g) for t, g in pairs), Fraction(0)) / max(len(pairs), 1)
    ),
    "RootMeanSquareError": lambda pairs, _: root(
        sum(((t - g) ** 2 for t, g in pairs), Fraction(0)) / max(len(pairs), 1)
    ),
    "RelativeEuclideanDistance": euclid,
    "AccumulatedRelativeError": lambda pairs, s: sum(relative_errors(pairs, s), Fraction(0)),
    "MaxRelativeError": lambda pairs, s: max(relative_errors(pairs, s), default=Fraction(0)),
    "MeanRelativeError": lambda pairs, s: (
        sum(relative_errors(pairs, s), Fraction(0)) / max(len(pairs), 1)
    ),
    "RelativeBias": slope,
    "RelativeBiasZ": certainty,
    "error": euclid,
}
