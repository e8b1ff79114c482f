"""The golden's share in a difference that the target's operator is not to blame for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.comparison.align.differences import Difference
from workbench.comparison.limits import limits
from workbench.comparison.replay.attempt import TROUBLE
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from workbench.comparison.follow.facts import Observation
    from workbench.comparison.follow.state import Assessment
    from workbench.comparison.follow.trace import Survey

    Array = NDArray[Any]


def golden_error(survey: Survey, event: Assessment | Observation) -> tuple[Difference, ...]:
    """Say that the golden's operator is wrong; empty if what both inherited explains the difference.

    Where the golden's operator cannot be computed again, it is wrong if its result is farther off than
    the error of the inputs is magnified to.
    """
    replayed, own, worst = survey.replayed, event.replayed, event.worst
    if replayed is None or own is None or worst is None:
        return ()
    spoilt = next(corrupted_weights(survey, event), "")
    if spoilt:
        return (Difference("parameter", spoilt, Message("compare/few-elements", name=spoilt)),)
    golden = replayed.golden(event.block, event.op)
    if golden is not None:
        said = Message("compare/golden-error-by", error=golden.error)
        return (Difference("own-error", "golden", said),) if golden.suspect else ()
    carried = replayed.propagated_error(event.block, event.op, max(own.slot, 0), event.inherited)
    if worst.error <= limits().suspect_factor * (carried + event.rounding_floor):
        return ()
    return (Difference("own-error", "golden", Message("compare/golden-error")),)


def corrupted_weights(survey: Survey, event: Assessment | Observation) -> Iterator[str]:
    """Names of the golden's weights that an operator reads with few elements of another value.

    They are looked at where they were dumped: by an operator that only hands them on, if not by this one.
    """
    block = event.block
    found = survey.pairing.alignments.get(block.graph_key)
    other = survey.pairing.blocks.get(block)
    if survey.replayed is None or found is None or other is None or event.op < 0:
        return
    replayed = survey.replayed
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
                replayed.target_inputs.read(block, event.op, slot),
                replayed.golden_inputs.read(other, *reader),
            )
            if ours and theirs and is_of_few(ours.array, theirs.array):
                yield parameter.name
        except TROUBLE:
            continue


def is_of_few(target: Array, golden: Array) -> bool:
    """Whether two weights differ in few elements only, as where something wrote into one.

    Few are all that one number stands in, too, if they are neighbors. All elements are not few: a counter of steps
    differs as a whole.
    """
    if target.shape != golden.shape or not target.size:
        return False
    a, b = target.astype(np.float64).ravel(), golden.astype(np.float64).ravel()
    off = np.flatnonzero(~np.isclose(a, b, rtol=2.0**-7, atol=0.0, equal_nan=True))
    if off.size == a.size:
        return False
    if not 0 < off.size <= max(8, limits().golden_few * target.size):
        one = off.size > 1 and np.ptp(a[off]) == 0 and np.ptp(b[off]) > 0
        return bool(one and off[-1] - off[0] + 1 == off.size <= limits().golden_neighbors)
    return True
