"""The walk through one execution of one graph (see `workbench.comparison.follow.walk`)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from workbench.comparison.align.differences import (
    Difference,
    input_subject,
    leaf_subject,
    of_one_subject,
    wiring_differences,
)
from workbench.comparison.follow.expected_error import initial_state_differs, is_beyond
from workbench.comparison.follow.golden_side import golden_error
from workbench.comparison.follow.naming import Names, input_difference, overwrite_difference
from workbench.comparison.follow.overflow import is_overflowed
from workbench.comparison.follow.ranks import is_replicated, measured_of_peers, states_of_peers
from workbench.comparison.follow.readings import read_inputs, values_seen_by_readers
from workbench.comparison.follow.states import (
    AMPLIFICATION,
    Assessment,
    ValueState,
    is_version_matter,
)
from workbench.comparison.follow.tolerances import excuse
from workbench.comparison.graphs.roles import ends_of, rewritten_slots, state_name, updates
from workbench.comparison.measure.conditioning import (
    STEADY_FACTOR,
    condition_number,
    correlated_error,
)
from workbench.comparison.measure.noise import NAMED_FACTOR, PASS_FACTOR, expected_rounding
from workbench.comparison.measure.quantization_error import (
    STEPS_FACTOR,
    quantization_error,
    rounded,
)
from workbench.core.words import Message
from workbench.graph.nodes import Value
from workbench.graph.traits import IDENTITY, MOVEMENT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from workbench.comparison.align.alignment import Alignment
    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.follow.flow import Flow
    from workbench.comparison.follow.ranks import Peer
    from workbench.comparison.measure.measure import Measured
    from workbench.graph.nodes import Graph, Op, Operand

GIVEN = frozenset(("attribute", "parameter", "input", "constant", "non-finite"))
"""Kinds of differences in what no operator produced; moving operators hand them on."""


class Visit:
    """One execution of one graph."""

    def __init__(
        self, flow: Flow, block: Execution, graph: Graph, found: Alignment | None, number: int
    ) -> None:
        self.flow = flow
        self.block = block
        self.graph = graph
        self.found = found
        self.base = number << 24
        self.first = all(one.rank != block.rank for one in flow.walked)
        self.context = flow.context(block, graph, found)
        self.values = flow.values.setdefault(block, {})
        self.given = ends_of(graph)
        self.names = Names(graph, found, self.context)
        self.proxies = values_seen_by_readers(graph, found, self.measured)
        self.peers: Sequence[Peer] = ()
        self.earlier = bool(flow.guilty or flow.before)

    def step(self, number: int) -> None:
        """Visit the next operator in listing order."""
        if number < len(self.graph.ops) and number not in self.given:
            self._visit(number, self.graph.ops[number])

    def measured(self, number: int) -> dict[tuple[str, int], Measured]:
        return self.flow.index.get((self.block, number), {})

    def _visit(self, number: int, op: Op) -> None:
        states = self._input_states(number, op)
        self.flow.input_states[self.block, number] = states
        states = {**states, **states_of_peers(self, op)}
        tainted = any(state.tainted for state in states.values())
        noise = [
            s.error
            for s in states.values()
            if not s.causes and not s.own and math.isfinite(s.error)
        ]
        noise += self.flow.left_by_the_last_step(self.block, self.graph, op)
        event = Assessment(
            self.block, number, expected_rounding(op, self.context[number]), max(noise, default=0.0), tainted,
            self.base + number, self.measured(number),
            own=any(s.own for s in states.values()) and not is_replicated(self.graph, op),
        )  # fmt: skip
        self.flow.events[self.block, number] = event
        outputs = self._outputs(number, op)
        event.worst = max(outputs.values(), key=lambda m: m.error, default=None)
        self._explain(event, op, outputs, correlated_error(op, _carried(states)))
        causes = tuple(dict.fromkeys(c for s in states.values() for c in s.causes))
        given = tuple(c for c in causes if c.kind in GIVEN)
        moves = op.op_type in MOVEMENT and given and not tainted
        if moves and not of_one_subject(given, self.names.settings(number)):
            self._hand_on(number, op, outputs, given, event)
            return
        event.replayed = self.flow.own_error(self.block, number)
        if is_overflowed(self.flow, event, op):
            event.overflowed = event.tainted = True
        elif tainted:
            self._note_named(event, op, given)
        elif event.own:
            self._judge_own(event, op, states, causes)
        else:
            self._judge(event, op, states, causes)
        if event.replayed is not None and event.replayed.suspect and not event.guilty:
            self._blame(event, number, self.names.settings(number))
        self.flow.fit.learn(event, op, expected_rounding(op, self.context[number]))
        self._leave(number, op, outputs, event, states)

    def _explain(
        self, event: Assessment, op: Op, outputs: Mapping[int, Measured], carried: float
    ) -> None:
        """Error that the inputs and the formats explain, magnified as the data magnify it."""
        inputs = read_inputs(self.graph, event.op, self.measured)
        inputs |= measured_of_peers(self, op)
        kappa = condition_number(op, inputs, outputs)
        event.factor = PASS_FACTOR if kappa is None else STEADY_FACTOR
        event.steps = quantization_error(self.found, event.op, self.measured)
        event.factor = event.factor if event.steps is None else STEPS_FACTOR
        event.own_floor = rounded(event.own_floor, event.steps) + self._rest_of_group(event.op)
        event.own_floor = self.flow.fit.floor(event, op)
        inherited = max(event.inherited, carried)
        # a product of two wrong factors, as the square that Adam takes, has both errors and their product
        event.explained = (kappa or 1.0) * (
            event.own_floor + inherited * (AMPLIFICATION + inherited)
        )
        event.beyond = is_beyond(self.flow, self.graph, event, outputs)

    def _rest_of_group(self, number: int) -> float:
        """Rounding of the other operators that a group was measured together with."""
        if self.found is None or number in self.found.partner:
            return 0.0
        group = next((g for g in self.found.groups if number in g.target and g.golden), None)
        if group is None:
            return 0.0
        ops = self.graph.ops
        others = [n for n in group.target if n < number and ops[n].op_type not in MOVEMENT]
        return sum(expected_rounding(ops[n], self.context[n]) for n in others)

    def _outputs(self, number: int, op: Op) -> dict[int, Measured]:
        """Usable measured outputs by slot; rewritten inputs count under negative slots."""
        mine = self.measured(number)
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

    def _input_states(self, number: int, op: Op) -> dict[int, ValueState]:
        mine = self.measured(number)
        skip = rewritten_slots(op)
        return {
            slot: self._input_state(number, op, slot, operand, mine.get(("input", slot)))
            for slot, operand in enumerate(op.flat_inputs())
            if slot not in skip or self._was_apart(operand)
        }

    def _was_apart(self, operand: Operand) -> bool:
        """Whether a parameter is known to differ before an operator updates it."""
        key = self.block.rank, state_name(self.graph, operand)
        return key in self.flow.tainted_params or key in self.flow.given_apart

    def _is_tainted_param(self, operand: Operand) -> bool:
        return (self.block.rank, state_name(self.graph, operand)) in self.flow.tainted_params

    def _input_state(
        self, number: int, op: Op, slot: int, operand: Operand, item: Measured | None
    ) -> ValueState:
        produced = isinstance(operand, Value) and operand.op not in self.given
        if item is None and op.op_type in IDENTITY and not produced:
            item = self.proxies.get(Value(number, 0))  # a cast on one side only has no pair itself
        usable = item is not None and item.usable
        error = item.error if usable and item is not None else 0.0
        if isinstance(operand, Value) and produced:
            before = self.values.get(operand, ValueState())
            if not usable:
                return before
            if before.tainted or before.causes or before.own:
                return ValueState(error, True, before.tainted, before.causes, own=before.own)
            return self._produced(number, slot, operand, before, error)
        return self._given(number, op, slot, operand, error if usable else None)

    def input_state(self, number: int, slot: int, value: Value) -> ValueState:
        """Return the state of an input that an operator has produced."""
        item = self.measured(number).get(("input", slot))
        return self._input_state(number, self.graph.ops[number], slot, value, item)

    def _produced(
        self, number: int, slot: int, value: Value, before: ValueState, error: float
    ) -> ValueState:
        """State of a measured input whose producer is not known to be wrong."""
        limit = PASS_FACTOR * (
            expected_rounding(None, self.context[number]) + AMPLIFICATION * before.error
        )
        seen = before.measured or all(self.graph.ops[n].op_type in IDENTITY for n in before.via)
        if error <= limit or not seen:
            return ValueState(error, True, via=before.via, carried=before.carried)
        place = self.flow, self.graph, self.block
        causes = self.names.wiring(number) or (
            overwrite_difference(*place, value, number, slot, limit),
        )
        return ValueState(error, True, causes=causes)

    def _given(
        self, number: int, op: Op, slot: int, operand: Operand, error: float | None
    ) -> ValueState:
        """State of a parameter, feed or constant; unmeasured feeds of later graphs may be wrong."""
        kind, _ = self._subject(op, slot, operand) or ("", "")
        name = state_name(self.graph, operand)
        carried = name in self.flow.updated
        if self._is_tainted_param(operand):
            return ValueState(error or 0.0, error is not None, tainted=True)
        feed = kind == "input" and not carried  # torchair has weights as Data, too
        if self._is_own(name, error, feed=feed):
            return ValueState(error or 0.0, error is not None, own=True)
        apart = self.flow.given_apart.get((self.block.rank, name))
        if error is None and apart is not None and self.block.iteration == 0:
            return ValueState(causes=(apart,))
        if error is None:
            received = self.flow.received(self.block, self.graph, operand)
            return ValueState(received, tainted=self.earlier) if feed else ValueState()
        if error <= PASS_FACTOR * expected_rounding(None, self.context[number]):
            return ValueState(error, measured=True, carried=carried)
        wired = tuple(wiring_differences(self.found, number, slot)) if self.found else ()
        if wired:
            return ValueState(error, True, causes=wired)
        alone = self.flow.updated_by_one.get((self.block.rank, name))
        if alone and not self.first:
            return ValueState(error, True, causes=(Difference("structure", name, alone),))
        if not self.first and self._may_carry(number, name, error, feed=feed):
            return ValueState(error, True, tainted=self.earlier, carried=carried)
        cause = self._cause(number, op, slot, error)
        if self.first and carried and self.block.iteration > 0:
            self._began_before(number, slot, name, cause)
            return ValueState(error, True, tainted=True)
        if cause is None:
            return ValueState(error, True)
        self.flow.given_apart[self.block.rank, name] = cause
        return ValueState(error, True, causes=(cause,))

    def _is_own(self, name: str, error: float | None, *, feed: bool) -> bool:
        """Whether a difference is by design: ranks of one job have batches, and moments of them, of their own."""
        if self.flow.job is None or (error is not None and not 0 < error < math.inf):
            return False
        if feed:
            self.flow.own_feeds[name] = None
            self.flow.own_params.add((self.block.rank, name))
        return (self.block.rank, name) in self.flow.own_params

    def _subject(
        self, op: Op, slot: int, operand: Operand, size: int = 1
    ) -> tuple[str, str] | None:
        """Kind and name of an input that no operator computes."""
        if not isinstance(operand, Value):
            return input_subject(op, self.graph, slot, size)
        return leaf_subject(self.graph, operand, self.found)

    def _may_carry(self, number: int, name: str, error: float, *, feed: bool) -> bool:
        """Whether a difference may come from what ran before: another graph, or an earlier update."""
        if feed:
            return any(
                b.iteration == self.block.iteration and b.graph_id != self.block.graph_id
                for b in self.flow.walked
            )
        last = self.flow.last_update.get((self.block.rank, name))
        if last is None:
            return name in self.flow.updated
        return error <= PASS_FACTOR * (
            expected_rounding(None, self.context[number]) + AMPLIFICATION * last
        )

    def _began_before(self, number: int, slot: int, name: str, cause: Difference | None) -> None:
        """A parameter that the run updates differs already: earlier iterations were not compared."""
        self.flow.tainted_params.add((self.block.rank, name))
        self.earlier = True
        event = Assessment(self.block, number, expected_rounding(None, self.context[number]), 0.0, True,
                      self.base + number, self.measured(number), blamed=number)  # fmt: skip
        event.worst = event.measured.get(("input", slot))
        said = Message("compare/differs-at-start", name=name, iteration=self.block.iteration)
        event.differences = (Difference("parameter", name, said),)
        if cause is not None:
            event.differences += (cause,)
        self.flow.before.append(event)

    def _cause(self, number: int, op: Op, slot: int, error: float) -> Difference | None:
        item = self.measured(number).get(("input", slot)) or self.proxies[Value(number, 0)]
        operand = op.operand(slot)
        subject = operand and self._subject(op, slot, operand, item.divergence.size)
        if not subject:
            return None
        return input_difference(subject, item, slot, error)

    def _hand_on(
        self,
        number: int,
        op: Op,
        outputs: Mapping[int, Measured],
        causes: tuple[Difference, ...],
        event: Assessment,
    ) -> None:
        """Let a moving operator pass a cause to the first operator that computes."""
        event.tainted = True
        for slot in range(max(len(op.outputs), 1)):
            item = outputs.get(slot)
            error = item.error if item is not None else math.inf
            self.values[Value(number, slot)] = ValueState(error, item is not None, causes=causes)

    def _note_named(self, event: Assessment, op: Op, given: tuple[Difference, ...]) -> None:
        """Remember a named difference behind another defect; it may be a cause of its own."""
        differences = (*given, *self.names.settings(event.op))
        if differences:
            event.differences = differences
            event.blamed = event.op
            self.flow.tainted_named.append(event)

    def _judge(
        self,
        event: Assessment,
        op: Op,
        states: Mapping[int, ValueState],
        causes: tuple[Difference, ...],
    ) -> None:
        """Decide whether the operator is where an error begins, and by which difference."""
        differences = self.names.differences(event.op)
        worst = event.worst.error if event.worst is not None else math.inf
        if causes and worst > event.own_floor:
            self._blame(event, event.op, (*causes, *differences))
            return
        unequal = self._unequal_counts(event)
        if not unequal and (event.worst is None or worst <= NAMED_FACTOR * event.explained):
            return
        beyond = event.beyond
        blamed, found = self.names.stretch(event.op, states, differences)
        if not beyond and all(d.kind == "structure" for d in found):
            found = ()  # other operators for the same thing round otherwise; that is no hint
        if beyond and not found:
            blamed, found = self.names.mover(event.op)
            found = found or initial_state_differs(self.flow, self.graph, event)
        if beyond and not found and self._is_cleared(event, states):
            found = golden_error(self.flow, event)
            beyond = bool(found)
        if not found and self.flow.two_versions and is_version_matter(op, event):
            event.healed, event.blamed = True, event.op
            self.flow.version_matters.append(event)
            return
        if unequal or beyond or found:
            event.unseen = len({n for s in states.values() for n in s.via})
            self._blame(event, blamed, (*causes, *found) if blamed == event.op else found)

    def _judge_own(
        self,
        event: Assessment,
        op: Op,
        states: Mapping[int, ValueState],
        causes: tuple[Difference, ...],
    ) -> None:
        """Judge what computes with the batch of its rank: by what has a name, and by NaN that no input has."""
        found = (*causes, *self.names.differences(event.op))
        broken = event.worst is not None and event.worst.divergence.mismatch
        if found or (broken and all(math.isfinite(s.error) for s in states.values())):
            self._blame(event, event.op, found)
        named = {(self.block.rank, d.subject) for d in causes if d.kind == "parameter"}
        self.flow.tainted_params |= named

    def _is_cleared(self, event: Assessment, states: Mapping[int, ValueState]) -> bool:
        """Whether replay says that the operator did what it had to, and all that it read was compared."""
        replayed = self.flow.replayed
        ops = self.graph.ops  # replay looks through what only moves
        unseen = any(ops[n].op_type not in MOVEMENT for s in states.values() for n in s.via)
        return replayed is not None and replayed.clears(event.block, event.op) and not unseen

    def _unequal_counts(self, event: Assessment) -> bool:
        return any(m.pair.io == "output" and m.sizes_differ for m in event.measured.values())

    def _blame(self, event: Assessment, number: int, differences: tuple[Difference, ...]) -> None:
        event.blamed = number
        event.guilty = not excuse(self.flow, event)
        # an argument that differs as dumped input and as constant of the graph is one difference
        once = {(d.kind, d.subject): d for d in reversed(differences)}
        event.differences = tuple(
            d
            for d in differences
            if once[d.kind, d.subject] is d
            and not (d.kind == "constant" and ("attribute", d.subject) in once)
        )
        self.flow.guilty += [event] if event.guilty else []

    def _leave(
        self,
        number: int,
        op: Op,
        outputs: Mapping[int, Measured],
        event: Assessment,
        states: Mapping[int, ValueState],
    ) -> None:
        """Record what the operator's outputs carry."""
        self.flow.remember_updates(self.block, self.graph, op, self.measured(number))
        wrong = event.guilty or event.tainted
        via = tuple(dict.fromkeys(n for state in states.values() for n in state.via))
        carried = op.op_type in MOVEMENT and any(state.carried for state in states.values())
        for slot in range(max(len(op.outputs), 1)):
            item = outputs.get(slot)
            if item is None:
                error = max(event.inherited, correlated_error(op, _carried(states)))
                state = ValueState(
                    error, tainted=wrong, via=(*via[-64:], number), carried=carried, own=event.own
                )
            else:
                beyond = item.error > event.factor * event.own_floor
                own = event.own and not item.divergence.equal
                state = ValueState(item.error, True, wrong and beyond, carried=carried, own=own)
            self.values[Value(number, slot)] = state
            self.flow.hand_over(self.block, self.graph, Value(number, slot), state.error)
        names = {(self.block.rank, name) for _, name in updates(self.graph, op)}
        if wrong and not event.overflowed:
            self.flow.tainted_params |= names
        elif event.own:
            self.flow.own_params |= names


def _carried(states: Mapping[int, ValueState]) -> Iterator[float]:
    """Errors of the inputs that an earlier step has left."""
    return (state.error for state in states.values() if state.carried)
