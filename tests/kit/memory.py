"""Memory that Python takes meanwhile, for tests that bound it."""

from __future__ import annotations

import gc
import tracemalloc
from contextlib import contextmanager


@contextmanager
def measured():
    """Measure the memory that the block takes: gives what tells its peak so far, in bytes."""
    gc.collect()
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@contextmanager
def peak_below(most: int):
    """The block must take fewer bytes than ``most`` at any time."""
    with measured() as peak:
        yield
        taken = peak()
    assert taken < most, taken
