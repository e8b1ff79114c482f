"""Follow errors through the data flow and find where they begin.

Operators are visited in data-flow order, execution by execution. An operator is *guilty* when its
outputs differ by more than its inputs and the number formats explain, while nothing that feeds it
has already been called wrong. Everything behind a guilty operator only inherits.

Scalars, attributes, constants and parameters that differ are causes, not excuses. Operators that
only move or cast data hand such a cause on to the first operator that computes with it. Operators
that were not dumped are looked through: the blame falls on the stretch they belong to.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from workbench.comparison.follow.flow import Flow
from workbench.comparison.follow.masking import mark_masked
from workbench.comparison.follow.ranks import lockstep, visit_together
from workbench.comparison.follow.states import AMPLIFICATION, Assessment
from workbench.comparison.follow.tolerances import excuse
from workbench.comparison.follow.visit import Visit
from workbench.comparison.measure.noise import PASS_FACTOR, expected_rounding, spec_roundoff
from workbench.graph.table.collectives import COLLECTIVES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.measure.measure import Measured
    from workbench.comparison.pair.pairing import Pairing
    from workbench.comparison.replay.replay import Replay


def walk(
    pairing: Pairing,
    measured: Iterable[Measured],
    *,
    npu: bool,
    replayed: Replay | None = None,
) -> Flow:
    """Visit every execution in order and return what was learned.

    ``npu``: one of the runs was on an NPU, whose cube rounds its inputs whatever the graph says.
    ``replayed`` are own errors of the target's operators; where there is one it decides.
    """
    flow = Flow(pairing, measured, npu=npu, replayed=replayed)
    numbers = count()
    for blocks in lockstep(pairing.block_order):
        visits = []
        for block in blocks:
            graph = pairing.target.graph(block)
            found = pairing.alignments.get(block.graph_key)
            if graph is None:
                _InTime(flow, block, next(numbers)).run()
            else:
                visits.append(Visit(flow, block, graph, found, next(numbers)))
        visit_together(visits)
        flow.walked += blocks
    mark_masked(flow)
    return flow


class _InTime:
    """One execution without a graph: the order of time stands in for the data flow.

    What feeds what is not known, so every number format met so far counts as met by all that follows, and what one
    operator may give, any later one may read.
    """

    def __init__(self, flow: Flow, block: Execution, number: int) -> None:
        self.flow = flow
        self.block = block
        self.base = number << 24
        self.failed = False
        self.coarsest = 0.0
        self.excused = 0.0
        self.allowed = 0.0

    def run(self) -> None:
        runs = self.flow.pairing.target.runs[self.block]
        for op in sorted(runs, key=lambda n: runs[n].time):
            event = self._event(op)
            if event is None:
                continue
            self.flow.events[self.block, op] = event
            worst = event.worst.error if event.worst is not None else 0.0
            if self._parts_by_design(event):
                continue
            if worst <= event.factor * event.explained:
                self.allowed = max(self.allowed, 0.0 if event.tainted else worst)
                continue
            event.blamed = op
            if event.tainted or not excuse(self.flow, event):
                self.failed = True
                event.guilty = not event.tainted
                self.flow.guilty += [event] if event.guilty else []
            else:
                self.excused = max(self.excused, worst)
        key = (self.block.rank, self.block.graph_id)
        self.flow.coarsest[key] = max(self.coarsest, self.flow.coarsest.get(key, 0.0))

    def _parts_by_design(self, event: Assessment) -> bool:
        """Whether an operator may differ between two ranks of a job: what it reads does, or is not known."""
        if self.flow.job is None:
            return False
        inputs = any(m.usable and m.pair.io == "input" for m in event.measured.values())
        meets = self.flow.pairing.target.runs[self.block][event.op].op_type in COLLECTIVES
        event.own = not meets and (event.tainted or not inputs)
        event.tainted = False
        if meets:
            event.inherited, event.explained = 0.0, event.own_floor
        return event.own

    def _event(self, op: int) -> Assessment | None:
        measured = self.flow.index.get((self.block, op), {})
        usable = [m for m in measured.values() if m.usable]
        if not usable:
            return None
        inputs = [m.error for m in usable if m.pair.io == "input"]
        inherited = max(inputs, default=self.excused)
        labels = [r.label for m in usable for r in (m.pair.target, m.pair.golden)]
        self.coarsest = max(self.coarsest, *(spec_roundoff(label) for label in labels))
        own = expected_rounding(None, self.coarsest)
        wrong_inputs = inherited > max(
            PASS_FACTOR * own, AMPLIFICATION * self.excused, self.allowed
        )
        wrong_inputs |= self.failed and not inputs
        event = Assessment(self.block, op, own, inherited, wrong_inputs, self.base - op, measured)
        event.explained = own + AMPLIFICATION * inherited
        outputs = [m for m in usable if m.pair.io == "output"]
        event.worst = max(outputs, key=lambda m: m.error, default=None)
        return event
