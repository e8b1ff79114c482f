"""Follow errors through the data flow and find where they begin.

Operators are visited in data-flow order, execution by execution. An operator is *guilty* when its
outputs differ by more than its inputs and the number formats explain, while nothing that feeds it
has already been called wrong. Everything behind a guilty operator only inherits.

Scalars, attributes, constants and parameters that differ are causes, not excuses. Operators that
only move or cast data hand such a cause on to the first operator that computes with it. Operators
that were not dumped are looked through: the blame falls on the stretch they belong to.

Whatever decides is a row in a table: `inputs` for what an input carries, `operators` for what an operator is
found to be and what it leaves, here for executions without a graph, `masking` for what agrees again in the end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

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
    AGREES,
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
from workbench.comparison.follow.rules import Rule, decide
from workbench.comparison.follow.state import INHERITS, Assessment
from workbench.comparison.follow.trace import Survey, Trace, read_only, survey
from workbench.comparison.limits import limits
from workbench.comparison.measure.noise import coarsest_roundoff, expected_rounding, spec_roundoff
from workbench.graph.table.collectives import COLLECTIVES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from workbench.comparison.bind.binding import Execution, OperatorRun
    from workbench.comparison.follow.facts import Observation, Scene
    from workbench.comparison.follow.state import ValueState
    from workbench.comparison.follow.trace import Place
    from workbench.comparison.map_file import Tolerance
    from workbench.comparison.measure.measure import Measured
    from workbench.comparison.pair.pairing import Pairing
    from workbench.comparison.replay.replay import Replay
    from workbench.graph.nodes import Graph


def follow(
    pairing: Pairing,
    measured: Iterable[Measured],
    *,
    npu: bool,
    replayed: Replay | None = None,
) -> Trace:
    """Visit every execution in order and return what was learned.

    ``npu``: one of the runs was on an NPU, whose cube rounds its inputs whatever the graph says.
    ``replayed`` are own errors of the target's operators; where there is one it decides.
    """
    walk = _Walk(survey(pairing, measured, npu=npu, replayed=replayed))
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
        made, coarsest = in_time(self._survey, block, self._count << 24)
        for one in made:
            self._note(one)
        key = block.graph_key
        self._coarsest[key] = max(coarsest, self._coarsest.get(key, 0.0))

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
        )


def _roundoff_of(known: Survey, block: Execution, graph: Graph) -> list[float]:
    """Coarsest roundoff behind every operator of the target, both sides taken together."""
    ours = coarsest_roundoff(graph, npu=known.npu)
    found = known.pairing.alignments.get(block.graph_key)
    if found is not None:
        theirs = coarsest_roundoff(found.golden.graph, npu=known.npu)
        for t, g in found.match_of.items():
            ours[t] = max(ours[t], theirs[g])
        for t, fusion in found.fused.items():
            ours[t] = max(ours[t], *(theirs[g] for g in fusion.golden))
    return ours


def _judge(scene: Scene, seen: Observation, carry: Carry) -> tuple[Assessment, Conclusion]:
    """Conclude what an operator is, first from the comparison and then from replay."""
    facts = operator_facts(scene, seen, carry)
    name, concluded = decide(OPERATOR_RULES, facts, carry)
    excuse = _excuse(scene.survey, seen, concluded)
    convicted = concluded.kind == "origin" and (excuse is None or concluded.op == seen.op)
    second, own = decide(SECOND_RULES, SecondFacts(facts, concluded.kind, convicted), carry)
    if own is not None:
        name, excuse = second, _excuse(scene.survey, seen, own)
    return _assessment(seen, name, concluded, own, excuse), concluded


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
    )


def _excuse(
    known: Survey, seen: Observation | Assessment, concluded: Conclusion
) -> Tolerance | None:
    """Return what of the map file tolerates an origin: its error then counts as known.

    Asked are the operator to name and the one whose output shows it.
    """
    overrides = known.pairing.overrides
    measured = seen.worst if seen.worst is not None else seen.replayed
    if concluded.kind != "origin" or not overrides.tolerances or measured is None:
        return None
    if not math.isfinite(measured.error):
        return None
    names = []
    graph = known.pairing.target.graph(seen.block)
    if graph is not None and concluded.op >= 0:
        op = graph.ops[concluded.op]
        names.append((op.name, op.op_type))
    run = known.pairing.target.runs[seen.block].get(seen.op)
    if run is not None:
        names.append((run.op_name, run.op_type))
    asked = (overrides.tolerated(*named, measured.error) for named in names)
    return next((tolerance for tolerance in asked if tolerance is not None), None)


def _leave(
    scene: Scene, seen: Observation, made: Assessment, concluded: Conclusion, carry: Carry
) -> None:
    """Let what comes behind an operator know of it."""
    moved = concluded.kind == "hands-on"
    for output in outputs_left(scene, seen, made, concluded.differences if moved else ()):
        decide(OUTPUT_RULES, output, carry)
    for update in () if moved else updates_left(scene, seen, made):
        decide(UPDATE_RULES, update, carry)
    if made.worst is not None and made.worst.forecast is not None:
        rounding = expected_rounding(scene.graph.ops[seen.op], scene.roundoff[seen.op])
        decide(FORECAST_RULES, forecast_left(scene, made, rounding), carry)


# --- executions without a graph ------------------------------------------------------------------


@dataclass(slots=True)
class TimeMemory:
    """What an execution without a graph has shown so far, changed by what rules learn.

    ``allowed`` is the largest error that an operator may have given, ``tolerated`` the largest that the map file
    tolerates; ``failed``: one was too large.
    """

    allowed: float = 0.0
    tolerated: float = 0.0
    failed: bool = False


class TimeFacts(NamedTuple):
    """An operator in the order of time; ``limit`` is what its inputs and the formats explain of ``worst``.

    ``rank_local``: it may differ by design, ``tainted``: more than what was allowed before it comes in; ``tolerated``:
    the map file excuses its error.
    """

    op: int = 0
    worst: float = 0.0
    limit: float = 0.0
    rank_local: bool = False
    tainted: bool = False
    tolerated: bool = False


def _learn_allowed(facts: TimeFacts, _: Conclusion, memory: TimeMemory) -> None:
    memory.allowed = max(memory.allowed, 0.0 if facts.tainted else facts.worst)


def _learn_failed(facts: TimeFacts, _: Conclusion, memory: TimeMemory) -> None:
    memory.failed = True


def _learn_excused(facts: TimeFacts, _: Conclusion, memory: TimeMemory) -> None:
    memory.tolerated = max(memory.tolerated, facts.worst)


TIME_RULES: tuple[Rule[TimeFacts, Conclusion, TimeMemory], ...] = (
    Rule(
        "own-batch",
        lambda o: o.rank_local,
        lambda o: Conclusion("rank-local"),
        why="two ranks differ by design, and what they may give says nothing of others",
    ),
    Rule(
        "within-expected",
        lambda o: o.worst <= o.limit,
        lambda o: AGREES,
        learns=_learn_allowed,
        why="its inputs explain it, right or wrong; what one operator may give any later one may read",
    ),
    Rule(
        INHERITS,
        lambda o: o.tainted,
        lambda o: Conclusion("inherits", o.op),
        learns=_learn_failed,
        why="one origin a chain, as far as time tells what is one",
    ),
    Rule(
        "tolerated",
        lambda o: o.tolerated,
        lambda o: Conclusion("origin", o.op),
        learns=_learn_excused,
        why="an excused error is known, so what reads it has not failed",
    ),
    Rule(
        "exceeds-expected",
        lambda o: True,
        lambda o: Conclusion("origin", o.op),
        learns=_learn_failed,
        why="nothing explains so large an error",
    ),
)
"""What an operator without a graph is found to be."""


def in_time(known: Survey, block: Execution, base: int) -> tuple[list[Assessment], float]:
    """Judge one execution without a graph: the order of time stands in for the data flow.

    What feeds what is not known, so every number format met so far counts as met by all that follows, and what one
    operator may give, any later one may read. Returns the coarsest roundoff that was met, too.
    """
    runs, memory = known.pairing.target.runs[block], TimeMemory()
    found, coarsest = list[Assessment](), 0.0
    for op in sorted(runs, key=lambda n: runs[n].time):
        measured = known.index.get((block, op), {})
        usable = [m for m in measured.values() if m.usable]
        if not usable:
            continue
        labels = [r.label for m in usable for r in (m.pair.target, m.pair.golden)]
        coarsest = max(coarsest, *(spec_roundoff(label) for label in labels))
        floor = expected_rounding(None, coarsest)
        seen = _seen_in_time(known, runs[op], usable, base, floor, memory)
        facts = _time_facts(known, seen)
        name, concluded = decide(TIME_RULES, facts, memory)
        made = seen._replace(conclusion=name, origin_op=concluded.op)
        if concluded.kind == "origin":
            excuse = _excuse(known, seen, concluded)
            made = made._replace(is_origin=excuse is None, tolerated=excuse)
        found.append(made)
    return found, coarsest


def _seen_in_time(
    known: Survey,
    run: OperatorRun,
    usable: Sequence[Measured],
    base: int,
    floor: float,
    memory: TimeMemory,
) -> Assessment:
    """What is seen of an operator before it is judged; ``floor`` is what the formats met so far explain."""
    inputs = [m.error for m in usable if m.pair.io == "input" and not m.within_spread]
    outputs = [m for m in usable if m.pair.io == "output" and not m.within_spread]
    inherited = max(inputs, default=memory.tolerated)
    judging = limits()
    excused = judging.amplification * memory.tolerated
    tainted = inherited > max(judging.pass_factor * floor, excused, memory.allowed)
    tainted |= memory.failed and not inputs
    if inherited == 0.0 and any(one.exact and one.error > 0 for one in outputs):
        floor, outputs = 0.0, [one for one in outputs if one.exact]
    seen = Assessment(
        run.block, run.op, floor, inherited, tainted, base - run.op, known.index[run.block, run.op],
        tolerance_factor=judging.pass_factor, expected_error=floor + judging.amplification * inherited,
        worst=max(outputs, key=lambda m: m.error, default=None),
    )  # fmt: skip
    if known.job is None:
        return seen
    # what it reads differs between two ranks of a job, or is not known, up to where they meet
    if run.op_type in COLLECTIVES:
        return seen._replace(tainted=False, inherited=0.0, expected_error=floor)
    return seen._replace(tainted=False, rank_local=tainted or not inputs)


def _time_facts(known: Survey, seen: Assessment) -> TimeFacts:
    worst = seen.worst.error if seen.worst is not None else 0.0
    facts = TimeFacts(
        seen.op, worst, seen.tolerance_factor * seen.expected_error, seen.rank_local, seen.tainted
    )
    if worst <= facts.limit or seen.rank_local or seen.tainted:
        return facts
    excuse = _excuse(known, seen, Conclusion("origin", seen.op))
    return facts._replace(tolerated=excuse is not None)
