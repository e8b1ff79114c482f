"""What the walk remembers from operator to operator: private to it, and changed by what rules learn alone."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from workbench._values import dataclass
from workbench.comparison.limits import limits
from workbench.ops import IDENTITY

if TYPE_CHECKING:
    from workbench.comparison.align.differences import Difference
    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.follow.state import Assessment, ValueState
    from workbench.comparison.follow.trace import Key, Place
    from workbench.comparison.measure.measure import Measured
    from workbench.graph.graph import Op, Value

    HandedOver = tuple[int, int, tuple[int, ...] | None]
    """Rank, iteration and shape of a result."""


@dataclass(slots=True)
class ForecastFit:
    """How many operators the forecast has reproduced so far, and whether the device rounds otherwise than it does.

    A forecast that gives the statistics of several operators to the last figure may be right about how the device
    computes. An operator that is off is then off for a reason of its own, though its number format would explain as
    much: but for one rounding that falls otherwise, which a largest or smallest number shows whole. Behind the first
    operator that is not reproduced to the last figure nothing of the kind is known. Sums in another order leave
    figures of six digits as they are, until a rounding falls otherwise and lets others fall otherwise.
    """

    count: int = 0
    is_apart: bool = False

    def floor(
        self, op: Op, worst: Measured | None, floor: float, *, step: float, inherited: float
    ) -> float:
        """Error that an operator's own rounding leaves beside the forecast.

        ``floor`` is that of its formats, ``step`` that of one number that is rounded otherwise.
        """
        if op.op_type in IDENTITY or worst is None or worst.forecast is None:
            return floor
        known = limits()
        if self.count < known.fit_operators or self.is_apart or inherited:
            return floor
        return min(floor, max(known.fit_least, step))

    def learn(self, error: float) -> None:
        """Take in an operator that nobody blames, and how far its statistics are from the forecast."""
        self.count += 1
        self.is_apart |= error > limits().fit_least


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
