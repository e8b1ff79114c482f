"""What replay found, in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.compare.replay.replay import Own, Replay


def own_words(own: Own) -> Iterator[str]:
    """Say what an operator adds by itself, and what explains it."""
    place = f"output.{own.slot}" if own.slot >= 0 else f"input.{-1 - own.slot}, which it updates,"
    start = "computed again from its own inputs"
    others = f"{100 * own.unequal:.3g}% of its elements are other numbers"
    if not own.suspect:
        yield f"{start}, {place} is what it has to be: {own.error:.2g} off, which {own.floor.reason} explains"
    elif not math.isfinite(own.error):
        yield f"{start}, {place} has NaN or infinity where numbers belong, or the other way round; {others}"
    elif own.is_outlier:
        yield (
            f"{start}, {place} is {own.error:.3g} off, and {others}; "
            "of all other operators of its type every number is what it has to be"
        )
    elif own.floor.largest:
        yield (
            f"{start}, {place} is {own.error:.3g} off: {own.error / own.floor.largest:.3g} times what "
            f"{own.floor.reason} explains; {others}"
        )
    else:
        yield f"{start}, {place} is {own.error:.3g} off, and it should be exact"
    yield from own.assumed


def replay_facts(found: Replay) -> dict[str, str]:
    """Say how many operators were computed again, as which device, and why others were not."""
    whole = len(found.own) + len(found.reasons)
    if not whole:
        return {}
    left = [f"{n} × {reason}" for reason, n in found.why_not()[:3]]
    text = f"{len(found.own)} of {whole} dumped operators ({found.coverage:.1%})"
    facts = {"computed again": text + (f"; not: {'; '.join(left)}" if left else "")}
    if found.model:
        facts["computed as"] = found.model
    return facts
