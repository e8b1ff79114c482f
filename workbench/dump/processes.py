"""Timestamp folders: of several processes, or of several runs of one.

Every process of the graph engine writes below a timestamp folder of its own. Folders of different
devices are ranks. Two for one device are runs, one after the other (`workbench.dump.turns` tells
them apart), unless they were written at the same time: then they are processes, and each becomes a
rank.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from workbench.core.words import Message
from workbench.dump.dump import Note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.core.tensors import TensorRecord
    from workbench.dump.leaf import Found
    from workbench.dump.survey import Leaf

    Read = tuple[Leaf, list[TensorRecord]]


def part_processes(read: Sequence[Read], found: Found) -> None:
    """Give every process a rank of its own, and note runs and processes."""
    times = {(leaf.rank, leaf.time) for leaf, _ in read if leaf.time}
    ranks = sorted({rank for rank, _ in times})
    if len(ranks) > 1 and len({time for _, time in times}) > 1:
        count = len({time for _, time in times})
        detail = Message("dump/processes", folders=count, ranks=ranks)
        found.notes.append(Note("processes", ", ".join(sorted({t for _, t in times})), detail))
    free = max((leaf.rank for leaf, _ in read), default=0) + 1
    for rank in ranks:
        free = _part_rank([one for one in read if one[0].rank == rank], rank, free, found)


def _part_rank(read: Sequence[Read], rank: int, free: int, found: Found) -> int:
    """Look at the timestamp folders of one rank that hold the same iteration."""
    if len({leaf.time for leaf, _ in read}) < 2:
        return free
    spans: dict[int, dict[str, tuple[int, int]]] = {}
    for leaf, records in read:
        if leaf.time and records:
            stamps = [record.timestamp_us for record in records]
            here = spans.setdefault(leaf.iteration, {})
            low, high = here.get(leaf.time, (min(stamps), max(stamps)))
            here[leaf.time] = min(low, *stamps, low), max(high, *stamps, high)
    several = [here for here in spans.values() if len(here) > 1]
    if not several:
        return free
    names = sorted({time for here in several for time in here})
    if not any(_overlap(list(here.values())) for here in several):
        found.notes.append(Note("runs", names[-1], Message("dump/runs", rank=rank, folders=names)))
        return free
    ranks = {time: rank if not number else free + number - 1 for number, time in enumerate(names)}
    for leaf, records in read:
        for record in records:
            record.key = record.key._replace(rank=ranks.get(leaf.time, rank))
    shown = [Message("dump/process-rank", folder=time, rank=ranks[time]) for time in names]
    detail = Message("dump/processes-one-device", device=rank, folders=shown)
    found.notes.append(Note("processes", names[0], detail))
    return free + len(names) - 1


def _overlap(spans: list[tuple[int, int]]) -> bool:
    ordered = sorted(spans)
    return any(b[0] <= a[1] for a, b in pairwise(ordered))
