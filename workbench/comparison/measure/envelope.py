"""Hold what was measured against the envelope of the network: how many times more than rounding a tensor is off.

Above `envelope_factor` it is no rounding of what goes in. At or below, nothing is said against a fault of the
operator itself: one that is smaller than what rounding moves passes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.comparison.limits import limits
from workbench.core.errors import FormatError
from workbench.run.envelope import Place, spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.comparison.measure.measure import Measured
    from workbench.comparison.pair.pairing import Pair
    from workbench.run.envelope import Envelope, Spread


class Ratio(NamedTuple):
    """Error over envelope: of the whole tensor, and of its worst slice along any axis; ``None``: not known."""

    whole: float | None = None
    worst_slice: float | None = None

    @property
    def largest(self) -> float:
        """The larger one; 0 where neither is known."""
        return max((one for one in self if one is not None), default=0.0)

    @property
    def known(self) -> bool:
        """Whether the envelope knows the tensor."""
        return self.whole is not None or self.worst_slice is not None


UNKNOWN = Ratio()


def envelope_ratios(items: Sequence[Measured], envelope: Envelope) -> list[Ratio]:
    """Return how many times the envelope every pair is off, in order."""
    return [_ratio(item, envelope) for item in items]


def _ratio(item: Measured, envelope: Envelope) -> Ratio:
    if item.reason or item.divergence.reason:
        return UNKNOWN
    allowed = envelope.find(_place(item.pair))
    if allowed is None or _shape(item.pair) not in (None, allowed.shape):
        return UNKNOWN
    if item.divergence.equal:
        return Ratio(0.0, 0.0 if any(one is not None for one in allowed.slices) else None)
    whole = item.error / allowed.norm if math.isfinite(allowed.norm) else None
    if item.left_out is not None:  # slices of the envelope go through what is left out
        return Ratio(whole, None)
    return Ratio(whole, _slices(item.pair, allowed))


def _shape(pair: Pair) -> tuple[int, ...] | None:
    """Shape of the golden's tensor; another network may have operators of the same names."""
    try:
        return pair.golden.spec.shape
    except FormatError:
        return None


def _place(pair: Pair) -> Place:
    """Place of the golden's tensor."""
    key, run = pair.golden.key, pair.golden_run
    name = run.op_name if run is not None else key.op_name
    turn = run.block.turn if run is not None else key.turn
    return Place(key.graph_id, key.iteration, name, key.io, key.slot, turn, key.rank)


def _slices(pair: Pair, allowed: Spread) -> float | None:
    """Return the largest ratio of the worst slices along each axis."""
    if pair.target.source is None or pair.golden.source is None:
        return None
    try:
        still, moved = pair.golden.source.array(), pair.target.source.array()
    except FormatError:
        return None
    if moved.size != still.size or len(allowed.slices) != still.ndim:
        return None
    if "c" in (still.dtype.kind, moved.dtype.kind):
        return None
    least = limits().envelope_slice
    known = [
        seen / free
        for count, seen, free in zip(
            still.shape, spread(moved.reshape(still.shape), still).slices, allowed.slices, strict=True
        )
        if seen is not None and free is not None and math.isfinite(free)
        and still.size >= least * count
    ]  # fmt: skip
    return max(known, default=None)
