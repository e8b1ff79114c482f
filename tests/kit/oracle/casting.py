"""The Cast instruction to a float format, with its rounding modes.

Slow and exact: everything happens in float64 on multiples of the format's spacing. The simulated NPU
rounds with `workbench.run.rounding`; `tests/run/test_rounding_modes.py` holds the two against each other,
against ml_dtypes and against a search among the neighbors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.dtypes import DTYPES, dtype
from workbench.run.profiles import HF32, HF32_AWAY
from workbench.run.rounding import HF32_LARGEST, HIF8_LARGEST, hif8_mantissa

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Array = NDArray[Any]
    F64 = NDArray[np.float64]


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
