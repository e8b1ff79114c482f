"""The golden's share in a difference that the target's operator is not to blame for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.comparison.align.differences import Difference
from workbench.comparison.explain.origins import spoilt_weights
from workbench.comparison.replay.replay import SUSPECT
from workbench.core.words import Message

if TYPE_CHECKING:
    from workbench.comparison.follow.flow import Flow
    from workbench.comparison.follow.states import Event


def golden_is_off(flow: Flow, event: Event) -> tuple[Difference, ...]:
    """Say that the golden's operator is wrong; empty if what both inherited explains the difference.

    Where the golden's operator cannot be computed again, it is wrong if its result is farther off than
    the error of the inputs is magnified to.
    """
    replayed, own, worst = flow.replayed, event.replayed, event.worst
    if replayed is None or own is None or worst is None:
        return ()
    spoilt = next(spoilt_weights(flow, event), "")
    if spoilt:
        return (Difference("parameter", spoilt, Message("compare/few-elements", name=spoilt)),)
    golden = replayed.golden(event.block, event.op)
    if golden is not None:
        said = Message("compare/golden-error-by", error=golden.error)
        return (Difference("own-error", "golden", said),) if golden.suspect else ()
    carried = replayed.carries(event.block, event.op, max(own.slot, 0), event.inherited)
    if worst.error <= SUSPECT * (carried + event.own_floor):
        return ()
    return (Difference("own-error", "golden", Message("compare/golden-error")),)
