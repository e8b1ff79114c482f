"""What a run needs to know of the operators of a graph, found once and kept as long as the graph is.

Steps of a training run the same graph again and again.
"""

from __future__ import annotations

import os
import weakref
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.core.errors import GraphError
from workbench.graph.constants import constant
from workbench.graph.graph import Const, Param, Value
from workbench.ops import bind, left_in, written

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from workbench.graph.graph import Graph, Op, Operand

    Array = NDArray[Any]

_WIDEST = 8
"""Bytes of an element while it is computed: in float64, or as integer."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """An operator, taken apart. Slots are those of its flat inputs.

    Attributes
    ----------
    dtypes : tuple of str
        What the graph says of every input; ``""`` for constants.
    constants : tuple of array or None
        Constants by slot; ``None`` for text and elsewhere.
    produced : tuple of (slot, Value)
        Inputs that are outputs of other operators.
    parameters : tuple of (slot, index)
    tensors : tuple of slots
        Those that a kernel reads as tensors.
    settings : mapping
        What a kernel is told.
    computed : tuple of (name, slot)
        Settings that are inputs which the run computes.
    places : tuple of slots
        Inputs that it overwrites.
    shared : mapping of output slot to slot
        Outputs that are nothing but an overwritten input.
    """

    dtypes: tuple[str, ...]
    constants: tuple[Array | None, ...]
    produced: tuple[tuple[int, Value], ...]
    parameters: tuple[tuple[int, int], ...]
    tensors: tuple[int, ...]
    settings: Mapping[str, Any]
    computed: tuple[tuple[str, int], ...]
    places: tuple[int, ...]
    shared: Mapping[int, int]


class Preparation:
    """The operators of a graph, each prepared when it runs for the first time.

    ``reads`` says how often every output is read, by operator and slot; ``flags`` are the operators whose
    results leave others out. Raises GraphError for a graph that no machine can run.
    """

    def __init__(self, graph: Graph) -> None:
        _check_sizes(graph)
        self.flags = _flags(graph)
        self._ops: list[Prepared | None] = [None] * len(graph.ops)
        counts = Counter({value: len(readers) for value, readers in graph.consumers.items()})
        self.reads = [
            [counts[Value(number, slot)] for slot in range(len(op.outputs))]
            for number, op in enumerate(graph.ops)
        ]

    def op(self, graph: Graph, number: int) -> Prepared:
        """Return an operator of the graph; raises GraphError for operands that no run can read."""
        found = self._ops[number]
        if found is None:
            found = self._ops[number] = _prepared(graph, graph.ops[number])
        return found


_KEPT: dict[int, Preparation] = {}


def preparation(graph: Graph) -> Preparation:
    """Return the preparation of a graph, which ends with it."""
    found = _KEPT.get(id(graph))
    if found is None:
        found = _KEPT[id(graph)] = Preparation(graph)
        weakref.finalize(graph, _KEPT.pop, id(graph), None)
    return found


def _prepared(graph: Graph, op: Op) -> Prepared:
    operands = list(op.flat_inputs())
    tensors, settings = tuple[int, ...](), dict[str, Any]()
    if op.fused is None:
        _, tensors, settings = bind(op)
    slots = list(enumerate(operands))
    return Prepared(
        tuple(stated_dtype(graph, operand) for operand in operands),
        tuple(_constant(operand, op) for operand in operands),
        tuple((slot, operand) for slot, operand in slots if isinstance(operand, Value)),
        tuple((slot, operand.index) for slot, operand in slots if isinstance(operand, Param)),
        tensors,
        settings,
        tuple((n, operands.index(v)) for n, v in settings.items() if isinstance(v, Value | Param)),
        written(op),
        left_in(op),
    )


def _constant(operand: Operand, op: Op) -> Array | None:
    if isinstance(operand, Const):
        found = constant(operand)
        if found is not None:
            found = found.view()
            found.flags.writeable = False  # every step hands it out again
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


def _flags(graph: Graph) -> tuple[str, ...]:
    """Names of the operators whose results leave others out.

    Raises GraphError if one is not there, or if an operator that always runs reads one that may not.
    """
    flags = tuple(dict.fromkeys(op.unless for op in graph.ops if op.unless))
    for name in flags:
        graph.op(name)
    if flags:
        for op in graph.ops:
            for operand in op.flat_inputs():
                if isinstance(operand, Value):
                    before = graph.ops[operand.op]
                    if before.unless not in ("", op.unless):
                        raise GraphError(
                            "run/reads-skipped", op=op.name, read=before.name, got=op.unless
                        )
    return flags
