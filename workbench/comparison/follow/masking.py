"""Differences that heal: two graphs may compute the same in other steps.

Where alignment pairs operators by anything less than their whole ancestry, or where the blame rests
on a named difference, the intermediate values need not correspond: the terms of a sum in another
order, a Transpose before a product instead of a flag on it, a loss scale that is divided out again.
If everything that such a difference reaches agrees in the end, it was no error. Operators that jump
prove nothing: an argmax agrees by luck.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from workbench._values import NamedTuple
from workbench.comparison.align.rules import MATCH_RULES
from workbench.comparison.follow.rules import Rule, decide
from workbench.comparison.limits import limits
from workbench.comparison.measure.noise import is_discontinuous
from workbench.graph.graph import Value

if TYPE_CHECKING:
    from workbench.comparison.follow.state import Assessment
    from workbench.comparison.follow.trace import Trace
    from workbench.graph.graph import Graph


_SURE = {rule for rule, row in MATCH_RULES.items() if row.tier == "sure"}


Masking = Literal["origin", "first-trace", "masked"]


class OriginFacts(NamedTuple):
    """An origin, and what becomes of its difference.

    ``doubtful``: the blame may rest on values that do not correspond; ``lasts``: the difference stays in a parameter;
    ``agrees``: whatever it reaches agrees again. ``harms``: what the origin was given does harm at one that stays.
    """

    doubtful: bool = True
    lasts: bool = False
    agrees: bool = True
    harms: bool = False

    @property
    def has_effect(self) -> bool:
        """Whether it is an error for all that is known."""
        return not self.doubtful or self.lasts or not self.agrees


MASKING_RULES: tuple[Rule[OriginFacts, Masking, None], ...] = (
    Rule(
        "has-effect",
        lambda o: o.has_effect,
        lambda o: "origin",
        why="a difference that lasts or is seen at an end of the graph is an error, whatever it comes of",
    ),
    Rule(
        "harms-elsewhere",
        lambda o: o.harms,
        lambda o: "first-trace",
        why="the same weights or data do harm elsewhere: this is the cause's first trace, though it agrees again",
    ),
    Rule(
        "masked",
        lambda o: True,
        lambda o: "masked",
        why="two graphs compute the same in other steps",
    ),
)
"""Whether an origin is masked: its difference is of structure and has no effect."""


def mark_masked(trace: Trace) -> Trace:
    """Acquit every origin whose difference is of structure and has no effect."""
    known = [(event, *_effect(trace, event)) for event in trace.origins]
    agreeing = {
        (event.block, number)
        for event, facts, reached in known
        if not facts.has_effect
        for number in (event.op, *reached)
    }
    if not agreeing:
        return trace
    left = [event for event in trace.origins if (event.block, event.op) not in agreeing]
    proven = {cause for event in left for cause in _given(event)}
    events = dict(trace.events)
    for place in agreeing:
        events[place] = events[place]._replace(is_origin=False, tainted=False, masked=True)
    for event, facts, _ in known:
        place, harms = (event.block, event.op), bool(proven & _given(event))
        _, masking = decide(MASKING_RULES, facts._replace(harms=harms), None)
        if masking == "first-trace":
            events[place] = events[place]._replace(is_origin=True, masked=False)
    origins = [events[event.block, event.op] for event in trace.origins]
    return replace(
        trace,
        events=MappingProxyType(events),
        origins=tuple(one for one in origins if not one.masked),
    )


def _effect(trace: Trace, event: Assessment) -> tuple[OriginFacts, set[int]]:
    """What becomes of the difference of an origin, and the operators that it reaches."""
    graph = trace.pairing.target.graph(event.block)
    if graph is None or event.op < 0 or not _is_doubtful(event):
        return OriginFacts(doubtful=False), set()
    if _lasts(event):
        return OriginFacts(lasts=True), set()
    reached = _reached(trace, event, graph)
    return OriginFacts(agrees=reached is not None), reached or set()


def _given(event: Assessment) -> set[tuple[str, str]]:
    """What an operator was given that differs, by kind and name."""
    return {(d.kind, d.subject) for d in event.differences if d.kind in ("parameter", "input")}


def _is_doubtful(event: Assessment) -> bool:
    """Whether the blame may rest on values that do not correspond, or that are meant to differ.

    A named difference may be undone on purpose: a loss scale is divided out before the optimizer. What an
    operator makes of its own inputs, NaN or infinity of finite ones for instance, needs no other side.
    """
    if event.replayed is not None and event.replayed.suspect:
        return False
    if any(one.exact or one.kind == "non-finite" for one in event.differences):
        return False
    if event.worst is not None and event.worst.forecast is not None:
        # the forecast follows the target's own steps, and figures that agree again prove nothing of the elements
        return bool(event.differences) and not _is_given_others(event)
    if event.differences:
        return True
    rules = {m.pair.rule for m in event.measured.values()}
    return bool(rules) and not rules & _SURE


def _is_given_others(event: Assessment) -> bool:
    """Whether a weight has other statistics than it should have. A single number may be undone on purpose."""
    return all(d.kind == "parameter" for d in event.differences) and any(
        m.pair.io == "input"
        and m.usable
        and m.divergence.size > 1
        and m.error > limits().pass_factor * limits().masking_weight
        for m in event.measured.values()
    )


def _reached(trace: Trace, event: Assessment, graph: Graph) -> set[int] | None:
    """Operators that the difference reaches; ``None`` if it reaches an end of the graph."""
    values = trace.values.get(event.block, {})
    waiting, reached = [event.op], set[int]()
    while waiting:
        number = waiting.pop()
        op = graph.ops[number]
        for slot in range(max(len(op.outputs), 1)):
            value = Value(number, slot)
            state = values.get(value)
            if state is None or not state.tainted:
                continue
            readers = {reader for reader, _ in graph.consumers.get(value, [])}
            if not readers or value in graph.outputs:
                return None
            if any(_proves_nothing(trace, event, graph, reader) for reader in readers):
                return None
            waiting += readers - reached
            reached |= readers
    return reached


def _proves_nothing(trace: Trace, event: Assessment, graph: Graph, reader: int) -> bool:
    """Whether agreement of a reader's outputs would say nothing, or they do not agree for good."""
    found = trace.events.get((event.block, reader))
    if found is None:
        return True
    if is_discontinuous(graph.ops[reader]):
        state = trace.values.get(event.block, {}).get(Value(reader, 0))
        return state is None or not state.tainted
    return _lasts(found)


def _lasts(event: Assessment) -> bool:
    """Whether an operator leaves a difference in a parameter, which the next iteration reads."""
    if event.worst is None or not event.worst.rewritten:
        return False
    return event.worst.error > event.tolerance_factor * event.rounding_floor
