"""Constants that the compiler computes: what only weights go into is computed once, before the run.

Where weights are constants of the graph, every operator that reads nothing else is computed by the host, in the
precision of its tensors, as GE's ``ConstantFoldingPass`` does; so are the conversions of weights that the compiler
inserts later. The results are constants called ``dynamic_const_{n}``, as in GE. Weights that are variables are
kept as the only operator wants them that reads them. Feeds, and weights that the framework updates itself, are
never known to the compiler.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import GraphError
from workbench.graph.graph import Const, Graph, Kernel, Param, Parameter, Value
from workbench.graph.rewrite import GraphBuilder, map_operands
from workbench.npu.arithmetic import store
from workbench.npu.compile.provenance import HCOM
from workbench.ops import OPS, bind, run_kernel
from workbench.ops.compile_time import gives_other_each_time
from workbench.run.executor import compute_planned, parameter_values
from workbench.run.plan import plan_execution

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from workbench.core.tensors import TensorSpec
    from workbench.graph.graph import Op, Operand
    from workbench.npu.compile.program import Module
    from workbench.npu.numerics import NumericModel
    from workbench.npu.target import Target
    from workbench.run.plan import ExecutionPlan, PlannedOp

    Array = NDArray[Any]

FOLDED = frozenset(("Cast", "TransData", "ConvBnFilterHost", "ConvBnBiasHost"))
"""Operators of the compiler's own that it computes itself, if it knows what goes in; it rounds as the device does."""

_QUANTIZING = frozenset(("AscendAntiQuant", "AscendDequant", "AscendQuant"))
"""Operators of quantization: GE marks that they are not folded, so that weights stay integers."""

_NUMBERED = re.compile(r"dynamic_const_(\d{1,9})", re.ASCII)


def chain(ops: Iterable[Op]) -> Kernel:
    """Return how a parameter is computed: operators in a row, whose ``Param`` are those of the network."""
    found = tuple(ops)
    return Kernel(found, (Value(len(found) - 1),))


def fold_operators(module: Module, target: Target) -> Module:
    """Return the graph without the operators of the network that read constants alone, and how to compute them.

    What gives a result of the network stays, and what has no kernel, draws at random or does something besides.
    """
    graph = module.graph
    builder = _FoldingBuilder(module, target.weights)
    staying = {one.op for one in graph.outputs if isinstance(one, Value)}
    staying |= {graph.by_name[op.unless] for op in graph.ops if op.unless in graph.by_name}
    for number, op in enumerate(graph.ops):
        if number not in staying and builder.is_constant(op) and _is_computed_by_host(op):
            builder.fold(number, op)
        else:
            builder.keep(number)
    return builder.module(module)


def _is_computed_by_host(op: Op) -> bool:
    """Whether an operator is a function of its tensors, and has some: GE folds none that reads nothing."""
    known = op.op_type in OPS and op.fused is None and op.op_type not in HCOM.keys() | _QUANTIZING
    if not known or gives_other_each_time(op) or not op.outputs:
        return False
    try:
        return bool(bind(op).tensors)
    except GraphError:
        return False


def fold_constants(module: Module, target: Target) -> Module:
    """Return the graph without conversions that the compiler computes, and how to compute its weights."""
    builder = _FoldingBuilder(module, target.weights)
    for number, op in enumerate(module.graph.ops):
        if op.op_type in FOLDED and builder.is_known(op):
            builder.fold(number, op)
        else:
            builder.keep(number)
    return builder.module(module)


