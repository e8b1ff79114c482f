"""Long work: it stops in the midst of its loops, and Python's search for garbage does not go over its values.

Whoever starts work that has nothing to keep yet, as reading and matching, says when it shall stop (`stoppable`); long
loops ask at every turn (`checkpoint`). It goes with the thread, not through every signature in between, as an interrupt
of the keyboard does.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ASKED: ContextVar[Callable[[], bool] | None] = ContextVar("_ASKED", default=None)


class Stopped(BaseException):
    """Raised by `checkpoint`. No `Exception`: readers take those for a damaged file."""


@contextmanager
def stoppable(asked: Callable[[], bool]) -> Iterator[None]:
    """Inside, on this thread, `checkpoint` raises `Stopped` once ``asked()`` is true."""
    token = _ASKED.set(asked)
    try:
        yield
    finally:
        _ASKED.reset(token)


def is_stopped() -> bool:
    """Whether whoever started this work wants it to stop: asked by loops that keep what they have."""
    asked = _ASKED.get()
    return asked is not None and asked()


def checkpoint() -> None:
    """Raise `Stopped` if whoever started this work wants it to stop; a tenth of a microsecond if nobody can."""
    if is_stopped():
        raise Stopped


def is_frozen() -> bool:
    """Whether somebody has frozen values; all of them are counted for it, a million in a seventh of a second."""
    return gc.get_freeze_count() > 0


@contextmanager
def collection_paused(frozen: bool | None = None) -> Iterator[None]:
    """Put the search off inside, while many values are made that stay.

    Every search of the oldest generation looks at all values that there are: of a million new ones it is asked for
    again and again, and nothing is found. What is in no cycle is freed as always. ``frozen`` is what `is_frozen` says,
    asked for if left out.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            if not (is_frozen() if frozen is None else frozen):
                gc.freeze()
                gc.unfreeze()  # all there is counts as old: the next search does not go over it at once
            gc.enable()


@contextmanager
def collection_of_new_values(frozen: bool) -> Iterator[None]:
    """Let the search leave out inside what there was before.

    Else every search of the oldest generation looks at millions of values that stay. Frozen by somebody else, they
    stay so.
    """
    if frozen:
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
