"""One thread for BLAS while many small operators are computed: its threads would spin against each other.

A network's operators are computed one after the other, most of them small. OpenBLAS wakes a thread for every
core at 100 x 100 elements, and what they gain is less than what waking them costs. The command sets
the environment before NumPy is loaded; in a notebook NumPy is there already.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Limit:
    """The limit that all who ask for it share: the last to leave lifts it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._limit: Any = None

    def enter(self) -> None:
        with self._lock:
            if self._users == 0:
                self._limit = _controller().limit(limits=1, user_api="blas")
            self._users += 1

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limit.restore_original_limits()


_LIMIT = _Limit()


@cache
def _controller() -> Any:
    """The BLAS libraries of the process; looking for them takes a few milliseconds."""
    import numpy as np  # noqa: F401 - brings its BLAS
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """BLAS runs in one thread as long as anybody is inside, in all threads of the process."""
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()
