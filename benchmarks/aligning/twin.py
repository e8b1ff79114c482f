"""A graph that is changed step by step and never forgets which operators of the original it stands for."""

from __future__ import annotations

import heapq
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.core.errors import GraphError
from workbench.graph.graph import Param, Value
from workbench.graph.rewrite import map_operands
from workbench.ops import written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.random import Generator

    from workbench.graph.graph import Graph, Op, Operand

    Stands = frozenset[str]
    Truth = Mapping[str, frozenset[str]]

NOTHING: Stands = frozenset()
"""What an operator stands for that a change has inserted."""


class Twin:
    """A graph under change.

    ``ops`` are operators by numbers that stay theirs, whatever is added or removed; operands of them
    name these numbers. ``stands`` holds names of the original's operators, ``places`` where in the program
    an operator stands; ``shuffled`` lists them in any order that their data allow.
    """

    def __init__(self, graph: Graph, stands: Truth | None = None) -> None:
        self.original = graph
        self.ops: dict[int, Op] = dict(enumerate(graph.ops))
        known = stands or {op.name: frozenset((op.name,)) for op in graph.ops}
        self.stands = {number: known[op.name] for number, op in self.ops.items()}
        self.places = {number: float(number) for number in self.ops}
        self.parameters = list(graph.parameters)
        self.outputs = list(graph.outputs)
        self.shuffled: Generator | None = None
        self._next = len(graph.ops)

    # ------------------------------------------------------------ looking

    def readers(self, value: Operand) -> list[int]:
        """Operators that read a value, each once, in order."""
        return [n for n, op in self.ops.items() if value in op.flat_inputs()]

    def is_result(self, number: int) -> bool:
        """Whether the graph returns an output of an operator."""
        return any(isinstance(one, Value) and one.op == number for one in self.outputs)

    def outside(self, number: int) -> list[int]:
        """Operators that read any output of one."""
        slots = range(max(1, len(self.ops[number].outputs)))
        return [reader for slot in slots for reader in self.readers(Value(number, slot))]

    def is_alone(self, number: int) -> bool:
        """Whether nothing but its data decides about an operator, and it decides about no other."""
        op = self.ops[number]
        names = {one.unless for one in self.ops.values()}
        return not op.unless and op.name not in names and not overwrites(op)

    # ------------------------------------------------------------ changing

    def add(self, op: Op, stands: Iterable[str], place: float) -> Value:
        """List another operator at a place; returns its first output."""
        number = self._next
        self._next += 1
        self.ops[number] = op
        self.stands[number] = frozenset(stands)
        self.places[number] = place
        return Value(number, 0)

    def put(self, number: int, op: Op) -> None:
        """Another operator under the same number."""
        self.ops[number] = op

    def remove(self, number: int) -> None:
        """Take out an operator that nothing reads any more."""
        for table in (self.ops, self.stands, self.places):
            del table[number]

    def redirect(
        self, old: Value, new: Operand, keep: Iterable[int] = (), *, results: bool = True
    ) -> None:
        """Let all readers of a value read another one, but for some operators."""

        def changed(operand: Param | Value) -> Operand:
            return new if operand == old else operand

        kept = {*keep}
        for number, op in self.ops.items():
            if number not in kept and old in op.flat_inputs():
                self.ops[number] = replace(
                    op, inputs=tuple(map_operands(o, changed) for o in op.inputs)
                )
        if results:
            self.outputs = [map_operands(operand, changed) for operand in self.outputs]

    def rename(self, word: Callable[[Op, int], str]) -> None:
        """Give operators other names; ``word`` gets an operator and its number."""
        names = {op.name: word(op, number) for number, op in self.ops.items()}
        for number, op in self.ops.items():
            unless = names.get(op.unless, op.unless)
            self.ops[number] = replace(op, name=names[op.name], unless=unless)

    # ------------------------------------------------------------ results

    def graph(self) -> Graph:
        """The graph as it is now, every operator behind what it reads."""
        order = self._order()
        numbers = {old: new for new, old in enumerate(order)}

        def new(operand: Param | Value) -> Operand:
            if isinstance(operand, Param):
                return operand
            return replace(operand, op=numbers[operand.op])

        ops = []
        for number in order:
            op = self.ops[number]
            ops.append(replace(op, inputs=tuple(map_operands(one, new) for one in op.inputs)))
        outputs = tuple(map_operands(operand, new) for operand in self.outputs)
        parameters = tuple(self.parameters)
        return replace(self.original, ops=tuple(ops), outputs=outputs, parameters=parameters)

    def truth(self) -> dict[str, frozenset[str]]:
        """Names of the operators as they are now, and of those of the original that they stand for."""
        return {op.name: self.stands[number] for number, op in self.ops.items()}

    def _order(self) -> list[int]:
        """Numbers by their places, as far as data and updates allow."""
        before = self._before()
        left = {number: len(found) for number, found in before.items()}
        after: dict[int, list[int]] = {number: [] for number in self.ops}
        for number, found in before.items():
            for one in found:
                after[one].append(number)
        wished = self._wished()
        ready = [(wished[n], n) for n, count in left.items() if not count]
        heapq.heapify(ready)
        order = []
        while ready:
            _, number = heapq.heappop(ready)
            order.append(number)
            for one in after[number]:
                left[one] -= 1
                if not left[one]:
                    heapq.heappush(ready, (wished[one], one))
        if len(order) < len(self.ops):
            raise ValueError("operators must not wait for each other")
        return order

    def _wished(self) -> dict[int, float]:
        if self.shuffled is None:
            return self.places
        return dict(zip(self.ops, self.shuffled.permutation(len(self.ops)), strict=True))

    def _before(self) -> dict[int, set[int]]:
        """What must run before an operator: what it reads, and who reads what it writes over."""
        found = {
            number: {one.op for one in op.flat_inputs() if isinstance(one, Value)}
            for number, op in self.ops.items()
        }
        for number, op in self.ops.items():
            inputs = list(op.flat_inputs())
            for one in (inputs[slot] for slot in overwrites(op) if slot < len(inputs)):
                for reader in self.readers(one) if isinstance(one, Param) else ():
                    if self.places[reader] < self.places[number]:
                        found[number].add(reader)
                    elif self.places[reader] > self.places[number]:
                        found[reader].add(number)
        return found


def overwrites(op: Op) -> tuple[int, ...]:
    """Inputs that an operator overwrites; none of a type that is made up."""
    try:
        return written(op)
    except GraphError:
        return ()
