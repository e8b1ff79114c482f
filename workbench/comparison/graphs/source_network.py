"""The network that a graph of the graph engine was compiled from, as far as that graph tells.

Fused operators come apart into those that they stand for, several that were made of one are one again,
and inserted ones are gone. Names, order and outer edges are the graph's own words; which of several fused
operators reads which input is a guess by the types, so this serves to name and order files, not to
compute.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.comparison.graphs.ge_origins import origin_of, original_names, original_types
from workbench.comparison.graphs.roles import ends_of
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Bundle, Graph, Op, Param, Value
from workbench.ops import OPS

if TYPE_CHECKING:
    from workbench.graph.graph import Operand

_MOST = 1 << 10
"""Outputs of an operator; a file may claim any slot."""


def network_of(graph: Graph) -> Graph:
    """Return the graph with the operators of the network; itself if it tells of no others."""
    if not any(original_names(op) not in (None, (op.name,)) for op in graph.ops):
        return graph
    return _Network(graph).graph()


class _Network:
    """A network while its operators are listed."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._ends = ends_of(graph)
        self.ops: list[Op] = []
        self._numbers: dict[str, int] = {}
        self._waiting: dict[str, list[Operand]] = {}
        self._through: dict[Value, Operand] = {}
        self._specs = _specs(graph)
        last = {name: n for n, op in enumerate(graph.ops) for name in self._names(n, op)}
        for number, op in enumerate(graph.ops):
            self._take(number, op, [n for n in self._names(number, op) if last[n] == number])

    def graph(self) -> Graph:
        """Return the graph of the network."""
        results = [self._operand(operand) for operand in self._graph.outputs]
        outputs = tuple(operand for operand in results if operand is not None)
        return replace(self._graph, ops=tuple(self.ops), outputs=outputs, dialect="")

    def _names(self, number: int, op: Op) -> tuple[str, ...]:
        names = None if number in self._ends else original_names(op)
        return (op.name,) if names is None else names

    def _take(self, number: int, op: Op, complete: list[str]) -> None:
        """List the operators that end in a kernel; ``complete`` are those that do not go on."""
        given = [self._operand(operand) for operand in op.flat_inputs()]
        inputs = [operand for operand in given if operand is not None]
        names = self._names(number, op)
        if not names:
            if inputs:
                self._through[Value(number, 0)] = inputs[0]
            return
        types = original_types(op)
        types = types if len(types) == len(names) else (op.op_type,) * len(names)
        before = ""
        for name, kind in zip(names, types, strict=True):
            own = self._waiting.setdefault(name, [])
            if before in self._numbers:
                own.append(Value(self._numbers[before]))
            count = len(inputs) if name == names[-1] else _arity(kind) - bool(before)
            known = {one for one in own if isinstance(one, Value | Param)}
            # several kernels of one operator may read the same input
            own += [one for one in inputs[:count] if one not in known]
            del inputs[:count]
            if name in complete:
                self._add(
                    Op(name, kind, tuple(self._waiting.pop(name)), {}, self._specs.get(name, ()))
                )
            before = name

    def _add(self, op: Op) -> None:
        self._numbers[op.name] = len(self.ops)
        self.ops.append(op)

    def _operand(self, operand: Operand) -> Operand | None:
        """Return what an operand is in the network; ``None`` if it is a value inside a kernel."""
        if isinstance(operand, Bundle):
            items = [self._operand(item) for item in operand.items]
            return replace(operand, items=tuple(item for item in items if item is not None))
        if not isinstance(operand, Value):
            return operand
        if operand in self._through:
            return self._through[operand]
        origin = origin_of(self._graph.ops[operand.op], operand.slot)
        if origin is None or origin[0] not in self._numbers:
            return None
        return Value(self._numbers[origin[0]], origin[1])


def _arity(kind: str) -> int:
    """How many tensors an operator reads; one if that is not known."""
    return abs(OPS[kind].tensors) if kind in OPS else 1


def _specs(graph: Graph) -> dict[str, tuple[TensorSpec, ...]]:
    """Outputs of the network's operators, as far as kernels have them."""
    found: dict[str, dict[int, TensorSpec]] = {}
    for op in graph.ops:
        for slot, spec in enumerate(op.outputs):
            origin = origin_of(op, slot)
            if origin is not None:
                found.setdefault(origin[0], {})[origin[1]] = spec
    open_ = TensorSpec("", None)  # a result that no kernel gives
    return {
        name: tuple(specs.get(slot, open_) for slot in range(max(specs) + 1))
        for name, specs in found.items()
        if max(specs) < _MOST
    }
