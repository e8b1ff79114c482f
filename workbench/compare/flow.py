"""Follow errors through the data flow and find where they begin.

Operators are visited in data-flow order, execution by execution. An operator is *guilty* when its
outputs differ by more than its inputs and the number formats explain, while nothing that feeds it
has already been called wrong. Everything behind a guilty operator only inherits.

Scalars, attributes, constants and parameters that differ are causes, not excuses. Operators that
only move or cast data hand such a cause on to the first operator that computes with it. Operators
that were not dumped are looked through: the blame falls on the stretch they belong to.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.compare.cause import (
    Difference,
    group_difference,
    input_subject,
    setting_differences,
)
from workbench.compare.conditioning import STEADY_FACTOR, conditioning
from workbench.compare.noise import (
    HINTED_FACTOR,
    PASS_FACTOR,
    contexts,
    floor,
    jumps,
    spec_roundoff,
)
from workbench.compare.oddities import rewritten_slots
from workbench.dump.names import sanitize
from workbench.graph.nodes import Param, Value
from workbench.graph.traits import IDENTITY, MOVEMENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from workbench.compare.align import Alignment
    from workbench.compare.bind import Block
    from workbench.compare.groups import Group
    from workbench.compare.measuring import Measured
    from workbench.compare.pairs import Pairing
    from workbench.graph.nodes import Graph, Op, Operand

GAIN = 2.0
"""Growth of relative error through one well-conditioned operator that still counts as inherited."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A difference in something that no operator produced, on its way to its first consumer."""

    kind: str
    subject: str
    text: str
    slot: int = 0


@dataclass(frozen=True, slots=True)
class State:
    """What is known of a value: its relative error, and whether a named defect explains it.

    ``via`` are operators since the last measured value that were not dumped.
    """

    error: float = 0.0
    measured: bool = False
    tainted: bool = False
    causes: tuple[Cause, ...] = ()
    via: tuple[int, ...] = ()


@dataclass(slots=True)
class Event:
    """One execution of one operator, judged."""

    block: Block
    op: int
    own_floor: float
    inherited: float
    tainted: bool
    order: int
    measured: dict[tuple[str, int], Measured] = field(default_factory=dict)
    factor: float = PASS_FACTOR
    explained: float = 0.0
    differences: tuple[Difference | Cause, ...] = ()
    guilty: bool = False
    worst: Measured | None = None
    blamed: int = -1
    unseen: int = 0


