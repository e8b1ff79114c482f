"""Stages are timed for whoever asks, and know whether they shall go on."""

import gc
import threading

import pytest

from workbench.comparison import stages
from workbench.comparison.stages import Grace, Stages, timed
from workbench.core.long_work import checkpoint, is_stopped


def test_times_are_told_in_the_order_in_which_stages_end():
    stage = Stages()
    with timed() as times:
        with stage("outer"), stage("inner"):
            sum(range(100_000))
        with stage("last"):
            pass
    assert [one.name for one in times] == ["inner", "outer", "last"]
    inner, outer, last = times
    assert 0 < inner.seconds <= outer.seconds
    assert 0 <= last.busy <= last.seconds + 0.1


def test_a_stage_that_fails_is_timed_too():
    with timed() as times, pytest.raises(ZeroDivisionError), Stages()("bad"):
        _ = 1 / 0
    assert [one.name for one in times] == ["bad"]


def test_nobody_else_is_told():
    with timed() as outer:
        with timed() as inner, Stages()("seen"):
            pass
        other = threading.Thread(target=lambda: Stages()("elsewhere").__enter__())
        other.start()
        other.join()
    with Stages()("later"):
        pass
    assert ([one.name for one in inner], outer) == (["seen"], [])


@pytest.mark.parametrize(
    ("answers", "stopped"),
    [
        ([False, False], [False, False]),
        ([False, True], [False, True]),
        ([True, False], [True, True]),
    ],
)
def test_once_stopped_it_stays_so(answers, stopped):
    asked = iter(answers)
    stage, found = Stages(lambda: next(asked)), []
    for name in ("first", "second"):
        with stage(name):
            found.append(stage.stopped)
    assert found == stopped
    assert not Stages().stopped


def test_what_is_asked_to_stop_has_some_time_left():
    wanted = [False]
    short, long = Grace(lambda: wanted[0], -1.0), Grace(lambda: wanted[0], 1e6)
    assert not short()
    assert not long()
    wanted[0] = True
    assert not long()
    assert short()
    assert not Grace(None, -1.0)()


def fails() -> None:
    stage = Stages()
    with stage("read"):
        assert not gc.isenabled()
        with stage("bind"):
            pass
        assert not gc.isenabled()  # whoever paused it first starts it again
        raise KeyError


COUNT = gc.get_freeze_count


@pytest.fixture
def unfrozen(monkeypatch):
    """Nothing is frozen, and what is can be counted; after the test it is as `conftest.py` left it."""
    monkeypatch.setattr(gc, "get_freeze_count", COUNT)
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.mark.usefixtures("unfrozen")
def test_what_there_was_is_left_out_of_the_search_until_the_stage_ends():
    with Stages()("measure"):
        assert gc.isenabled()
        assert gc.get_freeze_count()
    assert not gc.get_freeze_count()


@pytest.mark.usefixtures("unfrozen")
def test_what_somebody_else_has_frozen_stays_so():
    gc.freeze()
    with Stages()("measure"):
        pass
    assert gc.get_freeze_count()


def test_the_search_for_garbage_goes_on_whatever_happens():
    assert gc.isenabled()
    with pytest.raises(KeyError):
        fails()
    assert gc.isenabled()
    with Stages()("measure"):  # makes arrays, which may lie in cycles
        assert gc.isenabled()


@pytest.mark.parametrize(
    ("name", "over", "ends"),
    [
        ("replay", False, True),
        ("explain", False, True),
        ("follow", False, False),
        ("follow", True, True),
        ("judge", True, False),
        ("bind", True, False),
    ],
)
def test_a_stop_ends_a_stage_in_its_midst(monkeypatch, name, over, ends):
    monkeypatch.setattr(stages, "Grace", lambda asked: lambda: over)
    with Stages(lambda: True)(name):
        assert is_stopped() is ends
    assert not is_stopped()
    with Stages()("replay"):
        checkpoint()
