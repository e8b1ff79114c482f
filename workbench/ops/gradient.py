"""What a gradient rule is, and what most of them are made of.

A rule is given an operator with its values and the gradients of its outputs. It returns one entry
for every tensor argument (tuples unfolded), in order: a function that records that gradient, called
only if it is wanted, or ``None`` where the gradient is 0 wherever it exists (`Floor`) or means
nothing (indices). Operators, order of arguments and attributes are those that MindSpore 2.10 adds;
what its CPU backend takes apart (`SumExt`, `Muls`, `SoftmaxBackward`) is recorded in its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np

from workbench._values import dataclass
from workbench.core.errors import GraphError
from workbench.core.words import Message
from workbench.graph.graph import Const

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.graph.graph import Op, Operand


class Symbol(Protocol):
    """A tensor of a network that is being recorded: known by dtype and shape, without elements."""

    @property
    def dtype(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def value(self) -> Operand: ...
    def __getitem__(self, index: Any) -> Any: ...


Entry = Callable[[], Symbol] | None
Entries = Sequence[Entry]


@dataclass(frozen=True, slots=True)
class Backward:
    """An operator whose gradient is being recorded.

    ``inputs`` are its tensor arguments, tuples unfolded. ``grads`` are the gradients of its
    outputs, ``None`` where nothing depends on one. ``record`` adds an operator to the network and
    returns its first output, ``record_all`` returns all of them.
    """

    op: Op
    inputs: tuple[Symbol, ...]
    outputs: tuple[Symbol, ...]
    grads: tuple[Symbol | None, ...]
    settings: Mapping[str, Any]
    record: Callable[..., Symbol]
    record_all: Callable[..., Sequence[Symbol]]

    @property
    def x(self) -> Symbol:
        """First input."""
        return self.inputs[0]

    @property
    def out(self) -> Symbol:
        """First output."""
        return self.outputs[0]

    @property
    def dout(self) -> Symbol:
        """Gradient of the first output."""
        return self.grad(0)

    def grad(self, slot: int) -> Symbol:
        """Gradient of an output, zeros where nothing depends on it."""
        found = self.grads[slot]
        return self.record("ZerosLike", self.outputs[slot]) if found is None else found

    def times(self, x: Any, y: Any) -> Symbol:
        """Product; nothing is recorded where one factor is the constant 1."""
        if is_one(x) or is_one(y):
            one: Symbol = y if is_one(x) else x
            return one
        return self.record("Mul", x, y)

    def sum_to(self, grad: Symbol, like: Symbol) -> Symbol:
        """Sum a gradient over the axes along which an input was stretched."""
        extra = grad.ndim - like.ndim
        axes = tuple(
            axis
            for axis, size in enumerate(grad.shape)
            if axis < extra or like.shape[axis - extra] != size
        )
        if axes and (extra <= 0 or axes[-1] < extra):
            return self.record("ReduceSum", grad, axes, extra == 0, False)
        if axes:
            grad = self.record("ReduceSum", grad, axes, False, False)
        return self.reshaped(grad, like.shape)

    def reshaped(self, tensor: Symbol, shape: Sequence[int]) -> Symbol:
        """Return a tensor in another shape; nothing is recorded if it has that already."""
        same = tensor.shape == tuple(shape)
        return tensor if same else self.record("Reshape", tensor, tuple(shape))

    def stretched(self, tensor: Symbol, shape: Sequence[int]) -> Symbol:
        """Return a tensor broadcast to a shape; nothing is recorded if it has that already."""
        same = tensor.shape == tuple(shape)
        return tensor if same else self.record("BroadcastTo", tensor, tuple(shape))

    def multi_output_gradient(
        self, count: int, op_type: str, operands: Callable[[], Sequence[Any]], **attrs: Any
    ) -> Entries:
        """Entries of an operator whose gradients are all computed by one, recorded if one is wanted."""
        outputs = cache(lambda: self.record_all(op_type, *operands(), **attrs))
        return tuple(_output(outputs, slot) for slot in range(count))


GradientRule = Callable[[Backward], Entries]


def _output(outputs: Callable[[], Sequence[Symbol]], slot: int) -> Entry:
    return lambda: outputs()[slot]


def zero_gradient(b: Backward) -> Entries:
    """Rule of an operator whose outputs do not follow its inputs: steps, places, comparisons."""
    return (None,) * len(b.inputs)


def input_gradient(gradient: Callable[[Backward], Symbol]) -> GradientRule:
    """Rule of an operator with one tensor argument."""
    return lambda b: (lambda: gradient(b),)


def backward_op(op_type: str, arguments: str, *settings: str) -> GradientRule:
    """Rule of an operator with a gradient operator of its own for its only tensor argument.

    ``arguments`` are the latter's: ``x`` the input, ``out`` the output, ``dout`` its gradient.
    """

    def gradient(b: Backward) -> Symbol:
        operands = [getattr(b, name) for name in arguments.split()]
        return b.record(op_type, *operands, *(b.settings[name] for name in settings))

    return input_gradient(gradient)


class NotDifferentiableError(GraphError):
    """A gradient is asked for that an operator does not have; ``why`` says why."""


def not_differentiable(op_type: str, why: Message) -> NoReturn:
    """Refuse a gradient that is asked for."""
    raise NotDifferentiableError("graph/no-gradient", type=op_type, why=why)


def number(value: float, like: Symbol) -> np.ndarray[Any, Any]:
    """Return a constant in the dtype of a tensor."""
    return np.asarray(value, like.dtype)


def is_one(tensor: Any) -> bool:
    """Whether a tensor is the constant 1, as the gradient of a loss by itself is."""
    return getattr(tensor, "value", None) == Const(1.0, getattr(tensor, "dtype", ""), ())
