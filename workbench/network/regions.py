"""Where control flow parts the operators of a trace."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workbench.graph.graph import Op, Operand, Param


@dataclass(frozen=True, eq=False)
class Block:
    """Operators, by their numbers, of which either all run or none."""

    ops: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class WhileRegion:
    """A loop: ``carried`` values are ``first`` in its first turn, ``after`` the body in the next one."""

    name: str
    carried: tuple[Param, ...]
    first: tuple[Operand, ...]
    condition: list[Region]
    predicate: Operand
    body: list[Region]
    after: tuple[Operand, ...]

    def operands(self) -> tuple[Operand, ...]:
        """Return the values that it needs beside those that operators read."""
        return (*self.first, self.predicate, *self.after)


@dataclass(frozen=True, eq=False)
class IfRegion:
    """A choice; ``results`` are the values of the side that runs."""

    predicate: Operand
    results: tuple[Param, ...]
    then: list[Region]
    then_values: tuple[Operand, ...]
    orelse: list[Region]
    else_values: tuple[Operand, ...]

    def operands(self) -> tuple[Operand, ...]:
        """Return the values that it needs beside those that operators read."""
        return (self.predicate, *self.then_values, *self.else_values)


Region = Block | WhileRegion | IfRegion


class Regions:
    """The parts of a trace while it is made: operators so far, cut where control flow begins or ends."""

    def __init__(self, ops: Sequence[Op]) -> None:
        self.parts: list[Region] = []
        self._ops, self._start = ops, 0

    @contextmanager
    def inside(self) -> Iterator[list[Region]]:
        """Gather what the block records apart from what is around it."""
        self._cut()
        outer, self.parts = self.parts, []
        try:
            yield self.parts
            self._cut()
        finally:
            self.parts = outer

    def whole(self) -> list[Region]:
        """Return all parts, the last operators included; only operators if nothing parts them."""
        self._cut()
        return self.parts

    def _cut(self) -> None:
        self.parts.append(Block(tuple(range(self._start, len(self._ops)))))
        self._start = len(self._ops)
