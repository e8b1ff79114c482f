"""Timestamp folders: ranks, runs one after the other, processes side by side."""

from __future__ import annotations

from kit.build.small_dumps import ge_dump, ge_network
from kit.words import check_said
from workbench.core.words import Message
from workbench.dump.reader import load

FIRST, SECOND = "20240101000000", "20240101000001"
SECOND_LATER = 1_000_000


def ranks(found):
    return sorted({record.key.rank for record in found.records})


def kinds(found):
    return [note.kind for note in found.notes]


def test_devices_are_ranks(tmp_path):
    ge_dump(tmp_path, ge_network(), f"{FIRST}/0/net/1/0", start=0)
    ge_dump(tmp_path, ge_network(), f"{SECOND}/1/net/1/0", start=7)
    found = load(tmp_path)
    assert (ranks(found), kinds(found)) == ([0, 1], ["processes"])
    check_said(found.notes[0].detail, "dump/processes", folders=2, ranks=[0, 1])


def test_devices_of_one_process_need_no_note(tmp_path):
    for device in (0, 1):
        ge_dump(tmp_path, ge_network(), f"{FIRST}/{device}/net/1/0")
    assert kinds(load(tmp_path)) == []


def test_two_runs_are_turns_of_one_rank(tmp_path):
    ge_dump(tmp_path, ge_network(), f"{FIRST}/0/net/1/0", start=0)
    ge_dump(tmp_path, ge_network(), f"{SECOND}/0/net/1/0", start=5 * SECOND_LATER)
    found = load(tmp_path)
    assert (ranks(found), kinds(found)) == ([0], ["runs"])
    turns = {r.key.turn: r.path.split("/")[-6] for r in found.records}
    assert turns == {0: FIRST, 1: SECOND}


def test_two_processes_on_one_device_are_ranks(tmp_path):
    ge_dump(tmp_path, ge_network(), f"{FIRST}/0/net/1/0", start=0)
    ge_dump(tmp_path, ge_network(), f"{SECOND}/0/net/1/0", start=5)
    ge_dump(tmp_path, ge_network(), f"{SECOND}/3/net/1/0", start=5)
    found = load(tmp_path)
    assert ranks(found) == [0, 3, 4]
    assert {r.path.split("/")[-6] for r in found.records if r.key.rank == 4} == {SECOND}
    folders = [
        Message("dump/process-rank", folder=folder, rank=rank)
        for folder, rank in ((FIRST, 0), (SECOND, 4))
    ]
    check_said(found.notes[-1].detail, "dump/processes-one-device", device=0, folders=folders)


def test_steps_of_mindspore_have_times_of_their_own(tmp_path):
    for step, time in enumerate((FIRST, SECOND)):
        ge_dump(tmp_path, ge_network(), f"{step}/{time}/0/net/1/0", start=step * SECOND_LATER)
    found = load(tmp_path)
    assert (ranks(found), kinds(found)) == ([0], [])
    assert {record.key.iteration for record in found.records} == {0, 1}
