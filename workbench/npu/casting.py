"""The Cast instruction to integers: towards zero, and never beyond their range."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from workbench.core.dtypes import dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def to_integer(array: Array, name: str) -> Array:
    """Return the values in an integer dtype: cut off towards zero, saturated, NaN as 0.

    >>> to_integer(np.array([2.7, -2.7, 1e9, np.nan]), "int8").tolist()
    [2, -2, 127, 0]
    """
    storage = dtype(name).storage
    limits = ml_dtypes.iinfo(storage)  # type: ignore[no-untyped-call]
    if array.dtype.kind in "biu":
        own = np.iinfo(array.dtype if array.dtype.kind != "b" else np.uint8)
        low, high = max(own.min, int(limits.min)), min(own.max, int(limits.max))
        return np.clip(array, low, high).astype(storage)
    with np.errstate(all="ignore"):
        x = np.trunc(array.astype(np.float64))
        x = np.where(np.isnan(x), 0.0, x)
        inside = np.clip(x, float(limits.min), np.nextafter(float(limits.max) + 1, 0.0))
        if storage.itemsize < 8:
            return inside.astype(np.int64).astype(storage)
        return np.where(x > inside, storage.type(limits.max), inside.astype(storage))
