"""Long loops stop when whoever started them wants it, on that thread and nowhere else."""

import threading

import pytest

from workbench.core.long_work import Stopped, checkpoint, stoppable


def test_nobody_stops_what_nobody_can_stop():
    assert checkpoint() is None


def test_it_stops_as_soon_as_it_shall():
    turns = iter((False, False, True))
    with stoppable(lambda: next(turns)):
        checkpoint()
        checkpoint()
        with pytest.raises(Stopped):
            checkpoint()
    assert checkpoint() is None


def test_the_inner_one_counts_until_it_ends():
    with stoppable(lambda: True):
        with stoppable(lambda: False):
            checkpoint()
        with pytest.raises(Stopped):
            checkpoint()


def test_other_threads_go_on():
    done = []

    def work():
        checkpoint()
        done.append(True)

    with stoppable(lambda: True):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(10)
    assert done == [True]


def test_readers_do_not_take_it_for_a_damaged_file():
    assert not issubclass(Stopped, Exception)
