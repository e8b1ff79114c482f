"""Reverse-mode differentiation: records the operators that compute gradients, as MindSpore adds them.

Every backward operator is in the scope ``Gradients/<scope of its forward operator>/Grad_<type>``,
has the forward operator's source lines as such, and its unique id as ``forward_id``. A value that is
read several times gets the sum of its gradients from an `AddN` in ``Gradients/<scope of the cell>``.
Nothing is computed that no weight asks for.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from workbench._values import NamedTuple
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.core.words import Message
from workbench.graph.graph import Const, Param, Value, at_operator
from workbench.graph.marks import is_marked
from workbench.network.symbolic import Parameter, Tensor, record, record_all, recorder
from workbench.network.tracer import ROOT
from workbench.ops import OPS, bind
from workbench.ops.gradient import Backward, NotDifferentiableError, not_differentiable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.graph.graph import Operand
    from workbench.network.tracer import Trace
    from workbench.ops.gradient import Entries


def gradients(
    loss: Tensor, weights: Sequence[Parameter | Tensor], sens: Tensor | float = 1.0
) -> tuple[Tensor, ...]:
    """Record the gradients of a loss and return one tensor for each weight.

    Parameters
    ----------
    loss : Tensor
        Of any shape; the gradient is that of its sum.
    weights : sequence of Parameter or Tensor
        What to differentiate by. One that the loss does not depend on gets zeros.
    sens : float or Tensor, optional
        Gradient of the loss itself (the scale of the loss), a number or a tensor of its shape.

    Raises
    ------
    GraphError
        The loss is no float, or depends on a weight through an operator without a gradient; the
        message names operator and source line.
    """
    trace = recorder("gradients")
    if not _is_float(loss.dtype):
        raise GraphError("graph/dtype-float", subject="loss", got=loss.dtype)
    wanted = [w.value if isinstance(w, Tensor) else trace.weight(w) for w in weights]
    flow = _Flow(trace, frozenset(wanted))
    flow.add(loss.value, _Part(_start(loss, sens), ROOT))
    for number in range(len(trace.ops) - 1, -1, -1):
        flow.through(number)
    flow.check()
    totals = [flow.total(operand) for operand in wanted]
    return tuple(
        record("ZerosLike", weight) if total is None else total
        for total, weight in zip(totals, weights, strict=True)
    )


def _start(loss: Tensor, sens: Tensor | float) -> Tensor:
    """Gradient of the loss by itself."""
    if isinstance(sens, Tensor):
        return sens
    if loss.shape == ():
        return Tensor(loss.spec, Const(float(sens), loss.dtype, ()))
    ones = record("OnesLike", loss)
    return ones if sens == 1 else record("Mul", ones, np.asarray(sens, loss.dtype))


def _is_float(dtype: str) -> bool:
    return "float" in dtype


class _Part(NamedTuple):
    """A gradient that one reader of a value, an operator of ``scope``, gives to it; ``marked`` as the reader is."""

    gradient: Tensor
    scope: str
    marked: bool = True


class _Flow:
    """Gradients on their way from the loss to the weights."""

    def __init__(self, trace: Trace, wanted: frozenset[Operand]) -> None:
        self._trace = trace
        self._parts: dict[Operand, list[_Part]] = {}
        self._active: set[Operand] = set(wanted)
        passed = (n for n, parameter in enumerate(trace.parameters) if parameter.captured)
        self._active |= set(map(Param, passed))  # weights may have had a part in them
        for number, op in enumerate(trace.ops):
            if any(operand in self._active for operand in op.flat_inputs()):
                self._active |= {
                    Value(number, slot)
                    for slot, spec in enumerate(op.outputs)
                    if _is_float(spec.dtype)
                }

    def check(self) -> None:
        """Raise GraphError if gradients have met what a loop or a choice results in."""
        for operand in self._parts:
            if isinstance(operand, Param) and self._trace.parameters[operand.index].captured:
                name = self._trace.parameters[operand.index].name.partition(":")[0]
                raise GraphError("graph/loss-control-flow", name=name)

    def add(self, operand: Operand, part: _Part) -> None:
        """Take note of a gradient that one reader gives to a value."""
        self._parts.setdefault(operand, []).append(part)

    def total(self, operand: Operand) -> Tensor | None:
        """Sum of the gradients of a value; ``None`` if it has none."""
        parts = self._parts.get(operand, ())
        if len(parts) < 2:
            return parts[0].gradient if parts else None
        scope = ROOT if isinstance(operand, Param) else _shared([one.scope for one in parts])
        tensors = tuple(one.gradient for one in reversed(parts))
        marked = all(one.marked for one in parts)
        with self._trace.gradient_sum(scope, marked=marked):
            total = record("AddN", tensors, n=len(tensors), N=len(tensors))
        self._parts[operand] = [_Part(total, scope, marked)]
        return total

    def through(self, number: int) -> None:
        """Hand the gradients of an operator's outputs on to its inputs."""
        op = self._trace.ops[number]
        values = [Value(number, slot) for slot in range(len(op.outputs))]
        if not any(value in self._active and value in self._parts for value in values):
            return
        bound = bind(op)
        if not any(operand in self._active for operand in bound.tensors):
            return
        back = Backward(
            op=op,
            inputs=tuple(self._tensor(operand) for operand in bound.tensors),
            outputs=tuple(self._tensor(value) for value in values),
            grads=tuple(self.total(value) for value in values),
            settings=bound.settings,
            record=record,
            record_all=record_all,
        )
        try:
            with self._trace.gradient_of(number):
                for operand, entry in zip(bound.tensors, _entries(back), strict=True):
                    if entry is not None and operand in self._active:
                        gradient = cast("Tensor", entry())
                        self.add(operand, _Part(gradient, op.scope, is_marked(op)))
        except NotDifferentiableError as error:
            raise at_operator(error, op) from error

    def _tensor(self, operand: Operand) -> Tensor:
        """Return the value that an operand stands for."""
        if isinstance(operand, Value):
            spec = self._trace.ops[operand.op].outputs[operand.slot]
        elif isinstance(operand, Param):
            spec = self._trace.parameters[operand.index].spec
        else:
            constant: Any = operand
            spec = TensorSpec(constant.dtype, constant.shape)
        return Tensor(spec, operand)


def _entries(back: Backward) -> Entries:
    """What the operator's rule says."""
    row = OPS.get(back.op.op_type)
    if row is None or row.gradient is None:
        not_differentiable(back.op.op_type, Message("graph/grad-unknown"))
    return row.gradient(back)


def _shared(scopes: Sequence[str]) -> str:
    """Scope of the cell that all scopes are within: ``Default/a`` for ``Default/a/b``, ``Default/a``."""
    parts = [scope.split("/") for scope in scopes]
    common = takewhile(lambda names: len(set(names)) == 1, zip(*parts, strict=False))
    return "/".join(names[0] for names in common) or ROOT
