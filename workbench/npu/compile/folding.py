"""Constants that the compiler computes: what only weights go into is computed once, before the run.

Weights that are constants of the graph become new ones, called ``dynamic_const_{n}`` as in GE, and those that
are variables are kept as the only operator wants them that reads them. Feeds, and weights that the
framework updates itself, are never known to the compiler.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.graph.constants import literal
from workbench.graph.graph import Kernel, Param, Parameter, Value
from workbench.graph.rewrite import GraphBuilder, map_operands
from workbench.ops import bind, run_kernel
from workbench.run.executor import parameter_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from workbench.graph.graph import Graph, Op, Operand
    from workbench.npu.compile.program import Module
    from workbench.npu.numerics import NumericModel
    from workbench.npu.target import Target

    Array = NDArray[Any]

FOLDED = frozenset(("Cast", "TransData", "ConvBnFilterHost", "ConvBnBiasHost"))
"""Operators that the compiler computes itself, if it knows what goes in."""

_NUMBERED = re.compile(r"dynamic_const_(\d{1,9})", re.ASCII)


def chain(ops: Iterable[Op]) -> Kernel:
    """Return how a parameter is computed: operators in a row, whose ``Param`` are those of the network."""
    found = tuple(ops)
    return Kernel(found, (Value(len(found) - 1),))


def fold_constants(module: Module, target: Target) -> Module:
    """Return the graph without operators that the compiler computes, and how to compute its weights."""
    builder = _FoldingBuilder(module, target.weights)
    for number, op in enumerate(module.graph.ops):
        if op.op_type in FOLDED and builder.is_known(op):
            builder.fold(number, op)
        else:
            builder.keep(number)
    graph = builder.build()
    if target.weights == "Const":
        graph = drop_unused_constants(graph)
    return replace(module, graph=graph, constants=builder.constants)


class _FoldingBuilder(GraphBuilder):
    """A graph while operators become constants; ``constants`` says how these are computed."""

    def __init__(self, module: Module, weights: str) -> None:
        super().__init__(module.graph)
        self.constants = dict(module.constants)
        self._places = {one.name: index for index, one in enumerate(module.network.parameters)}
        self._weights = weights
        names = (_NUMBERED.fullmatch(name) for name in module.constants)
        self._next = max((int(found[1]) + 1 for found in names if found), default=0)

    def is_known(self, op: Op) -> bool:
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

    def fold(self, number: int, op: Op) -> None:
        """Put a constant in the place of an operator."""
        form = op.device_outputs[0].format if op.device_outputs else "DefaultFormat"
        spec = op.outputs[0]._replace(format=form)
        ops = self._chain(op)
        if self._weights == "Variable":
            (operand,) = (self.operand(one) for one in op.flat_inputs())
            assert isinstance(operand, Param)
            parameter = replace(self.parameters[operand.index], spec=spec, default=None)
            self.parameters[operand.index] = parameter
            self.put(Value(number), operand)
        else:
            parameter = Parameter(f"dynamic_const_{self._next}", spec, True, folded=True)
            self._next += 1
            self.put(Value(number), self.add_parameter(parameter))
        self.constants[parameter.name] = chain(ops)

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
        known = self.constants.get(name)
        if known is None:
            return Param(self._places[name])
        start = len(ops)

        def moved(one: Param | Value) -> Operand:
            return replace(one, op=one.op + start) if isinstance(one, Value) else one

        ops += [
            replace(op, inputs=tuple(map_operands(one, moved) for one in op.inputs))
            for op in known.ops
        ]
        return Value(len(ops) - 1)


def drop_unused_constants(graph: Graph) -> Graph:
    """Return the graph without weights that nothing reads; the numbers of parameters change."""
    read = set(graph.consumers) | set(graph.outputs)
    kept = [
        index
        for index, one in enumerate(graph.parameters)
        if not one.is_weight or Param(index) in read
    ]
    builder = GraphBuilder(graph)
    for new, old in enumerate(kept):
        builder.put(Param(old), Param(new))
    for number in range(len(graph.ops)):
        builder.keep(number)
    parameters = tuple(graph.parameters[index] for index in kept)
    return replace(builder.build(), parameters=parameters)


def computed_weights(
    network: Graph, feeds: Mapping[str, Any], constants: Mapping[str, Kernel], model: NumericModel
) -> dict[str, Array]:
    """Return the values of the parameters that the compiler has computed."""
    if not constants:
        return {}
    given = parameter_values(network, feeds)
    return {name: _value(one, given, model) for name, one in constants.items()}


def _value(kernel: Kernel, given: list[Array], model: NumericModel) -> Array:
    """Compute a chain in float32; every operator's result is rounded to its dtype."""
    values: list[Array] = []
    for op in kernel.ops:
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
    return values[kernel.results[0].op]
