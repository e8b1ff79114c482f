"""The reasons that a walk can give: what two graphs say differently about an operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.comparison.align.differences import (
    Difference,
    group_difference,
    operator_differences,
    partner_settings,
    wiring_differences,
)
from workbench.comparison.measure.noise import PASS_FACTOR
from workbench.graph.nodes import Value
from workbench.graph.traits import MOVEMENT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workbench.comparison.align.align import Alignment
    from workbench.comparison.follow.states import State
    from workbench.graph.nodes import Graph


class Names:
    """Named differences of the operators of a graph.

    ``found`` aligns it with the golden's, ``context`` has the coarsest roundoff behind every operator.
    """

    def __init__(self, graph: Graph, found: Alignment | None, context: Sequence[float]) -> None:
        self._ops = graph.ops
        self._found = found
        self._context = context

    def differences(self, number: int) -> tuple[Difference, ...]:
        """Everything that the two graphs say differently about an operator."""
        if self._found is None:
            return ()
        tolerance = PASS_FACTOR * self._context[number]
        return operator_differences(self._found, number, self._ops[number], tolerance)

    def settings(self, number: int) -> tuple[Difference, ...]:
        """Settings in which an operator differs from its counterpart."""
        if self._found is None:
            return ()
        tolerance = PASS_FACTOR * self._context[number]
        return partner_settings(self._found, number, self._ops[number], tolerance)

    def wiring(self, number: int) -> tuple[Difference, ...]:
        """Structural reasons why an operator reads something else than its golden partner."""
        if self._found is None:
            return ()
        group = next((g for g in self._found.groups if number in g.readers), None)
        if group is not None:
            return (group_difference(group, self._found),)
        return tuple(wiring_differences(self._found, number))

    def stretch(
        self, number: int, states: Mapping[int, State], own: tuple[Difference, ...]
    ) -> tuple[int, tuple[Difference, ...]]:
        """Return the operator to name: the first with a difference among those nobody has seen."""
        for before in sorted({n for state in states.values() for n in state.via}):
            found = self.differences(before)
            if found:
                return before, found
        return number, own

    def mover(self, number: int) -> tuple[int, tuple[Difference, ...]]:
        """Return the mover before a guilty operator that moves otherwise than in the golden.

        A Reshape to other dimensions gives the same elements in the same order, and is wrong.
        """
        for operand in self._ops[number].flat_inputs():
            if isinstance(operand, Value) and self._ops[operand.op].op_type in MOVEMENT:
                found = self.settings(operand.op)
                if found:
                    return operand.op, found
        return number, ()
