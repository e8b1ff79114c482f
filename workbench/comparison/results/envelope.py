"""Put the envelope of a network into a result: two columns of its rows, and what they come to in a sentence.

The verdict stays what it is. The envelope says what cannot be rounding of the network's inputs, and knows nothing of
how an operator rounds by itself: a device that computes in a coarser format than the envelope assumes is beyond it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.comparison.limits import limits
from workbench.comparison.measure.envelope import UNKNOWN, envelope_ratios
from workbench.core.dtypes import DTYPES
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workbench.comparison.measure.envelope import Ratio
    from workbench.comparison.measure.measure import Measured
    from workbench.comparison.result import Result
    from workbench.comparison.rows import Rows
    from workbench.core.tensors import TensorSpec
    from workbench.run.envelope import Envelope

FACT = "envelope"
"""Name of the sentence among the facts of a result."""


def with_envelope(result: Result, items: Sequence[Measured], envelope: Envelope) -> Result:
    """Return a result whose first rows, those of the measured pairs, are held against an envelope."""
    ratios = envelope_ratios(items, envelope)
    rows = result.columns
    padded = [*ratios, *(UNKNOWN,) * (len(rows) - len(ratios))]
    rows = rows.with_column("envelope", [one.whole for one in padded])
    rows = rows.with_column("envelope_slice", [one.worst_slice for one in padded])
    said = Message("compare/envelope", parts=tuple(_said(rows, padded)))
    return replace(result, rows=rows, facts={**result.facts, FACT: said})


class Beyond(NamedTuple):
    """The first tensor beyond the envelope that reads none beyond it, and how many there are."""

    row: int
    ratio: Ratio
    tensors: int


def first_beyond(rows: Rows, ratios: Sequence[Ratio]) -> Beyond | None:
    """Return where errors that are no rounding begin, in data-flow order; ``None``: nowhere.

    A result whose operator reads a tensor beyond the envelope inherits it; where all do, an input is the first.
    """
    factor = limits().envelope_factor
    over = [number for number, one in enumerate(ratios) if one.largest > factor]
    if not over:
        return None
    views = rows.views()
    place = [
        (views[n].rank, views[n].graph_id, views[n].iteration, views[n].turn, views[n].op_name)
        for n in over
    ]
    reading = {key for key, n in zip(place, over, strict=True) if views[n].io == "input"}
    own = [
        n
        for key, n in zip(place, over, strict=True)
        if views[n].io == "output" and key not in reading
    ]
    first = min(own or over, key=lambda n: (views[n].iteration, views[n].order, n))
    return Beyond(first, ratios[first], len(over))


def _said(rows: Rows, ratios: Sequence[Ratio]) -> Iterator[Message]:
    """What the ratios come to: where no rounding is, and what is not said of the others."""
    known, factor = sum(one.known for one in ratios), limits().envelope_factor
    missing = sum(
        not one.known
        and row.status != "uncomparable"
        and row.op_type != "Parameter"
        and _rounds(row.golden_spec)
        for one, row in zip(ratios, rows.views(), strict=True)
    )
    if missing >= known:
        yield Message("compare/envelope-unknown", known=known, count=known + missing)
        return
    beyond = first_beyond(rows, ratios)
    if beyond is not None:
        row = rows.views()[beyond.row]
        yield Message(
            "compare/envelope-beyond", op_name=row.op_name, io=row.io, slot=row.slot,
            times=beyond.ratio.largest, count=beyond.tensors, known=known, factor=factor,
        )  # fmt: skip
    within = known - (beyond.tensors if beyond is not None else 0)
    if within:
        yield Message("compare/envelope-below", count=within, factor=factor)
    if missing:
        yield Message("compare/envelope-missing", count=missing)


def _rounds(spec: TensorSpec | None) -> bool:
    """Whether a tensor of the golden is one of floats, which alone an envelope is of."""
    row = DTYPES.get(spec.dtype) if spec is not None else None
    return row is not None and row.is_float
