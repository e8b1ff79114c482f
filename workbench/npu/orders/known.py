"""The orders of summation that are known, looked up by whoever computes a sum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import dataclass
from workbench.ops.definition import reduced_axes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from workbench.npu.orders.tree import Order

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

    def __reduce__(self) -> tuple[Callable[..., Orders], tuple[tuple[Order, ...]]]:
        """Travel such that no orders stay those that everybody has."""
        return _orders, (self.all,)

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

    def order_of(
        self, operator: str, dtype: str, inputs: Sequence[Array], settings: Mapping[str, Any]
    ) -> Order | None:
        """Return the order in which an operator sums these inputs, which are as its unit reads them."""
        if not self.all or not inputs or any(one.dtype.kind in "biuc" for one in inputs):
            return None
        length = _LENGTHS[operator](inputs, settings) if operator in _LENGTHS else None
        order = self.find(operator, dtype, length) if length is not None else None
        return order if order is None or bool(order.product) == (operator in PRODUCTS) else None

    def compute(
        self, operator: str, dtype: str, inputs: Sequence[Array], settings: Mapping[str, Any]
    ) -> Array | None:
        """Return what an operator gives in its known order, in float32 or float64; ``None``: not known.

        ``dtype`` is the format of the operator's inputs as stored.
        """
        order = self.order_of(operator, dtype, inputs, settings)
        if order is None:
            return None
        if operator in SUMS:
            (axis,) = reduced_axes(settings["axis"], inputs[0].ndim)
            found = order.total(inputs[0], axis)
            found = np.expand_dims(found, axis) if settings["keep_dims"] else found
        else:
            found = order.matmul(*_matrices(inputs, settings))
        return found if found.dtype == np.float64 else found.astype(np.float32)


def _summed(inputs: Sequence[Array], settings: Mapping[str, Any]) -> int | None:
    """Terms of a sum along one axis."""
    if settings.get("skip_mode") and settings["axis"] in ((), None):
        return None
    axes = reduced_axes(settings["axis"], inputs[0].ndim)
    return inputs[0].shape[axes[0]] if len(axes) == 1 else None


def _multiplied(inputs: Sequence[Array], settings: Mapping[str, Any]) -> int | None:
    """Products of an element of a matrix product."""
    if len(inputs) != 2 or min(one.ndim for one in inputs) < 2:
        return None
    left, _ = _matrices(inputs, settings)
    return int(left.shape[-1])


def _matrices(inputs: Sequence[Array], settings: Mapping[str, Any]) -> tuple[Array, Array]:
    left, right = inputs
    if settings["transpose_a"]:
        left = left.swapaxes(-1, -2)
    return left, right.swapaxes(-1, -2) if settings["transpose_b"] else right


_LENGTHS: dict[str, Callable[[Sequence[Array], Mapping[str, Any]], int | None]] = {
    **dict.fromkeys(SUMS, _summed),
    **dict.fromkeys(PRODUCTS, _multiplied),
}
"""How many terms an operator sums; ``None``: in an order that is not measured."""

NO_ORDERS = Orders()
"""None is known."""


def _orders(known: tuple[Order, ...]) -> Orders:
    return Orders(known) if known else NO_ORDERS
