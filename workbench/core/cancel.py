"""Stop work that has nothing to keep yet: reading and matching, in the midst of their loops.

Whoever starts such work says when it shall stop (`stoppable`); long loops ask at every turn (`checkpoint`). It goes
with the thread, not through every signature in between, as an interrupt of the keyboard does.
"""

from __future__ import annotations

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
