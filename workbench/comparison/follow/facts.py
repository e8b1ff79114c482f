"""What the rules of the walk are asked about: values, worked out before a rule looks at them.

A `Scene` is one execution of one graph, as far as the walk does not change it; the facts of an input or of an
operator add what the walk remembers. What costs something to know (names, replay) is asked where an error is
too large to agree; elsewhere it is empty.
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.comparison.align.differences import (
    Difference,
    input_subject,
    leaf_subject,
    wiring_differences,
)
from workbench.comparison.follow.expected_error import (
    Expected,
    doubt_of_figures,
    initial_state_differs,
    is_of_unit,
    values_seen_by_readers,
)
from workbench.comparison.follow.naming import (
    NOBODY,
    Named,
    Names,
    golden_error,
    input_difference,
    is_cleared,
    is_version_matter,
    local_difference,
    may_be_fused,
    of_a_borrower,
    overwrite_difference,
    wired_unlike,
)
from workbench.comparison.follow.nan_origins import born_between, born_here
from workbench.comparison.follow.overflow import is_overflowed
from workbench.comparison.follow.ranks import is_replicated
from workbench.comparison.follow.state import DIFFERS_AT_START, Assessment, ValueState
from workbench.comparison.graphs.roles import (
    ends_of,
    rewritten_slots,
    state_name,
    updates,
)
from workbench.comparison.limits import limits
from workbench.comparison.measure.conditioning import correlated_error
from workbench.comparison.measure.noise import expected_rounding
from workbench.comparison.trust import OWN, Trust, may_say
from workbench.core.words import Message
from workbench.graph.graph import Param, Value
from workbench.ops import IDENTITY, MOVEMENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence, Set

    from workbench.comparison.align.alignment import Alignment
    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.follow.carry import Carry
    from workbench.comparison.follow.trace import Key, Measures, Place, Survey
    from workbench.comparison.measure.measure import Measured
    from workbench.comparison.replay.own_error import OwnError
    from workbench.comparison.replay.slices import SliceError
    from workbench.graph.graph import Graph, Op, Operand

    Lookup = Callable[[int], Measures]

GIVEN = frozenset(("attribute", "parameter", "input", "constant", "non-finite"))
"""Kinds of differences in what no operator produced; moving operators hand them on."""

_NOTHING: Measures = MappingProxyType({})
"""What was measured of an operator without a tensor in both dumps."""


class Scene(NamedTuple):
    """One execution of one graph.

    ``found`` aligns it with the golden's, ``base`` is added to the numbers of its operators to order them,
    ``roundoff`` the coarsest behind every operator. It is the ``first`` one of its rank; ``beside`` says that another
    graph of the iteration ran before it, ``wrong_before`` that something was wrong by then. ``ends`` are operators
    at which the graph begins and ends, ``proxies`` the values that were dumped only as what their readers read;
    ``trust`` is what its graph is worth.
    """

    survey: Survey
    block: Execution
    graph: Graph
    found: Alignment | None
    base: int
    roundoff: Sequence[float]
    first: bool
    beside: bool
    wrong_before: bool
    ends: Set[int]
    names: Names
    proxies: Mapping[Value, Measured]
    trust: Trust = OWN

    def measured(self, number: int) -> Measures:
        """What was measured of an operator, by direction and slot."""
        return self.survey.index.get((self.block, number), _NOTHING)

    def given(self, number: int, slot: int) -> Measured | None:
        """What was measured of an input; of a parameter that nobody dumped as input, what its file shows."""
        item = self.measured(number).get(("input", slot))
        operand = self.graph.ops[number].operand(slot)
        if item is not None or not isinstance(operand, Param):
            return item
        name = self.graph.parameters[operand.index].name
        return self.survey.parameter(self.block, name)

    def subject(self, op: Op, slot: int, operand: Operand, size: int = 1) -> tuple[str, str] | None:
        """Kind and name of an input that no operator computes."""
        if isinstance(operand, Value):
            return leaf_subject(self.graph, operand, self.found)
        return input_subject(op, self.graph, slot, size)

    def key(self, operand: Operand) -> Key:
        """Rank and name of the parameter that an operand is."""
        return self.block.rank, state_name(self.graph, operand)


def scene_of(
    survey: Survey,
    block: Execution,
    graph: Graph,
    roundoff: Sequence[float],
    *,
    number: int,
    walked: Sequence[Execution],
    wrong_before: bool,
) -> Scene:
    """Return execution ``number`` of the walk; ``walked`` are those before it."""
    found, trust = survey.pairing.alignments.get(block.graph_key), survey.pairing.trust(block)
    compared = found if may_say("settings", trust) else None  # a graph says nothing against itself
    return Scene(
        survey,
        block,
        graph,
        found,
        number << 24,
        roundoff,
        first=all(one.rank != block.rank for one in walked),
        beside=any(
            one.iteration == block.iteration and one.graph_id != block.graph_id for one in walked
        ),
        wrong_before=wrong_before,
        ends=ends_of(graph),
        names=Names(graph, compared, roundoff),
        proxies=values_seen_by_readers(
            graph, found, lambda one: survey.index.get((block, one), {})
        ),
        trust=trust,
    )


# --- inputs ----------------------------------------------------------------------------------


class InputFacts(NamedTuple):
    """An input that no operator produced: a parameter, a feed or a constant.

    ``key`` is its rank and name, ``error`` ``None`` where it was not compared, ``limit`` what number formats explain.
    It is a ``feed``, or ``updated`` by an operator of the run. ``of_job``: the dumps are two ranks of one job;
    ``rank_local``: batches of its rank update it; ``tainted``: a wrong operator did. ``apart`` is its difference
    where it was compared, ``received`` the largest error of what other graphs gave. ``beside``: another graph of the
    iteration ran before; ``last_update`` is the error that the last step left. ``initial`` is what it is noted as if
    it differs from the start; ``local``: slices of it differ by more than number formats explain.
    """

    key: Key
    error: float | None = None
    limit: float = 0.0
    feed: bool = False
    updated: bool = False
    of_job: bool = False
    rank_local: bool = False
    tainted: bool = False
    apart: Difference | None = None
    iteration: int = 0
    received: float = 0.0
    wrong_before: bool = False
    wiring: tuple[Difference, ...] = ()
    by_one: Message | None = None
    first: bool = True
    beside: bool = False
    last_update: float | None = None
    cause: Difference | None = None
    initial: Assessment | None = None
    local: bool = False

    def state(
        self, *, tainted: bool = False, from_earlier_step: bool = False, rank_local: bool = False
    ) -> ValueState:
        """What it carries, without a cause."""
        compared = self.error is not None
        return ValueState(
            self.error or 0.0,
            compared,
            tainted,
            from_earlier_step=from_earlier_step,
            rank_local=rank_local,
        )

    def caused(self, *causes: Difference) -> ValueState:
        """What it carries with a cause."""
        return ValueState(self.error or 0.0, self.error is not None, causes=causes)


def input_facts(
    scene: Scene, number: int, slot: int, operand: Operand, error: float | None, carry: Carry
) -> InputFacts:
    """Facts of an input that no operator produced."""
    op, known, key = scene.graph.ops[number], scene.survey, scene.key(operand)
    kind, _ = scene.subject(op, slot, operand) or ("", "")
    limit = max(
        limits().pass_factor * _rounding_of_input(scene, number, slot),
        _between_runs(scene, number, slot),
    )
    updated = key[1] in known.updated
    facts = InputFacts(
        key,
        error,
        limit,
        feed=kind == "input" and not updated,  # torchair has weights as Data, too
        updated=updated,
        of_job=known.job is not None,
        rank_local=key in carry.rank_local_params,
        tainted=key in carry.tainted_params,
        apart=carry.given_apart.get(key),
        iteration=scene.block.iteration,
        received=_received(scene, operand, carry),
        wrong_before=scene.wrong_before
        or any(one.block == scene.block for one in carry.initial_differences),
        by_one=known.updated_by_one.get(key),
        first=scene.first,
        beside=scene.beside,
        last_update=carry.last_update.get(key),
    )
    if error is None or facts.tainted:
        return facts
    item = scene.measured(number).get(("input", slot))
    local = local_difference(item, scene.roundoff[number]) if error <= limit else None
    if error <= limit and local is None:
        return facts
    cause = _cause(scene, number, slot, error, local)
    return facts._replace(
        local=local is not None,
        wiring=tuple(wiring_differences(scene.found, number, slot)) if scene.found else (),
        cause=cause,
        initial=_initial(scene, number, slot, facts, cause) if scene.first else None,
    )


def _rounding_of_input(scene: Scene, number: int, slot: int) -> float:
    """Relative error that number formats explain of an input: none of integers."""
    item = scene.given(number, slot)
    exact = item is not None and item.exact
    return 0.0 if exact else expected_rounding(None, scene.roundoff[number])


def _between_runs(scene: Scene, number: int, slot: int) -> float:
    """Relative error of an input that other runs of the target explain."""
    item = scene.given(number, slot)
    return item.between_runs if item is not None and item.within_runs else 0.0


def _received(scene: Scene, operand: Operand, carry: Carry) -> float:
    """Largest error that an input may have which nobody dumped: that of the results so far."""
    if not isinstance(operand, Param):
        return 0.0
    shape = scene.graph.parameters[operand.index].spec.shape
    return carry.handed_over.get((scene.block.rank, scene.block.iteration, shape), 0.0)


def _cause(
    scene: Scene, number: int, slot: int, error: float, local: SliceError | None
) -> Difference | None:
    op = scene.graph.ops[number]
    item = scene.given(number, slot) or scene.proxies[Value(number, 0)]
    operand = op.operand(slot)
    subject = operand and scene.subject(op, slot, operand, item.divergence.size)
    return input_difference(subject, item, slot, error, local) if subject else None


def _initial(
    scene: Scene, number: int, slot: int, facts: InputFacts, cause: Difference | None
) -> Assessment:
    """A parameter that the run updates differs already: earlier iterations were not compared."""
    measured, name = scene.measured(number), facts.key[1]
    said = Message("compare/differs-at-start", name=name, iteration=facts.iteration)
    differences = (Difference("parameter", name, said), *((cause,) if cause is not None else ()))
    floor = expected_rounding(None, scene.roundoff[number])
    return Assessment(
        scene.block, number, floor, 0.0, True, scene.base + number, measured,
        tolerance_factor=limits().pass_factor, origin_op=number, worst=scene.given(number, slot),
        differences=differences,
        conclusion=DIFFERS_AT_START,
    )  # fmt: skip


class ProducedFacts(NamedTuple):
    """An input that an operator produced: ``before`` is its state as the producer left it.

    ``seen``: the producer's output was measured, or only casts stand between; ``limit`` is what formats and producer
    explain; ``wiring`` what the graphs say, ``overwritten`` what must have happened if they say nothing, ``unlike``
    that bytes contradict a graph that was lent; ``trust`` is what the edge to its producer is worth. ``born`` is
    the operator on the way that makes NaN or infinity of finite numbers.
    """

    before: ValueState
    error: float | None = None
    limit: float = 0.0
    seen: bool = True
    wiring: tuple[Difference, ...] = ()
    overwritten: tuple[Difference, ...] = ()
    unlike: tuple[Difference, ...] = ()
    trust: Trust = OWN
    born: Named = NOBODY


def produced_facts(
    scene: Scene, number: int, slot: int, value: Value, error: float | None, carry: Carry
) -> ProducedFacts:
    """Facts of an input that an operator produced."""
    before = carry.values.get(scene.block, {}).get(value, ValueState())
    if error is None:
        return ProducedFacts(before, trust=scene.trust)
    ops = scene.graph.ops
    rounding = _rounding_of_input(scene, number, slot)
    limit = limits().pass_factor * (rounding + limits().amplification * before.error)
    limit = max(limit, _between_runs(scene, number, slot))
    seen = before.measured or all(ops[n].op_type in IDENTITY for n in before.unobserved)
    facts = ProducedFacts(before, error, limit, seen, trust=scene.trust)
    if error <= limit or not seen:
        return facts
    if math.isinf(error):
        facts = facts._replace(born=born_between(scene, number, before.unobserved))
    lost = overwrite_difference(scene.survey, scene.graph, scene.block, value, number, slot, limit)
    facts = facts._replace(wiring=scene.names.wiring(number), overwritten=(lost,))
    if scene.trust.graph != "borrowed":
        return facts
    unlike = wired_unlike(scene.survey.pairing, scene.block, number, slot, value)
    if (
        unlike is None
    ):  # a graph that its borrower's bytes agree with says nothing against the other side's own
        return facts._replace(trust=scene.survey.pairing.target.trust(scene.block))
    return facts._replace(unlike=(unlike,))


# --- operators -------------------------------------------------------------------------------


class Observation(NamedTuple):
    """What is seen of one execution of an operator: measures, states of what it reads, and what those explain.

    ``states`` are those of its own inputs by slot, ``reads`` those of other ranks besides, where all ranks meet;
    ``outputs`` the usable ones, with inputs that it rewrites under negative slots. ``inherited`` is the largest error
    of what it reads, ``correlated`` that of what earlier steps have left in several inputs alike.
    """

    block: Execution
    op: int
    order: int
    measured: Measures
    states: Mapping[int, ValueState]
    reads: tuple[ValueState, ...]
    outputs: Mapping[int, Measured]
    inherited: float
    correlated: float
    tainted: bool
    rank_local: bool
    replayed: OwnError | None = None
    expected: Expected = Expected()

    @property
    def worst(self) -> Measured | None:
        """Output that differs most."""
        return self.expected.worst

    @property
    def rounding_floor(self) -> float:
        """Error that its own rounding explains."""
        return self.expected.rounding_floor

    @property
    def causes(self) -> tuple[Difference, ...]:
        """Differences that arrive with its inputs."""
        return tuple(dict.fromkeys(cause for state in self.reads for cause in state.causes))

    @property
    def unobserved(self) -> tuple[int, ...]:
        """Operators before it that nobody dumped."""
        return tuple(dict.fromkeys(number for state in self.reads for number in state.unobserved))


class OperatorFacts(NamedTuple):
    """What the rules ask of an operator.

    ``worst`` is the error of its worst output (``None``: nothing was compared), ``floor`` what its own rounding
    explains, ``expected_error`` that and what it inherits; it ``exceeds`` that by more than its factor. ``moves``: it
    only moves or casts. ``rank_local``: it computes with the batch of its rank; ``makes_nan``: its outputs are not
    finite, its inputs are. ``region`` is what the graphs say differently about it, or about the operators before it
    that nobody has seen; ``differing_mover`` is a mover before it that moves otherwise, ``initial_state_differs``
    state that differs from the start, ``golden_error`` says that the golden is off and ``golden_unlike`` the same where
    nobody knows what the golden was told to compute. ``cleared``: replay says that
    it gave what it had to. ``version``: two versions are known to differ here. ``suspect``: replay says that it did
    not give what it had to; ``low``: all products of the run are as far off;
    ``figures``: why statistics do not show what came in.
    """

    op: int
    worst: float | None = 0.0
    floor: float = 0.0
    expected_error: float = 0.0
    exceeds: bool = False
    sizes_differ: bool = False
    moves: bool = False
    causes: tuple[Difference, ...] = ()
    settings: tuple[Difference, ...] = ()
    differences: tuple[Difference, ...] = ()
    tainted: bool = False
    rank_local: bool = False
    makes_nan: bool = False
    overflows: bool = False
    born: Named = NOBODY
    region: Named = NOBODY
    differing_mover: Named = NOBODY
    initial_state_differs: tuple[Difference, ...] = ()
    golden_error: tuple[Difference, ...] = ()
    golden_unlike: tuple[Difference, ...] = ()
    cleared: bool = False
    version: bool = False
    suspect: bool = False
    unobserved_count: int = 0
    place: Place | None = None
    rank: int = 0
    trust: Trust = OWN
    fused: bool = False
    low: bool = False
    figures: str = ""

    @property
    def given(self) -> tuple[Difference, ...]:
        """Causes in what no operator produced."""
        return tuple(one for one in self.causes if one.kind in GIVEN)

    @property
    def agrees(self) -> bool:
        """Whether its outputs are within the hint range."""
        small = self.worst is None or self.worst <= limits().named_factor * self.expected_error
        return small and not self.sizes_differ


def observe(
    scene: Scene,
    number: int,
    states: Mapping[int, ValueState],
    of_peers: Sequence[ValueState],
    carry: Carry,
) -> Observation:
    """See what an operator reads and gives; ``of_peers`` are states of what other ranks give it to read."""
    op, measured = scene.graph.ops[number], scene.measured(number)
    reads = (*states.values(), *of_peers)
    noise = [s.error for s in reads if not s.causes and not s.rank_local and math.isfinite(s.error)]
    return Observation(
        scene.block,
        number,
        scene.base + number,
        measured,
        states,
        reads,
        _outputs(scene, number, measured),
        max([*noise, *_left_by_the_last_step(scene, op, carry)], default=0.0),
        correlated_error(op, (s.error for s in reads if s.from_earlier_step)),
        any(s.tainted for s in reads),
        any(s.rank_local for s in reads) and not is_replicated(scene.graph, op),
        scene.survey.own_error(scene.block, number),
    )


def _left_by_the_last_step(scene: Scene, op: Op, carry: Carry) -> Iterator[float]:
    """Errors of the parameters that an operator updates, before it does."""
    for _, name in updates(scene.graph, op):
        error = carry.last_update.get((scene.block.rank, name), 0.0)
        if math.isfinite(error):
            yield error


def _outputs(scene: Scene, number: int, measured: Measures) -> dict[int, Measured]:
    """Usable measured outputs by slot; rewritten inputs count under negative slots."""
    op, found = scene.graph.ops[number], {}
    for slot in range(max(len(op.outputs), 1)):
        item = measured.get(("output", slot))
        if item is None or not item.usable:
            item = scene.proxies.get(Value(number, slot))
        if item is not None:
            found[slot] = item
    for slot in rewritten_slots(op):
        item = measured.get(("input", slot))
        if item is not None and item.usable:
            found[-1 - slot] = item
    return found


def operator_facts(scene: Scene, seen: Observation, carry: Carry) -> OperatorFacts:
    """Facts of an operator."""
    op, expected, worst = scene.graph.ops[seen.op], seen.expected, seen.worst
    replayed = seen.replayed
    facts = OperatorFacts(
        seen.op,
        worst.error if worst is not None else None,
        expected.rounding_floor,
        expected.expected_error,
        expected.exceeds,
        sizes_differ=any(m.pair.io == "output" and m.sizes_differ for m in seen.measured.values()),
        moves=op.op_type in MOVEMENT,
        causes=seen.causes,
        tainted=seen.tainted,
        rank_local=seen.rank_local,
        makes_nan=worst is not None
        and bool(worst.divergence.mismatch)
        and all(math.isfinite(s.error) for s in seen.reads),
        overflows=is_overflowed(scene, seen, carry),
        suspect=bool(replayed is not None and replayed.suspect),
        unobserved_count=len(seen.unobserved),
        place=(seen.block, seen.op),
        rank=scene.block.rank,
        trust=scene.trust,
        fused=scene.trust.graph != "own"
        and (expected.exceeds or bool(seen.causes))
        and may_be_fused(scene, seen.op),
    )
    return _with_reasons(scene, seen, _with_names(scene, facts), carry)


def _with_names(scene: Scene, facts: OperatorFacts) -> OperatorFacts:
    """Add what the two graphs say differently, where a rule may ask it."""
    named = facts.tainted or facts.suspect or bool(facts.given)
    differs = facts.worst != 0.0 or facts.sizes_differ or facts.rank_local
    differs = differs and not facts.tainted
    if not named and not differs:
        return facts
    return facts._replace(
        settings=scene.names.settings(facts.op) if named else (),
        differences=scene.names.differences(facts.op) if differs else (),
    )


def _with_reasons(
    scene: Scene, seen: Observation, facts: OperatorFacts, carry: Carry
) -> OperatorFacts:
    """Add what may be the reason of an error that is too large to agree; a less sure one is asked where none is found.

    The golden is computed again for the last of them.
    """
    if facts.tainted or facts.rank_local:
        return facts
    if facts.agrees:
        return _with_unread_birth(scene, seen, facts)
    facts = facts._replace(
        region=scene.names.region(facts.op, seen.unobserved, facts.differences),
        version=scene.survey.two_versions
        and is_version_matter(scene.graph.ops[facts.op], seen.worst),
    )
    if facts.exceeds and math.isinf(facts.worst or 0.0):
        facts = facts._replace(born=born_between(scene, facts.op, seen.unobserved))
    if not facts.exceeds or facts.region.differences or facts.born.differences:
        return facts
    mover = scene.names.differing_mover(facts.op)
    initial = () if mover.differences else initial_state_differs(scene, seen, carry)
    if mover.differences or initial or not is_cleared(scene, seen):
        return facts._replace(
            differing_mover=mover,
            initial_state_differs=initial,
            low=is_of_unit(scene, seen),
            figures=doubt_of_figures(scene, seen, carry),
        )
    facts = facts._replace(cleared=True)
    if any(math.isinf(state.error) for state in seen.reads):
        return facts  # what arrived says enough: nobody knows how far NaN and infinity carry
    if facts.makes_nan and (born := born_here(scene, facts.op)).differences:
        return facts._replace(born=born)
    wrong = golden_error(scene.survey, seen)
    unlike = of_a_borrower(scene.survey.pairing, scene.block, wrong)
    return facts._replace(golden_error=wrong, golden_unlike=unlike)


def _with_unread_birth(scene: Scene, seen: Observation, facts: OperatorFacts) -> OperatorFacts:
    """Add who makes NaN or infinity that an operator was given, but did not take up into what it gives."""
    if not any(math.isinf(state.error) for state in seen.reads):
        return facts
    return facts._replace(born=born_between(scene, facts.op, seen.unobserved))
