"""Whether a run stores its results in a narrower number format than its files say: all its operators show it then."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from workbench.comparison.limits import limits
from workbench.comparison.replay.deviation import Store, store_of
from workbench.core.errors import FormatError

if TYPE_CHECKING:
    from workbench.comparison.follow.state import Assessment
    from workbench.comparison.follow.trace import Survey
    from workbench.comparison.measure.measure import Measured

_LOOKED_AT = 16
"""Outputs of other operators that are read to decide it."""


def is_explained_by_store(known: Survey, seen: Assessment) -> bool:
    """Whether an operator's error is the rounding to a narrower format, in which most other results lie, too.

    Files of float32 do not tell that kernels compute in float16; a store that was broken at one operator alone is not
    the run's.
    """
    own = _store(seen.worst) if seen.worst is not None else None
    if seen.worst is None or own is None:
        return False
    carried = seen.inherited * (limits().amplification + seen.inherited)
    if seen.worst.error > seen.tolerance_factor * (own.roundoff + carried):
        return False
    outputs = (m for op, m in known.measured_floats(seen.block) if op != seen.op)
    others = [*islice(outputs, _LOOKED_AT)]
    alike = sum(store is not None and store.is_within(own.format) for store in map(_store, others))
    judging = limits()
    return alike + 1 >= judging.ambient_operators and alike >= judging.ambient_share * len(others)


def _store(item: Measured) -> Store | None:
    ours, theirs = item.pair.target.source, item.pair.golden.source
    if ours is None or theirs is None:
        return None
    try:
        given, expected = ours.array(), theirs.array()
    except (FormatError, OSError):  # changed since it was measured
        return None
    return store_of(given, expected) if given.dtype == expected.dtype else None
