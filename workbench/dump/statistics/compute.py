"""Figures of tensors as three writers compute them: MindSpore's host, kernels of its device, the graph engine.

MindSpore's device computes four figures, each by a kernel of its own. A kernel that does not take a tensor's number
format leaves ``null``. High precision computes average and norm in float32, low precision in the tensor's own format,
where they can overflow. Source: MindSpore ``device_statistic/{max,min,mean,l2norm}``; the order in which the device
adds is not stated, here sums run in float64 and results are rounded to the format.
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import dataclass
from workbench.core.dtypes import DTYPES
from workbench.dump.statistics.dialects import DIALECTS, TITLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

_CHUNK = 1 << 20
_HASHED_AT_ONCE = 20_480
"""Elements of one slice when MindSpore computes a SHA-1."""

_FLOATS = frozenset(("bfloat16", "float16", "float32"))
_COMPUTED = _FLOATS | {"float64", "int8", "uint8", "int16", "int32", "int64"}

KERNELS: dict[str, frozenset[str]] = {
    "max": _COMPUTED | {"bool"},
    "min": _COMPUTED | {"bool"},
    "avg": _COMPUTED,
    "l2norm": _FLOATS,
}
"""Category → number formats that its kernel takes; bool only with high precision."""


@dataclass(slots=True)
class _Sums:
    """Running sums over a tensor; ``total`` and ``squares`` in float64.

    One NaN makes ``largest`` and ``smallest`` NaN, unless they pass ``over_nan``.
    """

    over_nan: bool = False

    count: int = 0
    largest: float = float("-inf")
    smallest: float = float("inf")
    total: float = 0.0
    squares: float = 0.0
    negative: int = 0
    positive: int = 0
    zero: int = 0
    nan: int = 0
    negative_inf: int = 0
    positive_inf: int = 0

    def add(self, x: NDArray[np.float64]) -> None:
        """Take in a chunk of at least one element."""
        self.count += x.size
        above, below = (np.fmax, np.fmin) if self.over_nan else (np.maximum, np.minimum)
        self.largest = float(above(self.largest, above.reduce(x)))
        self.smallest = float(below(self.smallest, below.reduce(x)))
        total = float(x.sum())
        self.total += total
        self.squares += float(np.square(x).sum())
        self.negative += int(np.count_nonzero(x < 0))
        self.positive += int(np.count_nonzero(x > 0))
        self.zero += int(np.count_nonzero(x == 0))
        if not math.isfinite(total):
            self.nan += int(np.count_nonzero(np.isnan(x)))
            self.negative_inf += int(np.count_nonzero(np.isneginf(x)))
            self.positive_inf += int(np.count_nonzero(np.isposinf(x)))


def _sums(array: NDArray[Any], *, over_nan: bool = False) -> _Sums:
    flat, sums = np.ravel(array), _Sums(over_nan)
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, flat.size, _CHUNK):
            sums.add(flat[start : start + _CHUNK].astype(np.float64))
    return sums


_NUMBERS: dict[str, Callable[[_Sums], float]] = {
    "max": lambda s: s.largest if s.count else float("nan"),
    "min": lambda s: s.smallest if s.count else float("nan"),
    "avg": lambda s: s.total / s.count if s.count else float("nan"),
    "count": lambda s: s.count,
    "negative zero count": lambda s: s.negative,
    "positive zero count": lambda s: s.positive,
    "nan count": lambda s: s.nan,
    "negative inf count": lambda s: s.negative_inf,
    "positive inf count": lambda s: s.positive_inf,
    "zero count": lambda s: s.zero,
    "l2norm": lambda s: s.squares**0.5,
}


def _md5(flat: NDArray[Any]) -> str:
    return hashlib.md5(flat.view(np.uint8).data, usedforsecurity=False).hexdigest()


def _sha1(flat: NDArray[Any]) -> str:
    """SHA-1 as MindSpore's ``tensor_summary.cc`` computes it, several slices at a time."""
    if flat.size <= _HASHED_AT_ONCE:
        return hashlib.sha1(flat.view(np.uint8).data, usedforsecurity=False).hexdigest()
    slices = range(0, flat.size, _HASHED_AT_ONCE)
    digests = "".join(_sha1(flat[start : start + _HASHED_AT_ONCE]) for start in slices)
    return hashlib.sha1(digests.encode(), usedforsecurity=False).hexdigest()


