"""Faults of the links between ranks: what a collective delivers to one of them is not what the others gave.

They strike on the rank that they name: in ``AllReduce`` it gets another sum than its peers. They need no device: the
reference has them, too.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import GraphError
from workbench.npu.faults.fault import outstanding
from workbench.ops import COLLECTIVES, PARTING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from workbench.graph.graph import Op
    from workbench.npu.faults.fault import Fault

    Array = NDArray[Any]
    Received = Sequence[Array]


@dataclass(frozen=True, slots=True)
class LinkKind:
    """A kind of fault of a link: what it makes of what a rank receives, and what its strength and value mean.

    ``apply`` takes the fault, the operator, the tensors of the group's ranks, the place of this one among them and what
    the operator received an iteration earlier (`None`: this is the first).
    """

    apply: Callable[[Fault, Op, Received, int, Received | None], list[Array]]
    strength: str = ""
    value: str = ""


def skip(
    _fault: Fault, _op: Op, given: Received, own: int, _before: Received | None
) -> list[Array]:
    """Nothing of the peers arrives: a sum is the rank's own part."""
    return [one if place == own else np.zeros_like(one) for place, one in enumerate(given)]


def deliver_stale(
    fault: Fault, op: Op, given: Received, own: int, before: Received | None
) -> list[Array]:
    """What arrives is that of the iteration before; in the first one nothing does."""
    return list(before) if before is not None else skip(fault, op, given, own, before)


def garble(
    fault: Fault, op: Op, given: Received, own: int, _before: Received | None
) -> list[Array]:
    """Elements that the first peer gave are overwritten on the way: of those that get to this place."""
    peer = next((place for place in range(len(given)) if place != own), own)
    wrong = given[peer].copy()
    part = _part_for(op, wrong, own, len(given))
    part[...] = fault.write(op, part, outstanding(wrong))
    return [wrong if place == peer else one for place, one in enumerate(given)]


def _part_for(op: Op, array: Array, own: int, ranks: int) -> Array:
    """Return the part of a peer's tensor that a place of a group gets: all of it, or one of equal parts."""
    if op.op_type not in PARTING:
        return array
    part: Array = np.split(array, ranks, op.attrs.get("split_dim", 0))[own]
    return part


LINKS: dict[str, LinkKind] = {
    "skipped-collective": LinkKind(skip),
    "stale-collective": LinkKind(deliver_stale),
    "garbled-collective": LinkKind(
        garble, "elements (1)", "what is written (10 times the largest)"
    ),
}
"""Kind by name. `tests/npu/faults/test_links.py` checks every one."""


@dataclass(slots=True)
class Links:
    """The faulty links of one rank; what operators received an iteration earlier is kept for those that deliver it."""

    faults: tuple[Fault, ...]
    _held: dict[str, list[Array]] = field(default_factory=dict)

    def receive(self, op: Op, given: Received, own: int, iteration: int) -> list[Array]:
        """Return what a rank at place ``own`` receives of what the ranks of its group gave to a collective."""
        found = list(given)
        for fault in self.faults:
            if fault.matches(op):
                before, self._held[op.name] = self._held.get(op.name), list(given)
                if fault.is_in(iteration):
                    found = LINKS[fault.kind].apply(fault, op, found, own, before)
        return found


def check_links(faults: Sequence[Fault], ops: Sequence[Op], name: str) -> None:
    """Raise GraphError for a fault of a link that meets no collective."""
    met = [op for op in ops if op.op_type in COLLECTIVES]
    for fault in faults:
        if not any(fault.matches(op) for op in met):
            names = [op.name for op in met]
            close = difflib.get_close_matches(fault.op_name, names, 3, 0.3) or names[:3]
            raise GraphError("run/fault-no-collective", graph=name, got=fault.op_name, close=close)
