"""How well a forecast fits: what it has reproduced so far tells what may be expected of the next operator.

A forecast that gives the statistics of many operators to a small part of what their number formats explain is
right about how the device computes. An operator that is off by more than its forerunners is then off for a
reason of its own, though its number format alone would explain as much. That holds as long as what it reads is
reproduced to the last figure: roundings that have once fallen otherwise let others fall otherwise, whatever their size.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.comparison.measure.noise import op_roundoff
from workbench.graph.traits import IDENTITY, MOVEMENT

if TYPE_CHECKING:
    from workbench.comparison.follow.states import Event
    from workbench.graph.nodes import Op

ENOUGH = 3
"""Operators that compute and were reproduced before less than the number format is expected."""

WIDER = 2.0
"""How much worse than the worst of its forerunners an operator may be reproduced."""

LEAST = 1e-5
"""Smallest floor: figures are printed with six digits, and summed up in float32."""


@dataclass
class Fit:
    """Operators reproduced so far, their types, and the worst of their errors as a share of what explains it.

    An operator of another type may round once more or once less than the forecast.
    """

    count: int = 0
    worst: float = 0.0
    types: set[str] = field(default_factory=set)

    def floor(self, event: Event, op: Op) -> float:
        """Error that an operator's own rounding leaves beside the forecast."""
        if op.op_type in IDENTITY or not _is_forecast(event):
            return event.own_floor
        if self.count < ENOUGH or event.inherited:
            return event.own_floor
        once = 0.0 if op.op_type in self.types else op_roundoff(op, npu=False) / event.factor
        return min(event.own_floor, max(LEAST, once, WIDER * self.worst * event.own_floor))

    def learn(self, event: Event, op: Op, floor: float) -> None:
        """Take in an operator that nobody blames; ``floor`` is what its number formats explain."""
        if event.guilty or event.tainted or not _is_forecast(event) or op.op_type in MOVEMENT:
            return
        assert event.worst is not None
        if event.worst.divergence.size > 1 and floor:
            self.count += 1
            self.types.add(op.op_type)
            self.worst = max(self.worst, event.worst.error / floor)


def _is_forecast(event: Event) -> bool:
    return event.worst is not None and event.worst.forecast is not None
