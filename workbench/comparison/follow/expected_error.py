"""The error that an operator is expected to add: by what was reproduced before it, and by the step that it takes.

A forecast that gives the statistics of many operators to a small part of what their number formats explain is
right about how the device computes. An operator that is off by more than its forerunners is then off for a
reason of its own, though its number format alone would explain as much. That holds as long as what it reads is
reproduced to the last figure: roundings that have once fallen otherwise let others fall otherwise, whatever their size.

An optimizer carries two runs no farther apart than the step that it takes. A gradient is often known to few
digits, but a step is a small part of the variable. With s the length of the step over that of the variable, e the
error of the variable before it and d that of the direction,

    error of the variable = own rounding + e + s · d

s is the learning rate times the length of accumulation and gradient; Adam divides by its second moment and
moves no element by more than (1 - β1)/√(1 - β2) < 3.2 times the learning rate, in a direction whose signs
noise may turn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.comparison.align.differences import Difference
from workbench.comparison.follow.states import AMPLIFICATION
from workbench.comparison.graphs.roles import updates
from workbench.comparison.measure.conditioning import golden_norm
from workbench.comparison.measure.noise import (
    PASS_FACTOR,
    expected_rounding,
    is_discontinuous,
    jump_limit,
    op_roundoff,
)
from workbench.core.words import Message
from workbench.graph.traits import IDENTITY, MOVEMENT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.comparison.follow.flow import Flow
    from workbench.comparison.follow.states import Assessment
    from workbench.comparison.measure.measure import Measured
    from workbench.graph.nodes import Graph, Op

_STEPS: dict[str, tuple[int, tuple[int, ...]]] = {
    "ApplyMomentum": (2, (1, 3)),
    "SGD": (2, (3, 1)),
}
"""Type → input slots of the learning rate, and of what the step is made of."""

_ADAPTIVE = {"Adam": 5, "AdamWeightDecay": 3}
"""Type → input slot of the learning rate, where the step is divided by its own length."""

_ADAPTED = 3.2
_TURNED = 2.0
"""Error of a direction of which every sign is another one."""


def is_beyond(flow: Flow, graph: Graph, event: Assessment, outputs: Mapping[int, Measured]) -> bool:
    """Whether noise does not explain an operator's outputs; an updated variable is looked at alone, too.

    If it is the variable, that becomes the event's worst tensor. Inputs that an operator rewrites have
    negative slots in ``outputs``.
    """
    op = graph.ops[event.op]
    variable = outputs.get(-1) or outputs.get(0)
    before = flow.left_in_variable(event.block, graph, op)
    if variable is not None and before is not None and math.isfinite(event.inherited):
        limit = step_limit(op, event, variable, before)
        if limit is not None and variable.error > limit:
            event.worst, event.explained = variable, limit / event.factor
            return True
    worst = event.worst.error if event.worst is not None else math.inf
    if is_discontinuous(op) and event.inherited > 0 and math.isfinite(worst):
        return worst > jump_limit(op, event.own_floor + event.inherited)
    return worst > event.factor * event.explained


def step_limit(op: Op, event: Assessment, variable: Measured, before: float) -> float | None:
    """Largest error of an updated variable that is no cause; ``None`` if it is not known.

    ``before`` is the error of the variable before the step; factors for noise are in the limit.
    """
    noise = event.own_floor + event.inherited * (AMPLIFICATION + event.inherited)
    if op.op_type in _ADAPTIVE:
        rate = _rate(event.measured, _ADAPTIVE[op.op_type])
        length = _ADAPTED * math.sqrt(variable.divergence.size)
        direction = PASS_FACTOR * math.sqrt(noise)
    elif op.op_type in _STEPS:
        slot, made_of = _STEPS[op.op_type]
        rate = _rate(event.measured, slot)
        norms = [_norm(event.measured, one) for one in made_of]
        length = sum(norm for norm in norms if norm is not None)
        rate = None if None in norms else rate
        direction = PASS_FACTOR * noise
    else:
        return None
    whole = golden_norm(variable)
    if rate is None or not whole:
        return None
    own = PASS_FACTOR * (expected_rounding(op, op_roundoff(op, npu=False)) + AMPLIFICATION * before)
    return own + rate * length / whole * min(direction, _TURNED)


def initial_state_differs(flow: Flow, graph: Graph, event: Assessment) -> tuple[Difference, ...]:
    """State that differs after its first update, where all that the operator reads and gives besides agrees.

    What it held before is in no dump: inputs are dumped after the operator has run.
    """
    worst = event.worst
    given = [m.error for (io, _), m in event.measured.items() if io == "output" and m.usable]
    convicted = event.replayed is not None and event.replayed.suspect
    if worst is None or not worst.rewritten or not given or convicted:
        return ()
    names = dict(updates(graph, graph.ops[event.op]))
    name = names.get(worst.pair.slot, "")
    known = (event.block.rank, name) in flow.last_update
    if not name or known or max(given) > event.factor * event.explained:
        return ()
    return (Difference("parameter", name, Message("compare/initial-value", name=name)),)


def _rate(measured: Mapping[tuple[str, int], Measured], slot: int) -> float | None:
    """Learning rate of the golden."""
    item = measured.get(("input", slot))
    if item is None or not item.usable or item.divergence.size != 1:
        return None
    value = item.divergence.metrics.get("GoldenMax")
    return abs(value) if value is not None and math.isfinite(value) else None


def _norm(measured: Mapping[tuple[str, int], Measured], slot: int) -> float | None:
    item = measured.get(("input", slot))
    return golden_norm(item) if item is not None else None


ENOUGH = 3
"""Operators that compute and were reproduced before less than the number format is expected."""


WIDER = 2.0
"""How much worse than the worst of its forerunners an operator may be reproduced."""


LEAST = 1e-5
"""Smallest floor: figures are printed with six digits, and summed up in float32."""


@dataclass
class ForecastFit:
    """Operators reproduced so far, their types, and the worst of their errors as a share of what explains it.

    An operator of another type may round once more or once less than the forecast.
    """

    count: int = 0
    worst: float = 0.0
    types: set[str] = field(default_factory=set)

    def floor(self, event: Assessment, op: Op) -> float:
        """Error that an operator's own rounding leaves beside the forecast."""
        if op.op_type in IDENTITY or not _is_forecast(event):
            return event.own_floor
        if self.count < ENOUGH or event.inherited:
            return event.own_floor
        once = 0.0 if op.op_type in self.types else op_roundoff(op, npu=False) / event.factor
        return min(event.own_floor, max(LEAST, once, WIDER * self.worst * event.own_floor))

    def learn(self, event: Assessment, op: Op, rounding: float) -> None:
        """Take in an operator that nobody blames; ``rounding`` is what its number formats explain."""
        if event.guilty or event.tainted or not _is_forecast(event) or op.op_type in MOVEMENT:
            return
        assert event.worst is not None
        if event.worst.divergence.size > 1 and rounding:
            self.count += 1
            self.types.add(op.op_type)
            self.worst = max(self.worst, event.worst.error / rounding)


def _is_forecast(event: Assessment) -> bool:
    return event.worst is not None and event.worst.forecast is not None