class Flow:
    """The walk over all executions. ``events`` are keyed by (block, operator)."""

    def __init__(self, pairing: Pairing, measured: Iterable[Measured], *, npu: bool) -> None:
        self.pairing = pairing
        self.npu = npu
        self.index: dict[tuple[Block, int], dict[tuple[str, int], Measured]] = {}
        for item in measured:
            run = item.pair.run
            if run is not None:
                self.index.setdefault((run.block, run.op), {})[item.pair.io, item.pair.slot] = item
        self.events: dict[tuple[Block, int], Event] = {}
        self.guilty: list[Event] = []
        self.tainted_params: set[tuple[int, str]] = set()
        self.updated = {
            graph.parameters[operand.index].name
            for graph in pairing.target.graphs.values()
            for op in graph.ops
            for slot, operand in enumerate(op.flat_inputs())
            if slot in rewritten_slots(op) and isinstance(operand, Param)
        }
        self.input_states: dict[tuple[Block, int], dict[int, State]] = {}
        self.coarsest: dict[tuple[int, int], float] = {}
        self._contexts: dict[tuple[int, int], list[float]] = {}

    def run(self) -> Flow:
        """Visit every execution in order."""
        for number, block in enumerate(self.pairing.block_order):
            graph = self.pairing.target.graph(block)
            found = self.pairing.alignments.get((block.rank, block.graph_id))
            if graph is None:
                self._visit_without_graph(block, number)
            else:
                _Visit(self, block, graph, found, number).run()
        return self

    def is_tainted(self, rank: int, file_name: str) -> bool:
        """Whether a parameter, by the name its file carries, was updated by a wrong operator."""
        return any(
            rank == r and file_name in (name, sanitize(name)) for r, name in self.tainted_params
        )

    def is_updated(self, file_name: str) -> bool:
        """Whether any operator updates a parameter, by the name its file carries."""
        return any(file_name in (name, sanitize(name)) for name in self.updated)

    def context(self, block: Block, graph: Graph, found: Alignment | None) -> list[float]:
        """Coarsest roundoff behind every operator of the target, both sides taken together."""
        key = (block.rank, block.graph_id)
        if key not in self._contexts:
            ours = contexts(graph, npu=self.npu)
            if found is not None:
                theirs = contexts(found.golden.graph, npu=self.npu)
                for t, g in found.partner.items():
                    ours[t] = max(ours[t], theirs[g])
            self._contexts[key] = ours
            self.coarsest[key] = max(ours, default=0.0)
        return self._contexts[key]

    def _visit_without_graph(self, block: Block, number: int) -> None:
        """Without a graph the order of time stands in for the data flow."""
        runs = self.pairing.target.runs[block]
        failed = False
        for op in sorted(runs, key=lambda n: runs[n].time):
            measured = self.index.get((block, op), {})
            usable = [m for m in measured.values() if m.usable]
            if not usable:
                continue
            inputs = [m.error for m in usable if m.pair.io == "input"]
            inherited = max(inputs, default=0.0)
            own = floor(None, _spec_context(usable))
            bad_inputs = inherited > PASS_FACTOR * own or (failed and not inputs)
            event = Event(block, op, own, inherited, bad_inputs, (number << 24) - op, measured)
            event.explained = own + GAIN * inherited
            outputs = [m for m in usable if m.pair.io == "output"]
            event.worst = max(outputs, key=lambda m: m.error, default=None)
            if event.worst is not None and event.worst.error > PASS_FACTOR * (
                own + GAIN * inherited
            ):
                event.guilty = not bad_inputs
                failed = True
            if event.guilty:
                event.blamed = op
                self.guilty.append(event)
            self.events[block, op] = event


def _spec_context(measured: Iterable[Measured]) -> float:
    labels = [r.label for m in measured for r in (m.pair.target, m.pair.golden)]
    return max((spec_roundoff(label) for label in labels), default=0.0)


def _values(target: float, golden: float) -> str:
    """Two scalars with as few digits as tell them apart."""
    digits = next((n for n in (6, 9, 17) if f"{target:.{n}g}" != f"{golden:.{n}g}"), 17)
    return f"{target:.{digits}g} in the target, {golden:.{digits}g} in the golden"


