"""Constants that the compiler computes: what only weights go into is computed once, before the run.

Weights that are constants of the graph become new ones, called ``dynamic_const_{n}`` as in GE, and those that
are variables are kept as the only operator wants them that reads them. Feeds, and weights that the
framework updates itself, are never known to the compiler.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.graph.constants import literal
from workbench.graph.graph import Param, Parameter, Value
from workbench.graph.rewrite import Rewrite
from workbench.ops import bind, run_kernel
from workbench.run.executor import parameter_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from workbench.graph.graph import Graph, Op, Operand
    from workbench.npu.numerics import NumericModel

    Array = NDArray[Any]

FOLDED = frozenset(("Cast", "TransData", "ConvBnFilterHost", "ConvBnBiasHost"))
"""Operators that the compiler computes itself, if it knows what goes in."""

_NUMBERED = re.compile(r"dynamic_const_(\d{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Folded:
    """How a parameter is computed: operators in a row, whose ``Param`` are those of the network."""

    ops: tuple[Op, ...]


def fold(
    graph: Graph, source: Graph, known: Mapping[str, Folded], weights: str
) -> tuple[Graph, dict[str, Folded]]:
    """Return the graph without operators that the compiler computes, and how to compute its weights.

    ``source`` is the network, ``known`` parameters that are computed already, ``weights`` the type of
    the operators that hold weights.
    """
    folding = _Folding(graph, source, known, weights)
    return folding.graph(), folding.folded


class _Folding(Rewrite):
    def __init__(
        self, old: Graph, source: Graph, known: Mapping[str, Folded], weights: str
    ) -> None:
        super().__init__(old)
        self.folded = dict(known)
        self._places = {one.name: index for index, one in enumerate(source.parameters)}
        self._weights = weights
        names = (_NUMBERED.fullmatch(name) for name in known)
        self._next = max((int(found[1]) + 1 for found in names if found), default=0)
        for number, op in enumerate(old.ops):
            if op.op_type in FOLDED and self._is_known(op):
                self._fold(number, op)
            else:
                self.keep(number)

    def _is_known(self, op: Op) -> bool:
        """Whether the compiler knows all that goes into an operator."""
        operands = [self.operand(operand) for operand in op.flat_inputs()]
        params = [operand.index for operand in operands if isinstance(operand, Param)]
        if not params or any(isinstance(operand, Value) for operand in operands):
            return False
        if not all(self.parameters[index].is_weight for index in params):
            return False
        if self._weights == "Const":
            return True
        return self._weights == "Variable" and len(operands) == 1 and self._is_alone(params[0])

    def _is_alone(self, index: int) -> bool:
        """Whether one operator alone reads a parameter."""
        readers = self.old.consumers.get(Param(index), [])
        return len(readers) == 1 and Param(index) not in self.old.outputs

    def _fold(self, number: int, op: Op) -> None:
        form = op.device_outputs[0].format if op.device_outputs else "DefaultFormat"
        spec = op.outputs[0]._replace(format=form)
        chain = self._chain(op)
        if self._weights == "Variable":
            (operand,) = (self.operand(one) for one in op.flat_inputs())
            assert isinstance(operand, Param)
            parameter = replace(self.parameters[operand.index], spec=spec, default=None)
            self.parameters[operand.index] = parameter
            self.put(Value(number), operand)
        else:
            parameter = Parameter(f"dynamic_const_{self._next}", spec, True, made=True)
            self._next += 1
            self.put(Value(number), self.parameter(parameter))
        self.folded[parameter.name] = Folded(chain)

    def _chain(self, op: Op) -> tuple[Op, ...]:
        """Operators that compute a constant from the network's own weights."""
        ops: list[Op] = []
        inputs = tuple(self._source(self.operand(operand), ops) for operand in op.inputs)
        return (*ops, replace(op, inputs=inputs))

    def _source(self, operand: Operand, ops: list[Op]) -> Operand:
        """Return an operand in a chain, behind the operators that compute it."""
        if not isinstance(operand, Param):
            return operand
        name = self.parameters[operand.index].name
        known = self.folded.get(name)
        if known is None:
            return Param(self._places[name])
        start = len(ops)
        ops += [
            replace(op, inputs=tuple(_moved(one, start) for one in op.inputs)) for op in known.ops
        ]
        return Value(len(ops) - 1)


def _moved(operand: Operand, start: int) -> Operand:
    return replace(operand, op=operand.op + start) if isinstance(operand, Value) else operand


def unread(graph: Graph, weights: str) -> Graph:
    """Return the graph without constants that nothing reads; their numbers change."""
    if weights != "Const":
        return graph
    read = set(graph.consumers) | set(graph.outputs)
    kept = [
        index
        for index, one in enumerate(graph.parameters)
        if not one.is_weight or Param(index) in read
    ]
    new = {Param(old): Param(index) for index, old in enumerate(kept)}
    renamed = _Renamed(graph, new)
    return replace(renamed.graph(), parameters=tuple(graph.parameters[index] for index in kept))


class _Renamed(Rewrite):
    """The graph with parameters under other numbers."""

    def __init__(self, old: Graph, new: Mapping[Param, Param]) -> None:
        super().__init__(old)
        self._new = new
        for number in range(len(old.ops)):
            self.keep(number)

    def operand(self, old: Operand) -> Operand:
        return self._new[old] if isinstance(old, Param) else super().operand(old)


def computed_weights(
    source: Graph, feeds: Mapping[str, Any], folded: Mapping[str, Folded], model: NumericModel
) -> dict[str, Array]:
    """Return the values of the parameters that the compiler has computed."""
    if not folded:
        return {}
    given = parameter_values(source, feeds)
    return {name: _value(one, given, model) for name, one in folded.items()}


def _value(folded: Folded, given: list[Array], model: NumericModel) -> Array:
    """Compute a chain in float32; every operator's result is rounded to its dtype."""
    values: list[Array] = []
    for op in folded.ops:
        bound = bind(op)
        tensors = []
        for operand in bound.tensors:
            if isinstance(operand, Value):
                array = values[operand.op]
            elif isinstance(operand, Param):
                array = given[operand.index]
            else:
                array = literal(operand)
            tensors.append(array.astype(np.float32) if array.dtype.kind in "fV" else array)
        with np.errstate(all="ignore"):
            (result,) = run_kernel(op.op_type, tensors, bound.settings)
            values.append(model.store(result, op.outputs[0].dtype))
    return values[-1]
