"""What replay found, as evidence and as facts of a result."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.comparison.replay.own_error import OwnError
    from workbench.comparison.replay.replay import Replay


def own_words(own: OwnError) -> Iterator[Message]:
    """Say what an operator adds by itself, and what explains it."""
    place = Message("compare/place-output", slot=own.slot)
    if own.slot < 0:
        place = Message("compare/place-updated", slot=-1 - own.slot)
    yield _measured(own, place)
    yield from own.assumed


def _measured(own: OwnError, place: Message) -> Message:
    error = own.error
    if not own.suspect and not error:
        return Message("compare/replay-exact", where=place)
    if not own.suspect:
        reason = own.floor.reason
        return Message("compare/replay-matches", where=place, error=error, reason=reason)
    if not math.isfinite(error):
        return Message("compare/replay-non-finite", where=place, elements=_elements(own))
    if own.is_outlier:
        return Message("compare/replay-outlier", where=place, error=error, elements=_elements(own))
    if not own.floor.largest:
        return Message("compare/replay-not-exact", where=place, error=error)
    return Message(
        "compare/replay-differs", where=place, error=error, times=error / own.floor.largest,
        reason=own.floor.reason, elements=_elements(own),
    )  # fmt: skip


def _elements(own: OwnError) -> Message:
    """How many elements differ."""
    if own.unequal == 1.0:
        return Message("compare/all-elements")
    return Message("compare/some-elements", percent=100 * own.unequal)


def replay_facts(found: Replay) -> dict[str, Message]:
    """Say how many operators were replayed, as on which device, and why others were not."""
    done, whole = len(found.own), len(found.own) + len(found.reasons)
    if not whole:
        return {}
    counts = {"done": done, "whole": whole, "share": found.coverage}
    left = tuple(
        Message("compare/replayed-left", count=count, why=why) for why, count in found.why_not()[:3]
    )
    said = Message("compare/replayed", **counts)
    if left:
        said = Message("compare/replayed-not", left=left, **counts)
    facts = {"replayed": said}
    if found.titles:
        facts["replayed as on"] = Message("compare/models", models=found.titles)
    return facts
