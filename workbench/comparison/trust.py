"""What a statement rests on: whose graph says what feeds what, and what says which operator comes first.

A side that has no graph borrows the other's (`workbench.comparison.bind.borrow`), or has its wiring inferred from
equal bytes (`workbench.comparison.follow.wiring`). What may be said on which ground is a row of `SAYINGS`; every rule
of the walk names the row that it needs, and the walk asks no rule that its ground does not carry.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal, get_args

from workbench._values import NamedTuple
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterable

Ground = Literal["own", "borrowed", "inferred", "none"]
Order = Literal["dataflow", "time", "unknown"]

GROUNDS: tuple[Ground, ...] = get_args(Ground)
"""Where a graph comes from, the strongest first."""

ORDERS: tuple[Order, ...] = get_args(Order)
"""What says which operator comes first, the strongest first."""


class Trust(NamedTuple):
    """What a statement about an operator rests on: the weaker of the two sides."""

    graph: Ground = "own"
    order: Order = "dataflow"

    @property
    def said(self) -> tuple[Message, ...]:
        """What a reader has to know of it; nothing where both runs have their own graphs."""
        said = [Message(f"compare/trust-{self.graph}")] if self.graph != "own" else []
        if self.order == "unknown":
            said.append(Message("compare/trust-order-unknown"))
        return tuple(said)


OWN = Trust()
BORROWED = Trust("borrowed")


def weaker(*some: Trust) -> Trust:
    """Return the weaker of several, graph and order each by itself; own without any."""
    graph = max((one.graph for one in some), key=GROUNDS.index, default=OWN.graph)
    order = max((one.order for one in some), key=ORDERS.index, default=OWN.order)
    return Trust(graph, order)


class Saying(NamedTuple):
    """One kind of statement, and the weakest graph and order that it may be made on."""

    graph: Ground
    order: Order
    why: str


SAYINGS: dict[str, Saying] = {
    "difference": Saying(
        "none", "unknown", "two tensors of one name and what is measured of them; names need no graph"
    ),
    "first": Saying(
        "none", "time", "that an error begins at an operator: something has to say what comes before it"
    ),
    "given": Saying(
        "inferred", "time",
        "that an input is what an operator gave: a graph names it, or the only output before it that has its bytes",
    ),
    "dataflow": Saying(
        "inferred", "dataflow",
        "what an operator inherits: another run's wiring serves, for it is checked against measured errors",
    ),
    "leaves": Saying(
        "borrowed", "dataflow", "which weight or feed an input is: equal bytes do not tell, another graph's names do"
    ),
    "memory": Saying(
        "own", "dataflow", "that a value was changed between producer and reader: only if this run wires the two"
    ),
    "wiring": Saying("own", "dataflow", "that two programs are wired differently, by what their own graphs say"),
    "lent": Saying(
        "borrowed", "dataflow", "that a run's own bytes contradict the wiring that it was lent, or that its own has"
    ),
    "settings": Saying("own", "dataflow", "attributes: a borrowed graph has the lender's, whatever the run was given"),
    "source": Saying("own", "dataflow", "a source line: a borrowed graph has the lender's program"),
}  # fmt: skip
"""Kind of statement → the ground that it needs."""


@cache
def may_say(saying: str, trust: Trust) -> bool:
    """Whether a kind of statement may be made on a ground."""
    least = SAYINGS[saying]
    graph = GROUNDS.index(trust.graph) <= GROUNDS.index(least.graph)
    return graph and ORDERS.index(trust.order) <= ORDERS.index(least.order)


def order_of_times(times: Iterable[int]) -> Order:
    """Return what files' times (µs) say of the order of operators: nothing if all are the same."""
    return "time" if len(set(times)) > 1 else "unknown"
