"""Operators in which the ranks of a job meet: they inherit from the tensors of all ranks.

The executions of all ranks of one iteration are visited in lockstep, so that what feeds such an operator is
known on every rank when it is judged. Two ranks of one data-parallel job are fed batches of their own, and what
comes of them differs by design, up to where the ranks meet. What is behind, and weights, all ranks must hold alike.
"""

from __future__ import annotations

import re
from itertools import count, groupby
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.comparison.graphs.roles import updates
from workbench.core.words import Message
from workbench.ops import COLLECTIVES, PARTING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.follow.facts import Scene
    from workbench.comparison.measure.measure import Measured
    from workbench.comparison.pair.pairing import Pairing
    from workbench.graph.graph import Graph, Op


_STARTED = re.compile(r"_\d{14}_", re.ASCII)
"""Time at which a process compiled a graph, in the name of its model (``ge_default_{time}_{id}``)."""


def lockstep(blocks: Iterable[Execution]) -> Iterator[list[Execution]]:
    """Executions in their order, those of several ranks that belong together as one."""

    def place(block: Execution) -> tuple[object, ...]:
        return block.iteration, block.graph_id, block.turn, _STARTED.sub("_", block.net_name)

    for _, group in groupby(blocks, place):
        found: list[Execution] = []
        for block in group:
            if any(one.rank == block.rank for one in found):
                yield found
                found = []
            found.append(block)
        yield found


def is_meeting(op: Op) -> bool:
    """Whether an operator needs the tensors of all ranks."""
    return op.op_type in COLLECTIVES


def met_by(op: Op, peers: Iterable[Scene]) -> Iterator[tuple[Scene, int]]:
    """Yield the executions of other ranks that an operator needs the tensors of, and its number there."""
    if is_meeting(op):
        for peer in peers:
            number = peer.graph.by_name.get(op.name)
            if number is not None:
                yield peer, number


def measured_of_peers(op: Op, peers: Iterable[Scene]) -> dict[int, Measured]:
    """Measured inputs of the other ranks, under negative slots."""
    slots = count(-1, -1)
    return {
        next(slots): item
        for peer, number in met_by(op, peers)
        for (io, _), item in peer.measured(number).items()
        if io == "input"
    }


_OWN = ("BatchNorm", "BatchNormExt", "BNTrainingUpdate")
"""Their moments are those of a rank's own batches."""


OWN_BATCH = Message("compare/own-batch")
"""Why a tensor is not judged: it comes of the batch of its own rank."""


_OF_A_RANK = re.compile(r"(?:worldsize\d+_global_)?rank_?\d+", re.ASCII)
"""Folder of one rank in the tree of a job."""


def is_replicated(graph: Graph, op: Op) -> bool:
    """Whether all ranks must hold alike what an operator leaves."""
    if op.op_type in COLLECTIVES:
        return op.op_type not in PARTING
    return any(updated_alike(graph, op))


def updated_alike(graph: Graph, op: Op) -> Iterator[tuple[int, str]]:
    """Slots and names of the parameters that an operator updates alike on all ranks."""
    return updates(graph, op) if op.op_type not in _OWN else iter(())


def other_ranks(pairing: Pairing) -> tuple[int, int] | None:
    """Ranks of target and golden where they are two of a data-parallel job, or of two such jobs."""
    ranks = {(block.rank, other.rank) for block, other in pairing.blocks.items()}
    if len(ranks) != 1:
        return None
    (found,) = ranks
    types = {op.op_type for graph in pairing.target.graphs.values() for op in graph.ops}
    types |= {run.op_type for runs in pairing.target.runs.values() for run in runs.values()}
    return found if found[0] != found[1] and types & COLLECTIVES else None


def ranks_of_one_job(pairing: Pairing) -> tuple[int, int] | None:
    """Ranks of target and golden where they are two of one data-parallel job."""
    ours, theirs = (Path(one.dump.path).resolve() for one in (pairing.target, pairing.golden))
    named = _OF_A_RANK.fullmatch(ours.name) and _OF_A_RANK.fullmatch(theirs.name)
    same = ours == theirs or (bool(named) and ours.parent == theirs.parent)
    return other_ranks(pairing) if same else None
