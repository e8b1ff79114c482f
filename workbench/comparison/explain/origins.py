"""Origins: what the walk convicts, with what explains it; and each one put on trial.

An `Origin` holds an `Assessment` of the walk as it is. Where somebody else wrote over what an operator read,
the origin holds a copy of the reader's assessment that blames the writer; the walk's own stays as it was.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from workbench._values import NamedTuple
from workbench.comparison.follow.naming import corrupted_weights, is_of_few
from workbench.comparison.limits import limits
from workbench.comparison.replay.attempt import TROUBLE, Attempt
from workbench.comparison.replay.kernel import Trial, cast_like

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.comparison.explain.explain import Explanation
    from workbench.comparison.follow.state import Assessment
    from workbench.comparison.follow.trace import Trace
    from workbench.comparison.replay.replay import Replay
    from workbench.comparison.result import Symptom

    Array = NDArray[Any]

_EARLIER = 24
"""Tensors that memory may still have held when an operator ran."""

_ITERATIONS = 4
"""Iterations before, of which an output may be what was left."""


class Writer(NamedTuple):
    """That the operator to blame wrote over a tensor which another one read, and how likely it is that one."""

    chance: float


class Origin(NamedTuple):
    """Where an error begins: an assessment, and what is known of its cause besides named differences.

    ``symptom`` is what is certain of what was given; ``explanation`` is the fault that explains it best; ``writer``
    says that the operator which ``event`` blames wrote over what the assessed one read.
    """

    event: Assessment
    explanation: Explanation | None = None
    writer: Writer | None = None
    symptom: Symptom | None = None


class Origins(NamedTuple):
    """The origins of a comparison's errors, in the order of the walk."""

    origins: tuple[Origin, ...] = ()


def own_trial(replayed: Replay, event: Assessment, *, earlier: bool = True) -> Trial | None:
    """An operator whose own error replay convicts, with what it read; raises one of ``TROUBLE``.

    ``earlier``: with what memory held before.
    """
    own = event.replayed
    attempt = replayed.attempt(event.block, event.op)
    if own is None or not own.suspect or not isinstance(attempt, Attempt):
        return None
    held = _earlier(replayed, event) if earlier else ()
    return attempt.trial(own.slot, own.explained, own.arithmetic, held)


def trial_beside(replayed: Replay, event: Assessment) -> Trial | None:
    """An operator with what the golden read and gave; raises one of ``TROUBLE``."""
    worst = event.worst
    attempt = replayed.golden_attempt(event.block, event.op, loosely=True)
    if worst is None or worst.pair.io != "output" or not isinstance(attempt, Attempt):
        return None
    found, slot = worst.arrays(), worst.pair.slot
    if found is None or slot >= len(attempt.kernel.results):
        return None
    given, expected = found[0], cast_like(found[1], found[0])
    if given.shape != expected.shape:
        return None
    floor = min(
        event.tolerance_factor * event.expected_error, worst.error / limits().suspect_factor
    )
    held = _earlier(replayed, event)
    return Trial(attempt.kernel, attempt.inputs, slot, given, expected, floor, earlier=held)


def earlier_runs(replayed: Replay, event: Assessment, slot: int) -> tuple[tuple[int, Array], ...]:
    """What the operator gave in earlier iterations, as (iteration, array), latest first; raises one of ``TROUBLE``."""
    values, here = replayed.target_inputs, event.block
    before = sorted(
        (one for one in values.binding.runs if one == here._replace(iteration=one.iteration)),
        key=lambda one: -one.iteration,
    )
    found = (
        (one.iteration, values.given(one, event.op, slot))
        for one in before
        if one.iteration < here.iteration
    )
    known = ((iteration, array) for iteration, array in found if array is not None)
    return tuple(islice(known, _ITERATIONS))


def pair_beside(event: Assessment) -> tuple[Array, Array] | None:
    """What the operator gave and what the golden gave, whatever they read; raises one of ``TROUBLE``."""
    worst = event.worst
    if worst is None or worst.pair.io != "output" or worst.salvaged:
        return None
    found = worst.arrays()
    return None if found is None else (found[0], cast_like(found[1], found[0]))


def _earlier(replayed: Replay, event: Assessment) -> tuple[Array, ...]:
    """Outputs that the device held before, the latest first; its own of the iteration before come first."""
    values = replayed.target_inputs
    last = event.block._replace(iteration=event.block.iteration - 1)
    runs = values.binding.runs
    places = [(last, event.op)] if last in runs else []
    places += [
        (event.block, n) for n in sorted(runs[event.block], reverse=True) if 0 <= n < event.op
    ]
    found = (values.given(block, number, 0) for block, number in places)
    return tuple(islice((array for array in found if array is not None), _EARLIER))


def has_few_wrong(flow: Trace, event: Assessment) -> bool:
    """Whether what differs most of what an operator reads does so in few elements only."""
    read = [
        item
        for (io, _), item in event.measured.items()
        if io == "input" and item.usable and item.error > event.rounding_floor
    ]
    worst = max(read, key=lambda item: item.error, default=None)
    if worst is None:
        return any(True for _ in corrupted_weights(flow, event))
    try:
        found = worst.arrays()
        return found is not None and is_of_few(*found)
    except TROUBLE:
        return False
