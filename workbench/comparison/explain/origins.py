"""Tell the kind of fault behind a guilty operator: by what it gave, or by what differs."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from workbench.comparison.explain.explain import UNEXPLAINED, Explanation, explain
from workbench.comparison.follow.golden_side import corrupted_weights, is_of_few
from workbench.comparison.replay.attempt import TROUBLE, Attempt
from workbench.comparison.replay.kernel import Trial, cast_like
from workbench.comparison.replay.replay import SUSPECT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from workbench.comparison.follow.flow import Flow
    from workbench.comparison.follow.states import Assessment
    from workbench.comparison.replay.replay import Replay

    Array = NDArray[Any]

MOST = 12
"""Guilty executions that are explained; behind the first few come consequences."""

_EARLIER = 24
"""Tensors that memory may still have held when an operator ran."""


def explain_origins(flow: Flow) -> None:
    """Explain the guilty executions whose own error replay knows; the first ones, in order."""
    replayed = flow.replayed
    if replayed is None:
        return
    for event in [e for e in flow.guilty if not e.differences][:MOST]:
        known = event.replayed is not None and event.replayed.suspect
        event.explained_by = _explained(replayed, event) if known else _beside(replayed, event)


def _explained(replayed: Replay, event: Assessment) -> Explanation | None:
    own = event.replayed
    attempt = replayed.attempts.attempt(event.block, event.op)
    if own is None or not isinstance(attempt, Attempt):
        return None
    try:
        earlier = tuple(islice(_earlier(replayed, event), _EARLIER))
        found = explain(attempt.trial(own.slot, own.explained, own.arithmetic, earlier))
    except TROUBLE:
        return None
    return _first(found)


def _beside(replayed: Replay, event: Assessment) -> Explanation | None:
    """Explain what an operator gave by what the golden gave, where its own inputs are not known."""
    try:
        trial = trial_beside(replayed, event)
        return None if trial is None else _first(explain(trial))
    except TROUBLE:
        return None


def trial_beside(replayed: Replay, event: Assessment) -> Trial | None:
    """An operator with what the golden read and gave; raises one of ``TROUBLE``."""
    worst = event.worst
    attempt = replayed.attempts.of_partner(event.block, event.op, loosely=True)
    if worst is None or worst.pair.io != "output" or not isinstance(attempt, Attempt):
        return None
    ours, theirs, slot = worst.pair.target.source, worst.pair.golden.source, worst.pair.slot
    if ours is None or theirs is None or slot >= len(attempt.kernel.results):
        return None
    given = ours.array()
    expected = cast_like(theirs.array(), given)
    if given.shape != expected.shape:
        return None
    floor = min(event.factor * event.explained, worst.error / SUSPECT)
    earlier = tuple(islice(_earlier(replayed, event), _EARLIER))
    return Trial(attempt.kernel, attempt.inputs, slot, given, expected, floor, earlier=earlier)


def _first(found: list[Explanation]) -> Explanation | None:
    """The best explanation, one with a name before none at all."""
    return next((one for one in found if one.kind != UNEXPLAINED or one is found[0]), None)


def _earlier(replayed: Replay, event: Assessment) -> Iterator[Array]:
    """Outputs that the device held before, the latest first; its own of the iteration before come first."""
    values = replayed.attempts.ours
    last = event.block._replace(iteration=event.block.iteration - 1)
    runs = values.binding.runs
    places = [(last, event.op)] if last in runs else []
    places += [
        (event.block, n) for n in sorted(runs[event.block], reverse=True) if 0 <= n < event.op
    ]
    for block, number in places:
        array = values.given(block, number, 0)
        if array is not None:
            yield array


def has_few_wrong(flow: Flow, event: Assessment) -> bool:
    """Whether what differs most of what an operator reads does so in few elements only."""
    read = [
        item
        for (io, _), item in event.measured.items()
        if io == "input" and item.usable and item.error > event.own_floor
    ]
    worst = max(read, key=lambda item: item.error, default=None)
    if worst is None:
        return any(True for _ in corrupted_weights(flow, event))
    if worst.pair.target.source is None or worst.pair.golden.source is None:
        return False
    try:
        return is_of_few(worst.pair.target.source.array(), worst.pair.golden.source.array())
    except TROUBLE:
        return False
