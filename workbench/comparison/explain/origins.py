"""Tell the kind of fault behind a guilty operator: by what it gave, or by what differs."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.comparison.explain.explain import UNEXPLAINED, Explained, explain
from workbench.comparison.replay.attempt import TROUBLE, Attempt
from workbench.comparison.replay.kernel import Trial, stored
from workbench.comparison.replay.replay import SUSPECT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from workbench.comparison.follow.flow import Flow
    from workbench.comparison.follow.states import Event
    from workbench.comparison.replay.replay import Replay

    Array = NDArray[Any]

MOST = 12
"""Guilty executions that are explained; behind the first few come consequences."""

_EARLIER = 24
"""Tensors that memory may still have held when an operator ran."""

_FEW = 0.01
"""Share of the elements of a weight that are few."""

_RUN = 64
"""Neighbors that one number may stand in."""

BY_NAME = {"attribute": "wrong-attribute", "overwritten": "overrun"}
"""Kind of a finding → kind of the fault, where the difference itself says it."""


def tell(flow: Flow) -> None:
    """Explain the guilty executions whose own error replay knows; the first ones, in order."""
    replayed = flow.replayed
    if replayed is None:
        return
    for event in [e for e in flow.guilty if not e.differences][:MOST]:
        known = event.replayed is not None and event.replayed.suspect
        event.explained_by = _explained(replayed, event) if known else _beside(replayed, event)


def _explained(replayed: Replay, event: Event) -> Explained | None:
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


def _beside(replayed: Replay, event: Event) -> Explained | None:
    """Explain what an operator gave by what the golden gave, where its own inputs are not known."""
    try:
        trial = trial_beside(replayed, event)
        return None if trial is None else _first(explain(trial))
    except TROUBLE:
        return None


def trial_beside(replayed: Replay, event: Event) -> Trial | None:
    """An operator with what the golden read and gave; raises one of ``TROUBLE``."""
    worst = event.worst
    attempt = replayed.attempts.of_partner(event.block, event.op, loosely=True)
    if worst is None or worst.pair.io != "output" or not isinstance(attempt, Attempt):
        return None
    ours, theirs, slot = worst.pair.target.source, worst.pair.golden.source, worst.pair.slot
    if ours is None or theirs is None or slot >= len(attempt.kernel.results):
        return None
    given = ours.array()
    expected = stored(theirs.array(), given)
    if given.shape != expected.shape:
        return None
    floor = min(event.factor * event.explained, worst.error / SUSPECT)
    earlier = tuple(islice(_earlier(replayed, event), _EARLIER))
    return Trial(attempt.kernel, attempt.inputs, slot, given, expected, floor, earlier=earlier)


def _first(found: list[Explained]) -> Explained | None:
    """The best explanation, one with a name before none at all."""
    return next((one for one in found if one.kind != UNEXPLAINED or one is found[0]), None)


def _earlier(replayed: Replay, event: Event) -> Iterator[Array]:
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


def has_few_wrong(flow: Flow, event: Event) -> bool:
    """Whether what differs most of what an operator reads does so in few elements only."""
    read = [
        item
        for (io, _), item in event.measured.items()
        if io == "input" and item.usable and item.error > event.own_floor
    ]
    worst = max(read, key=lambda item: item.error, default=None)
    if worst is None:
        return any(True for _ in spoilt_weights(flow, event))
    if worst.pair.target.source is None or worst.pair.golden.source is None:
        return False
    try:
        return is_of_few(worst.pair.target.source.array(), worst.pair.golden.source.array())
    except TROUBLE:
        return False


def spoilt_weights(flow: Flow, event: Event) -> Iterator[str]:
    """Names of the golden's weights that an operator reads with few elements of another value.

    They are looked at where they were dumped: by an operator that only hands them on, if not by this one.
    """
    block = event.block
    found = flow.pairing.alignments.get((block.rank, block.graph_id))
    other = flow.pairing.blocks.get(block)
    if flow.replayed is None or found is None or other is None or event.op < 0:
        return
    values = flow.replayed.attempts
    for slot, origin in enumerate(found.target.origins(event.op)):
        known = found.mapped(origin)
        if known is None or known.kind != "param":
            continue
        parameter = found.golden.graph.parameters[known.number]
        reader = next(iter(found.golden.readers(known)), None)
        if reader is None or not parameter.is_weight:
            continue
        try:
            ours, theirs = (
                values.ours.read(block, event.op, slot),
                values.theirs.read(other, *reader),
            )
            if ours and theirs and is_of_few(ours.array, theirs.array):
                yield parameter.name
        except TROUBLE:
            continue


def is_of_few(target: Array, golden: Array) -> bool:
    """Whether two weights differ in few elements only, as where something wrote into one.

    Few are all that one number stands in, too, if they are neighbors.
    """
    if target.shape != golden.shape or not target.size:
        return False
    a, b = target.astype(np.float64).ravel(), golden.astype(np.float64).ravel()
    off = np.flatnonzero(~np.isclose(a, b, rtol=2.0**-7, atol=0.0, equal_nan=True))
    if not 0 < off.size <= max(8, _FEW * target.size):
        one = off.size > 1 and np.ptp(a[off]) == 0 and np.ptp(b[off]) > 0
        return bool(one and off[-1] - off[0] + 1 == off.size <= _RUN)
    return True
