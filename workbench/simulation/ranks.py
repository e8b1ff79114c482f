"""The ranks of a job: a process for each, on a device of its own, which dumps or only runs along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

from workbench.config.mindspore.reading import is_alone
from workbench.core.errors import GraphError
from workbench.core.writers import WRITERS
from workbench.npu.faults import NODE
from workbench.run.ranks import Member, Rendezvous

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.config.context import Context
    from workbench.dump.write.plan_files import Progress
    from workbench.graph.control_flow import Network
    from workbench.npu.faults import Fault
    from workbench.run.executor import Feeds


MOST_RANKS = 256
"""Most ranks that run on one machine."""


@dataclass(frozen=True)
class Rank:
    """One rank of a job of ``meeting.ranks``; ``member`` is missing where it is the only one.

    ``number`` counts from 0, other than the rank of one that a launcher's variables name.
    """

    context: Context
    meeting: Rendezvous
    member: Member | None = None
    dumps: bool = True

    @property
    def number(self) -> int:
        """Which of the job's processes it is."""
        return 0 if self.member is None else self.member.rank

    @property
    def part(self) -> str:
        """Name of its work in progress, beside that of others."""
        return "" if self.member is None else f"rank_{self.member.rank}"

    def network(self, network: Network) -> Network:
        """Return the network with this rank's share of its batches: every so many-th."""
        batches, ranks = network.batches, self.meeting.ranks
        if batches is None or self.member is None:
            return network
        return replace(network, batches=lambda number: batches(number * ranks + self.number))

    def faults(self, faults: Sequence[Fault]) -> list[Fault]:
        """Return the faults of this rank's device."""
        known = range(self.meeting.ranks) if self.member is not None else (self.context.rank,)
        for fault in faults:
            if fault.rank is not None and fault.rank not in known:
                raise GraphError(
                    "simulation/fault-rank", fault=fault, known=[*known], got=fault.rank
                )
            nodes = sorted({rank // NODE for rank in known})
            if fault.node is not None and fault.node not in nodes:
                raise GraphError("simulation/fault-node", fault=fault, known=nodes, got=fault.node)
        return [fault for fault in faults if fault.is_on(self.context.rank)]


def ranks_of(surface: str, context: Context, ranks: int) -> list[Rank]:
    """Return the ranks of a job; ``context`` has the environment that all of them share.

    Where it names a rank of several, only that one dumps. Raises GraphError if there is no such rank,
    or more of them than one machine runs.
    """
    if ranks > MOST_RANKS:
        raise GraphError("simulation/ranks-limit", limit=MOST_RANKS, got=ranks)
    meeting = Rendezvous(ranks)
    if ranks == 1:
        return [Rank(_own_process(surface, context), meeting)]
    only = context.number(WRITERS[surface].rank_variable, -1)
    if only >= ranks:
        raise GraphError("simulation/rank-range", ranks=ranks, got=only)
    return [
        Rank(_on(context, rank, ranks), meeting, Member(meeting, rank), only in (-1, rank))
        for rank in range(ranks)
    ]


def only_compiles(surface: str, context: Context) -> bool:
    """Whether a process runs nothing and leaves no file, as MindSpore does on a CPU at simulation level 0."""
    on_cpu = WRITERS[surface].platform == "CPU"
    return on_cpu and context.variable("MS_SIMULATION_LEVEL") == "0"


def _own_process(surface: str, context: Context) -> Context:
    """Return the context on the rank and device that a launcher's variables name.

    A process of MindSpore on a CPU that is not one of several has rank 0, whatever ``RANK_ID`` says.
    """
    if WRITERS[surface].platform != "CPU" or not is_alone(context):
        context = replace(context, rank=context.number("RANK_ID", context.rank))
    if WRITERS[surface].of_mindspore:
        return replace(context, device=context.number("DEVICE_ID", context.device))
    return context


def _on(context: Context, rank: int, ranks: int) -> Context:
    """Return the context of a rank, as a launcher makes it."""
    own = {
        "RANK_ID": rank,
        "DEVICE_ID": rank,
        "RANK_SIZE": ranks,
        "RANK": rank,
        "WORLD_SIZE": ranks,
    }
    env = {**context.env, **{name: str(value) for name, value in own.items()}}
    return replace(context, env=env, rank=rank, device=rank)


def feeds_of(feeds: Feeds | Sequence[Feeds], rank: int) -> Feeds:
    """Return what a rank is fed; raises GraphError if a list of feeds has nothing for it."""
    if feeds is None or isinstance(feeds, Mapping) or callable(feeds):
        return feeds
    if rank >= len(feeds):
        raise GraphError("simulation/rank-feeds", rank=rank, got=len(feeds))
    return feeds[rank]


def shared_progress(progress: Progress | None) -> Progress | None:
    """Return a progress for all ranks, which counts the tensors of all of them."""
    if progress is None:
        return None
    numbers = count(1)

    def told(_: int, operator: str) -> None:
        progress(next(numbers), operator)

    return told
