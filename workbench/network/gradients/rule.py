"""What a gradient rule is, and what most of them are made of.

A rule is given an operator with its values and the gradients of its outputs. It returns one entry
for every tensor argument (tuples unfolded), in order: a function that records that gradient, called
only if it is wanted, or ``None`` where the gradient is 0 wherever it exists (`Floor`) or means
nothing (indices). Operators, order of arguments and attributes are those that MindSpore 2.10 adds;
what its CPU backend takes apart (`SumExt`, `Muls`, `SoftmaxBackward`) is recorded in its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from workbench.core.errors import GraphError
from workbench.core.words import Message
from workbench.graph.graph import Const
from workbench.network.symbolic import Tensor, record, record_all

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.graph.graph import Op

Entry = Callable[[], Tensor] | None
Entries = Sequence[Entry]


@dataclass(frozen=True, slots=True)
class Backward:
    """An operator whose gradient is being recorded.

    ``inputs`` are its tensor arguments, tuples unfolded. ``grads`` are the gradients of its
    outputs, ``None`` where nothing depends on one.
    """

    op: Op
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    grads: tuple[Tensor | None, ...]
    settings: Mapping[str, Any]

    @property
    def x(self) -> Tensor:
        """First input."""
        return self.inputs[0]

    @property
    def out(self) -> Tensor:
        """First output."""
        return self.outputs[0]

    @property
    def dout(self) -> Tensor:
        """Gradient of the first output."""
        return self.grad(0)

    def grad(self, slot: int) -> Tensor:
        """Gradient of an output, zeros where nothing depends on it."""
        found = self.grads[slot]
        return record("ZerosLike", self.outputs[slot]) if found is None else found


Rule = Callable[[Backward], Entries]


def flat(b: Backward) -> Entries:
    """Rule of an operator whose outputs do not follow its inputs: steps, places, comparisons."""
    return (None,) * len(b.inputs)


def unary(gradient: Callable[[Backward], Tensor]) -> Rule:
    """Rule of an operator with one tensor argument."""
    return lambda b: (lambda: gradient(b),)


def own(op_type: str, arguments: str, *settings: str) -> Rule:
    """Rule of an operator with a gradient operator of its own for its only tensor argument.

    ``arguments`` are the latter's: ``x`` the input, ``out`` the output, ``dout`` its gradient.
    """

    def gradient(b: Backward) -> Tensor:
        operands = [getattr(b, name) for name in arguments.split()]
        return record(op_type, *operands, *(b.settings[name] for name in settings))

    return unary(gradient)


def several(
    count: int, op_type: str, operands: Callable[[], Sequence[Any]], **attrs: Any
) -> Entries:
    """Entries of an operator whose gradients are all computed by one, recorded if one is wanted."""
    outputs = cache(lambda: record_all(op_type, *operands(), **attrs))
    return tuple(_output(outputs, slot) for slot in range(count))


def _output(outputs: Callable[[], Sequence[Tensor]], slot: int) -> Entry:
    return lambda: outputs()[slot]


class NotDifferentiableError(GraphError):
    """A gradient is asked for that an operator does not have; ``why`` says why."""


def undefined(op_type: str, why: Message) -> NoReturn:
    """Refuse a gradient that is asked for."""
    raise NotDifferentiableError("graph/no-gradient", type=op_type, why=why)


def number(value: float, like: Tensor) -> np.ndarray[Any, Any]:
    """Return a constant in the dtype of a tensor."""
    return np.asarray(value, like.dtype)


def is_one(tensor: Any) -> bool:
    """Whether a tensor is the constant 1, as the gradient of a loss by itself is."""
    return isinstance(tensor, Tensor) and tensor.value == Const(1.0, tensor.dtype, ())


def times(x: Any, y: Any) -> Tensor:
    """Product; nothing is recorded where one factor is the constant 1."""
    if is_one(x) or is_one(y):
        return y if is_one(x) else x  # type: ignore[no-any-return]
    return record("Mul", x, y)


def sum_to(grad: Tensor, like: Tensor) -> Tensor:
    """Sum a gradient over the axes along which an input was stretched."""
    extra = grad.ndim - like.ndim
    axes = tuple(
        axis
        for axis, size in enumerate(grad.shape)
        if axis < extra or like.shape[axis - extra] != size
    )
    if axes and (extra <= 0 or axes[-1] < extra):
        return record("ReduceSum", grad, axes, extra == 0, False)
    if axes:
        grad = record("ReduceSum", grad, axes, False, False)
    return reshaped(grad, like.shape)


def reshaped(tensor: Tensor, shape: Sequence[int]) -> Tensor:
    """Return a tensor in another shape; nothing is recorded if it has that already."""
    return tensor if tensor.shape == tuple(shape) else record("Reshape", tensor, tuple(shape))


def stretched(tensor: Tensor, shape: Sequence[int]) -> Tensor:
    """Return a tensor broadcast to a shape; nothing is recorded if it has that already."""
    return tensor if tensor.shape == tuple(shape) else record("BroadcastTo", tensor, tuple(shape))
