"""Stages of a long work: each is timed for whoever asks, and knows whether to go on.

Times go with the thread to whoever wants them (`timed`), not through every signature in between, as the wish to
stop does. What a stop and the search for garbage (`workbench.core.long_work`) mean to a stage is said here, by name.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.core.long_work import (
    collection_of_new_values,
    collection_paused,
    is_frozen,
    stoppable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class StageTime(NamedTuple):
    """How long a stage took: by the clock, and of all processors together (s)."""

    name: str
    seconds: float
    busy: float


_TIMES: ContextVar[list[StageTime] | None] = ContextVar("_TIMES", default=None)


@contextmanager
def timed() -> Iterator[list[StageTime]]:
    """Inside, on this thread, every stage adds its time to the list when it ends.

    >>> with timed() as times, Stages()("bind"):
    ...     pass
    >>> [one.name for one in times]
    ['bind']
    """
    times: list[StageTime] = []
    token = _TIMES.set(times)
    try:
        yield times
    finally:
        _TIMES.reset(token)


MAKING = frozenset(("read", "bind", "pair", "follow", "judge", "find", "result"))
"""Stages that make many values which stay."""

ENDING = frozenset(("replay", "follow", "explain"))
"""Stages that a stop ends in their midst, at a `checkpoint`: what they have by then is kept. `Stages.over` ends those
of `FINISHING`, and what asks for a stop the others, at once."""

FINISHING = frozenset(("follow",))
"""Stages that have some time left after a stop: without them nothing that was measured is judged."""


class Grace:
    """Asks whether to go on for some time (s) after a stop was asked for: what is short is done to its end."""

    def __init__(self, asked: Callable[[], bool] | None, seconds: float = 0.25) -> None:
        self._asked, self._seconds = asked, seconds
        self._since: float | None = None

    def __call__(self) -> bool:
        """Whether the time is over."""
        if self._asked is None:
            return False
        if self._since is None and self._asked():
            self._since = time.monotonic()
        return self._since is not None and time.monotonic() - self._since > self._seconds


class Stages:
    """The stages of one work.

    ``stopped`` is true once ``asked()`` was when a stage began, ``over()`` some time after a stop was asked for.
    """

    def __init__(self, asked: Callable[[], bool] | None = None) -> None:
        self._asked = asked
        self.stopped = False
        self.over = Grace(asked)
        self._frozen = is_frozen()

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Ask whether to go on, then time what is done inside; see `MAKING` and `ENDING`."""
        self.stopped = self.stopped or self._wants_stop()
        start, busy = time.perf_counter(), time.process_time()
        try:
            with ExitStack() as inside:
                kept = collection_paused if name in MAKING else collection_of_new_values
                inside.enter_context(kept(self._frozen))
                if name in ENDING:
                    asked = self.over if name in FINISHING else self._wants_stop
                    inside.enter_context(stoppable(asked))
                yield
        finally:
            times = _TIMES.get()
            if times is not None:
                now = time.perf_counter() - start, time.process_time() - busy
                times.append(StageTime(name, *now))

    def _wants_stop(self) -> bool:
        return self._asked is not None and self._asked()
