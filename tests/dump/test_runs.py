"""Runs of a program: ranks, processes and runs in timestamp folders; runs and turns in one folder."""

from __future__ import annotations

import numpy as np
import pytest

from kit.build.small_dumps import ge_dump, ge_network
from kit.words import check_said
from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec
from workbench.core.words import Message
from workbench.dump.reader import load
from workbench.dump.runs import number_turns

SECOND = 1_000_000
LABEL = TensorSpec("float32", None)


def turns(*files: tuple[str, str, int]) -> list[int]:
    """Turn of every file ``(operator, io, time in µs)``."""
    source = ArraySource(np.zeros(1, np.float32))
    records = [
        TensorRecord(TensorKey("Add", name, io, 0), LABEL, source, timestamp_us=time)
        for name, io, time in files
    ]
    return [record.key.turn for record in number_turns(records)]


def test_without_repetition_everything_is_turn_0():
    assert turns(("a", "input", 0), ("a", "output", 5 * SECOND), ("b", "output", 9)) == [0, 0, 0]


def test_a_loop_counts_up_in_order_of_time_whatever_the_order_of_names():
    assert turns(("a", "output", 30), ("a", "output", 10), ("a", "output", 20)) == [2, 0, 1]


def test_a_slow_loop_is_one_run_as_long_as_something_is_written():
    """The turns of ``a`` lie three seconds apart, but ``b`` fills the time; ``c`` ran once."""
    busy = [("b", "output", n * SECOND // 2) for n in range(7)]
    assert turns(*busy, ("a", "output", 0), ("a", "output", 3 * SECOND), ("c", "output", 3 * SECOND)) == [
        0, 1, 2, 3, 4, 5, 6, 0, 1, 0,
    ]  # fmt: skip


def test_an_operator_that_the_older_run_did_not_dump_belongs_to_the_newer_run():
    assert turns(("a", "output", 0), ("a", "output", 2 * SECOND), ("b", "output", 2 * SECOND + 9)) == [
        0, 1, 1,
    ]  # fmt: skip


def test_an_operator_that_only_the_older_run_dumped_stays_with_it():
    assert turns(("a", "output", 0), ("b", "output", 9), ("a", "output", 2 * SECOND)) == [0, 0, 1]


def test_a_pause_is_no_new_run_where_no_name_repeats():
    times = [("a", "output", 0), ("a", "output", 10), ("b", "output", 4 * SECOND)]
    assert turns(*times) == [0, 1, 0]


def test_the_newer_run_counts_on_after_the_most_turns_of_the_older():
    old = [("a", "output", 0), ("a", "output", 10), ("b", "output", 20)]
    new = [(name, io, time + 3 * SECOND) for name, io, time in old]
    assert turns(*old, *new) == [0, 1, 0, 2, 3, 2]


@pytest.mark.parametrize("late", [1, 2 * SECOND])
def test_an_input_behind_an_output_begins_a_turn(late):
    files = [("a", "output", 0), ("a", "input", late), ("a", "output", late + 1)]
    assert turns(*files) == [0, 1, 1]


def test_folders_do_not_disturb_each_other():
    source = ArraySource(np.zeros(1, np.float32))
    keys = [TensorKey("Add", "a", "output", 0, iteration=step) for step in (0, 0, 1)]
    records = [
        TensorRecord(key, LABEL, source, timestamp_us=time)
        for key, time in zip(keys, (0, 5 * SECOND, 9 * SECOND), strict=True)
    ]
    assert [record.key.turn for record in number_turns(records)] == [0, 1, 0]


EARLY, LATE = "20240101000000", "20240101000001"


def ranks(found):
    return sorted({record.key.rank for record in found.records})


def kinds(found):
    return [note.kind for note in found.notes]


def test_devices_are_ranks(tmp_path):
    ge_dump(tmp_path, ge_network(), f"{EARLY}/0/net/1/0", start=0)
    ge_dump(tmp_path, ge_network(), f"{LATE}/1/net/1/0", start=7)
    found = load(tmp_path)
    assert (ranks(found), kinds(found)) == ([0, 1], ["processes"])
    check_said(found.notes[0].detail, "dump/processes", folders=2, ranks=[0, 1])


def test_devices_of_one_process_need_no_note(tmp_path):
    for device in (0, 1):
        ge_dump(tmp_path, ge_network(), f"{EARLY}/{device}/net/1/0")
    assert kinds(load(tmp_path)) == []


def test_two_runs_are_turns_of_one_rank(tmp_path):
    ge_dump(tmp_path, ge_network(), f"{EARLY}/0/net/1/0", start=0)
    ge_dump(tmp_path, ge_network(), f"{LATE}/0/net/1/0", start=5 * SECOND)
    found = load(tmp_path)
    assert (ranks(found), kinds(found)) == ([0], ["runs"])
    assert {r.key.turn: r.path.split("/")[-6] for r in found.records} == {0: EARLY, 1: LATE}


def test_two_processes_on_one_device_are_ranks(tmp_path):
    ge_dump(tmp_path, ge_network(), f"{EARLY}/0/net/1/0", start=0)
    ge_dump(tmp_path, ge_network(), f"{LATE}/0/net/1/0", start=5)
    ge_dump(tmp_path, ge_network(), f"{LATE}/3/net/1/0", start=5)
    found = load(tmp_path)
    assert ranks(found) == [0, 3, 4]
    assert {r.path.split("/")[-6] for r in found.records if r.key.rank == 4} == {LATE}
    folders = [
        Message("dump/process-rank", folder=folder, rank=rank)
        for folder, rank in ((EARLY, 0), (LATE, 4))
    ]
    check_said(found.notes[-1].detail, "dump/processes-one-device", device=0, folders=folders)


def test_steps_of_mindspore_have_times_of_their_own(tmp_path):
    for step, time in enumerate((EARLY, LATE)):
        ge_dump(tmp_path, ge_network(), f"{step}/{time}/0/net/1/0", start=step * SECOND)
    found = load(tmp_path)
    assert (ranks(found), kinds(found)) == ([0], [])
    assert {record.key.iteration for record in found.records} == {0, 1}
