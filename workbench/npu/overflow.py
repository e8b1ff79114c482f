"""The status register of the simulated AI Core: which operators overflow, and how.

An operator overflows if Inf or NaN comes of finite inputs, or if a finite value is beyond what the
format can hold that it is converted to. Whether the device then saturates is another matter. Inf and
NaN that arrive are the fault of who made them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.dtypes import dtype
from workbench.npu.rounding import ROUND
from workbench.ops import run_kernel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from workbench.core.events import Unit
    from workbench.graph.graph import Op

    Array = NDArray[Any]

_INTEGER = {
    "Add": "integer",
    "Sub": "integer",
    "Mul": "integer",
    "Square": "integer",
    "Neg": "negation",
}
"""Integer arithmetic that sets the register, by operator type."""

_WIDEST = 4
"""Bytes of the largest integers that the vector unit computes."""


class Status:
    """The register while one operator is computed; ``causes`` are keys of `workbench.core.events.CAUSES`."""

    def __init__(self, op: Op, unit: Unit) -> None:
        self.unit = unit
        self._op = op
        self._causes: dict[str, None] = {}

    @property
    def causes(self) -> tuple[str, ...]:
        """Causes in the order in which they came about."""
        return tuple(self._causes)

    def add(self, other: Status) -> None:
        """Take the causes of an operator that is computed within this one."""
        self._causes |= other._causes

    def loaded(self, array: Array, name: str) -> None:
        """Look at an input before it is converted to the format of its unit."""
        self._narrowed(array, name, "conversion")

    def summed(self, sums: Array, name: str) -> None:
        """Look at the sums of the cube unit before they are rounded to an accumulator's format."""
        self._narrowed(sums, name, "accumulator")

    def computed(
        self, inputs: Sequence[Array], settings: Mapping[str, Any], results: Sequence[Array]
    ) -> None:
        """Look at results, which are in the precision of their unit, and at what they came from."""
        if not all(map(_is_finite, results)):
            if all(map(_is_finite, inputs)):
                self._set("accumulator" if self.unit == "cube" else "float")
        elif self._op.op_type in _INTEGER and _leaves(self._op.op_type, inputs, settings):
            self._set(_INTEGER[self._op.op_type])

    def stored(self, result: Array, name: str) -> None:
        """Look at a result before it is rounded to a format, or stored in a dtype."""
        if name in ROUND:
            cause = "conversion" if self._op.op_type == "Cast" else "float"
            self._narrowed(result, name, "cube output" if self.unit == "cube" else cause)
        elif (
            dtype(name).storage.kind == "u"
            and result.dtype.kind == "f"
            and bool(np.any(result < 0))
        ):
            self._set("unsigned")

    def spoiled(self, right: Sequence[Array], wrong: Sequence[Array]) -> None:
        """Look at results that a defect of the unit has changed."""
        if all(map(_is_finite, right)) and not all(map(_is_finite, wrong)):
            self._set("float")

    def _narrowed(self, array: Array, name: str, cause: str) -> None:
        if name in ROUND and array.dtype.kind in "iuf" and exceeds(array, name):
            self._set(cause)

    def _set(self, cause: str) -> None:
        self._causes.setdefault(cause)


def _is_finite(array: Array) -> bool:
    return array.dtype.kind != "f" or bool(np.isfinite(_peak(array)))


def _peak(array: Array) -> float:
    """Largest magnitude; NaN if any is, 0 if there are no numbers."""
    return max(float(np.max(array)), -float(np.min(array))) if array.size else 0.0


def exceeds(array: Array, name: str) -> bool:
    """Whether a format rounds a finite one of these numbers to infinity.

    >>> exceeds(np.float32([65519, np.inf]), "float16"), exceeds(np.int32([-65520]), "float16")
    (False, True)
    """
    limit, top = ROUND[name].overflow, _peak(array)
    if top < limit:
        return False
    if np.isfinite(top):
        return True
    return bool(np.any(np.isfinite(array) & (np.abs(array) >= limit)))


def _leaves(op_type: str, inputs: Sequence[Array], settings: Mapping[str, Any]) -> bool:
    """Whether integer arithmetic leaves its dtype; float64 holds what 32-bit integers come to."""
    kinds = {array.dtype for array in inputs}
    if len(kinds) != 1:
        return False
    (kind,) = kinds
    if kind.kind not in "iu" or kind.itemsize > _WIDEST:
        return False
    limits = np.iinfo(kind)
    (exact,) = run_kernel(op_type, [array.astype(np.float64) for array in inputs], settings)
    return bool(np.any((exact < limits.min) | (exact > limits.max)))
