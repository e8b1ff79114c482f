"""A graph as alignment and blame see it: values traced through casts, readers, ancestry."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from workbench.graph.nodes import Param, Value
from workbench.graph.traits import COMMUTATIVE, IDENTITY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.graph.nodes import Graph, Op, Operand


class Origin(NamedTuple):
    """Where a value comes from, casts looked through: an operator's slot, a parameter, a constant."""

    kind: Literal["op", "param", "const", "none"]
    number: int
    slot: int = 0


COMMON = 64
"""Operators of one type from which on a common line or scope is no hint."""


class GraphView:
    """Read-only index over a graph. *Kernels* are operators that are no identities."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.identities = [n for n, op in enumerate(graph.ops) if op.op_type in IDENTITY]
        self.kernels = [n for n, op in enumerate(graph.ops) if op.op_type not in IDENTITY]

    def origin(self, operand: Operand | None) -> Origin:
        """Trace an operand back through identities."""
        while isinstance(operand, Value):
            op = self.graph.ops[operand.op]
            if op.op_type not in IDENTITY:
                return Origin("op", operand.op, operand.slot)
            operand = next(op.flat_inputs(), None)
        if isinstance(operand, Param):
            return Origin("param", operand.index)
        return Origin("const", -1) if operand is not None else Origin("none", -1)

    def source(self, number: int) -> Origin:
        """Where the value of an identity comes from."""
        return self.origin(next(self.graph.ops[number].flat_inputs(), None))

    @cached_property
    def _origins(self) -> list[list[Origin]]:
        return [[self.origin(operand) for operand in op.flat_inputs()] for op in self.graph.ops]

    def origins(self, number: int) -> list[Origin]:
        """Origin of every flat input of an operator."""
        return self._origins[number]

    @cached_property
    def _readers(self) -> dict[Origin, list[tuple[int, int]]]:
        table: dict[Origin, list[tuple[int, int]]] = {}
        for number in self.kernels:
            for slot, origin in enumerate(self._origins[number]):
                if origin.kind in ("op", "param"):
                    table.setdefault(origin, []).append((number, slot))
        return table

    def label(self, origin: Origin) -> str:
        """Name of a value for people."""
        if origin.kind == "param":
            return self.graph.parameters[origin.number].name
        return f"{self.graph.ops[origin.number].name}:{origin.slot}"

    def readers(self, origin: Origin) -> list[tuple[int, int]]:
        """Kernels that read a value, with their input slot, casts looked through."""
        return self._readers.get(origin, [])

    @cached_property
    def _readers_of(self) -> dict[int, list[tuple[int, int]]]:
        table: dict[int, list[tuple[int, int]]] = {}
        for origin, readers in self._readers.items():
            if origin.kind == "op":
                table.setdefault(origin.number, []).extend(readers)
        return table

    def readers_of(self, number: int) -> list[tuple[int, int]]:
        """Kernels that read any output of an operator."""
        return self._readers_of.get(number, [])

    @cached_property
    def _results(self) -> dict[int, set[int]]:
        table: dict[int, set[int]] = {}
        for position, operand in enumerate(self.graph.outputs):
            origin = self.origin(operand)
            if origin.kind == "op":
                table.setdefault(origin.number, set()).add(position)
        return table

    def results(self, number: int) -> set[int]:
        """Positions of the graph's outputs that an operator produces."""
        return self._results.get(number, set())

    def ancestry(self, params: dict[int, str]) -> dict[int, int]:
        """Digest of the whole ancestry of every kernel, types and slots down to named parameters.

        Constants, attributes, shapes and casts do not count: an altered operator keeps its digest.
        Kernels below a parameter that ``params`` does not name have none.
        """
        digests: dict[int, int] = {}
        for number in self.kernels:
            parts: list[object] = []
            for origin in self._origins[number]:
                if origin.kind == "param":
                    parts.append(params.get(origin.number))
                elif origin.kind == "op":
                    below = digests.get(origin.number)
                    parts.append(None if below is None else (below, origin.slot))
            if self.graph.ops[number].op_type in COMMUTATIVE:
                parts.sort(key=repr)
            if None not in parts:
                digests[number] = hash((self.graph.ops[number].op_type, *parts))
        return digests

    @cached_property
    def _alike(self) -> dict[object, list[int]]:
        table: dict[object, list[int]] = {}
        for number in self.kernels:
            for key in _alike_keys(self.graph.ops[number]):
                table.setdefault(key, []).append(number)
        return table

    def alike(self, op: Op) -> Iterator[int]:
        """Kernels with the name, source line or scope of an operator of another graph.

        A line or scope that too many share (the body of a loop over layers) tells nothing.
        """
        for key in _alike_keys(op):
            found = self._alike.get(key, ())
            if len(found) <= COMMON:
                yield from found


def _alike_keys(op: Op) -> Iterator[object]:
    yield op.op_type, op.name
    if op.frame is not None and not op.frame.library:
        yield op.op_type, op.frame.line, op.frame.code.strip()
    yield op.op_type, op.scope
