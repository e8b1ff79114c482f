"""One thread for BLAS while many small operators are computed: its threads would spin against each other.

A network's operators are computed one after the other, most of them small. OpenBLAS wakes a thread for every
core at 100 x 100 elements, and what they gain is less than what waking them costs. The command sets
the environment before NumPy is loaded; in a notebook NumPy is there already.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@cache
def _controller() -> Any:
    """The BLAS libraries of the process; looking for them takes a few milliseconds."""
    import numpy as np  # noqa: F401 - brings its BLAS
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


_HELD = Lock()


@contextmanager
def one_thread() -> Iterator[None]:
    """BLAS runs in one thread, in the whole process, until the first of those who are inside leaves.

    The others change nothing: who came second would take one thread for what was there before.
    """
    if not _HELD.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _HELD.release()
