"""The plan of an execution: what a run needs to know of a graph, found out once for all of its iterations.

Steps of a training run the same graph again and again: whoever runs them makes the plan and hands it in.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.core.errors import GraphError
from workbench.graph.constants import constant
from workbench.graph.graph import Const, Param, Value
from workbench.ops import Bound, bind, in_place_outputs, written

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from workbench.graph.graph import Graph, Op, Operand

    Array = NDArray[Any]

_WIDEST = 8
"""Bytes of an element while it is computed: in float64, or as integer."""


@dataclass(frozen=True, slots=True)
class PlannedOp:
    """An operator, taken apart. Slots are those of its flat inputs.

    Attributes
    ----------
    dtypes : tuple of str
        What the graph says of every input; ``""`` for constants and inside a fused operator.
    constants : tuple of array or None
        Constants by slot; ``None`` for text and elsewhere. They cannot be written.
    produced : tuple of (slot, Value)
        Inputs that are outputs of other operators.
    parameters : tuple of (slot, index)
    tensors : tuple of slots
        Those that a kernel reads as tensors; none of a fused operator.
    operands : tuple of Operand
        What the graph has there.
    settings : mapping
        What a kernel is told; nothing of a fused operator.
    computed : tuple of (name, slot)
        Settings that are inputs which the run computes.
    written : tuple of slots
        Inputs that it overwrites.
    shared : mapping of output slot to slot
        Outputs that are nothing but an overwritten input.
    parts : tuple of PlannedOp
        The operators inside a fused one, in their order.
    """

    op: Op
    dtypes: tuple[str, ...]
    constants: tuple[Array | None, ...]
    produced: tuple[tuple[int, Value], ...]
    parameters: tuple[tuple[int, int], ...]
    tensors: tuple[int, ...]
    operands: tuple[Operand, ...]
    settings: Mapping[str, Any]
    computed: tuple[tuple[str, int], ...]
    written: tuple[int, ...]
    shared: Mapping[int, int]
    parts: tuple[PlannedOp, ...]


@dataclass(frozen=True, slots=True)
class ExecutionPlan:
    """The operators of a graph as they run, in order.

    ``reads`` says how often every output is read, by operator and slot; ``predicates`` are the operators whose
    results leave others out.
    """

    graph: Graph
    ops: tuple[PlannedOp, ...]
    reads: tuple[tuple[int, ...], ...]
    predicates: tuple[str, ...]


def plan_execution(graph: Graph) -> ExecutionPlan:
    """Return the plan of a graph; raises GraphError for one that no machine can run."""
    if graph.subgraphs:
        raise GraphError("run/control-flow", graph=graph.name)
    _check_sizes(graph)
    predicates = _predicates(graph)
    counts = Counter({value: len(readers) for value, readers in graph.consumers.items()})
    reads = (
        tuple(counts[Value(number, slot)] for slot in range(len(op.outputs)))
        for number, op in enumerate(graph.ops)
    )
    ops = tuple(_planned(op, _dtypes(graph, op)) for op in graph.ops)
    return ExecutionPlan(graph, ops, tuple(reads), predicates)


def _planned(op: Op, dtypes: tuple[str, ...]) -> PlannedOp:
    operands = list(op.flat_inputs())
    bound = bind(op) if op.fused is None else Bound((), (), {})
    inside = () if op.fused is None else op.fused.ops
    slots = list(enumerate(operands))
    asked = [(name, one) for name, one in bound.settings.items() if isinstance(one, Value | Param)]
    return PlannedOp(
        op,
        dtypes,
        constants=tuple(_constant(operand, op) for operand in operands),
        produced=tuple((slot, one) for slot, one in slots if isinstance(one, Value)),
        parameters=tuple((slot, one.index) for slot, one in slots if isinstance(one, Param)),
        tensors=bound.slots,
        operands=bound.tensors,
        settings=bound.settings,
        computed=tuple((name, operands.index(one)) for name, one in asked),
        written=written(op),
        shared=in_place_outputs(op),
        parts=tuple(_planned(one, ()) for one in inside),
    )


def _dtypes(graph: Graph, op: Op) -> tuple[str, ...]:
    return tuple(stated_dtype(graph, operand) for operand in op.flat_inputs())


def _constant(operand: Operand, op: Op) -> Array | None:
    if isinstance(operand, Const):
        found = constant(operand)
        if found is not None:
            found = found.view()
            found.flags.writeable = False  # every iteration hands it out again
        return found
    if isinstance(operand, Value | Param):
        return None
    raise GraphError("run/operand", op=op.name, got=operand)


def stated_dtype(graph: Graph, operand: Operand) -> str:
    """Dtype that the graph gives an operand."""
    spec = graph.spec(operand) if isinstance(operand, Value | Param) else None
    return "" if spec is None else spec.dtype


def _check_sizes(graph: Graph) -> None:
    """Raise GraphError for an output that no memory of this machine can hold while it is computed."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for op in graph.ops:
        for spec in op.outputs:
            if spec.size is not None and spec.size * _WIDEST > memory:
                raise GraphError(
                    "run/output-memory",
                    op=op.name,
                    type=op.op_type,
                    dtype=spec.dtype,
                    shape=spec.shape,
                    memory=memory,
                )


def _predicates(graph: Graph) -> tuple[str, ...]:
    """Names of the operators whose results leave others out.

    Raises GraphError if one is not there, or if an operator that always runs reads one that may not.
    """
    found = tuple(dict.fromkeys(op.unless for op in graph.ops if op.unless))
    for name in found:
        graph.op(name)
    if found:
        for op in graph.ops:
            for operand in op.flat_inputs():
                if isinstance(operand, Value):
                    before = graph.ops[operand.op]
                    if before.unless not in ("", op.unless):
                        raise GraphError(
                            "run/reads-skipped", op=op.name, read=before.name, got=op.unless
                        )
    return found
