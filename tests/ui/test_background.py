"""Work beside the handlers: in order, the newest of what waits, nothing after the end."""

import threading

import pytest

from workbench.ui.background import Background
from workbench.ui.widgets.alerts import Alert

SECONDS = 20


@pytest.fixture
def alert():
    made = Alert()
    yield made
    made.widget.layout.close()
    made.widget.style.close()
    made.widget.close()


@pytest.fixture
def background(alert, real_threads):
    made = Background(threading.RLock(), alert)
    yield made
    made.close()
    assert made.wait(SECONDS)


class Slow:
    """A work that goes on when it is told to; ``shown`` says what was shown by all of them."""

    def __init__(self, name, shown):
        self.name, self.shown = name, shown
        self.began, self.go_on = threading.Event(), threading.Event()

    def __call__(self):
        self.began.set()
        assert self.go_on.wait(SECONDS)
        return lambda: self.shown.append(self.name)


def test_asking_returns_before_the_work_is_done(background):
    shown = []
    slow = Slow("a", shown)
    background.ask(slow)
    assert slow.began.wait(SECONDS)
    assert (background.busy, shown) == (True, [])
    assert not background.wait(0)
    slow.go_on.set()
    assert background.wait(SECONDS)
    assert (background.busy, shown) == (False, ["a"])


def test_of_many_that_wait_the_newest_is_done_after_the_present_one(background):
    shown = []
    first, *others = (Slow(name, shown) for name in "abcd")
    background.ask(first)
    assert first.began.wait(SECONDS)
    for other in others:
        other.go_on.set()
        background.ask(other)
    first.go_on.set()
    assert background.wait(SECONDS)
    assert shown == ["a", "d"]
    assert [one.began.is_set() for one in others] == [False, False, True]


def test_an_error_is_shown_and_the_next_work_is_done(background, alert):
    background.ask(lambda: 1 / 0)
    assert background.wait(SECONDS)
    assert "ZeroDivisionError" in alert.widget.value
    shown = []
    background.ask(lambda: lambda: shown.append(1))
    assert background.wait(SECONDS)
    assert shown == [1]


def test_an_error_in_showing_is_shown(background, alert):
    background.ask(lambda: lambda: [].pop())
    assert background.wait(SECONDS)
    assert "IndexError" in alert.widget.value
    assert not background.busy


def test_nothing_to_show_is_fine(background, alert):
    background.ask(lambda: None)
    assert background.wait(SECONDS)
    assert alert.widget.value == ""


@pytest.mark.parametrize("fails", [False, True])
def test_what_runs_when_the_panel_closes_shows_nothing(background, alert, fails):
    shown = []
    slow = Slow("a", shown)
    background.ask((lambda: slow() and 1 / 0) if fails else slow)
    assert slow.began.wait(SECONDS)
    background.close()
    slow.go_on.set()
    assert background.wait(SECONDS)
    assert (shown, alert.widget.value) == ([], "")


def test_after_the_end_nothing_begins(background):
    background.close()
    background.ask(lambda: pytest.fail("this must not run"))
    assert background.wait(0)


def test_who_observes_hears_of_the_beginning_and_the_end(background):
    heard = []
    background.observe(lambda change: heard.append(change["new"]), "busy")
    for _ in range(2):
        background.ask(lambda: None)
        assert background.wait(SECONDS)
    assert heard == [True, False, True, False]