class _FoldingBuilder(GraphBuilder):
    """A graph while operators become constants; ``constants`` says how these are computed."""

    def __init__(self, module: Module, weights: str) -> None:
        super().__init__(module.graph)
        self.constants = dict(module.constants)
        self.folded = set(module.folded)
        self._places = {one.name: index for index, one in enumerate(module.network.parameters)}
        self._weights = weights
        names = (_NUMBERED.fullmatch(name) for name in module.constants)
        self._next = max((int(found[1]) + 1 for found in names if found), default=0)

    def module(self, old: Module) -> Module:
        """Return the module with the graph as it is now, without constants that nothing reads."""
        graph = self.build()
        if self._weights == "Const":
            graph = drop_unused_constants(graph)
        return replace(old, graph=graph, constants=self.constants, folded=frozenset(self.folded))

    def is_constant(self, op: Op) -> bool:
        """Whether an operator reads constants of the graph alone, and at least one."""
        operands = [self.operand(operand) for operand in op.flat_inputs()]
        params = [operand for operand in operands if isinstance(operand, Param)]
        return (
            self._weights == "Const"
            and bool(params)
            and all(isinstance(operand, Param | Const) for operand in operands)
            and all(self.parameters[operand.index].is_weight for operand in params)
        )

    def is_known(self, op: Op) -> bool:
        """Whether the compiler knows all that goes into an operator."""
        if self._weights != "Variable":
            return self.is_constant(op)
        operands = [self.operand(operand) for operand in op.flat_inputs()]
        if len(operands) != 1 or not isinstance(operands[0], Param):
            return False
        index = operands[0].index
        return self.parameters[index].is_weight and self._is_alone(index)

    def _is_alone(self, index: int) -> bool:
        """Whether one operator alone reads a parameter."""
        readers = self.old.consumers.get(Param(index), [])
        return len(readers) == 1 and Param(index) not in self.old.outputs

    def fold(self, number: int, op: Op) -> None:
        """Put constants in the place of an operator, one for each output that something reads."""
        self.folded.add(op.name)
        row = RowBuilder()
        last = row.add(replace(op, inputs=tuple(self._source(one, row) for one in self.inputs(op))))
        for slot, spec in enumerate(op.outputs):
            value = Value(number, slot)
            if value not in self.old.consumers and value not in self.old.outputs:
                continue
            form = op.device_outputs[slot].format if op.device_outputs else "DefaultFormat"
            parameter = self._put(value, op, spec._replace(format=form))
            self.constants[parameter.name] = Kernel(tuple(row.ops), (Value(last, slot),))

    def _put(self, value: Value, op: Op, spec: TensorSpec) -> Parameter:
        """Let a parameter stand for a value: the only one that its operator reads, or a new one."""
        if self._weights == "Variable":
            (operand,) = (self.operand(one) for one in op.flat_inputs())
            assert isinstance(operand, Param)
            parameter = replace(self.parameters[operand.index], spec=spec, default=None)
            self.parameters[operand.index] = parameter
            self.put(value, operand)
        else:
            parameter = Parameter(f"dynamic_const_{self._next}", spec, True, folded=True)
            self._next += 1
            self.put(value, self.add_parameter(parameter))
        return parameter

    def _source(self, operand: Operand, row: RowBuilder) -> Operand:
        """Return an operand in a row of operators, behind those that compute it."""

        def source(one: Param | Value) -> Operand:
            assert isinstance(one, Param)
            name = self.parameters[one.index].name
            known = self.constants.get(name)
            return Param(self._places[name]) if known is None else row.take(known)

        return map_operands(operand, source)


class RowBuilder:
    """Operators of several kernels in a row, each of them once; ``Param`` are the parameters of the network."""

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self._numbers: dict[str, int] = {}

    def add(self, op: Op) -> int:
        """Append an operator, unless it is there; return its number."""
        number = self._numbers.get(op.name, -1) if op.name else -1
        if number >= 0:
            there = self.ops[number]
            if (there.op_type, there.inputs) == (op.op_type, op.inputs):
                return number
        self.ops.append(op)
        self._numbers[op.name] = len(self.ops) - 1
        return len(self.ops) - 1

    def take(self, kernel: Kernel) -> Value:
        """Append the operators of a kernel that computes one constant; return what that is here."""
        numbers: list[int] = []

        def moved(one: Param | Value) -> Operand:
            return replace(one, op=numbers[one.op]) if isinstance(one, Value) else one

        for op in kernel.ops:
            inputs = tuple(map_operands(one, moved) for one in op.inputs)
            numbers.append(self.add(replace(op, inputs=inputs)))
        (result,) = kernel.results
        return Value(numbers[result.op], result.slot)


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
    row = RowBuilder()
    results = {name: row.take(kernel) for name, kernel in constants.items()}
    graph = Graph(network.name, network.parameters, tuple(row.ops), tuple(results.values()))
    values = _values(plan_execution(graph), parameter_values(network, feeds), model)
    return {name: values[result] for name, result in results.items()}


def _values(plan: ExecutionPlan, given: Sequence[Array], model: NumericModel) -> dict[Value, Array]:
    """Compute operators in their order; keep the outputs of the graph, and others until they are read."""
    values: dict[Value, Array] = {}
    left = Counter(value for planned in plan.ops for _, value in planned.produced)
    left.update(one for one in plan.graph.outputs if isinstance(one, Value))
    for number, planned in enumerate(plan.ops):
        arrays = list(planned.constants)
        for slot, value in planned.produced:
            arrays[slot] = values[value]
        for slot, index in planned.parameters:
            arrays[slot] = given[index]
        outputs = compute_planned(planned, arrays, partial(_compute, model=model))
        for slot, output in enumerate(outputs):
            if left[Value(number, slot)]:
                values[Value(number, slot)] = output
        for _, value in planned.produced:
            left[value] -= 1
            if not left[value]:
                del values[value]
    return values


def _compute(
    planned: PlannedOp,
    tensors: Sequence[Array],
    settings: Mapping[str, Any],
    *,
    model: NumericModel,
) -> list[Array]:
    """Compute an operator in float32, or in float64 if its tensors are that; round its outputs to their dtypes."""
    op = planned.op
    saturates = model.saturates and op.op_type in FOLDED
    wide = [one.astype(np.float32) if _is_narrow(one) else one for one in tensors]
    with np.errstate(all="ignore"):
        results = run_kernel(op.op_type, wide, settings)
        pairs = zip(results, op.outputs, strict=False)
        return [store(result, spec.dtype, saturates) for result, spec in pairs]


def _is_narrow(array: Array) -> bool:
    """Whether elements are floats of fewer than 32 bits, as NumPy or ml_dtypes has them."""
    return array.dtype.kind in "fV" and array.dtype not in (np.float32, np.float64)
