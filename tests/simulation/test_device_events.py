"""What is told of a run: overflow, the failure that ended it, nothing dumped, iterations left out."""

import numpy as np
import pytest

from workbench.config import new
from workbench.core.events import DeviceEvent
from workbench.core.plan import DumpPlan, Iterations
from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec
from workbench.core.words import Message
from workbench.simulation.events import DeviceEvents, dumped_nothing, undumped


def record(name, kind="", iteration=0):
    key = TensorKey("Mul", name, "output", 0, iteration=iteration)
    event = DeviceEvent(name, kind, "vector") if kind else None
    return TensorRecord(
        key, TensorSpec("float32", (1,)), ArraySource(np.zeros(1, np.float32)), event=event
    )


def observed(runs, rank=0, **options):
    events = DeviceEvents(rank=rank, **options)
    return events, list(events.observe((iter(records), counts) for records, counts in runs))


def said(events, **options):
    return [
        (one.code.removeprefix("simulation/run-"), dict(one.values))
        for one in events.messages(**options)
    ]


def test_records_of_runs_that_count_pass_on_their_rank():
    runs = [([record("a")], True), ([record("b", "overflow")], False), ([record("c")], True)]
    events, passed = observed(runs, rank=3)
    assert [(one.key.op_name, one.key.rank) for one in passed] == [("a", 3), ("c", 3)]
    assert (events.overflows, events.failed) == ({}, "")


def test_a_failure_ends_the_run_after_its_iteration():
    runs = [([record("a", "failure"), record("b")], True), ([record("c")], True)]
    events, passed = observed(runs)
    assert [one.key.op_name for one in passed] == ["a", "b"]
    events.dumped(1, "a")
    assert said(events, about_overflow=False) == [("failed", {"op": "a"})]


@pytest.mark.parametrize(("names", "seen", "expected"), [
    ("", None, [("no-overflow", {})]),
    ("ab", None, [("overflows", {"count": 2, "names": ["a", "b"]})]),
    ("aba", None, [("overflows", {"count": 3, "names": ["a", "b"]})]),
    ("ab", "", [("overflow-unseen", {"names": ["a", "b"]})]),
    ("abc", "b", [("overflows", {"count": 1, "names": ["b"]}), ("overflow-unseen", {"names": ["a", "c"]})]),
    ("", "x", [("no-overflow", {})]),
])  # fmt: skip
def test_overflow_is_counted_by_operator_and_iteration(names, seen, expected):
    """``seen`` are the operators whose results show it, where MindSpore looks for it itself."""
    sees = None if seen is None else lambda one: one.key.op_name in seen
    records = [([record(name, "overflow", n)], True) for n, name in enumerate(names)]
    events, _ = observed(records, sees=sees)
    assert said(events, about_overflow=True) == expected
    assert said(events, about_overflow=False) == []


def test_what_mindspore_sees_counts_though_the_device_reports_nothing():
    events, _ = observed([([record("a")], True)], sees=lambda one: True)
    assert said(events, about_overflow=True) == [("overflows", {"count": 1, "names": ["a"]})]


def test_progress_is_told_and_ends_the_silence():
    seen = []
    events = DeviceEvents(lambda *step: seen.append(step))
    assert events.is_empty
    events.dumped(7, "a")
    assert (seen, events.is_empty) == ([(7, "a")], False)
    assert said(events, about_overflow=False) == []


NOTHING, FAILED = Message("simulation/run-nothing"), Message("simulation/run-failed", op="a")


@pytest.mark.parametrize(("told", "ranks", "empty"), [
    ([NOTHING], 1, True),
    ([FAILED], 1, False),
    ([], 1, False),
    ([Message("simulation/run-rank", rank=n, said=NOTHING) for n in (0, 1)], 2, True),
    ([Message("simulation/run-rank", rank=1, said=NOTHING)], 2, False),
])  # fmt: skip
def test_nothing_was_dumped_if_no_rank_dumped(told, ranks, empty):
    assert dumped_nothing(told, ranks) is empty


@pytest.mark.parametrize(("kind", "asked", "run", "told"), [
    ("data", "1", (0, 1, 2, 2), (1, 3)),
    ("data", "0-2", (0, 1, 2), None),
    ("data", "7", (0, 1), None),
    ("overflow", "1", (0, 1), None),
])  # fmt: skip
def test_iterations_that_are_left_out_are_counted(kind, asked, run, told):
    plan = DumpPlan("/d", kind=kind, iterations=Iterations.parse(asked))
    found = undumped(plan, run)
    assert (found and (found.values["dumped"], found.values["run"])) == told
    advised = undumped(plan, run, new("acl"))
    if told:
        assert (advised.code, advised.values["key"], advised.values["value"]) == (
            "simulation/iterations-set", "dump.dump_step", "0-2",
        )  # fmt: skip
