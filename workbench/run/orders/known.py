"""The orders of summation that are known, looked up by whoever computes a sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.dtypes import name_of
from workbench.graph.infer import reduced_axes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from workbench.run.orders.tree import Order

    Array = NDArray[Any]

SUMS = frozenset(("ReduceSum",))
PRODUCTS = frozenset(("MatMul", "BatchMatMul"))
"""Operators whose order can be given: types that sum along one axis, and those that multiply matrices."""


@dataclass(frozen=True, eq=False)
class Orders:
    """Several orders. Those that are not confirmed are kept, and compute nothing."""

    all: tuple[Order, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.all)

    def __len__(self) -> int:
        return len(self.all)

    def find(self, operator: str, dtype: str, n: int) -> Order | None:
        """Return the confirmed order of an operator for a number format and length; ``None``: it is not known."""
        return next(
            (
                one
                for one in self.all
                if (one.operator, one.dtype, one.n) == (operator, dtype, n) and one.is_confirmed
            ),
            None,
        )

    def compute(
        self, operator: str, dtype: str, inputs: Sequence[Array], settings: Mapping[str, Any]
    ) -> Array | None:
        """Return what an operator gives in its known order, in the accumulator's format; ``None``: not known.

        ``dtype`` is the format of the operator's inputs as stored, ``inputs`` are as its unit reads them.
        """
        if not self.all or not inputs or any(one.dtype.kind in "biuc" for one in inputs):
            return None
        if operator in SUMS:
            return self._sum(operator, dtype, inputs[0], settings)
        return self._product(operator, dtype, inputs, settings) if operator in PRODUCTS else None

    def _sum(
        self, operator: str, dtype: str, x: Array, settings: Mapping[str, Any]
    ) -> Array | None:
        if settings.get("skip_mode") and settings["axis"] == ():
            return None
        axes = reduced_axes(settings["axis"], x.ndim)
        if len(axes) != 1:
            return None
        order = self.find(operator, dtype, x.shape[axes[0]])
        if order is None or order.product:
            return None
        total = order.total(x, axes[0])
        return np.expand_dims(total, axes[0]) if settings["keep_dims"] else total

    def _product(
        self, operator: str, dtype: str, inputs: Sequence[Array], settings: Mapping[str, Any]
    ) -> Array | None:
        left, right = inputs[:2]
        if min(left.ndim, right.ndim) < 2 or len(inputs) > 2:
            return None
        if settings["transpose_a"]:
            left = left.swapaxes(-1, -2)
        if settings["transpose_b"]:
            right = right.swapaxes(-1, -2)
        order = self.find(operator, dtype, left.shape[-1])
        return None if order is None or not order.product else order.matmul(left, right)


NO_ORDERS = Orders()
"""None is known."""


def stored_format(tensors: Sequence[Array]) -> str:
    """Number format that all inputs of an operator are stored in; ``""``: several."""
    names = {name_of(one.dtype) for one in tensors}
    return names.pop() if len(names) == 1 else ""
