"""Runs of a program in one dump: which folders and which repetitions of a name belong to which.

Every process of the graph engine writes below a timestamp folder of its own. Folders of different devices are
ranks. Two for one device are runs, one after the other, unless they were written at the same time: then they are
processes, and each becomes a rank (`split_processes`).

Inside one folder two things repeat names (`number_turns`). A loop runs an operator several times in one iteration;
and a program that runs twice into one path adds its files to those of the first run. Runs come first: a quiet period
of a second in the whole folder, with one name on both sides of it, parts two runs (within a run real dumps never
paused longer than 0.2 s, between runs never shorter than 1.5 s). Inside a run an operator's files are written
together, inputs before outputs; a new turn begins when that order starts again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from workbench.core.words import Message
from workbench.dump.dump import Note

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from workbench.core.tensors import TensorKey, TensorRecord
    from workbench.dump.survey import DumpFolder

    Span = tuple[int, int]

RUN_GAP_US = 1_000_000
"""Repetitions further apart than this are separate runs of the program, not turns of a loop."""

# ---------------------------------------------------------------- processes


class FolderRecords(NamedTuple):
    """A folder and its tensors."""

    folder: DumpFolder
    records: tuple[TensorRecord, ...]


def split_processes(
    read: Sequence[FolderRecords],
) -> tuple[list[TensorRecord], tuple[Note, ...]]:
    """Return all records in order, those of every process with a rank of its own, and notes on runs and processes."""
    times = {(one.folder.rank, one.folder.time) for one in read if one.folder.time}
    ranks, names = sorted({rank for rank, _ in times}), sorted({time for _, time in times})
    notes: list[Note] = []
    if len(ranks) > 1 and len(names) > 1:
        detail = Message("dump/processes", folders=len(names), ranks=ranks)
        notes.append(Note("processes", ", ".join(names), detail))
    free = max((one.folder.rank for one in read), default=0) + 1
    new_ranks: dict[tuple[int, str], int] = {}
    for rank in ranks:
        several = _spans([one for one in read if one.folder.rank == rank])
        if not several:
            continue
        folders = sorted({time for here in several for time in here})
        if not any(_overlap(here.values()) for here in several):
            detail = Message("dump/runs", rank=rank, folders=folders)
            notes.append(Note("runs", folders[-1], detail))
            continue
        given = {time: rank if not at else free + at - 1 for at, time in enumerate(folders)}
        shown = [Message("dump/process-rank", folder=time, rank=given[time]) for time in folders]
        detail = Message("dump/processes-one-device", device=rank, folders=shown)
        notes.append(Note("processes", folders[0], detail))
        new_ranks |= {(rank, time): given[time] for time in folders}
        free += len(folders) - 1
    return [record for one in read for record in _with_rank(one, new_ranks)], tuple(notes)


def _spans(read: Sequence[FolderRecords]) -> list[dict[str, Span]]:
    """First and last time of every timestamp folder, for each iteration that several of one rank hold."""
    if len({one.folder.time for one in read}) < 2:
        return []
    spans: dict[int, dict[str, Span]] = {}
    for folder, records in read:
        if folder.time and records:
            stamps = [record.timestamp_us for record in records]
            here = spans.setdefault(folder.iteration, {})
            low, high = here.get(folder.time, (stamps[0], stamps[0]))
            here[folder.time] = min(low, *stamps), max(high, *stamps)
    return [here for here in spans.values() if len(here) > 1]


def _overlap(spans: Iterable[Span]) -> bool:
    return any(b[0] <= a[1] for a, b in pairwise(sorted(spans)))


def _with_rank(
    one: FolderRecords, new_ranks: Mapping[tuple[int, str], int]
) -> Iterable[TensorRecord]:
    folder, records = one
    rank = new_ranks.get((folder.rank, folder.time), folder.rank)
    if rank == folder.rank:
        return records
    return [replace(record, key=record.key._replace(rank=rank)) for record in records]


# ---------------------------------------------------------------- turns


def number_turns(records: Sequence[TensorRecord]) -> tuple[TensorRecord, ...]:
    """Return the records with the ``turn`` of each in its key, counted over all runs in order of time.

    The last run's turns come last in every operator, also in those that an older run did not dump.
    """
    keys = [record.key for record in records]
    if len(set(keys)) == len(keys):
        return tuple(records)
    repeated = {_folder(key) for key, count in Counter(keys).items() if count > 1}
    folders: dict[TensorKey, list[int]] = {}
    for at, key in enumerate(keys):
        if _folder(key) in repeated:
            folders.setdefault(_folder(key), []).append(at)
    turns: dict[int, int] = {}
    for found in folders.values():
        first = 0
        for run in _split_runs(found, records):
            turns |= (here := _number_run(run, records, first))
            first = max(here.values()) + 1
    return tuple(
        replace(record, key=record.key._replace(turn=turns[at])) if turns.get(at) else record
        for at, record in enumerate(records)
    )


def _folder(key: TensorKey) -> TensorKey:
    return key._replace(op_type="", op_name="", io="output", slot=0)


def _operator(key: TensorKey) -> TensorKey:
    return key._replace(io="output", slot=0)


def _split_runs(found: Iterable[int], records: Sequence[TensorRecord]) -> list[list[int]]:
    """Part the records of one folder, given by their numbers, where it was quiet and names begin again."""
    ordered = sorted(found, key=lambda at: records[at].timestamp_us)
    times = [records[at].timestamp_us for at in ordered]
    quiet = [at for at, (a, b) in enumerate(pairwise(times), 1) if b - a > RUN_GAP_US]
    runs: list[list[int]] = []
    names: set[TensorKey] = set()
    for start, end in pairwise([0, *quiet, len(ordered)]):
        part = ordered[start:end]
        here = {records[at].key for at in part}
        if runs and names.isdisjoint(here):
            runs[-1] += part
            names |= here
        else:
            runs.append(part)
            names = here
    return runs


def _number_run(run: Iterable[int], records: Sequence[TensorRecord], first: int) -> dict[int, int]:
    """Number the turns of one run from ``first`` on: number of a record → its turn."""
    turns: dict[int, int] = {}
    operators: dict[TensorKey, list[int]] = {}
    for at in run:
        operators.setdefault(_operator(records[at].key), []).append(at)
    for found in operators.values():
        turn, seen, last = first, set[tuple[str, int]](), "input"
        for at in found:
            key = records[at].key
            if (key.io, key.slot) in seen or (key.io, last) == ("input", "output"):
                turn += 1
                seen.clear()
            seen.add((key.io, key.slot))
            last = key.io
            turns[at] = turn
    return turns
