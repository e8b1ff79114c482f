"""What an input of an operator carries, as two tables of rules: inputs nobody produced, and produced ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from workbench.comparison.align.differences import Difference
from workbench.comparison.follow.carry import Carry
from workbench.comparison.follow.facts import (
    InputFacts,
    ProducedFacts,
    input_facts,
    produced_facts,
)
from workbench.comparison.follow.ranks import met_by
from workbench.comparison.follow.rules import Rule, decide
from workbench.comparison.follow.state import DIFFERS_AT_START, ValueState
from workbench.comparison.graphs.roles import rewritten_slots
from workbench.comparison.limits import limits
from workbench.graph.graph import Value
from workbench.ops import IDENTITY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.comparison.follow.facts import Scene
    from workbench.comparison.measure.measure import Measured
    from workbench.graph.graph import Operand

GivenRule = Rule[InputFacts, ValueState, Carry]
ProducedRule = Rule[ProducedFacts, ValueState, Carry]


def _is_of_own_batch(facts: InputFacts) -> bool:
    differs = facts.error is None or 0 < facts.error < math.inf
    return facts.of_job and (facts.feed or facts.rank_local) and differs


def _learn_own_batch(facts: InputFacts, _: ValueState, carry: Carry) -> None:
    if facts.feed:
        carry.rank_local_feeds[facts.key[1]] = None
        carry.rank_local_params.add(facts.key)


def _is_apart_elsewhere(facts: InputFacts) -> bool:
    return facts.error is None and facts.apart is not None and facts.iteration == 0


def _apart_elsewhere(facts: InputFacts) -> ValueState:
    assert facts.apart is not None
    return ValueState(causes=(facts.apart,))


def _updated_by_one(facts: InputFacts) -> ValueState:
    assert facts.by_one is not None
    return facts.caused(Difference("structure", facts.key[1], facts.by_one))


def _was_left(facts: InputFacts) -> bool:
    """Whether another graph or an earlier update may have left the difference."""
    if facts.first:
        return False
    if facts.feed:
        return facts.beside
    if facts.last_update is None:
        return facts.updated
    known = limits()
    moved = known.pass_factor * known.amplification * facts.last_update
    return (facts.error or 0.0) <= facts.limit + moved


def _began_before(facts: InputFacts) -> bool:
    return facts.first and facts.updated and facts.iteration > 0


def _learn_initial(facts: InputFacts, _: ValueState, carry: Carry) -> None:
    carry.tainted_params.add(facts.key)
    if facts.initial is not None:
        carry.initial_differences.append(facts.initial)


def _given_otherwise(facts: InputFacts) -> ValueState:
    assert facts.cause is not None
    return facts.caused(facts.cause)


def _learn_apart(facts: InputFacts, _: ValueState, carry: Carry) -> None:
    if facts.cause is not None:
        carry.given_apart[facts.key] = facts.cause


INPUT_RULES: tuple[GivenRule, ...] = (
    Rule(
        "updated-by-wrong-operator",
        lambda i: i.tainted,
        lambda i: i.state(tainted=True),
        why="known to be wrong beats every other reading of the difference",
    ),
    Rule(
        "own-batch",
        _is_of_own_batch,
        lambda i: i.state(rank_local=True),
        learns=_learn_own_batch,
        why="two ranks differ by design: said before any cause is looked for",
    ),
    Rule(
        "differs-elsewhere",
        _is_apart_elsewhere,
        _apart_elsewhere,
        why="what other readers show of the same parameter is better than nothing",
        needs="leaves",
    ),
    Rule(
        "feed-not-compared",
        lambda i: i.error is None and i.feed,
        lambda i: ValueState(i.received, tainted=i.wrong_before),
        why="another graph may have left an error in it, which an unread weight has not",
    ),
    Rule(
        "not-compared",
        lambda i: i.error is None,
        lambda i: ValueState(),
        why="nothing was measured, so no rule below may ask for the error",
        excludes="the next row asks of a measured error how large it is",
    ),
    Rule(
        "within-noise-floor",
        lambda i: i.error is not None and i.error <= i.limit and not i.local,
        lambda i: i.state(from_earlier_step=i.updated),
        why="number formats explain it: from here on it differs",
    ),
    Rule(
        "wired-otherwise",
        lambda i: i.wiring,
        lambda i: i.caused(*i.wiring),
        why="that it reads another tensor explains more than that the tensor differs",
        needs="wiring",
    ),
    Rule(
        "updated-by-one-run",
        lambda i: not i.first and i.by_one is not None,
        _updated_by_one,
        why="the next row would take it for what an earlier step has left",
        needs="wiring",
    ),
    Rule(
        "left-by-earlier-run",
        _was_left,
        lambda i: i.state(tainted=i.wrong_before, from_earlier_step=i.updated),
        why="what ran before may have left it: asked before a weight is accused",
        excludes="the next row is for the first execution of a rank, before which nothing ran",
    ),
    Rule(
        DIFFERS_AT_START,
        _began_before,
        lambda i: i.state(tainted=True),
        learns=_learn_initial,
        why="a parameter that is updated began to differ before the first step that was dumped",
        needs="leaves",
    ),
    Rule(
        "unknown-subject",
        lambda i: i.cause is None,
        InputFacts.state,
        why="without a name nothing can be accused",
        excludes="the next row has a cause to name",
    ),
    Rule(
        "given-otherwise",
        lambda i: i.cause is not None,
        _given_otherwise,
        learns=_learn_apart,
        why="nothing else explains it: it is a cause of its own",
        needs="leaves",
    ),
)
"""What an input carries that no operator produced."""


def _as_its_producer(facts: ProducedFacts) -> ValueState:
    before = facts.before
    return ValueState(
        facts.error or 0.0, True, before.tainted, before.causes, rank_local=before.rank_local
    )


def _as_produced(facts: ProducedFacts) -> ValueState:
    before = facts.before
    return ValueState(
        facts.error or 0.0,
        True,
        unobserved=before.unobserved,
        from_earlier_step=before.from_earlier_step,
    )


PRODUCED_RULES: tuple[ProducedRule, ...] = (
    Rule(
        "not-compared",
        lambda i: i.error is None,
        lambda i: i.before,
        why="nothing was measured: what its producer left is all there is",
    ),
    Rule(
        "known-of-producer",
        lambda i: i.before.tainted or i.before.causes or i.before.rank_local,
        _as_its_producer,
        why="what is known of its history says more than how large the error is now",
    ),
    Rule(
        "as-produced",
        lambda i: not i.seen or (i.error or 0.0) <= i.limit,
        _as_produced,
        why="its producer explains it, or nobody saw what its producer gave",
        excludes="the next row is of an error beyond what its producer explains",
    ),
    Rule(
        "born-on-the-way",
        lambda i: i.born.differences,
        _as_produced,
        why="an operator on the way makes it so, and is named where it shows; the next row blames who reads it",
    ),
    Rule(
        "reads-elsewhere",
        lambda i: i.wiring,
        lambda i: ValueState(i.error or 0.0, True, causes=i.wiring),
        why="that it reads another tensor is known from the graphs; the next row infers",
        needs="wiring",
    ),
    Rule(
        "overwritten",
        lambda i: True,
        lambda i: ValueState(i.error or 0.0, True, causes=i.overwritten),
        why="it was right when it was produced and is not where it is read",
        needs="memory",
    ),
    Rule(
        "wired-unlike-lender",
        lambda i: True,
        lambda i: ValueState(i.error or 0.0, True, causes=i.unlike),
        why="last: a graph of the run's own is no lender's; nothing but wiring can be said of a borrowed one",
        needs="lent",
    ),
)
"""What an input carries that an operator produced."""


def input_states(scene: Scene, number: int, carry: Carry) -> dict[int, ValueState]:
    """What the inputs of an operator carry, by slot; those that it rewrites only if they differed before."""
    op = scene.graph.ops[number]
    skip = rewritten_slots(op)
    return {
        slot: _input_state(scene, number, slot, operand, scene.given(number, slot), carry)
        for slot, operand in enumerate(op.flat_inputs())
        if slot not in skip or _was_apart(scene, operand, carry)
    }


def _was_apart(scene: Scene, operand: Operand, carry: Carry) -> bool:
    """Whether a parameter is known to differ before an operator updates it."""
    key = scene.key(operand)
    return key in carry.tainted_params or key in carry.given_apart


def _input_state(
    scene: Scene, number: int, slot: int, operand: Operand, item: Measured | None, carry: Carry
) -> ValueState:
    produced = isinstance(operand, Value) and operand.op not in scene.ends
    if item is None and scene.graph.ops[number].op_type in IDENTITY and not produced:
        item = scene.proxies.get(Value(number, 0))  # a cast on one side only has no pair itself
    error = item.error if item is not None and item.usable else None
    if isinstance(operand, Value) and produced:
        facts = produced_facts(scene, number, slot, operand, error, carry)
        return decide(PRODUCED_RULES, facts, carry, facts.trust)[1]
    given = input_facts(scene, number, slot, operand, error, carry)
    return decide(INPUT_RULES, given, carry, scene.trust)[1]


def states_of_peers(
    scene: Scene, number: int, peers: Iterable[Scene], carry: Carry
) -> list[ValueState]:
    """What is known of the other ranks' tensors that an operator reads.

    A named difference on another rank is blamed there.
    """
    found = []
    for peer, other in met_by(scene.graph.ops[number], peers):
        for slot, operand in enumerate(peer.graph.ops[other].flat_inputs()):
            if isinstance(operand, Value):
                item = peer.given(other, slot)
                state = _input_state(peer, other, slot, operand, item, carry)
                found.append(state._replace(causes=(), tainted=state.tainted or bool(state.causes)))
    return found