_DIGESTS = {"md5": _md5, "sha1": _sha1}


def statistics_of(array: NDArray[Any], categories: Iterable[str]) -> dict[str, float | int | str]:
    """Figures of a tensor under their column titles, as MindSpore's host computes them.

    Sums run in float64. One NaN makes maximum, minimum and average NaN. An MD5 is that of the raw bytes;
    so is a SHA-1 of up to 20,480 elements, and of more it is that of the slices' digests, written one
    behind the other. Complex tensors have a count and hashes only.

    >>> statistics_of(np.float32([3, -4, 0]), ("max", "l2norm", "negative zero count"))
    {'Max Value': 3.0, 'L2Norm Value': 5.0, 'Negative Zero Count': 1}
    """
    wanted = tuple(categories)
    result: dict[str, float | int | str] = {}
    is_complex = array.dtype.kind == "c"
    sums = _Sums(count=array.size) if is_complex else _sums(array)
    for name in wanted:
        if name in _DIGESTS:
            result[TITLES[name]] = _DIGESTS[name](np.ascontiguousarray(array).reshape(-1))
        elif not is_complex or name == "count":
            result[TITLES[name]] = _NUMBERS[name](sums)
    return result


def device_statistics_of(
    array: NDArray[Any], categories: Iterable[str], *, precision: str = "high"
) -> dict[str, float | int | str]:
    """Figures of a tensor under their column titles; those that the device leaves out are missing.

    `workbench.dump.statistics.print.format_row` prints them: ``null`` for what is missing, ``True`` for the
    largest of a bool tensor.

    >>> device_statistics_of(np.float16([40000, 40000]), ("avg", "l2norm"), precision="low")
    {'Avg Value': 40000.0, 'L2Norm Value': 56576.0}
    >>> device_statistics_of(np.int8([1, 3]), ("max", "l2norm"))
    {'Max Value': 3}
    """
    kind = array.dtype.name
    figures: dict[str, float | int | str] = {}
    for name in categories:
        if takes(name, kind, precision) and array.size:
            figures[TITLES[name]] = _kernel_figure(array, name, precision)
    return figures


def takes(category: str, dtype: str, precision: str) -> bool:
    """Whether the kernel of a category takes tensors of a number format."""
    return dtype in KERNELS.get(category, ()) and (dtype != "bool" or precision == "high")


def _kernel_figure(array: NDArray[Any], name: str, precision: str) -> float | int:
    if name in ("max", "min") and array.dtype.kind in "iub":
        value: float | int = getattr(np, name)(array).item()
        return value
    exact = float(statistics_of(array, (name,))[TITLES[name]])
    own = name in ("max", "min") or precision == "low"
    storage = array.dtype if own else DTYPES["float32"].storage
    if storage.kind in "iu":
        return int(exact)
    with np.errstate(over="ignore"):
        return float(np.float64(exact).astype(storage))


def ge_statistics_of(array: NDArray[Any], dialect: str = "ge") -> dict[str, float]:
    """Figures of a tensor under MindSpore's column titles, as the device computes them.

    Maximum and minimum start from the first element and pass over NaN, so a NaN that comes first
    stays. The average is the device's running mean but for the last digits; it is NaN with a NaN or
    with infinities of both signs, and the infinity if there are some of one sign, whatever else
    there is. Number formats that the writer does not compute, and no elements, give no figures.

    >>> ge_statistics_of(np.float32([1, np.nan, 3, np.inf]))["Avg Value"]
    inf
    """
    if array.dtype.name not in DIALECTS[dialect].computed or not array.size:
        return {}
    flat = np.ravel(array)
    sums = _sums(flat, over_nan=True)
    largest: float
    smallest: float
    if flat.dtype.kind in "iub":  # whole numbers of 64 bits would lose digits as floats
        largest, smallest = int(flat.max()), int(flat.min())
    elif np.isnan(flat[0]):
        largest = smallest = np.nan
    else:
        largest, smallest = sums.largest, sums.smallest
    mean = sums.total / flat.size
    if bool(sums.positive_inf) != bool(sums.negative_inf):
        mean = np.inf if sums.positive_inf else -np.inf
    own: dict[str, float] = {"max": largest, "min": smallest, "avg": mean}
    return {
        TITLES[name]: own[name] if name in own else _NUMBERS[name](sums)
        for name in DIALECTS[dialect].titles
    }
