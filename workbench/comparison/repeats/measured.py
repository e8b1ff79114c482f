"""A repeat as it was measured against the target: the values that the modules of this room hand on."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from workbench._values import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from workbench.comparison.bind.binding import Execution, OperatorRun
    from workbench.comparison.measure.measure import Measured
    from workbench.core.tensors import TensorKey

    Place = tuple[Execution, int]
    """An execution of the target, and the number of an operator in its graph."""

    Index = Mapping[Place, Mapping[tuple[str, int], Measured]]
    """What was measured of operators, by direction and slot. The repeat is the target of these pairs."""


class Spread(NamedTuple):
    """Largest relative error of a tensor between runs, and of its worst slice; ``size`` is its number of elements."""

    error: float = 0.0
    slice_error: float = 0.0
    size: int = 0


class OwnSpread(NamedTuple):
    """Relative error between runs of an output that its operator's inputs do not explain."""

    error: float
    size: int
    run: OperatorRun


Spreads = dict["TensorKey", Spread]


def widest(several: Iterable[Mapping[TensorKey, Spread]]) -> Spreads:
    """Return the largest errors of several runs, tensor by tensor."""
    found: Spreads = {}
    for spreads in several:
        for key, one in spreads.items():
            before = found.get(key, one)
            error, local = max(one.error, before.error), max(one.slice_error, before.slice_error)
            found[key] = Spread(error, local, one.size)
    return found


def index_of(items: Iterable[Measured]) -> Index:
    """Return what was measured, by the target's execution and operator, by direction and slot."""
    found: dict[Place, dict[tuple[str, int], Measured]] = defaultdict(dict)
    for item in items:
        run = item.pair.golden_run
        if run is not None:
            found[run.block, run.op][item.pair.io, item.pair.slot] = item
    return dict(found)
