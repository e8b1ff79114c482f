"""Loop turns and separate runs in one folder, with times written by hand."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec
from workbench.dump.turns import number_turns

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
