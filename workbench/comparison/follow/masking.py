"""Differences that heal: two graphs may compute the same in other steps.

Where alignment pairs operators by anything less than their whole ancestry, or where the blame rests
on a named difference, the intermediate values need not correspond: the terms of a sum in another
order, a Transpose before a product instead of a flag on it, a loss scale that is divided out again.
If everything that such a difference reaches agrees in the end, it was no error. Operators that jump
prove nothing: an argmax agrees by luck.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.comparison.align.rules import MATCH_RULES
from workbench.comparison.measure.noise import PASS_FACTOR, is_discontinuous
from workbench.graph.nodes import Value

if TYPE_CHECKING:
    from workbench.comparison.follow.flow import Flow
    from workbench.comparison.follow.states import Assessment
    from workbench.graph.nodes import Graph

_WEIGHT = 2.0**-7
"""Relative error of a weight that no number format makes but those of 8 bits."""

_SURE = {rule for rule, row in MATCH_RULES.items() if row.tier == "sure"}


def mark_masked(flow: Flow) -> None:
    """Acquit every guilty operator whose difference is of structure and has no effect."""
    acquitted = []
    for event in list(flow.guilty):
        graph = flow.pairing.target.graph(event.block)
        if graph is None or event.op < 0 or not _is_doubtful(event) or _lasts(event):
            continue
        reached = _reached(flow, event, graph)
        if reached is None:
            continue
        acquitted.append(event)
        for number in (event.op, *reached):
            member = flow.events[event.block, number]
            member.guilty = member.tainted = False
            member.healed = True
    left = [event for event in flow.guilty if not event.healed]
    proven = {cause for event in left for cause in _given(event)}
    for event in acquitted:
        if proven & _given(
            event
        ):  # the same weights or data do harm elsewhere: it is the cause's first trace
            event.guilty, event.healed = True, False
    flow.guilty = [event for event in flow.guilty if not event.healed]
    flow.tainted_named = [event for event in flow.tainted_named if not event.healed]


def _given(event: Assessment) -> set[tuple[str, str]]:
    """What an operator was given that differs, by kind and name."""
    return {(d.kind, d.subject) for d in event.differences if d.kind in ("parameter", "input")}


def _is_doubtful(event: Assessment) -> bool:
    """Whether the blame may rest on values that do not correspond, or that are meant to differ.

    A named difference may be undone on purpose: a loss scale is divided out before the optimizer. What an
    operator makes of its own inputs needs no other side.
    """
    if event.replayed is not None and event.replayed.suspect:
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
        and m.error > PASS_FACTOR * _WEIGHT
        for m in event.measured.values()
    )


def _reached(flow: Flow, event: Assessment, graph: Graph) -> set[int] | None:
    """Operators that the difference reaches; ``None`` if it reaches an end of the graph."""
    values = flow.values[event.block]
    results = {output for output in graph.outputs if isinstance(output, Value)}
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
            if not readers or value in results:
                return None
            if any(_proves_nothing(flow, event, graph, reader) for reader in readers):
                return None
            waiting += readers - reached
            reached |= readers
    return reached


def _proves_nothing(flow: Flow, event: Assessment, graph: Graph, reader: int) -> bool:
    """Whether agreement of a reader's outputs would say nothing, or they do not agree for good."""
    found = flow.events.get((event.block, reader))
    if found is None:
        return True
    if is_discontinuous(graph.ops[reader]):
        state = flow.values[event.block].get(Value(reader, 0))
        return state is None or not state.tainted
    return _lasts(found)


def _lasts(event: Assessment) -> bool:
    """Whether an operator leaves a difference in a parameter, which the next iteration reads."""
    if event.worst is None or not event.worst.rewritten:
        return False
    return event.worst.error > event.factor * event.own_floor
