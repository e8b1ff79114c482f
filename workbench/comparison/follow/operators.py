"""What an operator is found to be, and what it leaves behind, as tables of rules."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from workbench._values import NamedTuple
from workbench.comparison.align.differences import of_one_subject
from workbench.comparison.follow.carry import Carry
from workbench.comparison.follow.facts import OperatorFacts
from workbench.comparison.follow.naming import NOBODY, Named
from workbench.comparison.follow.rules import Rule
from workbench.comparison.follow.state import INHERITS, VERSION_MATTER, ValueState
from workbench.comparison.graphs.roles import updates
from workbench.comparison.trust import may_say
from workbench.graph.graph import Value
from workbench.ops import MOVEMENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.comparison.align.differences import Difference
    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.follow.carry import HandedOver
    from workbench.comparison.follow.facts import Observation, Scene
    from workbench.comparison.follow.state import Assessment
    from workbench.comparison.follow.trace import Key

Kind = Literal[
    "origin", "inherits", "hands-on", "overflow", "rank-local", "remark", "undecided", "agrees"
]


class Conclusion(NamedTuple):
    """What an operator is found to be.

    ``op`` is the operator to name (-1: none), ``differences`` why, ``unobserved_count`` the number of operators before
    it that nobody has seen, where the error may as well have begun. ``doubt`` is why an error stays undecided.
    """

    kind: Kind
    op: int = -1
    differences: tuple[Difference, ...] = ()
    unobserved_count: int = 0
    doubt: str = ""


OperatorRule = Rule[OperatorFacts, Conclusion, Carry]

AGREES = Conclusion("agrees")


def undecided(doubt: str) -> Conclusion:
    """An error is too large to agree, and the ground too weak to say where it begins; ``doubt`` is why."""
    return Conclusion("undecided", doubt=doubt)


def origin(op: int, differences: tuple[Difference, ...], *, unseen: int = 0) -> Conclusion:
    """An error begins at an operator; each difference is told once.

    An argument that differs as dumped input and as constant of the graph is one difference.
    """
    once = {(d.kind, d.subject): d for d in reversed(differences)}
    told = tuple(
        d
        for d in differences
        if once[d.kind, d.subject] is d
        and not (d.kind == "constant" and ("attribute", d.subject) in once)
    )
    return Conclusion("origin", op, told, unseen)


# --- reasons ---------------------------------------------------------------------------------


def _is_told_by_graphs(facts: OperatorFacts) -> bool:
    # other operators for the same thing round otherwise; that is no hint
    found = facts.region.differences
    return bool(found) and (facts.exceeds or any(d.kind != "structure" for d in found))


REASONS: tuple[Rule[OperatorFacts, Named, Carry], ...] = (
    Rule(
        "born-non-finite",
        lambda o: o.exceeds and o.born.differences,
        lambda o: o.born,
        why="one dump shows it by itself: finite numbers in, NaN or infinity out",
    ),
    Rule(
        "difference-of-graphs",
        _is_told_by_graphs,
        lambda o: o.region,
        why="the graphs say it of the operator itself, or of those before it that nobody has seen",
        needs="settings",
    ),
    Rule(
        "differing-mover",
        lambda o: o.exceeds and o.differing_mover.differences,
        lambda o: o.differing_mover,
        why="the graphs say it of an operator whose output is right element by element",
        needs="settings",
    ),
    Rule(
        "initial-state",
        lambda o: o.exceeds and o.initial_state_differs,
        lambda o: Named(o.op, o.initial_state_differs),
        why="inferred from all else that it reads agreeing; still of the target",
        needs="leaves",
    ),
    Rule(
        "golden-error",
        lambda o: o.exceeds and o.cleared and o.golden_error,
        lambda o: Named(o.op, o.golden_error),
        why="only where the target gave what it had to the other side is asked",
        needs="settings",
    ),
    Rule(
        "golden-unlike",
        lambda o: o.exceeds and o.cleared and o.golden_unlike,
        lambda o: Named(o.op, o.golden_unlike),
        why="last: what the golden was told to compute is not known, so it cannot be called wrong",
        needs="lent",
    ),
)
"""What an error may be named by, the surest first."""


def reason(facts: OperatorFacts) -> Named:
    """Return the first reason that has a name."""
    found = (
        rule.concludes(facts)
        for rule in REASONS
        if may_say(rule.needs, facts.trust) and rule.applies(facts)
    )
    return next(found, NOBODY)


# --- what an operator is found to be -----------------------------------------------------------


def _hands_on(facts: OperatorFacts) -> bool:
    clean = facts.moves and not facts.tainted
    return clean and bool(facts.given) and not of_one_subject(facts.given, facts.settings)


def _with_all(facts: OperatorFacts) -> Conclusion:
    return origin(facts.op, (*facts.causes, *facts.differences))


def _at(facts: OperatorFacts, named: Named) -> Conclusion:
    mine = facts.causes if named.op == facts.op else ()
    return origin(named.op, (*mine, *named.differences), unseen=facts.unobserved_count)


def _inherits(facts: OperatorFacts) -> Conclusion:
    differences = (*facts.given, *facts.settings)
    return Conclusion("inherits", facts.op if differences else -1, differences)


def _learn_named(facts: OperatorFacts, _: Conclusion, carry: Carry) -> None:
    named = (d.subject for d in facts.causes if d.kind == "parameter")
    carry.tainted_params.update((facts.rank, name) for name in named)


def _learn_overflow(facts: OperatorFacts, _: Conclusion, carry: Carry) -> None:
    if facts.place is not None:
        carry.overflowed.add(facts.place)


OPERATOR_RULES: tuple[OperatorRule, ...] = (
    Rule(
        "hands-cause-on",
        _hands_on,
        lambda o: Conclusion("hands-on", differences=o.given),
        why="it does not compute: the first operator that does is named",
        needs="leaves",
    ),
    Rule(
        "both-overflow",
        lambda o: o.overflows,
        lambda o: Conclusion("overflow"),
        learns=_learn_overflow,
        why="what both runs give up means nothing: no rule below may read it",
    ),
    Rule(
        INHERITS,
        lambda o: o.tainted,
        _inherits,
        why="one origin a chain: behind what is wrong nothing else begins",
    ),
    Rule(
        "may-be-fused",
        lambda o: o.fused and (o.exceeds or o.given),
        lambda o: undecided("may-be-fused"),
        why="two tensors of one name need not be the same value: asked before any difference of theirs is blamed",
        needs="lent",
    ),
    Rule(
        "own-batch-differs",
        lambda o: o.rank_local and (o.causes or o.differences or o.makes_nan),
        _with_all,
        learns=_learn_named,
        why="errors of two batches are no measure; a name and new NaN are",
        needs="leaves",
    ),
    Rule(
        "own-batch",
        lambda o: o.rank_local,
        lambda o: Conclusion("rank-local"),
        why="two ranks differ by design",
        excludes="the next row needs a cause, and with a cause the row before has decided",
    ),
    Rule(
        "computes-with-cause",
        lambda o: (
            o.causes and (o.worst is None or o.worst > o.floor or any(d.exact for d in o.causes))
        ),
        _with_all,
        why="a named difference that shows needs no limit but the rounding, one of integers not even to show",
        needs="leaves",
    ),
    Rule(
        "born-unread",
        lambda o: o.agrees and o.born.differences,
        lambda o: _at(o, o.born),
        why="what makes NaN or infinity is wrong, though its reader, which agrees, takes up none of it",
    ),
    Rule(
        "within-expected",
        lambda o: o.agrees,
        lambda o: AGREES,
        why="below the hint range differences of the graphs are coincidence",
    ),
    Rule(
        "named-difference",
        lambda o: reason(o).differences,
        lambda o: _at(o, reason(o)),
        why="between the hint range and the limit only a name convicts, beyond it a name says more",
    ),
    Rule(
        VERSION_MATTER,
        lambda o: o.version,
        lambda o: Conclusion("remark", o.op),
        why="nothing in the graphs differs, and two versions are known to do so",
    ),
    Rule(
        "sizes-differ",
        lambda o: o.sizes_differ,
        lambda o: _at(o, Named(o.region.op)),
        why="the number of elements is exact: it needs no limit and no replay",
        needs="first",
    ),
    Rule(
        "cleared-by-replay",
        lambda o: o.exceeds and o.cleared,
        lambda o: AGREES,
        why="what it read explains what it gave: acquitted before it is convicted by size",
    ),
    Rule(
        "format-unknown",
        lambda o: o.exceeds and o.low,
        lambda o: undecided("format-unknown"),
        why="a lent graph does not tell a unit that computes in fewer bits; all its operators do",
        needs="lent",
    ),
    Rule(
        "figures-alone",
        lambda o: o.exceeds and o.figures,
        lambda o: undecided(o.figures),
        why="last of what is weak: statistics without a forecast do not show how far apart what was read is",
        needs="lent",
    ),
    Rule(
        "exceeds-expected",
        lambda o: o.exceeds,
        lambda o: _at(o, Named(o.op)),
        why="nothing explains so large an error",
        needs="first",
    ),
    Rule(
        "within-limit",
        lambda o: True,
        lambda o: AGREES,
        why="the last word is the limit",
    ),
)
"""What an operator is found to be."""


class SecondFacts(NamedTuple):
    """An operator after its first conclusion; ``convicted``: it is an origin, or excused of just that."""

    facts: OperatorFacts
    kind: Kind
    convicted: bool


SECOND_RULES: tuple[Rule[SecondFacts, Conclusion | None, Carry], ...] = (
    Rule(
        "own-error",
        lambda o: o.facts.suspect and not o.convicted and o.kind not in ("hands-on", "undecided"),
        lambda o: origin(o.facts.op, o.facts.settings),
        why="replay needs no other side: neither what it reads nor agreement excuses it",
        needs="settings",
    ),
    Rule(
        "stands",
        lambda o: True,
        lambda o: None,
        why="replay has nothing to add, or the operator is an origin by a better name",
    ),
)
"""Whether replay convicts an operator that the comparison does not."""


# --- what it leaves ----------------------------------------------------------------------------


class OutputFacts(NamedTuple):
    """An output of an operator that was judged; ``error`` is ``None`` if it was not compared.

    ``handed`` are the causes that a moving operator hands on. ``inherited`` is what an unseen output may have,
    ``limit`` what rounding explains of a seen one; ``local``: a slice of it differs.
    ``result`` is what other graphs know it by, if they may read it.
    """

    value: Value
    block: Execution
    error: float | None = None
    equal: bool = False
    handed: tuple[Difference, ...] = ()
    wrong: bool = False
    rank_local: bool = False
    inherited: float = 0.0
    limit: float = 0.0
    unobserved: tuple[int, ...] = ()
    from_earlier_step: bool = False
    local: bool = False
    result: HandedOver | None = None


def _learn_state(facts: OutputFacts, state: ValueState, carry: Carry) -> None:
    carry.values.setdefault(facts.block, {})[facts.value] = state


def _learn_output(facts: OutputFacts, state: ValueState, carry: Carry) -> None:
    _learn_state(facts, state, carry)
    if facts.result is not None and math.isfinite(state.error):
        before = carry.handed_over.get(facts.result, 0.0)
        carry.handed_over[facts.result] = max(state.error, before)


def _handed_on(facts: OutputFacts) -> ValueState:
    error = facts.error if facts.error is not None else math.inf
    return ValueState(error, facts.error is not None, causes=facts.handed)


def _unseen(facts: OutputFacts) -> ValueState:
    return ValueState(
        facts.inherited,
        tainted=facts.wrong,
        unobserved=facts.unobserved,
        from_earlier_step=facts.from_earlier_step,
        rank_local=facts.rank_local,
    )


def _seen(facts: OutputFacts) -> ValueState:
    error = facts.error or 0.0
    wrong = facts.wrong and (error > facts.limit or facts.local)
    own = facts.rank_local and not facts.equal
    return ValueState(error, True, wrong, from_earlier_step=facts.from_earlier_step, rank_local=own)


OUTPUT_RULES: tuple[Rule[OutputFacts, ValueState, Carry], ...] = (
    Rule(
        "handed-on",
        lambda o: o.handed,
        _handed_on,
        learns=_learn_state,
        why="the cause goes on as it came, however large the error is",
    ),
    Rule(
        "unseen",
        lambda o: o.error is None,
        _unseen,
        learns=_learn_output,
        why="nothing was measured: what the operator is found to be is all that is known",
        excludes="the next row is for an output that was measured",
    ),
    Rule(
        "seen",
        lambda o: o.error is not None,
        _seen,
        learns=_learn_output,
        why="what is wrong with an operator need not show in each of its outputs",
    ),
)
"""What an output carries."""


class UpdateFacts(NamedTuple):
    """A parameter that an operator updates, by rank and name; ``error`` is how far apart it is left."""

    key: Key
    error: float | None = None
    wrong: bool = False
    overflowed: bool = False
    rank_local: bool = False


def _learn_update(facts: UpdateFacts, _: None, carry: Carry) -> None:
    carry.last_update.pop(facts.key, None)
    if facts.error is not None:
        carry.last_update[facts.key] = facts.error


def _learn_wrong_update(facts: UpdateFacts, _: None, carry: Carry) -> None:
    _learn_update(facts, None, carry)
    carry.tainted_params.add(facts.key)


def _learn_own_update(facts: UpdateFacts, _: None, carry: Carry) -> None:
    _learn_update(facts, None, carry)
    carry.rank_local_params.add(facts.key)


UPDATE_RULES: tuple[Rule[UpdateFacts, None, Carry], ...] = (
    Rule(
        "wrong-update",
        lambda o: o.wrong and not o.overflowed,
        lambda o: None,
        learns=_learn_wrong_update,
        why="what a wrong operator updates is wrong in the steps that follow; an overflow is skipped",
    ),
    Rule(
        "own-update",
        lambda o: o.rank_local,
        lambda o: None,
        learns=_learn_own_update,
        why="what a batch of its own updates differs by design",
    ),
    Rule(
        "update",
        lambda o: True,
        lambda o: None,
        learns=_learn_update,
        why="the next step begins with the error that this one leaves",
    ),
)
"""What an updated parameter carries into the next step."""


class ForecastFacts(NamedTuple):
    """An operator whose statistics were forecast; ``error`` is how far they are from the forecast."""

    error: float | None = None
    wrong: bool = False
    moves: bool = False
    size: int = 0


def _learn_forecast(facts: ForecastFacts, _: None, carry: Carry) -> None:
    carry.fit.learn(facts.error or 0.0)


FORECAST_RULES: tuple[Rule[ForecastFacts, None, Carry], ...] = (
    Rule(
        "nothing-proven",
        lambda o: o.error is None or o.wrong or o.moves or o.size <= 1,
        lambda o: None,
        why="without a forecast, behind an error, of a mover or one number nothing is proven",
    ),
    Rule(
        "reproduced",
        lambda o: True,
        lambda o: None,
        learns=_learn_forecast,
        why="the forecast is right about how the device computes",
    ),
)
"""What an operator proves about the forecast."""


def outputs_left(
    scene: Scene, seen: Observation, made: Assessment, handed: tuple[Difference, ...]
) -> Iterator[OutputFacts]:
    """Facts of every output of a judged operator; ``handed`` are the causes that it hands on."""
    op = scene.graph.ops[seen.op]
    carried = op.op_type in MOVEMENT and any(state.from_earlier_step for state in seen.reads)
    for slot in range(max(len(op.outputs), 1)):
        value, item = Value(seen.op, slot), seen.outputs.get(slot)
        yield OutputFacts(
            value,
            scene.block,
            item.error if item is not None else None,
            item is not None and item.divergence.equal,
            handed,
            made.is_origin or made.tainted,
            made.rank_local,
            max(made.inherited, seen.correlated),
            made.tolerance_factor * made.rounding_floor,
            (*seen.unobserved[-64:], seen.op),
            carried,
            item is not None and item.differs_locally,
            _result(scene, value),
        )


def _result(scene: Scene, value: Value) -> HandedOver | None:
    """What other graphs of the iteration know a result by, that they may read."""
    if len(scene.survey.pairing.target.graphs) < 2 or value not in scene.graph.outputs:
        return None
    outputs, block = scene.graph.ops[value.op].outputs, scene.block
    return (
        (block.rank, block.iteration, outputs[value.slot].shape)
        if value.slot < len(outputs)
        else None
    )


def updates_left(scene: Scene, seen: Observation, made: Assessment) -> Iterator[UpdateFacts]:
    """Facts of every parameter that a judged operator updates."""
    for slot, name in updates(scene.graph, scene.graph.ops[seen.op]):
        item = seen.measured.get(("input", slot))
        error = item.error if item is not None and item.usable else None
        wrong = made.is_origin or made.tainted
        yield UpdateFacts((scene.block.rank, name), error, wrong, made.overflowed, made.rank_local)


def forecast_left(scene: Scene, made: Assessment) -> ForecastFacts:
    """What a judged operator says of the forecast."""
    op, worst = scene.graph.ops[made.op], made.worst
    return ForecastFacts(
        worst.forecast if worst is not None else None,
        made.is_origin or made.tainted,
        op.op_type in MOVEMENT,
        worst.divergence.size if worst is not None else 0,
    )
