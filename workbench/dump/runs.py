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

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple
from workbench.core.words import Message
from workbench.dump.dump import Note
from workbench.dump.index import IO, join

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from workbench.dump.index import Index
    from workbench.dump.survey import DumpFolder

    Span = tuple[int, int]

RUN_GAP_US = 1_000_000
"""Repetitions further apart than this are separate runs of the program, not turns of a loop."""

# ---------------------------------------------------------------- processes


class FolderIndex(NamedTuple):
    """A folder and its tensors."""

    folder: DumpFolder
    tensors: Index


def split_processes(read: Sequence[FolderIndex]) -> tuple[Index, tuple[Note, ...]]:
    """Return all tensors in order, those of every process with a rank of its own, and notes on runs and processes."""
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
    return join([_with_rank(one, new_ranks) for one in read]), tuple(notes)


def _spans(read: Sequence[FolderIndex]) -> list[dict[str, Span]]:
    """First and last time of every timestamp folder, for each iteration that several of one rank hold."""
    if len({one.folder.time for one in read}) < 2:
        return []
    spans: dict[int, dict[str, Span]] = {}
    for folder, index in read:
        if folder.time and len(index):
            stamps = index.rows["time"]
            first, last = int(stamps.min()), int(stamps.max())
            here = spans.setdefault(folder.iteration, {})
            low, high = here.get(folder.time, (first, last))
            here[folder.time] = min(low, first), max(high, last)
    return [here for here in spans.values() if len(here) > 1]


def _overlap(spans: Iterable[Span]) -> bool:
    return any(b[0] <= a[1] for a, b in pairwise(sorted(spans)))


def _with_rank(one: FolderIndex, new_ranks: Mapping[tuple[int, str], int]) -> Index:
    folder, index = one
    rank = new_ranks.get((folder.rank, folder.time), folder.rank)
    if rank == folder.rank:
        return index
    return index.with_places(place._replace(rank=rank) for place in index.places)


# ---------------------------------------------------------------- turns

_FOLDER = ("place", "turn")
_OPERATOR = ("op_name", "op_type", *_FOLDER)
_KEY = (*_OPERATOR, "io", "slot")
_MOST = 1 << 62
_INPUT = IO.index("input")


class _Columns(NamedTuple):
    """Columns as values of Python, by the number of a tensor; of those with one number the key is the same."""

    times: list[int]
    keys: list[int]
    operators: list[int]
    io: list[int]
    slots: list[int]


def number_turns(index: Index) -> Index:
    """Return the tensors with the ``turn`` of each, counted over all runs in order of time.

    The last run's turns come last in every operator, also in those that an older run did not dump.
    """
    rows = index.rows
    keys = _numbers(rows, _KEY)
    known, places, counts = np.unique(keys, return_inverse=True, return_counts=True)
    if len(known) == len(rows):
        return index
    folders = _numbers(rows, _FOLDER)
    found = np.flatnonzero(np.isin(folders, folders[counts[places] > 1]))
    found = found[np.argsort(folders[found], kind="stable")]
    _, starts = np.unique(folders[found], return_index=True)
    columns = _Columns(
        rows["time"].tolist(), keys.tolist(), _numbers(rows, _OPERATOR).tolist(),
        rows["io"].tolist(), rows["slot"].tolist(),
    )  # fmt: skip
    turns = rows["turn"].copy()
    for start, end in pairwise([*starts.tolist(), len(found)]):
        first = 0
        for run in _split_runs(found[start:end].tolist(), columns):
            here = _number_run(run, columns, first)
            for at, turn in here.items():
                turns[at] = turn or turns[at]
            first = max(here.values()) + 1
    return index.with_columns(turn=turns)


def _numbers(rows: NDArray[np.void], names: Iterable[str]) -> NDArray[Any]:
    """Return for each row a number that is the same where all of some columns are."""
    found, size = np.zeros(len(rows), np.int64), 1
    for name in names:
        column = rows[name].astype(np.int64)
        most = int(column.max(initial=0)) + 1
        if size * most > _MOST:
            known, found = np.unique(found, return_inverse=True)
            size = len(known)
        found, size = found * most + column, size * most
    return found


def _split_runs(found: Iterable[int], columns: _Columns) -> list[list[int]]:
    """Part the tensors of one folder, given by their numbers, where it was quiet and names begin again."""
    ordered = sorted(found, key=columns.times.__getitem__)
    times = [columns.times[at] for at in ordered]
    quiet = [at for at, (a, b) in enumerate(pairwise(times), 1) if b - a > RUN_GAP_US]
    runs: list[list[int]] = []
    names: set[int] = set()
    for start, end in pairwise([0, *quiet, len(ordered)]):
        part = ordered[start:end]
        here = {columns.keys[at] for at in part}
        if runs and names.isdisjoint(here):
            runs[-1] += part
            names |= here
        else:
            runs.append(part)
            names = here
    return runs


def _number_run(run: Iterable[int], columns: _Columns, first: int) -> dict[int, int]:
    """Number the turns of one run from ``first`` on: number of a tensor → its turn."""
    turns: dict[int, int] = {}
    operators: dict[int, list[int]] = {}
    for at in run:
        operators.setdefault(columns.operators[at], []).append(at)
    for found in operators.values():
        turn, seen, last = first, set[tuple[int, int]](), _INPUT
        for at in found:
            io, slot = columns.io[at], columns.slots[at]
            if (io, slot) in seen or (io == _INPUT and last != _INPUT):
                turn += 1
                seen.clear()
            seen.add((io, slot))
            last = io
            turns[at] = turn
    return turns
