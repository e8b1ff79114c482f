"""Follow errors through the data flow and find where they begin.

Operators are visited in data-flow order, execution by execution. An operator is *guilty* when its
outputs differ by more than its inputs and the number formats explain, while nothing that feeds it
has already been called wrong. Everything behind a guilty operator only inherits.

Scalars, attributes, constants and parameters that differ are causes, not excuses. Operators that
only move or cast data hand such a cause on to the first operator that computes with it. Operators
that were not dumped are looked through: the blame falls on the stretch they belong to.

Whatever decides is a row in a table: `inputs` for what an input carries, `operators` for what an operator is
found to be and what it leaves, `in_time` for executions without a graph, `masking` for what agrees again in the end.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields
from types import MappingProxyType
from typing import TYPE_CHECKING

from workbench.comparison.follow.carry import Carry
from workbench.comparison.follow.expected_error import expected_error, read_inputs
from workbench.comparison.follow.facts import (
    observe,
    operator_facts,
    scene_of,
)
from workbench.comparison.follow.inputs import input_states, states_of_peers
from workbench.comparison.follow.masking import mark_masked
from workbench.comparison.follow.operators import (
    FORECAST_RULES,
    OPERATOR_RULES,
    OUTPUT_RULES,
    SECOND_RULES,
    UPDATE_RULES,
    Conclusion,
    SecondFacts,
    forecast_left,
    outputs_left,
    updates_left,
)
from workbench.comparison.follow.ranks import lockstep, measured_of_peers
from workbench.comparison.follow.rules import decide
from workbench.comparison.follow.state import Assessment
from workbench.comparison.follow.trace import Survey, Trace, excused, read_only, survey
from workbench.comparison.measure.noise import INT8, NO_FILES, coarsest_roundoff, spec_roundoff
from workbench.comparison.trust import Trust
from workbench.core.long_work import Stopped, checkpoint
from workbench.graph.graph import Param, Value
from workbench.ops import MOVEMENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.follow.facts import Observation, Scene
    from workbench.comparison.follow.state import ValueState
    from workbench.comparison.follow.trace import Place
    from workbench.comparison.map_file import Tolerance
    from workbench.comparison.measure.measure import Measured
    from workbench.comparison.pair.pairing import Pairing
    from workbench.comparison.replay.replay import Replay
    from workbench.graph.graph import Graph, Operand


def follow(
    pairing: Pairing,
    measured: Iterable[Measured],
    *,
    npu: bool,
    replayed: Replay | None = None,
) -> Trace:
    """Visit every execution in order and return what was learned.

    ``npu``: one of the runs was on an NPU, whose cube rounds its inputs whatever the graph says.
    ``replayed`` are own errors of the target's operators; where there is one it decides. Whoever stops this work
    (`workbench.core.long_work`) has what was learned by then.
    """
    walk = _Walk(survey(pairing, measured, npu=npu, replayed=replayed))
    with suppress(Stopped):
        for blocks in lockstep(pairing.block_order):
            walk.lockstep(blocks)
    return mark_masked(walk.trace())


class _Walk:
    """The walk while it is under way: what it has concluded so far, and what it carries on."""

    def __init__(self, known: Survey) -> None:
        self._survey = known
        self._carry = Carry()
        self._made: dict[Place, Assessment] = {}
        self._origins: list[Assessment] = []
        self._states: dict[Place, Mapping[int, ValueState]] = {}
        self._walked: list[Execution] = []
        self._roundoff: dict[tuple[int, int], list[float]] = {}
        self._coarsest: dict[tuple[int, int], float] = {}
        self._grounds: dict[Execution, Trust] = {}
        self._count = 0

    def lockstep(self, blocks: Sequence[Execution]) -> None:
        """Visit executions of several ranks operator by operator; those without a graph one after another."""
        target = self._survey.pairing.target
        scenes: list[Scene] = []
        for block in blocks:
            graph = target.graph(block)
            if graph is None:
                self._visit_in_time(block)
            else:
                scenes.append(self._scene(block, graph))
            self._count += 1
        for number in range(max((len(scene.graph.ops) for scene in scenes), default=0)):
            checkpoint()
            for scene in scenes:
                if number < len(scene.graph.ops) and number not in scene.ends:
                    peers = [one for one in scenes if one is not scene]
                    self._visit(scene, number, peers)
        self._walked += blocks

    def _scene(self, block: Execution, graph: Graph) -> Scene:
        key = block.graph_key
        if key not in self._roundoff:
            self._roundoff[key] = _roundoff_of(self._survey, block, graph)
            self._coarsest[key] = max(self._roundoff[key], default=0.0)
        return scene_of(
            self._survey, block, graph, self._roundoff[key],
            number=self._count, walked=self._walked,
            wrong_before=bool(self._carry.initial_differences or self._origins),
        )  # fmt: skip

    def _visit(self, scene: Scene, number: int, peers: Sequence[Scene]) -> None:
        states = input_states(scene, number, self._carry)
        self._states[scene.block, number] = states
        of_peers = states_of_peers(scene, number, peers, self._carry)
        seen = observe(scene, number, states, of_peers, self._carry)
        inputs = read_inputs(scene.graph, number, scene.measured)
        inputs |= measured_of_peers(scene.graph.ops[number], peers)
        seen = seen._replace(expected=expected_error(scene, seen, inputs, self._carry))
        made, concluded = _judge(scene, seen, self._carry)
        self._note(made)
        _leave(scene, seen, made, concluded, self._carry)

    def _visit_in_time(self, block: Execution) -> None:
        first = all(one.rank != block.rank for one in self._walked)
        base = self._count << 24
        from workbench.comparison.follow.in_time.visit import in_time

        found = in_time(self._survey, block, base, first=first)
        for one in found.made:
            self._note(one)
        key = block.graph_key
        self._coarsest[key] = max(found.coarsest, self._coarsest.get(key, 0.0))
        self._grounds[block] = found.trust

    def _note(self, made: Assessment) -> None:
        self._made[made.block, made.op] = made
        self._origins += [made] if made.is_origin else []

    def trace(self) -> Trace:
        """What was found."""
        carry = self._carry
        known = {one.name: getattr(self._survey, one.name) for one in fields(Survey)}
        return Trace(
            **known,
            events=MappingProxyType(self._made),
            origins=tuple(one for one in self._origins if not one.masked),
            initial_differences=tuple(carry.initial_differences),
            input_states=read_only(self._states),
            values=read_only(carry.values),
            walked=tuple(self._walked),
            rank_local_feeds=MappingProxyType(carry.rank_local_feeds),
            rank_local_params=frozenset(carry.rank_local_params),
            tainted_params=frozenset(carry.tainted_params),
            coarsest=MappingProxyType(self._coarsest),
            grounds=MappingProxyType(self._grounds),
        )


def _roundoff_of(known: Survey, block: Execution, graph: Graph) -> list[float]:
    """Coarsest roundoff behind every operator of the target, both sides taken together."""
    of_files = _files_of(known, block, graph)
    ours = coarsest_roundoff(graph, npu=known.npu, of_files=of_files)
    found = known.pairing.alignments.get(block.graph_key)
    if found is not None:
        theirs = coarsest_roundoff(found.golden.graph, npu=known.npu)
        for t, g in found.match_of.items():
            ours[t] = max(ours[t], theirs[g])
        for t, fusion in found.fused.items():
            ours[t] = max(ours[t], *(theirs[g] for g in fusion.golden))
    return ours


def _files_of(known: Survey, block: Execution, graph: Graph) -> Mapping[int, float]:
    """Roundoff of the formats that files of operators are labelled with, if their graph and its formats are lent.

    A graph that is lent does not say where int8 comes in, so every operator counts as behind it if there is any
    in the target alone; of int8 in the golden the golden's own graph tells.
    """
    binding = known.pairing.target
    if binding.trust(block).graph != "borrowed":
        return NO_FILES
    least = INT8 if block in known.quantized else 0.0
    found = dict.fromkeys(range(len(graph.ops)), least)
    for number, run in binding.runs[block].items():
        found[number] = max((least, *(spec_roundoff(one.label) for one in run.tensors.values())))
    return found


def _judge(scene: Scene, seen: Observation, carry: Carry) -> tuple[Assessment, Conclusion]:
    """Conclude what an operator is, first from the comparison and then from replay."""
    facts = operator_facts(scene, seen, carry)
    name, concluded = decide(OPERATOR_RULES, facts, carry, scene.trust)
    excuse = excused(scene.survey, seen, concluded)
    convicted = concluded.kind == "origin" and (excuse is None or concluded.op == seen.op)
    about = SecondFacts(facts, concluded.kind, convicted)
    second, own = decide(SECOND_RULES, about, carry, scene.survey.pairing.target.trust(seen.block))
    if own is not None:
        name, excuse = second, excused(scene.survey, seen, own)
    made = _assessment(seen, name, concluded, own, excuse)
    if made.is_origin:
        made = made._replace(open_inputs=tuple(_open_inputs(scene, seen)))
    return made, concluded


def _open_inputs(scene: Scene, seen: Observation) -> Iterator[int]:
    """Inputs of which nobody knows that they agree: feeds, and what operators gave that were not dumped either.

    A weight that was not dumped counts as loaded from the same file, and what replay has computed a suspect operator
    from is known, whether the golden has it or not.
    """
    graph, run = scene.graph, scene.survey.pairing.target.runs[seen.block].get(seen.op)
    op = graph.ops[seen.op]
    suspect = seen.replayed is not None and seen.replayed.suspect
    computed_from = run.tensors.keys() if suspect and run is not None else frozenset()
    for slot, operand in enumerate(op.flat_inputs()):
        state = seen.states.get(slot)
        if state is None or state.measured or state.causes or ("input", slot) in computed_from:
            continue
        if isinstance(operand, Value) and operand.op not in scene.ends:
            unseen = any(graph.ops[n].op_type not in MOVEMENT for n in state.unobserved)
        else:
            kind, _ = scene.subject(op, slot, operand) or ("", "")
            unseen = kind == "input" and not _is_read_elsewhere(scene, operand)
        if unseen:
            yield slot


def _is_read_elsewhere(scene: Scene, operand: Operand) -> bool:
    """Whether some operator's file of the same feed was compared."""
    readers = scene.graph.consumers.get(operand, ()) if isinstance(operand, Value | Param) else ()
    items = (scene.measured(number).get(("input", slot)) for number, slot in readers)
    return any(item is not None and item.usable for item in items)