class _Visit:
    """One execution of one graph."""

    def __init__(
        self, flow: Flow, block: Block, graph: Graph, found: Alignment | None, number: int
    ) -> None:
        self.flow = flow
        self.block = block
        self.graph = graph
        self.found = found
        self.base = number << 24
        self.first = number == 0
        self.context = flow.context(block, graph, found)
        self.values: dict[Value, State] = {}
        self.proxies = self._proxies()
        self.earlier = bool(flow.guilty)

    def run(self) -> None:
        for number, op in enumerate(self.graph.ops):
            self._visit(number, op)

    def _measured(self, number: int) -> dict[tuple[str, int], Measured]:
        return self.flow.index.get((self.block, number), {})

    def _proxies(self) -> dict[Value, Measured]:
        """Values that were dumped only as somebody's input."""
        table: dict[Value, Measured] = {}
        for number, op in enumerate(self.graph.ops):
            mine = self._measured(number)
            for slot, operand in enumerate(op.flat_inputs()):
                item = mine.get(("input", slot))
                if isinstance(operand, Value) and item is not None and item.usable:
                    own = self._measured(operand.op).get(("output", operand.slot))
                    if own is None or not own.usable:
                        table.setdefault(operand, item)
        return table

    def _visit(self, number: int, op: Op) -> None:
        own = floor(op, self.context[number])
        states = self._input_states(number, op)
        self.flow.input_states[self.block, number] = states
        tainted = any(state.tainted for state in states.values())
        noise = [s.error for s in states.values() if not s.causes and math.isfinite(s.error)]
        event = Event(
            self.block, number, own, max(noise, default=0.0), tainted, self.base + number,
            self._measured(number),
        )  # fmt: skip
        self.flow.events[self.block, number] = event
        outputs = self._outputs(number, op)
        event.worst = max(outputs.values(), key=lambda m: m.error, default=None)
        self._explain(event, op, outputs)
        causes = [c for s in states.values() for c in s.causes]
        if op.op_type in MOVEMENT and causes and not tainted:
            self._hand_on(number, op, outputs, tuple(causes), event)
            return
        if not tainted:
            self._judge(event, op, states, causes)
        self._leave(number, op, outputs, event, states)

    def _explain(self, event: Event, op: Op, outputs: Mapping[int, Measured]) -> None:
        """Error that the inputs and the formats explain, magnified as the data magnify it."""
        inputs = {slot: m for (io, slot), m in event.measured.items() if io == "input"}
        kappa = conditioning(op, inputs, outputs)
        event.factor = PASS_FACTOR if kappa is None else STEADY_FACTOR
        event.explained = (kappa or 1.0) * (event.own_floor + GAIN * event.inherited)

    def _outputs(self, number: int, op: Op) -> dict[int, Measured]:
        """Usable measured outputs by slot; rewritten inputs count under negative slots."""
        mine = self._measured(number)
        found = {}
        for slot in range(max(len(op.outputs), 1)):
            item = mine.get(("output", slot))
            if item is None or not item.usable:
                item = self.proxies.get(Value(number, slot))
            if item is not None:
                found[slot] = item
        for slot in rewritten_slots(op):
            item = mine.get(("input", slot))
            if item is not None and item.usable:
                found[-1 - slot] = item
        return found

    def _input_states(self, number: int, op: Op) -> dict[int, State]:
        mine = self._measured(number)
        skip = rewritten_slots(op)
        return {
            slot: self._input_state(number, op, slot, operand, mine.get(("input", slot)))
            for slot, operand in enumerate(op.flat_inputs())
            if slot not in skip or self._is_tainted_param(operand)
        }

    def _is_tainted_param(self, operand: Operand) -> bool:
        return (
            isinstance(operand, Param)
            and (self.block.rank, self.graph.parameters[operand.index].name)
            in self.flow.tainted_params
        )

    def _input_state(
        self, number: int, op: Op, slot: int, operand: Operand, item: Measured | None
    ) -> State:
        usable = item is not None and item.usable
        error = item.error if usable and item is not None else 0.0
        if isinstance(operand, Value):
            before = self.values.get(operand, State())
            if not usable:
                return before
            if before.tainted or before.causes:
                return State(error, True, before.tainted, before.causes)
            return self._produced(number, slot, before, error)
        return self._given(number, op, slot, operand, error if usable else None)

    def _produced(self, number: int, slot: int, before: State, error: float) -> State:
        """State of a measured input whose producer is not known to be wrong."""
        limit = PASS_FACTOR * (floor(None, self.context[number]) + GAIN * before.error)
        if error <= limit or not before.measured:
            return State(error, True, via=before.via)
        group = self._group_of_reader(number)
        if group is not None and self.found is not None:
            difference = group_difference(group, self.found)
            cause = Cause("structure", difference.subject, difference.text, slot)
        else:
            text = f"input.{slot} is not what its producer wrote: overwritten between the two operators"
            cause = Cause("own-error", f"input.{slot}", text, slot)
        return State(error, True, causes=(cause,))

    def _given(
        self, number: int, op: Op, slot: int, operand: Operand, error: float | None
    ) -> State:
        """State of a parameter, feed or constant. Unmeasured feeds of later graphs may carry errors."""
        name = self.graph.parameters[operand.index].name if isinstance(operand, Param) else ""
        if self._is_tainted_param(operand):
            return State(error or 0.0, error is not None, tainted=True)
        feed = isinstance(operand, Param) and not self.graph.parameters[operand.index].is_weight
        if error is None:
            return State(0.0, tainted=feed and self.earlier)
        if error <= PASS_FACTOR * floor(None, self.context[number]):
            return State(error, measured=True)
        changing = feed or name in self.flow.updated
        if changing and not self.first:
            return State(error, True, tainted=self.earlier)
        subject = input_subject(op, self.graph, slot)
        if subject is None:
            return State(error, measured=True)
        return State(error, True, causes=(self._cause(number, slot, subject, error),))

    def _cause(self, number: int, slot: int, subject: tuple[str, str], error: float) -> Cause:
        kind, name = subject
        item = self._measured(number)[("input", slot)]
        metrics = item.divergence.metrics
        shown = f"relative difference {error:.3g}"
        if item.divergence.size == 1 and "TargetMax" in metrics:
            shown = _values(metrics["TargetMax"], metrics["GoldenMax"])
        text = f"input.{slot} ({name}) differs: {shown}"
        return Cause(kind, name, text, slot)

    def _hand_on(
        self,
        number: int,
        op: Op,
        outputs: Mapping[int, Measured],
        causes: tuple[Cause, ...],
        event: Event,
    ) -> None:
        """A moving operator passes a cause to the first operator that computes."""
        event.tainted = True
        for slot in range(max(len(op.outputs), 1)):
            item = outputs.get(slot)
            error = item.error if item is not None else math.inf
            self.values[Value(number, slot)] = State(error, item is not None, causes=causes)

    def _judge(
        self, event: Event, op: Op, states: Mapping[int, State], causes: list[Cause]
    ) -> None:
        """Decide whether the operator is where an error begins, and by which difference."""
        differences = self._differences(event.op, op)
        worst = event.worst.error if event.worst is not None else 0.0
        if causes:
            self._blame(event, event.op, (*causes, *differences))
            return
        unequal = self._unequal_counts(event)
        if not (worst > HINTED_FACTOR * event.explained or unequal):
            return
        blamed, found = self._stretch(event, states, differences)
        beyond = worst > event.factor * event.explained
        if jumps(op) and event.inherited > 0 and math.isfinite(worst):
            beyond = False
        if unequal or beyond or found:
            event.unseen = len({n for s in states.values() for n in s.via})
            self._blame(event, blamed, found)

    def _unequal_counts(self, event: Event) -> bool:
        return any(
            m.pair.io == "output" and m.divergence.reason.startswith("element counts")
            for m in event.measured.values()
        )

    def _stretch(
        self, event: Event, states: Mapping[int, State], own: tuple[Difference, ...]
    ) -> tuple[int, tuple[Difference, ...]]:
        """The operator to name among those that were not seen, the first with a difference."""
        unseen = sorted({n for state in states.values() for n in state.via})
        for number in unseen:
            found = self._differences(number, self.graph.ops[number])
            if found:
                return number, found
        return event.op, own

    def _differences(self, number: int, op: Op) -> tuple[Difference, ...]:
        if self.found is None:
            return ()
        partner = self.found.partner.get(number)
        if partner is not None:
            golden = self.found.golden.graph.ops[partner]
            return tuple(setting_differences(op, golden, PASS_FACTOR * self.context[number]))
        if op.op_type in IDENTITY:
            return ()
        for group in self.found.groups:
            if number in group.target:
                return (group_difference(group, self.found),)
        return ()

    def _group_of_reader(self, number: int) -> Group | None:
        groups = self.found.groups if self.found is not None else ()
        return next((g for g in groups if number in g.readers), None)

    def _blame(
        self, event: Event, number: int, differences: tuple[Difference | Cause, ...]
    ) -> None:
        event.guilty = True
        event.blamed = number
        event.differences = differences
        self.flow.guilty.append(event)

    def _leave(
        self,
        number: int,
        op: Op,
        outputs: Mapping[int, Measured],
        event: Event,
        states: Mapping[int, State],
    ) -> None:
        """Record what the operator's outputs carry."""
        wrong = event.guilty or event.tainted
        via = tuple(dict.fromkeys(n for state in states.values() for n in state.via))
        for slot in range(max(len(op.outputs), 1)):
            item = outputs.get(slot)
            if item is None:
                state = State(event.inherited, tainted=wrong, via=(*via[-64:], number))
            else:
                state = State(
                    item.error, True, wrong and item.error > event.factor * event.own_floor
                )
            self.values[Value(number, slot)] = state
        if wrong:
            for slot, operand in enumerate(op.flat_inputs()):
                if slot in rewritten_slots(op) and isinstance(operand, Param):
                    name = self.graph.parameters[operand.index].name
                    self.flow.tainted_params.add((self.block.rank, name))
