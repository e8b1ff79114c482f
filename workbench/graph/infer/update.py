"""Rules of operators that update weights in place, and of those that look for overflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.tensors import TensorSpec
from workbench.graph.infer import integers, like, refuse

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.graph.infer import Call

    Rule = Callable[[Call], tuple[TensorSpec, ...]]

STATUS = 8
"""Numbers of the float status that the device hands out."""


def assign(call: Call) -> tuple[TensorSpec, ...]:
    """Return the variable; the value is like it."""
    if call.tensors[0] != call.tensors[1]:
        refuse("graph/assigned", expected=call.tensors[0], got=call.tensors[1])
    return like(call, call.shape())


def optimizer(alike: tuple[int, ...], numbers: tuple[int, ...], outputs: int = 1) -> Rule:
    """Rule of an optimizer whose tensors ``alike`` have the variable's shape; ``numbers`` are single ones."""

    def rule(call: Call) -> tuple[TensorSpec, ...]:
        shape = call.shape()
        for place in alike:
            if call.shape(place) != shape:
                refuse(
                    "graph/shape", subject=f"input {place}", expected=shape, got=call.shape(place)
                )
        for place in numbers:
            if call.tensors[place].size != 1:
                refuse("graph/one-number", subject=f"input {place}", got=call.shape(place))
        return like(call, shape) * outputs

    return rule


def flag(call: Call) -> tuple[TensorSpec, ...]:
    """Return one bool."""
    return (TensorSpec("bool", ()),)


def float_status(call: Call) -> tuple[TensorSpec, ...]:
    """Return the status of the device, eight numbers as the input."""
    integers(call, 0, "the status")
    if call.shape() != (STATUS,):
        refuse("graph/shape", subject="status", expected=(STATUS,), got=call.shape())
    return like(call, call.shape())