def _assessment(
    seen: Observation,
    name: str,
    first: Conclusion,
    own: Conclusion | None,
    excuse: Tolerance | None,
) -> Assessment:
    """Put together what was seen of an operator and what was concluded; ``own`` is what replay adds."""
    said, expected = own or first, seen.expected
    return Assessment(
        seen.block,
        seen.op,
        expected.rounding_floor,
        seen.inherited,
        seen.tainted or first.kind in ("hands-on", "overflow"),
        seen.order,
        seen.measured,
        expected.tolerance_factor,
        expected.expected_error,
        said.differences if said.kind != "hands-on" else (),
        is_origin=said.kind == "origin" and excuse is None,
        masked=first.kind == "remark",
        worst=expected.worst,
        origin_op=said.op,
        steps=expected.steps,
        unobserved_count=said.unobserved_count,
        rank_local=seen.rank_local,
        replayed=seen.replayed if first.kind != "hands-on" else None,
        overflowed=first.kind == "overflow",
        limit=expected.limit,
        tolerated=excuse,
        conclusion=name,
        undecided=said.doubt,
    )


def _leave(
    scene: Scene, seen: Observation, made: Assessment, concluded: Conclusion, carry: Carry
) -> None:
    """Let what comes behind an operator know of it."""
    moved = concluded.kind == "hands-on"
    for output in outputs_left(scene, seen, made, concluded.differences if moved else ()):
        decide(OUTPUT_RULES, output, carry, scene.trust)
    for update in () if moved else updates_left(scene, seen, made):
        decide(UPDATE_RULES, update, carry, scene.trust)
    if made.worst is not None and made.worst.forecast is not None:
        decide(FORECAST_RULES, forecast_left(scene, made), carry, scene.trust)
