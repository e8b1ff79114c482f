"""Turns: repetitions of one name inside one folder, told apart by time alone.

Two things repeat names. A loop runs an operator several times in one iteration; and a program that
runs twice into one path adds its files to those of the first run. Runs come first: a quiet period
of a second in the whole folder, with one name on both sides of it, parts two runs (within a run
real dumps never paused longer than 0.2 s, between runs never shorter than 1.5 s). Inside a run an
operator's files are written together, inputs before outputs; a new turn begins when that order
starts again.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from workbench.core.tensors import TensorKey, TensorRecord

RUN_GAP_US = 1_000_000
"""Repetitions further apart than this are separate runs of the program, not turns of a loop."""


def number_turns(records: list[TensorRecord]) -> list[TensorRecord]:
    """Set ``turn`` in the key of every record, counted over all runs in order of time.

    The last run's turns come last in every operator, also in those that an older run did not dump.
    """
    keys = [record.key for record in records]
    if len(set(keys)) == len(keys):
        return records
    repeated = {_folder(key) for key, count in Counter(keys).items() if count > 1}
    folders: dict[TensorKey, list[TensorRecord]] = {}
    for record in records:
        if _folder(record.key) in repeated:
            folders.setdefault(_folder(record.key), []).append(record)
    for found in folders.values():
        first = 0
        for run in split_runs(found):
            first += _number_run(run, first)
    return records


def _folder(key: TensorKey) -> TensorKey:
    return key._replace(op_type="", op_name="", io="output", slot=0)


def _operator(key: TensorKey) -> TensorKey:
    return key._replace(io="output", slot=0)


def split_runs(records: Iterable[TensorRecord]) -> list[list[TensorRecord]]:
    """Part the records of one folder where it was quiet and names begin again."""
    ordered = sorted(records, key=lambda record: record.timestamp_us)
    quiet = [
        number
        for number, (a, b) in enumerate(pairwise(ordered), 1)
        if b.timestamp_us - a.timestamp_us > RUN_GAP_US
    ]
    cuts = [0, *quiet, len(ordered)]
    runs: list[list[TensorRecord]] = []
    for start, end in pairwise(cuts):
        part = ordered[start:end]
        if runs and {r.key for r in runs[-1]}.isdisjoint(r.key for r in part):
            runs[-1] += part
        else:
            runs.append(part)
    return runs


def _number_run(run: Sequence[TensorRecord], first: int) -> int:
    """Number the turns of one run from ``first`` on; return how many there are."""
    operators: dict[TensorKey, list[TensorRecord]] = {}
    for record in run:
        operators.setdefault(_operator(record.key), []).append(record)
    most = 0
    for records in operators.values():
        turn, seen = 0, set[tuple[str, int]]()
        last = "input"
        for record in records:
            slot = (record.key.io, record.key.slot)
            if slot in seen or (record.key.io, last) == ("input", "output"):
                turn += 1
                seen.clear()
            seen.add(slot)
            last = record.key.io
            record.key = record.key._replace(turn=first + turn)
        most = max(most, turn + 1)
    return most
