"""Operators in which the ranks of a job meet: they inherit from the tensors of all ranks.

The executions of all ranks of one iteration are visited in lockstep, so that what feeds such an operator is
known on every rank when it is judged.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count, groupby
from typing import TYPE_CHECKING, Protocol

from workbench.graph.nodes import Value
from workbench.graph.table.collectives import COLLECTIVES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from workbench.comparison.bind.binding import Block
    from workbench.comparison.follow.states import State
    from workbench.comparison.measure.measure import Measured
    from workbench.graph.nodes import Graph, Op


class Peer(Protocol):
    """A visit of one rank's execution, as the visits of other ranks see it."""

    graph: Graph
    peers: Sequence[Peer]

    def step(self, number: int) -> None:
        """Peer operator ``number``."""
        ...

    def input_state(self, number: int, slot: int, value: Value) -> State:
        """Return what is known of an input."""
        ...

    def measured(self, number: int) -> Mapping[tuple[str, int], Measured]:
        """Return what was measured of an operator, by direction and slot."""
        ...


def together(blocks: Iterable[Block]) -> Iterator[list[Block]]:
    """Executions in their order, those of several ranks that belong together as one."""

    def place(block: Block) -> tuple[object, ...]:
        return block.iteration, block.graph_id, block.turn, block.net_name

    for _, group in groupby(blocks, place):
        found: list[Block] = []
        for block in group:
            if any(one.rank == block.rank for one in found):
                yield found
                found = []
            found.append(block)
        yield found


def visit_together(visits: Sequence[Peer]) -> None:
    """Peer the executions of several ranks operator by operator."""
    for visit in visits:
        visit.peers = [one for one in visits if one is not visit]
    for number in range(max((len(visit.graph.ops) for visit in visits), default=0)):
        for visit in visits:
            visit.step(number)


def is_meeting(op: Op) -> bool:
    """Whether an operator needs the tensors of all ranks."""
    return op.op_type in COLLECTIVES


def states_of_peers(visit: Peer, op: Op) -> dict[int, State]:
    """What is known of the other ranks' tensors, under negative slots.

    A named difference on another rank is blamed there.
    """
    slots = count(-1, -1)
    return {
        next(slots): replace(state, causes=(), tainted=state.tainted or bool(state.causes))
        for peer, number in _peers(visit, op)
        for slot, operand in enumerate(peer.graph.ops[number].flat_inputs())
        if isinstance(operand, Value)
        for state in (peer.input_state(number, slot, operand),)
    }


def measured_of_peers(visit: Peer, op: Op) -> dict[int, Measured]:
    """Measured inputs of the other ranks, under negative slots."""
    slots = count(-1, -1)
    return {
        next(slots): item
        for peer, number in _peers(visit, op)
        for (io, _), item in peer.measured(number).items()
        if io == "input"
    }


def _peers(visit: Peer, op: Op) -> Iterator[tuple[Peer, int]]:
    if is_meeting(op):
        for peer in visit.peers:
            number = peer.graph.by_name.get(op.name)
            if number is not None:
                yield peer, number
