"""MindSpore's statistics as the device computes them: four figures, each by a kernel of its own.

A kernel that does not take a tensor's number format leaves ``null``. High precision computes average
and norm in float32, low precision in the tensor's own format, where they can overflow. Source:
MindSpore ``device_statistic/{max,min,mean,l2norm}``; the order in which the device adds is not stated,
here sums run in float64 and results are rounded to the format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.dtypes import DTYPES
from workbench.dump.statistics.statistic import TITLES, statistics_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

_FLOATS = frozenset(("bfloat16", "float16", "float32"))
_NUMBERS = _FLOATS | {"float64", "int8", "uint8", "int16", "int32", "int64"}

KERNELS: dict[str, frozenset[str]] = {
    "max": _NUMBERS | {"bool"},
    "min": _NUMBERS | {"bool"},
    "avg": _NUMBERS,
    "l2norm": _FLOATS,
}
"""Category → number formats that its kernel takes; bool only with high precision."""


def device_statistics_of(
    array: NDArray[Any], categories: Iterable[str], *, precision: str = "high"
) -> dict[str, float | int | str]:
    """Figures of a tensor under their column titles; those that the device leaves out are missing.

    `workbench.dump.statistics.statistic.format_row` prints them: ``null`` for what is missing, ``True`` for the
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
            figures[TITLES[name]] = _figure(array, name, precision)
    return figures


def takes(category: str, dtype: str, precision: str) -> bool:
    """Whether the kernel of a category takes tensors of a number format."""
    return dtype in KERNELS.get(category, ()) and (dtype != "bool" or precision == "high")


def _figure(array: NDArray[Any], name: str, precision: str) -> float | int:
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
