"""Files of two tensors that hold each other's values: a matter of the dump, not of operators.

Two tensors of one execution and one size are off as a whole, and each is what the golden has of the other. No write
past the end of a buffer and no stale memory does both.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple
from workbench.comparison.align.differences import Difference
from workbench.comparison.explain.origins import Origin
from workbench.comparison.limits import limits
from workbench.comparison.replay.attempt import TROUBLE
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.follow.trace import Trace
    from workbench.comparison.measure.measure import Measured

    Array = NDArray[Any]

EXCHANGED = "exchanged"
"""Kind of the difference, and of its finding."""

_TENSORS = 64
"""Tensors that are off as a whole; of more it is no matter of two files."""

_MOST = 1 << 22
"""Elements of a tensor that is looked at."""


class Wrong(NamedTuple):
    """A tensor that is off as a whole, with what target and golden have of it, in one row."""

    op: int
    item: Measured
    given: Array
    expected: Array


def blame_files(
    flow: Trace, origins: tuple[Origin, ...], asked: Sequence[int]
) -> tuple[Origin, ...]:
    """Say of the origins at two exchanged files that they are exchanged."""
    told = {
        (block, one.op): said
        for block in {origins[n].event.block for n in asked}
        for pair in find_exchanged(flow, block)
        for said in [_difference(flow, block, *pair)]
        for one in pair
    }
    found = list(origins)
    for n in asked:
        event = origins[n].event
        said = told.get((event.block, event.op))
        if said is not None:
            found[n] = Origin(event._replace(replayed=None, differences=(said,)))
    return tuple(found)


def is_exchanged(origin: Origin) -> bool:
    """Whether the files of an origin are known to be exchanged."""
    return any(one.kind == EXCHANGED for one in origin.event.differences)


def find_exchanged(flow: Trace, block: Execution) -> Iterator[tuple[Wrong, Wrong]]:
    """Pairs of tensors of an execution that are each what the golden has of the other."""
    wrong = [*_wrong(flow, block)]
    if len(wrong) > _TENSORS:
        return
    left = set(range(len(wrong)))
    for one, other in combinations(range(len(wrong)), 2):
        if {one, other} <= left and _hold_each_other(wrong[one], wrong[other]):
            left -= {one, other}
            yield wrong[one], wrong[other]


def _wrong(flow: Trace, block: Execution) -> Iterator[Wrong]:
    """Tensors that are off by more than any format explains, in the order of operators."""
    runs = flow.pairing.target.runs.get(block, {})
    for op in sorted(runs, key=lambda number: runs[number].time):
        for item in flow.index.get((block, op), {}).values():
            far = item.usable and not item.error <= limits().excused_most
            if not far or not 1 < item.divergence.size <= _MOST:
                continue
            try:
                found = item.arrays()
            except TROUBLE:
                continue
            if found is not None and all(one.dtype.kind in "fiu" for one in found):
                given, expected = (one.reshape(-1) for one in found)
                if given.size == expected.size and expected.min() < expected.max():
                    yield Wrong(op, item, given, expected)


def _hold_each_other(one: Wrong, other: Wrong) -> bool:
    if one.given.size != other.given.size or one.given.dtype != other.given.dtype:
        return False
    return _is_near(one.given, other.expected) and _is_near(other.given, one.expected)


def _is_near(given: Array, expected: Array) -> bool:
    """Whether an array is another one but for the roundings of a device."""
    with np.errstate(all="ignore"):
        ours, theirs = given.astype(np.float64), expected.astype(np.float64)
        size = float(np.linalg.norm(theirs))
        apart = float(np.linalg.norm(ours - theirs))
    return math.isfinite(apart) and apart <= limits().exchanged_most * size


def _difference(flow: Trace, block: Execution, one: Wrong, other: Wrong) -> Difference:
    ours, theirs = (_named(flow, block, some) for some in (one, other))
    return Difference(
        EXCHANGED, f"{ours}, {theirs}", Message("compare/exchanged", ours=ours, theirs=theirs)
    )


def _named(flow: Trace, block: Execution, one: Wrong) -> Message:
    graph = flow.pairing.target.graph(block)
    run = flow.pairing.target.runs[block][one.op]
    name = graph.ops[one.op].name if graph is not None and one.op >= 0 else run.op_name
    return Message("compare/tensor-of", io=one.item.pair.io, slot=one.item.pair.slot, op_name=name)
