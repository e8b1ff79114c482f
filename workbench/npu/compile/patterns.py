"""Find parts of a graph by their shape: patterns of operator types, read from the last operator up."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import TYPE_CHECKING, Any

from workbench.core.errors import GraphError
from workbench.graph.graph import Const, Param, Value
from workbench.ops import COMMUTATIVE, OPS, bind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from workbench.graph.graph import Graph, Op, Operand


@dataclass(frozen=True, slots=True)
class OpPattern:
    """An operator of one of some types, given blank-separated, and patterns of its first tensors.

    ``role`` is what it is called in the `Match` that is found. A fused operator fits a pattern that
    says nothing of its tensors. Of one that is ``shown`` later operators may read the results, too.
    """

    types: str
    args: tuple[Any, ...] = ()
    role: str = ""
    shown: bool = False


@dataclass(frozen=True, slots=True)
class ScalarPattern:
    """A scalar constant within a thousandth of ``value``. A name stands for any operand."""

    value: float


@dataclass(frozen=True, slots=True)
class Match:
    """A part of a graph: operands by name, operators by role, and all its operators."""

    names: Mapping[str, Operand] = field(default_factory=dict)
    roles: Mapping[str, int] = field(default_factory=dict)
    members: frozenset[int] = frozenset()
    shown: frozenset[int] = frozenset()


class Matcher:
    """Looks for patterns in one graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._results = {operand for operand in graph.outputs if isinstance(operand, Value)}

    def op(self, operand: Operand) -> Op | None:
        """Operator that an operand comes from."""
        return self.graph.ops[operand.op] if isinstance(operand, Value) else None

    def is_weight(self, operand: Operand) -> bool:
        """Whether an operand is a weight."""
        return isinstance(operand, Param) and self.graph.parameters[operand.index].is_weight

    def readers(self, number: int) -> set[int]:
        """Operators that read any output of an operator; -1 for the result of the graph."""
        found = set[int]()
        for slot in range(max(len(self.graph.ops[number].outputs), 1)):
            value = Value(number, slot)
            found.update(reader for reader, _ in self.graph.consumers.get(value, ()))
            if value in self._results:
                found.add(-1)
        return found

    def find(self, root: int, pattern: OpPattern) -> Match | None:
        """Return the part that ends in an operator and that nothing else reads the inside of."""
        for part in self._unify(pattern, Value(root), Match()):
            inside = part.members - {root}
            if all(self._is_hidden(number, root, part) for number in inside):
                return part
        return None

    def _is_hidden(self, number: int, root: int, part: Match) -> bool:
        """Whether nothing outside reads an operator of a part, or only later where it is shown."""
        outside = self.readers(number) - part.members
        return not outside or (number in part.shown and all(not 0 <= n < root for n in outside))

    def _unify(self, pattern: Any, operand: Operand, part: Match) -> Iterator[Match]:
        if isinstance(pattern, str):
            known = part.names.get(pattern)
            if known is None:
                yield replace(part, names={**part.names, pattern: operand})
            elif known == operand:
                yield part
        elif isinstance(pattern, ScalarPattern):
            if _is_near(operand, pattern.value):
                yield part
        elif isinstance(operand, Value) and operand.slot == 0:
            yield from self._operator(pattern, operand.op, part)

    def _operator(self, pattern: OpPattern, number: int, part: Match) -> Iterator[Match]:
        op = self.graph.ops[number]
        if op.op_type not in pattern.types.split():
            return
        tensors = () if op.fused is not None else tensors_of(op) or ()
        if len(tensors) < len(pattern.args):
            return
        if pattern.role:
            if part.roles.get(pattern.role, number) != number:
                return
            part = replace(part, roles={**part.roles, pattern.role: number})
        shown = part.shown | {number} if pattern.shown else part.shown
        part = replace(part, members=part.members | {number}, shown=shown)
        width = len(pattern.args)
        orders = permutations(tensors, width) if op.op_type in COMMUTATIVE else (tensors,)
        for order in orders:
            yield from self._arguments(pattern.args, order, part)

    def _arguments(
        self, patterns: Sequence[Any], operands: Sequence[Operand], part: Match
    ) -> Iterator[Match]:
        if not patterns:
            yield part
            return
        for found in self._unify(patterns[0], operands[0], part):
            yield from self._arguments(patterns[1:], operands[1:], found)


def tensors_of(op: Op) -> tuple[Operand, ...] | None:
    """Operands of an operator that are tensors; ``None`` if its type or their number is not known."""
    if op.op_type not in OPS:
        return None
    try:
        return bind(op).tensors
    except GraphError:
        return None


def scalar(operand: Operand) -> float | None:
    """Value of a constant that is one number."""
    if not isinstance(operand, Const) or operand.shape not in (None, (), (1,)):
        return None
    value = operand.value
    if isinstance(value, tuple | list) and len(value) == 1:
        value = value[0]
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if plain else None


def _is_near(operand: Operand, value: float) -> bool:
    number = scalar(operand)
    return number is not None and math.isclose(number, value, rel_tol=1e-3)
