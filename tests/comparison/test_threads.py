"""Work in threads keeps the order of the items, the context of whoever asked, and leaves nothing behind."""

from __future__ import annotations

import threading
from contextlib import closing
from dataclasses import replace

import pytest

from workbench.comparison.limits import limits, using
from workbench.comparison.threads import AHEAD, WINDOW, count_threads, in_order

WAIT_S = 30
"""Long enough for any machine; nothing waits so long unless it is wrong."""


def square(item, _):
    return item * item


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("every", [1, 3, 10 * WINDOW])
def test_results_come_in_the_order_of_the_items(threads, every):
    items = range(1, 2 * WINDOW + 7)
    assert [*in_order(items, square, lambda item: item % every == 0, threads)] == [
        item * item for item in items
    ]


def test_nothing_is_made_of_nothing():
    assert [*in_order([], square, bool, 2)] == []


def test_two_items_are_worked_on_at_the_same_time():
    meeting = threading.Barrier(2)  # whoever comes alone waits until time is up, and the test fails

    def meet(item, _):
        meeting.wait(WAIT_S)
        return item

    assert [*in_order("ab", meet, lambda _: True, threads=2)] == ["a", "b"]


def test_an_item_that_is_not_worth_a_thread_waits_for_its_turn():
    """What it does may depend on all items before it."""
    seen = []

    def note(item, stopped):
        seen.append((item, stopped is None, threading.current_thread() is threading.main_thread()))

    steps = in_order([0, 0], note, bool, threads=2)
    assert seen == []
    next(steps)
    assert seen == [(0, True, True)]
    steps.close()


def test_one_thread_is_that_of_whoever_asks():
    def where(_, stopped):
        return stopped is None and threading.current_thread() is threading.main_thread()

    assert all(in_order(range(5), where, lambda _: True, threads=1))


def test_threads_judge_by_the_limits_of_whoever_asked():
    with using(replace(limits(), pass_factor=7.5)):
        found = [*in_order("abc", lambda *_: limits().pass_factor, lambda _: True, threads=2)]
    assert found == [7.5, 7.5, 7.5]


def test_few_items_are_taken_up_before_their_turn():
    """Their results wait in memory."""
    begun, gate = [], threading.Event()

    def wait(item, _):
        begun.append(item)
        gate.wait(WAIT_S)
        return item

    taken = iter(range(1000))
    steps = in_order(taken, wait, lambda _: True, threads=2)
    gate.set()
    assert next(steps) == 0
    assert next(taken) <= 2 * AHEAD
    steps.close()


def test_an_error_in_a_thread_is_that_of_whoever_asks():
    def refuse(item, _):
        if item == 2:
            raise LookupError(item)
        return item

    steps = in_order(range(5), refuse, lambda _: True, threads=2)
    assert [next(steps), next(steps)] == [0, 1]
    with pytest.raises(LookupError, match="2"):
        next(steps)


def test_who_closes_it_waits_until_threads_have_given_up():
    begun, ended = threading.Event(), []

    def work(item, stopped):
        if stopped is None or item == "first":
            return item
        begun.set()
        while not stopped():
            pass
        ended.append(item)
        return item

    before = threading.active_count()
    with closing(in_order(["first", "second"], work, lambda _: True, threads=2)) as steps:
        assert next(steps) == "first"
        assert begun.wait(WAIT_S)
    assert ended == ["second"]
    assert threading.active_count() == before


@pytest.mark.parametrize(("asked", "cores", "count"), [(0, 1, 1), (0, 2, 2), (0, 64, 4), (7, 1, 7)])
def test_threads_are_as_many_as_cores_up_to_four_unless_asked(monkeypatch, asked, cores, count):
    monkeypatch.setattr("workbench.comparison.threads.count_cores", lambda: cores)
    assert count_threads(asked) == count
