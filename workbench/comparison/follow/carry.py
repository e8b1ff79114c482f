"""What the walk remembers from operator to operator: private to it, and changed by what rules learn alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.comparison.limits import limits
from workbench.comparison.measure.noise import op_roundoff
from workbench.graph.traits import IDENTITY

if TYPE_CHECKING:
    from workbench.comparison.align.differences import Difference
    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.follow.state import Assessment, ValueState
    from workbench.comparison.follow.trace import Key, Place
    from workbench.comparison.measure.measure import Measured
    from workbench.graph.nodes import Op, Value

    HandedOver = tuple[int, int, tuple[int, ...] | None]
    """Rank, iteration and shape of a result."""


@dataclass(slots=True)
class ForecastFit:
    """Operators reproduced so far, their types, and the worst of their errors as a share of what explains it.

    A forecast that gives the statistics of many operators to a small part of what their number formats explain is
    right about how the device computes. An operator that is off by more than its forerunners is then off for a
    reason of its own, though its number format alone would explain as much. That holds as long as what it reads is
    reproduced to the last figure: roundings that have once fallen otherwise let others fall otherwise, whatever
    their size. An operator of another type may round once more or once less than the forecast.
    """

    count: int = 0
    worst: float = 0.0
    types: set[str] = field(default_factory=set)

    def floor(
        self, op: Op, worst: Measured | None, floor: float, *, factor: float, inherited: float
    ) -> float:
        """Error that an operator's own rounding leaves beside the forecast; ``floor`` is that of its formats."""
        if op.op_type in IDENTITY or worst is None or worst.forecast is None:
            return floor
        known = limits()
        if self.count < known.fit_operators or inherited:
            return floor
        once = 0.0 if op.op_type in self.types else op_roundoff(op, npu=False) / factor
        return min(floor, max(known.fit_least, once, known.fit_wider * self.worst * floor))

    def learn(self, op_type: str, share: float) -> None:
        """Take in an operator that nobody blames, and its error as a share of what its formats explain."""
        self.count += 1
        self.types.add(op_type)
        self.worst = max(self.worst, share)


@dataclass(slots=True)
class Carry:
    """What facts are made of besides the survey and the graphs.

    ``values`` are the states of what operators gave. By rank and name of a parameter: ``tainted_params`` were updated
    by wrong operators, ``rank_local_params`` by batches of their rank (``rank_local_feeds`` are such batches),
    ``given_apart`` differ from the start, ``last_update`` is the error that the last step left. ``handed_over`` is the
    largest error of the results of graphs, ``initial_differences`` what differed when the first compared iteration
    began.
    """

    values: dict[Execution, dict[Value, ValueState]] = field(default_factory=dict)
    tainted_params: set[Key] = field(default_factory=set)
    rank_local_feeds: dict[str, None] = field(default_factory=dict)
    rank_local_params: set[Key] = field(default_factory=set)
    given_apart: dict[Key, Difference] = field(default_factory=dict)
    last_update: dict[Key, float] = field(default_factory=dict)
    handed_over: dict[HandedOver, float] = field(default_factory=dict)
    overflowed: set[Place] = field(default_factory=set)
    initial_differences: list[Assessment] = field(default_factory=list)
    fit: ForecastFit = field(default_factory=ForecastFit)
