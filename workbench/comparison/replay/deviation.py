"""How a result deviates as a whole from what its operator should have given: by a factor, or by how it was stored.

Rounding to nearest leaves as many elements too large as too small. A store that cuts bits off leaves about half of
them one step nearer to 0, and none farther; one in a coarser format leaves zeros in the last bits of all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple
from workbench.comparison.limits import limits
from workbench.comparison.measure.bias import MOST, Bias, bias_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

HF32 = "hf32"

GRIDS = {"bfloat16": 16, "float16": 13, HF32: 12}
"""Formats that a result in a file of float32 may have gone through, the coarsest first: zeros at its end, in bits."""


class Store(NamedTuple):
    """How a result was stored: in which format, and whether its bits were cut off instead of rounded."""

    format: str
    is_cut: bool

    @property
    def roundoff(self) -> float:
        """Largest relative error that it leaves."""
        return _ROUNDOFF[self.format] * (2.0 if self.is_cut else 1.0)

    def is_within(self, format_: str) -> bool:
        """Whether the format holds all that this one holds, ranges apart."""
        return self.format == format_ or GRIDS.get(self.format, 0) >= GRIDS.get(format_, 99)


_ROUNDOFF = {"bfloat16": 2.0**-8, "float16": 2.0**-11, HF32: 2.0**-12, "float32": 2.0**-24}


class Deviation(NamedTuple):
    """How a result deviates as a whole; ``store`` is ``None`` where it was stored as the graph says."""

    bias: Bias
    store: Store | None


def deviation_of(given: Array, expected: Array, op_type: str) -> Deviation | None:
    """Return how a result deviates as a whole; ``None``: not at all, or it is none of floats of 16 or 32 bits."""
    bias = bias_of(given, expected, op_type)
    return None if bias is None else Deviation(bias, store_of(given, expected))


def store_of(given: Array, expected: Array) -> Store | None:
    """Return how a result was stored that is not what it should be; ``None``: by nothing that is known.

    Both in the dtype of the file, ``expected`` rounded to nearest.
    """
    if not given.size or given.shape != expected.shape:
        return None
    t, y = (np.ascontiguousarray(one).reshape(-1)[:MOST] for one in (given, expected))
    name = t.dtype.name
    if name == "float32":
        return _on_grid(t, y)
    return Store(name, is_cut=True) if name in ("float16", "bfloat16") and _is_cut(t, y) else None


def _is_cut(t: Array, y: Array) -> bool:
    """Whether elements are one step nearer to 0, by no means all, and hardly one is off otherwise."""
    ours, theirs = (one.view(np.int16).astype(np.int32) for one in (t, y))
    lower = theirs - ours == 1  # behind the sign, bits of magnitudes in order
    differing = np.count_nonzero(ours != theirs)
    known = limits()
    if differing < known.ambient_elements / 2 or differing > known.ambient_share * t.size:
        return False
    return bool(np.count_nonzero(lower) >= known.cut_share * differing)


def _on_grid(t: Array, y: Array) -> Store | None:
    """Return the coarsest format that holds all of a result, where it does not hold what the result should be."""
    ours, theirs = t.view(np.uint32), y.view(np.uint32)
    used, known = int(np.bitwise_or.reduce(ours)), limits()
    for name, bits in GRIDS.items():
        tail = (1 << bits) - 1
        if used & tail or (name == "float16" and not _fits_float16(t)):
            continue
        beyond = (theirs & np.uint32(tail)) != 0
        count = np.count_nonzero(beyond)
        if count < known.grid_share * t.size:
            return None
        cut = np.count_nonzero((ours ^ theirs)[beyond] <= tail) / count
        return Store(name, is_cut=bool(cut > known.cut_share))
    return None


def _fits_float16(t: Array) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.array_equal(t.astype(np.float16).astype(np.float32), t, equal_nan=True))
